"""Value types of the lexical graph: source, chunk, topic, statement, fact, entity, and the support between them.

Immutable, without I/O. :class:`ChunkGraph` is what a chunk contributes to the graph; :class:`StatementRow` and related types
are what a store returns for a question. Types read by the hundred are named tuples, which are created three times faster.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lexigraph.model.normalise import entity_key, title_names

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Source:
    """A document. ``metadata`` holds scalars only; ``version`` counts from 1.

    ``means`` are the names, by key, that stand for an entity of another name in it. Stores do not keep it.
    """

    id: str
    uri: str
    namespace: str = "default"
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    version: int = 1
    means: Mapping[str, str] = field(default_factory=dict)

    @property
    def titled(self) -> list[str]:
        """The names of entities that the document is about, by its title."""
        return list(dict.fromkeys(self.means.get(entity_key(name), name) for name in title_names(self.title)))

    @property
    def filterable(self) -> dict[str, Scalar]:
        """The values that metadata filters match: the metadata, and ``namespace``, ``uri`` and ``title`` of the source."""
        return {**self.metadata, "namespace": self.namespace, "uri": self.uri, "title": self.title}


@dataclass(frozen=True, slots=True)
class Placement:
    """The location of a chunk in one version of its source: properties of EXTRACTED_FROM.

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
    """A statement in one chunk; ``start`` and ``end`` are character offsets in the chunk's text.

    ``kind`` is ``prose``, ``code`` or ``table``. ``original`` is the wording of the text, if ``value`` differs; else empty.
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
    """A fact that supports a statement; ``object_id`` is None if the object is not an entity (an attribute)."""

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
    """A mention of an entity in a statement: the name used there and the class assigned."""

    statement_id: str
    entity_id: str
    form: str
    class_: str


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity: ALIAS_OF, from the entity (id) of that name to the one meant; followed by queries."""

    alias: str
    target: str
    alias_form: str = ""
    target_form: str = ""


@dataclass(frozen=True, slots=True)
class ChunkGraph:
    """Everything that one chunk contributes to the graph. Its edges belong to the chunk and are withdrawn with it."""

    chunk_id: str
    topics: tuple[TopicNode, ...] = ()
    statements: tuple[StatementNode, ...] = ()
    facts: tuple[FactNode, ...] = ()
    mentions: tuple[Mention, ...] = ()
    aliases: tuple[Alias, ...] = ()


class Entity(NamedTuple):
    """An entity with derived counts: ``df`` is the number of sources that name it, ``degree`` its number of facts."""

    id: str
    value: str
    class_: str = ""
    df: int = 0
    degree: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as it is shown."""
        return {"id": self.id, "name": self.value, "class": self.class_, "documents": self.df, "facts": self.degree}


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact that supports a statement, as read for a question."""

    id: str
    subject: str
    predicate: str
    object: str
    subject_id: str
    object_id: str | None

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


class StatementRow(NamedTuple):
    """A live statement with its topic, chunk, source and facts, as read for a question.

    ``start``/``end`` are offsets in the chunk's text, ``chunk_start`` the chunk's offset in the document, so that
    ``chunk_start + start`` is the statement's offset in the document. ``entities`` are the ids of the entities it names.
    ``kind`` is prose, code or table. ``value`` is self-contained; ``original`` is the wording of the chunk, if it differs.
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
    """The statements of a live chunk; ``entities`` are the ids of the entities they name.

    Rows are built on first access, since few of the chunks that links lead to are read.
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
