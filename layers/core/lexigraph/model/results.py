"""Search results: ranked statements grouped by source and topic, each with its reason and score parts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from lexigraph.model.graph import Source

LEFT_OUT = "below_min_relevance"  # the type of a notice: something was found, and all of it is less relevant than asked for


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning. ``type`` is a stable code, ``detail`` a message for people."""

    type: str
    detail: str


class Stop(NamedTuple):
    """A step on the path to a statement: the name of an entity or topic, or the title of a chunk's source; and its id."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class ScoredStatement:
    """A statement with its score and the reason it was found.

    Attributes:
        text: The statement, readable without its surroundings.
        score: The score it is ranked by; ``parts`` are its named contributions.
        reason: How it was found: ``chunk``, ``entity``, ``link``, ...
        start: Character offset in the parsed document where it begins; ``end`` is where it ends.
        facts: The facts that support it, if ``include_facts`` is set.
        path: Names of the nodes that led to it, first to last; ``path_ids`` are their ids.
        kind: ``prose``, ``code`` or ``table``.
        original: The wording of the document, if ``text`` differs; else empty.
        context: The adjacent statements of the same topic that are not results themselves (reason ``context``, score 0);
            they do not count towards ``max_context_tokens``.
    """

    id: str
    text: str
    score: float
    reason: str
    chunk_id: str
    start: int
    end: int
    facts: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    kind: str = "prose"
    original: str = ""
    context: "tuple[ScoredStatement, ...]" = ()
    path_ids: tuple[str, ...] = ()

    @property
    def quoted(self) -> str:
        """The wording of the document."""
        return self.original or self.text


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The statements of one topic of one source, best first; ``score`` is that of the group, 0 to 1."""

    source: Source
    topic: str
    statements: tuple[ScoredStatement, ...]
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: source, topic, statements (texts) and score; ``details`` holds the statements in full."""
        return {
            "source": self.source.uri,
            "document_id": self.source.id,
            "topic": self.topic,
            "statements": [s.text for s in self.statements],
            "score": self.score,
            "metadata": {"title": self.source.title, "namespace": self.source.namespace, **self.source.metadata},
            "details": [asdict(s) for s in self.statements],
        }


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a retriever. All retrievers return this shape.

    ``cosines``, ``nearest``, ``embedding``, ``looked_at`` and ``ranks`` are not part of the JSON.

    Attributes:
        results: Groups of statements, best first.
        entities: Names of the entities that led to the results.
        keywords: The keywords looked up.
        timings: Milliseconds by step.
        calls: Number of store calls by store.
        cosines: Cosine similarity to the question, by id of chunk or statement, where the search computed it; -1 to 1.
        nearest: The highest cosine similarity computed, returned or not; None if the search used words only.
        embedding: Label of the embedding model behind these.
        looked_at: The best statements before limits apply; they decide whether the question is answerable.
        ranks: Rank, from 1, of chunks and statements in each search (``vector``, ``bm25``), by id.
    """

    question: str
    results: tuple[SearchResult, ...]
    entities: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)
    nearest: float | None = None
    embedding: str = ""
    looked_at: tuple[SearchResult, ...] = ()
    ranks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def statements(self) -> tuple[ScoredStatement, ...]:
        """All statements, best first, without the grouping."""
        return tuple(sorted((s for r in self.results for s in r.statements), key=lambda s: -s.score))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the JSON of the CLI and the HTTP API."""
        return {
            "question": self.question,
            "results": [r.to_dict() for r in self.results],
            "entities": list(self.entities),
            "keywords": list(self.keywords),
            "warnings": [asdict(w) for w in self.warnings],
            "timings": dict(self.timings),
            "calls": dict(self.calls),
        }


@dataclass(frozen=True, slots=True)
class Citation:
    """The source behind a label (``S1``) of an answer: document, chunk and character offsets in the parsed document.

    ``text`` is the wording of the document; ``resolved`` is a version readable on its own, if ``text`` is not.
    ``kind`` is ``prose``, ``code`` or ``table``.
    """

    label: str
    statement_id: str
    text: str
    source_id: str
    uri: str
    title: str
    chunk_id: str
    start: int
    end: int
    score: float
    reason: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "prose"
    resolved: str = ""
