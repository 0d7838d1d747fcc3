"""The lexical graph as values: source, chunk, topic, statement, fact, entity, and what supports what.

Frozen, without I/O. The writing side (:class:`ChunkGraph`) is what one chunk contributes; the reading side
(:class:`StatementRow` and friends) is what a store returns for a question. What a question reads by the hundred is a tuple:
it is made in a third of the time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Source:
    """A document. ``metadata`` holds scalars only; ``version`` counts from 1."""

    id: str
    uri: str
    namespace: str = "default"
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    version: int = 1

    @property
    def filterable(self) -> dict[str, Scalar]:
        """What metadata filters see: the metadata, and ``namespace``, ``uri`` and ``title`` of the source."""
        return {**self.metadata, "namespace": self.namespace, "uri": self.uri, "title": self.title}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a chunk stands in one version of its source: properties of EXTRACTED_FROM.

    ``seq`` counts from 0; ``start`` and ``end`` are character offsets in the parsed text of the document.
    """

    seq: int
    start: int
    end: int
    role: str = "paragraph"
    parent: str = ""


@dataclass(frozen=True, slots=True)
class TopicNode:
    """A theme of one source."""

    id: str
    value: str


@dataclass(frozen=True, slots=True)
class StatementNode:
    """A statement as one chunk makes it; ``start`` and ``end`` are character offsets in the chunk's text.

    ``kind`` is prose, code or table. ``original`` is what the text has there, where ``value`` says more; else empty.
    """

    id: str
    topic_id: str
    value: str
    details: str
    position: int
    start: int
    end: int
    kind: str = "prose"
    original: str = ""


@dataclass(frozen=True, slots=True)
class FactNode:
    """A fact as it supports one statement; ``object_id`` is None when the object is no entity (an attribute)."""

    id: str
    statement_id: str
    subject: str
    predicate: str
    object: str
    subject_id: str
    object_id: str | None
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Mention:
    """A statement names an entity: the form in which it does, and the class seen there."""

    statement_id: str
    entity_id: str
    form: str
    class_: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity: ALIAS_OF, from the entity (id) of that name to the one meant; followed when asking."""

    alias: str
    target: str
    alias_form: str = ""
    target_form: str = ""


@dataclass(frozen=True, slots=True)
class ChunkGraph:
    """All that one chunk contributes to the graph. Every edge in it is owned, and later withdrawn, by the chunk."""

    chunk_id: str
    topics: tuple[TopicNode, ...] = ()
    statements: tuple[StatementNode, ...] = ()
    facts: tuple[FactNode, ...] = ()
    mentions: tuple[Mention, ...] = ()
    aliases: tuple[Alias, ...] = ()


class Entity(NamedTuple):
    """An entity with what is derived from its edges: ``df`` sources name it, ``degree`` facts hold it."""

    id: str
    value: str
    class_: str = ""
    df: int = 0
    degree: int = 0


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact that supports a statement, read for a question."""

    id: str
    subject: str
    predicate: str
    object: str
    subject_id: str
    object_id: str | None

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


class StatementRow(NamedTuple):
    """A live statement with its topic, chunk, source and facts; a question reads a thousand and more.

    ``start``/``end`` are offsets in the chunk's text, ``chunk_start`` the chunk's offset in the document, so that
    ``chunk_start + start`` is the statement's place in the document. ``entities`` are the ids of the entities it names.
    ``kind`` is prose, code or table. ``value`` stands alone; ``original`` is what the chunk has there, where that does not.
    """

    id: str
    value: str
    details: str
    topic_id: str
    topic: str
    chunk_id: str
    seq: int
    position: int
    start: int
    end: int
    chunk_start: int
    source: Source
    facts: tuple[FactRow, ...] = ()
    entities: tuple[str, ...] = ()
    kind: str = "prose"
    original: str = ""


class ChunkStatements:
    """What a live chunk says; ``entities`` are the ids of what its statements name.

    Links lead to hundreds of chunks of which few are read, so the rows are put together when they are first looked at.
    """

    __slots__ = ("_read", "_rows", "entities", "id", "source")

    def __init__(
        self, id_: str, source: Source, entities: Sequence[str], read: Callable[[], Sequence[StatementRow]]
    ) -> None:
        self.id, self.source, self.entities = id_, source, entities
        self._read = read
        self._rows: Sequence[StatementRow] | None = None

    @property
    def rows(self) -> Sequence[StatementRow]:
        """The statements in reading order."""
        if self._rows is None:
            self._rows = self._read()
        return self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChunkStatements) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"ChunkStatements{self._content()}"

    def _content(self) -> tuple[object, ...]:
        return self.id, self.source, sorted(self.entities), list(self.rows)


class Link(NamedTuple):
    """A hop from a chunk to another through an entity: ``kind`` is ``about`` (the target is titled by it) or ``shared``."""

    from_chunk: str
    entity_id: str
    to_chunk: str
    kind: str
