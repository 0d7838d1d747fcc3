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

    text: str = Field(description="as it reads", examples=["Approval"])
    level: int = Field(description="from 1 downwards", examples=[2])
    start: int = Field(description="offset in the parsed document", examples=[127])

    @classmethod
    def of(cls, heading: Heading) -> "HeadingReply":
        """Return the reply for a heading."""
        return cls(text=heading.text, level=heading.level, start=heading.start)


class PageReply(Reply):
    """A page of a document that has pages."""

    number: int = Field(description="from 1", examples=[3])
    start: int = Field(description="offset in the parsed document", examples=[5_210])

    @classmethod
    def of(cls, page: Page) -> "PageReply":
        """Return the reply for a page."""
        return cls(number=page.number, start=page.start)


class VerbatimReply(Reply):
    """Code or a table in a document: text whose line breaks and spaces have a meaning."""

    kind: Literal["code", "table"] = Field(description="what it is", examples=["code"])
    start: int = Field(description="offset in the parsed document", examples=[310])
    end: int = Field(description="offset behind its last character", examples=[402])

    @classmethod
    def of(cls, verbatim: Verbatim) -> "VerbatimReply":
        """Return the reply for code or a table."""
        return cls.model_validate({"kind": verbatim.kind, "start": verbatim.start, "end": verbatim.end})


class OutlineReply(Reply):
    """Where a document has its headings, pages, code and tables.

    Offsets count characters (Unicode code points) of its parsed text.
    """

    document_id: str = Field(description="of the document", examples=[_SOURCE])
    version: int = Field(description="of the document, whose text this is", examples=[1])
    characters: int = Field(description="of the whole text", examples=[8_412])
    headings: list[HeadingReply] = Field(description="in order")
    pages: list[PageReply] = Field(description="in order; none where the text has no pages")
    verbatim: list[VerbatimReply] = Field(description="code and tables, in order")


class TextReply(OutlineReply):
    """A stretch of the parsed text of a document, with the headings and pages in it."""

    start: int = Field(description="offset of the stretch", examples=[0])
    end: int = Field(description="offset behind its last character", examples=[8_412])
    section: list[str] = Field(
        default_factory=list,
        description="headings under which it begins, outermost first",
        examples=[["Approval", "Deadlines"]],
    )
    text: str = Field(
        description="the stretch", examples=["# The approval flow\n\nMira Holm signs what Tove Lund approves."]
    )


class TopicReply(Reply):
    """A topic of a document."""

    id: str = Field(description="of the topic", examples=["topic:3c067f04242ced37302a063b8b72672e"])
    title: str = Field(description="what its statements are about", examples=["Approval"])
    start: int = Field(description="offset of its first statement in the parsed document", examples=[127])
    end: int = Field(description="offset behind its last one", examples=[912])
    statements: int = Field(description="how many it has", examples=[7])

    @classmethod
    def of(cls, topic: TopicSpan) -> "TopicReply":
        """Return the reply for a topic."""
        return cls(id=topic.id, title=topic.value, start=topic.start, end=topic.end, statements=topic.statements)


class TopicList(Reply):
    """A page of the topics of a document, as it reads."""

    topics: list[TopicReply] = Field(description="the page")
    total: int = Field(description="topics of the document", examples=[31])
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class NamedReply(Reply):
    """Something with a name."""

    id: str = Field(description="of it", examples=[_ENTITY])
    name: str = Field(description="what it is called", examples=["Tove Lund"])


class ObjectReply(Reply):
    """The object of a fact."""

    id: str | None = Field(description="of the entity; null where it is none", examples=[_ENTITY])
    name: str = Field(description="as the fact says it", examples=["the approval"])


class TopicTitle(Reply):
    """A topic by its title."""

    id: str = Field(description="of the topic", examples=["topic:3c067f04242ced37302a063b8b72672e"])
    title: str = Field(description="what its statements are about", examples=["Approval"])


class FactReply(Reply):
    """A fact that a statement supports."""

    id: str = Field(description="of the fact", examples=["fact:3c067f04242ced37302a063b8b72672e"])
    subject: NamedReply = Field(description="of whom it is said")
    predicate: str = Field(description="what is said", examples=["signs"])
    object: ObjectReply = Field(description="about what")

    @classmethod
    def of(cls, fact: FactRow) -> "FactReply":
        """Return the reply for a fact."""
        subject = NamedReply(id=fact.subject_id, name=fact.subject)
        return cls(
            id=fact.id, subject=subject, predicate=fact.predicate, object=ObjectReply(id=fact.object_id, name=fact.object)
        )


class PlacedStatement(Reply):
    """A statement where it stands. Offsets count characters (Unicode code points) of the parsed document."""

    id: str = Field(description="of the statement", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    text: str = Field(description="so that it stands alone", examples=["Mira Holm signs what Tove Lund approves."])
    original: str = Field(
        description="the words of the document, where they do not stand alone; else empty",
        examples=["She signs what Tove Lund approves."],
    )
    kind: StatementKind
    start: int = Field(description="offset in the parsed document", examples=[127])
    end: int = Field(description="offset behind its last character", examples=[168])
    chunk_id: str = Field(description="where the text stands", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    topic: TopicTitle = Field(description="what it is about")
    entities: list[NamedReply] = Field(description="what it names")
    facts: list[FactReply] = Field(description="what it says of them")


class DocumentTitle(Reply):
    """A document by its title."""

    id: str = Field(description="of the document", examples=[_SOURCE])
    title: str = Field(description="what it calls itself", examples=["The approval flow"])
    uri: str = Field(description="where it comes from", examples=["upload://default/flow.md"])
    namespace: str = Field(description="what it is filed under", examples=["default"])
    version: int = Field(description="that is shown", examples=[1])

    @classmethod
    def of(cls, source: Source) -> "DocumentTitle":
        """Return the reply for a source."""
        return cls(id=source.id, title=source.title, uri=source.uri, namespace=source.namespace, version=source.version)


class StatementPlace(PlacedStatement):
    """A statement, and the document that it stands in."""

    document: DocumentTitle = Field(description="where it stands")


class StatementPage(Reply):
    """A page of the statements of a document, as it reads. It may be shorter than asked for, and empty before the end."""

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
