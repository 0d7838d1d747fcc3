"""A document as it is read: its text with headings and pages, its topics, its statements where they stand."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query

from lexigraph.api.access.auth import Reader
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import WHOLE
from lexigraph.api.openapi.document import errors
from lexigraph.api.routes.documents import DocumentId
from lexigraph.api.schemas.explore import (
    DocumentTitle,
    HeadingReply,
    OutlineReply,
    PageReply,
    PlacedStatement,
    StatementPage,
    StatementPlace,
    TextReply,
    TopicList,
    TopicReply,
    VerbatimReply,
    placed,
)
from lexigraph.api.service import Service, TheService
from lexigraph.api.tagged import tagged_router
from lexigraph.ingestion.files import read_blocks, read_text
from lexigraph.ingestion.outline import Outline, outline_of
from lexigraph.model.errors import NotFound
from lexigraph.model.graph import StatementRow
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, EvidenceRequest

router = tagged_router("", "documents")
_FARTHEST = 2**53
_CHUNKS = 40  # that a page of statements reads at most
StatementId = Annotated[
    str,
    Path(
        pattern="^statement:[0-9a-f]{32}$",
        description="statement id",
        examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"],
    ),
]
Cursor = Annotated[str, Query(pattern="^[0-9]{0,9}$", description="`next` of the previous page", examples=[""])]
Offset = Annotated[int, Query(ge=0, le=_FARTHEST, description="start offset in the parsed text", examples=[0]), WHOLE]


@router.get(
    "/documents/{document_id}/text", operation_id="document_text", summary="Get a document's text", responses=errors(404)
)
async def document_text(
    who: Reader,
    service: TheService,
    document_id: DocumentId,
    start: Offset = 0,
    limit: Annotated[
        int, Query(ge=1, le=200_000, description="maximum number of characters", examples=[50_000]), WHOLE
    ] = 50_000,
) -> TextReply:
    """Return a range of the parsed text, to which all offsets refer, with the headings and pages that begin in it.

    The page in which the range begins comes first; `section` names the headings above it. Offsets count
    characters, which are Unicode code points.
    """

    def work() -> TextReply:
        record, text, outline = _parsed(service, who.tenant, document_id)
        end = min(start + limit, len(text))
        begun = max((page.start for page in outline.pages if page.start <= start), default=0)
        return TextReply(
            **_told(record, outline),
            headings=[HeadingReply.of(h) for h in outline.headings if start <= h.start < end],
            verbatim=[VerbatimReply.of(v) for v in outline.verbatim if v.start < end and v.end > start],
            pages=[PageReply.of(p) for p in outline.pages if begun <= p.start < max(end, start + 1)],
            start=min(start, len(text)),
            end=end,
            section=outline.section(start),
            text=text[start:end],
        )

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/documents/{document_id}/outline",
    operation_id="document_outline",
    summary="Get a document's outline",
    responses=errors(404),
)
async def document_outline(who: Reader, service: TheService, document_id: DocumentId) -> OutlineReply:
    """Return all headings, pages, code blocks and tables of a document, with their offsets in its parsed text."""

    def work() -> OutlineReply:
        record, _, outline = _parsed(service, who.tenant, document_id)
        return OutlineReply(
            **_told(record, outline),
            headings=[HeadingReply.of(heading) for heading in outline.headings],
            pages=[PageReply.of(page) for page in outline.pages],
            verbatim=[VerbatimReply.of(verbatim) for verbatim in outline.verbatim],
        )

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/documents/{document_id}/topics",
    operation_id="document_topics",
    summary="List a document's topics",
    responses=errors(404),
)
async def document_topics(
    who: Reader,
    service: TheService,
    document_id: DocumentId,
    cursor: Cursor = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="maximum number", examples=[200]), WHOLE] = 200,
) -> TopicList:
    """Return a page of a document's topics, in reading order."""

    def work() -> TopicList:
        graph, begin = service.stores.graph, int(cursor or 0)
        topics = graph.topics(who.tenant, document_id)
        if not topics and document_id not in graph.sources(who.tenant, [document_id]):
            raise ApiError(404, "no such document")
        more = str(begin + limit) if begin + limit < len(topics) else None
        page = [TopicReply.of(topic) for topic in topics[begin : begin + limit]]
        return TopicList(topics=page, total=len(topics), next=more)

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/documents/{document_id}/statements",
    operation_id="document_statements",
    summary="List a document's statements",
    responses=errors(404),
)
async def document_statements(
    who: Reader,
    service: TheService,
    document_id: DocumentId,
    start: Offset = 0,
    end: Annotated[
        int, Query(ge=0, le=_FARTHEST, description="end offset in the parsed text", examples=[5_000]), WHOLE
    ] = _FARTHEST,
    cursor: Annotated[
        str, Query(pattern=r"^([0-9]{1,9}\.[0-9]{1,9})?$", description="`next` of the previous page", examples=[""])
    ] = "",
    limit: Annotated[int, Query(ge=1, le=500, description="maximum number", examples=[100]), WHOLE] = 100,
) -> StatementPage:
    """Return a page of a document's statements in reading order, or of those within a range of its text.

    A page may be short or empty before the end: continue while `next` is set.
    """
    if end <= start:
        raise ApiError(422, f"end: must be greater than start, {start:,}; omit it for the rest of the document")

    def work() -> StatementPage:
        graph = service.stores.graph
        places = graph.chunk_ids(who.tenant, document_id)
        if not places and document_id not in graph.sources(who.tenant, [document_id]):
            raise ApiError(404, "no such document")
        seq, position = map(int, cursor.split(".")) if cursor else (0, 0)
        inside = [(p.seq, i) for i, p in places.items() if p.seq >= seq and p.start < end and p.end > start]
        inside.sort()
        rows = [
            row
            for row in _said(service, who.tenant, [i for _, i in inside[:_CHUNKS]])
            if (row.seq, row.position) >= (seq, position)
            and row.chunk_start + row.start < end
            and row.chunk_start + row.end > start
        ]
        more = f"{inside[_CHUNKS][0]}.0" if len(inside) > _CHUNKS else None
        if len(rows) > limit:
            more = f"{rows[limit].seq}.{rows[limit].position}"
        return StatementPage(statements=with_names(service, who.tenant, rows[:limit]), next=more)

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/statements/{statement_id}",
    operation_id="get_statement",
    summary="Get a statement",
    responses=errors(404),
)
async def get_statement(who: Reader, service: TheService, statement_id: StatementId) -> StatementPlace:
    """Return a statement with its document and offsets: the target of a citation link.

    A statement keeps its id for as long as its document contains it.
    """

    def work() -> StatementPlace:
        asked = EvidenceRequest(statements=(statement_id,), neighbours=False)
        rows = service.stores.graph.evidence(who.tenant, asked)
        if not rows:
            raise ApiError(404, "no such statement", hint="its document may have changed or been removed")
        (told,) = with_names(service, who.tenant, rows[:1])
        return StatementPlace(**told.model_dump(), document=DocumentTitle.of(rows[0].source))

    return await service.run(work, asks=who.tenant.whole)


