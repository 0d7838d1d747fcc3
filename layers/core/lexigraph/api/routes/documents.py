"""Documents: which there are, sending one, removing one."""

import binascii
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, Form, Path, Query, Response
from pydantic import Field

from lexigraph.api.access.auth import Reader, Writer
from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.outcome import when_over
from lexigraph.api.jobs.uploads import GivenMetadata, Upload, Wait, check_whole, take_upload
from lexigraph.api.limits import NAME, TEXT, WHOLE, FormRoute, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import TheService
from lexigraph.model.errors import NotFound
from lexigraph.model.ids import source_id
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.storage.protocols import DocumentRecord

router = APIRouter(prefix="/documents", tags=["documents"], route_class=FormRoute)
_REMOVAL_SECONDS = 20.0
_FIND_SECONDS, _FIND_PAGE = 0.5, 1_000
DocumentId = Annotated[
    str,
    Path(
        pattern="^source:[0-9a-f]{32}$",
        description="document id",
        examples=["source:3c067f04242ced37302a063b8b72672e"],
    ),
]


class DocumentReply(Reply):
    """A document and its state."""

    id: str = Field(description="document id", examples=["source:3c067f04242ced37302a063b8b72672e"])
    uri: str = Field(description="URI of the document", examples=["upload://default/flow.md"])
    namespace: str = Field(description="namespace", examples=["default"])
    title: str = Field(description="title", examples=["The approval flow"])
    state: Literal["BUILDING", "READY", "REMOVING", "FAILED"] = Field(
        description="READY documents are visible to questions", examples=["READY"]
    )
    version: int = Field(description="incremented with every change", examples=[1])
    chunks: int = Field(description="number of chunks", examples=[12])
    characters: int = Field(description="number of characters", examples=[8_412])
    failed_chunks: int = Field(description="number of chunks whose extraction failed", examples=[0])
    reason: str = Field(description="reason of the failure", examples=[""])
    updated_at: str = Field(description="time of the last change, UTC", examples=["2026-11-22T06:08:29.533+00:00"])
    metadata: dict[str, Any] = Field(description="metadata, available to filters", examples=[{"year": 2024}])

    @classmethod
    def of(cls, record: DocumentRecord) -> "DocumentReply":
        """Return the reply for a document."""
        named = {name: getattr(record, name) for name in cls.model_fields if name not in ("id", "metadata")}
        return cls(id=record.source_id, metadata=dict(record.metadata), **named)


class DocumentList(Reply):
    """A page of documents, sorted by URI; ``next`` is null on the last page."""

    documents: list[DocumentReply] = Field(description="the page")
    next: str | None = Field(description="value of `after` for the next page; null on the last page", examples=[None])


class DocumentJob(Reply):
    """The job that ingests a document."""

    job_id: str = Field(description="job id, for /jobs", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status: Literal["RUNNING", "SUCCEEDED"] = Field(description="status of the job", examples=["SUCCEEDED"])
    status_url: str = Field(description="URL of the job", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])
    namespace: str = Field(description="namespace", examples=["default"])
    document: DocumentReply | None = Field(
        description="null while the job is not over, and for a file of several documents", examples=[None]
    )


class Removed(Reply):
    """Result of a deletion."""

    removed: int = Field(description="documents removed", examples=[1])
    job_id: str | None = Field(
        description="job that removes it; absent if it was removed immediately", default=None, examples=[None]
    )


@router.get("", operation_id="list_documents", summary="List documents")
async def list_documents(
    who: Reader,
    service: TheService,
    namespace: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=LONGEST,
            pattern=PATTERN,
            description="only documents of this namespace",
            examples=["default"],
        ),
        NAME,
    ] = None,
    after: Annotated[
        str,
        Query(
            pattern="^[A-Za-z0-9_-]*$",
            description="`next` of the previous page; empty for the first page",
            examples=[""],
        ),
        TEXT,
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="maximum number", examples=[100]), WHOLE] = 100,
    find: Annotated[
        str,
        Query(
            max_length=200,
            description="words, or parts of words, that title, URI and namespace must all contain",
            examples=[""],
        ),
        TEXT,
    ] = "",
) -> DocumentList:
    """Return a page of documents, sorted by URI.

    With `find` a page may be short or empty before the end: continue while `next` is set.
    """
    words = find.casefold().split()

    def work() -> DocumentList:
        listed = partial(service.stores.registry.documents, who.tenant, namespace=namespace)
        uri = _uri(after)
        if words:
            return _found(listed, uri, limit, words)
        page = listed(after=uri, limit=limit)
        return _page(page, page[-1].uri if len(page) >= limit else None)

    return await service.run(work)


