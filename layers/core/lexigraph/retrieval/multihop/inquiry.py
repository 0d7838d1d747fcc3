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
class Answer:
    """How well chunks answer, a row a chunk: the parts of relevance, and how far each word of the question is answered."""

    likeness: Array
    words: Array
    said: Array

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

    def answer(
        self, vectors: Array, held: Array, specific: Array, seed: FloatArray | None = None, said: Array | None = None
    ) -> Answer:
        """Return how well chunks answer, each reached from ``seed`` by an edge that is ``specific`` (0 to 1).

        ``said`` is how far the chain up to the seed answers each word.
        """
        reached = held if said is None else np.maximum(held, np.outer(specific, said))
        total = float(self._weights.sum())
        words = reached @ self._weights / total if total > 0 else np.zeros(len(held))
        likeness = np.zeros(len(held))
        if self.vector is not None:
            asked = np.atleast_2d(self.vector if seed is None else self.vector + np.outer(specific, seed))
            cosines = (vectors * asked).sum(axis=1) / np.maximum(np.linalg.norm(asked, axis=1), 1e-9)
            likeness = (1 + cosines) / 2
        return Answer(self._likeness * likeness, (1 - self._likeness) * words, reached)