def with_names(service: Service, tenant: Tenant, rows: Sequence[StatementRow]) -> list[PlacedStatement]:
    """Return the replies for statements, with the names of what they name: one call for all."""
    named = list(dict.fromkeys(entity for row in rows for entity in row.entities))
    found = service.stores.graph.entities(tenant, named).found if named else {}
    return [placed(row, found) for row in rows]


def _said(service: Service, tenant: Tenant, chunks: Sequence[str]) -> list[StatementRow]:
    """Return the statements of chunks of one document as it reads."""
    asked = EvidenceRequest(chunks=tuple(chunks), neighbours=False)
    rows = service.stores.graph.evidence(tenant, asked) if chunks else []
    return sorted(rows, key=lambda row: (row.seq, row.position, row.id))


def _parsed(service: Service, tenant: Tenant, document_id: str) -> tuple[DocumentRecord, str, Outline]:
    """Return a document that readers see, its text and its outline. Raise ``ApiError`` 404 when there is none."""
    record = _shown(service, tenant, document_id)
    try:
        return _read(service, tenant.whole, record)
    except NotFound:  # the next version took its place in between
        return _read(service, tenant.whole, _shown(service, tenant, document_id))


def _shown(service: Service, tenant: Tenant, document_id: str) -> DocumentRecord:
    record = service.stores.registry.document(tenant, document_id)
    if record is None or not record.version or record.state == "REMOVING":
        raise ApiError(404, "no such document")
    return record


def _read(service: Service, owner: Tenant, record: DocumentRecord) -> tuple[DocumentRecord, str, Outline]:
    text = read_text(service.stores, owner, record)
    key = (str(owner), f"{record.source_id} {record.version}")
    if (outline := service.outlines.get(key)) is None:
        outline = outline_of(text, read_blocks(service.stores, owner, record))
        service.outlines.put(key, outline)
    return record, text, outline


def _told(record: DocumentRecord, outline: Outline) -> dict[str, Any]:
    return {"document_id": record.source_id, "version": record.version, "characters": outline.characters}