def _found(listed: Callable[..., list[DocumentRecord]], uri: str, limit: int, words: Sequence[str]) -> DocumentList:
    """Look for words among the documents after a uri, until enough are found or it takes too long for one reply."""
    found, until = list[DocumentRecord](), time.monotonic() + _FIND_SECONDS
    while True:
        page = listed(after=uri, limit=_FIND_PAGE)
        found += (record for record in page if _has(record, words))
        if len(found) > limit:
            end = next((at for at in range(limit, len(found)) if found[at].uri != found[at - 1].uri), len(found))
            return _page(found[:end], found[end - 1].uri)
        if len(page) < _FIND_PAGE:
            return _page(found, None)
        if len(found) == limit or time.monotonic() > until:
            return _page(found, page[-1].uri)
        uri = page[-1].uri


def _has(record: DocumentRecord, words: Sequence[str]) -> bool:
    text = f"{record.title} {record.uri} {unquote(record.uri)} {record.namespace}".casefold()
    return all(word in text for word in words)


def _page(found: Sequence[DocumentRecord], last: str | None) -> DocumentList:
    return DocumentList(documents=[DocumentReply.of(record) for record in found], next=_mark(last) if last else None)


def _mark(uri: str) -> str:
    """Return what a page ends with, as `after` takes it."""
    # the place in the order, as the document may be gone by then; encoded, as logs of proxies hold what is asked for
    return urlsafe_b64encode(uri.encode()).decode().rstrip("=")


def _uri(mark: str) -> str:
    """Return the uri of :func:`_mark`. Raise ``ApiError`` 422 for what is none."""
    try:
        return urlsafe_b64decode(mark + "=" * (-len(mark) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ApiError(422, "after: must be `next` of the previous page; start again without it") from None


@router.post(
    "",
    operation_id="send_document",
    summary="Upload a document",
    responses={202: {"model": DocumentJob, "description": "in progress: poll the job"}},
)
async def send_document(
    who: Writer,
    service: TheService,
    response: Response,
    file: Upload,
    metadata: GivenMetadata,
    namespace: Annotated[
        str,
        Form(min_length=1, max_length=LONGEST, pattern=PATTERN, description="namespace", examples=["default"]),
        NAME,
    ] = "default",
    wait: Wait = 20.0,
) -> DocumentJob:
    """Upload and ingest a document. A file of the same name in the same namespace is replaced atomically.

    Documents sent with a filtered key must match its filters.
    """
    job = await take_upload(service, who.tenant, file, namespace, wait, response, metadata)
    running = job.status == "RUNNING"
    taken = source_id(who.tenant, namespace, job.request["upload"]["uri"])
    record = None if running else await service.run(lambda: service.stores.registry.document(who.tenant, taken))
    return DocumentJob(
        job_id=job.id,
        status="RUNNING" if running else "SUCCEEDED",
        status_url=f"/jobs/{job.id}",
        namespace=namespace,
        document=DocumentReply.of(record) if record else None,
    )


@router.get("/{document_id}", operation_id="get_document", summary="Get a document", responses=errors(404))
async def get_document(who: Reader, service: TheService, document_id: DocumentId) -> DocumentReply:
    """Return a document's record."""
    found = await service.run(lambda: service.stores.registry.document(who.tenant, document_id))
    if found is None:
        raise ApiError(404, "no such document")
    return DocumentReply.of(found)


@router.delete(
    "/{document_id}",
    operation_id="remove_document",
    summary="Delete a document",
    response_model_exclude_none=True,
    responses={202: {"model": Removed, "description": "in progress: poll the job"}, **errors(404)},
)
async def remove_document(who: Writer, service: TheService, response: Response, document_id: DocumentId) -> Removed:
    """Remove a document and everything that only it supports. After a 200, questions no longer see it."""
    handover = await service.run(lambda: service.handover)  # it may have to be opened
    if handover is None:

        def work() -> int:
            with suppress(NotFound):
                if service.stores.registry.document(who.tenant, document_id):
                    return service.index.remove([document_id], tenant=who.tenant.whole)
            raise ApiError(404, "no such document", hint="GET /documents lists all that there are")

        return Removed(removed=await service.run(work, waits=who.tenant.whole))
    check_whole(who.tenant)
    begin = partial(handover.remove, who.tenant, document_id)
    job = await when_over(service, who.tenant, begin, _REMOVAL_SECONDS, response)
    return Removed(removed=job.result.get("documents_removed", 0), job_id=job.id)
