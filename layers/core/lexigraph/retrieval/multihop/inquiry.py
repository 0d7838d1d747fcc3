"""How far a chunk answers a question, by itself or at the end of a chain that leads to it. No I/O.

A hop asks a refined question: the question together with the chunk it starts from. As far as the edge between them is
specific, that chunk's vector is mixed into the question's, and the words of the question that its chain has answered count
as answered; what the chain left open has to stand in the chunk itself. So a chunk that shares a rare name with one that
answers the first half of a question, and holds the words of the second half, answers the whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.scripts import told_language
from lexigraph.retrieval.stages.text import StemFinder, stems

Array = NDArray[np.float64]

# Of relevance, what is (1 + cosine) / 2; the rest is the share of the question's words that are answered
LIKENESS = 0.6


@dataclass(frozen=True, slots=True)
class Answers:
    """How well chunks answer, a row a seed that they are reached from, a column a chunk: the parts of relevance."""

    likeness: Array
    words: Array

    @property
    def relevance(self) -> Array:
        """0 to 1."""
        return self.likeness + self.words


class Inquiry:
    """A question as its vector, if there is one, and the stems of its words.

    A word weighs by the logarithm of how few of the chunks seen first hold it, a name by its square: many hold what the
    question is about, few the name that it begins from.
    """

    def __init__(self, text: str, vector: FloatArray | None) -> None:
        language = told_language(text)
        self.vector = None if vector is None else vector.astype(np.float64)
        words = tuple(dict.fromkeys(stems(text, language)))
        self._finder, self._words, self._language = StemFinder(words, language), words, language
        self._weights: Array = np.ones(len(words))
        self._likeness = 0.0 if vector is None else LIKENESS if words else 1.0

    def held(self, texts: Sequence[str]) -> Array:
        """Return a row a text: 1.0 for each word of the question that it holds, else 0.0."""
        rows = np.zeros((len(texts), len(self._words)))
        if found := self._finder.found_in(texts):
            rows[tuple(zip(*found, strict=True))] = 1.0
        return rows

    def weigh(self, held: Array, names: Iterable[str]) -> None:
        """Take the weights of the words from the texts whose words are given; ``names`` are words that are names there."""
        df = held.sum(axis=0)
        large = set(stems(" ".join(names), self._language))
        powers = [2.0 if word in large else 1.0 for word in self._words]
        self._weights = np.log(1 + (len(held) - df + 0.5) / (df + 0.5)) ** powers

    def answers(self, vectors: Array, held: Array, specific: Array, seeds: Array, said: Array) -> Answers:
        """Return how well chunks answer, each reached from each of ``seeds`` by an edge that is ``specific`` (0 to 1).

        ``said`` is how far the chain up to each seed answers each word. Two products of matrices do it for all seeds at
        once: what is held is 0 or 1, so that the greater of held and said is their sum where it is not held.
        """
        total = float(self._weights.sum())
        words = np.zeros(specific.shape)
        if total > 0:
            words = (held @ self._weights + specific * ((said * self._weights) @ (1 - held).T)) / total
        likeness = np.zeros(specific.shape)
        if (asked := self.vector) is not None:
            cosines = vectors @ asked + specific * (seeds @ vectors.T)
            squares = asked @ asked + specific * (2 * (seeds @ asked)[:, None] + specific * (seeds**2).sum(axis=1)[:, None])
            likeness = (1 + cosines / np.sqrt(np.maximum(squares, 1e-18))) / 2
        return Answers(self._likeness * likeness, (1 - self._likeness) * words)
