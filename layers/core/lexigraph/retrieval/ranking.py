"""How chunks and statements are ranked: pure functions of what was found, no I/O (DESIGN section 5).

A chunk's own score says how well it fits the question: likeness (BM25 and cosine), the share of the question's words that
it holds, whether its source is titled by a name in the question, and which of the question's entities it names. A chunk
that a link leads to is scored by what it *adds*: the words of the question that the chunk before it left open, and how
specific the link is. Likeness to the whole question, which pushes such bridge evidence down, decides only how well it fits
by itself. Every score is a sum of named parts, every tie is broken by id.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.graph import Entity, Link
from lexigraph.retrieval.text import stems

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The constants of the ranking, with the reason of each. Chosen together on four public sets, see docs/retrieval.md."""

    # Holding the question's words is an absolute measure, where BM25 and cosine only order: it makes the lexical side count
    # for more the closer a chunk comes to answering alone (chat logs), and for little when no chunk does (multi-hop).
    coverage: float = 0.5
    coverage_power: float = 2.0
    # A source titled by a name in the question is what the question is about; shared among sources of one title.
    title: float = 0.5
    # A link's worth: a start for being linked at all, more when few lead there, most for the open words it answers.
    link: float = 0.5
    link_base: float = 0.5
    link_specificity: float = 0.3
    link_coverage: float = 1.0
    # Against the direction of a mention the evidence is weaker; and sharing an entity alone is no reason to be read.
    named: float = 0.6
    shared: float = 0.6
    # A second hop must answer what the first left open, and is worth less for being further away.
    decay: float = 0.7
    # A statement within its chunk: how much of the chunk's worth follows its own fit, and the loss for each one before it.
    fit: float = 0.2
    rerank: float = 0.1
    within: float = 0.5
    repeat: float = 0.9
    # Answers to a subquery count a little less than answers to the question itself.
    subquery: float = 0.9

    @property
    def bound(self) -> float:
        """The highest score a statement can have; shown scores are divided by it, which keeps them in 0 to 1."""
        best_link = self.link * (self.link_base + self.link_specificity + self.link_coverage)
        return 1.0 + best_link + self.fit + self.rerank


WEIGHTS = Weights()


@dataclass(slots=True)
class Candidate:
    """A chunk that may hold evidence, with what is known of it.

    ``cosine`` and ``bm25`` are likeness to the question, 0 to 1; ``entities`` are the ids of the entities it names or its
    source is titled by. ``reason`` is how it was found first.
    """

    id: str
    title: str
    text: str
    cosine: float = 0.0
    bm25: float = 0.0
    title_match: float = 0.0
    entities: frozenset[str] = frozenset()
    reason: str = "chunk"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its score, the parts that sum up to it, how it was found and the names that led to it."""

    id: str
    score: float
    parts: Mapping[str, float]
    reason: str
    path: tuple[str, ...] = ()
    open: frozenset[str] = frozenset()


class Coverage:
    """The question's words (as stems), weighted by how few of the texts seen hold them."""

    def __init__(self, questions: Sequence[str], texts: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(word for q in questions for word in stems(q)))
        self._at = {word: i for i, word in enumerate(self.words)}
        held = [self.held(text) for text in texts]
        df = np.sum(held, axis=0) if held else np.zeros(len(self.words))
        self.idf: Array = np.log(1 + (len(held) - df + 0.5) / (df + 0.5))

    def held(self, text: str) -> Array:
        """Return 1.0 for each word of the question that the text holds, else 0.0."""
        row = np.zeros(len(self.words))
        for word in set(stems(text)):
            at = self._at.get(word)
            if at is not None:
                row[at] = 1.0
        return row

    def share(self, held: Array, of: Array | None = None) -> float:
        """Return the weighted share of the words ``of`` (all by default) that are held, 0 to 1."""
        wanted = self.idf if of is None else self.idf * of
        total = float(wanted.sum())
        return float((wanted * held).sum()) / total if total > 0 else 0.0
