"""What somebody looks at who looks around: texts of documents, statements and entities."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply
from lexigraph.api.schemas.search import StatementKind
from lexigraph.ingestion.outline import Heading, Page, Verbatim
from lexigraph.model.graph import Entity, FactRow, Source, StatementRow
from lexigraph.storage.protocols import TopicSpan

_SOURCE = "source:3c067f04242ced37302a063b8b72672e"
_ENTITY = "entity:3c067f04242ced37302a063b8b72672e"


class HeadingReply(Reply):
    """A heading of a document."""

    text: str = Field(description="text", examples=["Approval"])
    level: int = Field(description="heading level, from 1", examples=[2])
    start: int = Field(description="start offset in the parsed text", examples=[127])

    @classmethod
    def of(cls, heading: Heading) -> "HeadingReply":
        """Return the reply for a heading."""
        return cls(text=heading.text, level=heading.level, start=heading.start)


class PageReply(Reply):
    """A page of a document that has pages."""

    number: int = Field(description="page number, from 1", examples=[3])
    start: int = Field(description="start offset in the parsed text", examples=[5_210])

    @classmethod
    def of(cls, page: Page) -> "PageReply":
        """Return the reply for a page."""
        return cls(number=page.number, start=page.start)


class VerbatimReply(Reply):
    """A code block or table, whose line breaks and spaces matter."""

    kind: Literal["code", "table"] = Field(description="kind", examples=["code"])
    start: int = Field(description="start offset in the parsed text", examples=[310])
    end: int = Field(description="end offset (exclusive)", examples=[402])

    @classmethod
    def of(cls, verbatim: Verbatim) -> "VerbatimReply":
        """Return the reply for code or a table."""
        return cls.model_validate({"kind": verbatim.kind, "start": verbatim.start, "end": verbatim.end})


class OutlineReply(Reply):
    """Headings, pages, code blocks and tables of a document.

    Offsets count characters (Unicode code points) of its parsed text.
    """

    document_id: str = Field(description="document id", examples=[_SOURCE])
    version: int = Field(description="version of the document", examples=[1])
    characters: int = Field(description="number of characters in the whole text", examples=[8_412])
    headings: list[HeadingReply] = Field(description="in order")
    pages: list[PageReply] = Field(description="pages in order; empty if the document has none")
    verbatim: list[VerbatimReply] = Field(description="code blocks and tables, in order")


class TextReply(OutlineReply):
    """A range of a document's parsed text, with its headings and pages."""

    start: int = Field(description="start offset", examples=[0])
    end: int = Field(description="end offset (exclusive)", examples=[8_412])
    section: list[str] = Field(
        default_factory=list,
        description="headings above its start, outermost first",
        examples=[["Approval", "Deadlines"]],
    )
    text: str = Field(description="text", examples=["# The approval flow\n\nMira Holm signs what Tove Lund approves."])


class TopicReply(Reply):
    """A topic of a document."""

    id: str = Field(description="topic id", examples=["topic:3c067f04242ced37302a063b8b72672e"])
    title: str = Field(description="topic", examples=["Approval"])
    start: int = Field(description="start offset of its first statement", examples=[127])
    end: int = Field(description="end offset of its last statement (exclusive)", examples=[912])
    statements: int = Field(description="number of statements", examples=[7])

    @classmethod
    def of(cls, topic: TopicSpan) -> "TopicReply":
        """Return the reply for a topic."""
        return cls(id=topic.id, title=topic.value, start=topic.start, end=topic.end, statements=topic.statements)


class TopicList(Reply):
    """A page of a document's topics, in reading order."""

    topics: list[TopicReply] = Field(description="the page")
    total: int = Field(description="total number of topics", examples=[31])
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class NamedReply(Reply):
    """A named component."""

    id: str = Field(description="id", examples=[_ENTITY])
    name: str = Field(description="name", examples=["Tove Lund"])


class ObjectReply(Reply):
    """The object of a fact."""

    id: str | None = Field(description="entity id; null if the object is not an entity", examples=[_ENTITY])
    name: str = Field(description="text of the object", examples=["the approval"])


class TopicTitle(Reply):
    """A topic by its title."""

    id: str = Field(description="topic id", examples=["topic:3c067f04242ced37302a063b8b72672e"])
    title: str = Field(description="topic", examples=["Approval"])


class FactReply(Reply):
    """A fact that a statement supports."""

    id: str = Field(description="fact id", examples=["fact:3c067f04242ced37302a063b8b72672e"])
    subject: NamedReply = Field(description="subject")
    predicate: str = Field(description="predicate", examples=["signs"])
    object: ObjectReply = Field(description="object")

    @classmethod
    def of(cls, fact: FactRow) -> "FactReply":
        """Return the reply for a fact."""
        subject = NamedReply(id=fact.subject_id, name=fact.subject)
        return cls(
            id=fact.id, subject=subject, predicate=fact.predicate, object=ObjectReply(id=fact.object_id, name=fact.object)
        )


class PlacedStatement(Reply):
    """A statement with its location. Offsets count characters (Unicode code points) of the parsed text."""

    id: str = Field(description="statement id", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    text: str = Field(description="self-contained text", examples=["Mira Holm signs what Tove Lund approves."])
    original: str = Field(
        description="wording in the document if it differs from `text`; else empty",
        examples=["She signs what Tove Lund approves."],
    )
    kind: StatementKind
    start: int = Field(description="start offset in the parsed text", examples=[127])
    end: int = Field(description="end offset (exclusive)", examples=[168])
    chunk_id: str = Field(
        description="id of the chunk that contains it", examples=["chunk:3c067f04242ced37302a063b8b72672e"]
    )
    topic: TopicTitle = Field(description="topic")
    entities: list[NamedReply] = Field(description="entities it mentions")
    facts: list[FactReply] = Field(description="facts it supports")


class DocumentTitle(Reply):
    """A document by its title."""

    id: str = Field(description="document id", examples=[_SOURCE])
    title: str = Field(description="title", examples=["The approval flow"])
    uri: str = Field(description="URI", examples=["upload://default/flow.md"])
    namespace: str = Field(description="namespace", examples=["default"])
    version: int = Field(description="current version", examples=[1])

    @classmethod
    def of(cls, source: Source) -> "DocumentTitle":
        """Return the reply for a source."""
        return cls(id=source.id, title=source.title, uri=source.uri, namespace=source.namespace, version=source.version)


class StatementPlace(PlacedStatement):
    """A statement and its document."""

    document: DocumentTitle = Field(description="document that contains it")


class StatementPage(Reply):
    """A page of a document's statements in reading order. It may be short or empty before the end."""

    statements: list[PlacedStatement] = Field(description="the page")
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=["3.1"])


def placed(row: StatementRow, names: Mapping[str, Entity]) -> PlacedStatement:
    """Return the reply for a statement; ``names`` are the entities named, as far as they are known."""
    return PlacedStatement(
        id=row.id,
        text=row.value,
        original=row.original,
        kind=row.kind,  # type: ignore[arg-type]  # it is checked
        start=row.chunk_start + row.start,
        end=row.chunk_start + row.end,
        chunk_id=row.chunk_id,
        topic=TopicTitle(id=row.topic_id, title=row.topic),
        entities=[NamedReply(id=e, name=names[e].value) for e in row.entities if e in names],
        facts=[FactReply.of(fact) for fact in row.facts],
    )
