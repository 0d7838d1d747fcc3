"""Documents: which there are, sending one, removing one."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Response

from lexigraph.api.access.auth import Reader, Writer
from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.outcome import when_over
from lexigraph.api.jobs.uploads import Upload, Wait, take_upload
from lexigraph.api.limits import TEXT, WHOLE
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.documents import DocumentJob, DocumentList, DocumentReply, Removed
from lexigraph.api.service import TheService
from lexigraph.model.ids import source_id
from lexigraph.storage.protocols import DocumentRecord

router = APIRouter(prefix="/documents", tags=["documents"])
_REMOVAL_SECONDS = 20.0
DocumentId = Annotated[
    str,
    Path(
        pattern="^source:[0-9a-f]{32}$",
        description="as the list shows it",
        examples=["source:3c067f04242ced37302a063b8b72672e"],
    ),
]


@router.get("", operation_id="list_documents", summary="List documents", responses=errors(404))
async def list_documents(
    who: Reader,
    service: TheService,
    namespace: Annotated[
        str | None, Query(min_length=1, max_length=128, description="those of one namespace", examples=["default"]), TEXT
    ] = None,
    after: Annotated[
        str,
        Query(pattern="^(source:[0-9a-f]{32})?$", description="`next` of the page before; first when empty", examples=[""]),
        TEXT,
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="at most so many", examples=[100]), WHOLE] = 100,
) -> DocumentList:
    """Return a page of documents, by uri."""

    def work() -> list[DocumentRecord]:
        # the mark of a page is a document's id: its uri may say where on the server it lies
        start = service.stores.registry.document(who.tenant, after) if after else None
        if after and start is None:
            raise ApiError(404, "after: no such page; begin again without it")
        uri = start.uri if start else ""
        return service.stores.registry.documents(who.tenant, namespace=namespace, after=uri, limit=limit)

    found = await service.run(work)
    more = found[-1].source_id if len(found) >= limit else None
    return DocumentList(documents=[DocumentReply.of(d) for d in found], next=more)


@router.post(
    "",
    operation_id="send_document",
    summary="Send a document",
    responses={202: {"model": DocumentJob, "description": "still at work: ask for the job"}, **errors()},
)
async def send_document(
    who: Writer,
    service: TheService,
    response: Response,
    file: Upload,
    namespace: Annotated[
        str, Form(min_length=1, max_length=128, description="what it is filed under", examples=["default"]), TEXT
    ] = "default",
    wait: Wait = 20.0,
) -> DocumentJob:
    """Take a document in. A file of the same name in the same namespace is replaced, at once and whole."""
    job = await take_upload(service, who.tenant, file, namespace, wait, response)
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


@router.get("/{document_id}", operation_id="get_document", summary="Show a document", responses=errors(404))
async def get_document(who: Reader, service: TheService, document_id: DocumentId) -> DocumentReply:
    """Return what is known of a document."""
    found = await service.run(lambda: service.stores.registry.document(who.tenant, document_id))
    if found is None:
        raise ApiError(404, "no such document")
    return DocumentReply.of(found)


@router.delete(
    "/{document_id}",
    operation_id="remove_document",
    summary="Remove a document",
    response_model_exclude_none=True,
    responses={202: {"model": Removed, "description": "still at work: ask for the job"}, **errors(404)},
)
async def remove_document(who: Writer, service: TheService, response: Response, document_id: DocumentId) -> Removed:
    """Remove a document with all that only it supports; questions no longer see it when this answers with 200."""
    handover = await service.run(lambda: service.handover)  # it may have to be opened
    if handover is None:
        removed = await service.run(lambda: service.index.remove([document_id], tenant=who.tenant), waits=True)
        return Removed(removed=removed)
    begin = partial(handover.remove, who.tenant, document_id)
    job = await when_over(service, who.tenant, begin, _REMOVAL_SECONDS, response)
    return Removed(removed=job.result.get("documents_removed", 0), job_id=job.id)
