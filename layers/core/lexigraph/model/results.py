"""What a question gets back: ranked statements grouped by source and topic, each with its reason and score parts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from lexigraph.model.graph import Source

LEFT_OUT = "below_min_relevance"  # the type of a notice: something was found, and all of it is less relevant than asked for


@dataclass(frozen=True, slots=True)
class Notice:
    """Something went less well than it should; ``type`` is stable, ``detail`` is for a reader."""

    type: str
    detail: str


class Stop(NamedTuple):
    """What led to a statement: a chunk by the title of its source, an entity or a topic by its name; and its id."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class ScoredStatement:
    """A statement of a result.

    ``reason`` is how it was found (``chunk``, ``entity``, ``link``, ...), ``path`` what led there (names, first to
    last) with their ids in ``path_ids``, ``parts`` the named contributions whose combination is ``score``.
    ``start``/``end`` are character offsets in the parsed document. ``kind`` is prose, code or table. ``text`` stands
    alone; ``original`` is what the document has there, where that does not. ``context`` are the statements right before
    and after it, of the same topic, which are no results themselves: there to read the best ones by, reason ``context``,
    score 0, beyond what there is room for.
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
        """The words of the document."""
        return self.original or self.text


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Statements of one topic of one source, best first; ``score`` is the result's own, 0 to 1."""

    source: Source
    topic: str
    statements: tuple[ScoredStatement, ...]
    score: float

    def to_dict(self) -> dict[str, Any]:
        """Return the reference page's shape (source, topic, statements, score); the rest is under ``details``."""
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
    """The one envelope of every retriever. ``timings`` are milliseconds by step, ``calls`` store calls by store.

    ``cosines`` tell how like the question chunks and statements of the results are, by id, as far as the search compared
    them, -1 to 1; ``nearest`` is the highest of all that it compared, returned or not, None when it went by words only;
    ``embedding`` is the label of the model that tells so. ``looked_at`` are the best statements, each by itself, whatever
    limits cut off: by them is judged whether there is an answer. ``ranks`` are the places, from 1, of chunks and statements
    of the results in the searches that found them (``vector``, ``bm25``), by id. They are no part of the JSON.
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
        """All statements, best first; results only group them for display."""
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
    """A label of an answer (``S1``) and what it stands for: document, chunk and character offsets in the document.

    ``text`` is quoted as the document has it; ``resolved`` says the same so that it stands alone, where ``text`` does not.
    ``kind`` is prose, code or table.
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
