"""Documents that clients send, each in a namespace of its own, and multi-hop questions in one (H)."""

import secrets
from typing import Annotated, Any, cast

from fastapi import APIRouter, Form, Response

from lexigraph.api.access.auth import Reader, Writer, check_database
from lexigraph.api.jobs.uploads import Upload, Wait, take_upload
from lexigraph.api.limits import TEXT
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.ingest import UploadReply
from lexigraph.api.schemas.multihop import MultihopReply, MultihopRequest
from lexigraph.api.service import TheService
from lexigraph.model.question import Question
from lexigraph.retrieval.multihop.retriever import MultihopRetriever

router = APIRouter(tags=["unstructured"])
DATABASE = "fractal_db"


@router.post("/unstructured/upload_document", include_in_schema=False)
@router.post(
    "/unstructured/upload_document/",
    operation_id="upload_document",
    summary="Send a document",
    responses={202: {"model": UploadReply, "description": "still at work: ask for the job"}, **errors()},
)
async def upload_document(
    who: Writer,
    service: TheService,
    response: Response,
    file: Upload,
    db_name: Annotated[
        str, Form(min_length=1, max_length=128, description="label of the database", examples=[DATABASE]), TEXT
    ] = DATABASE,
    wait: Wait = 20.0,
) -> UploadReply:
    """Take a document in; the reply names the namespace made for it (H-26)."""
    check_database(who, db_name)
    namespace = f"document_upload_{secrets.token_hex(4)}"  # one for this document alone (H-04)
    job = await take_upload(service, who.tenant, file, namespace, wait, response)
    records = await service.run(lambda: service.stores.registry.documents(who.tenant, namespace=namespace))
    return UploadReply(
        status="accepted" if job.status == "RUNNING" else "success",
        namespace=namespace,
        db_name=db_name,
        total_cells=sum(record.chunks for record in records),
        job_id=job.id,
        status_url=f"/jobs/{job.id}",
    )


@router.post("/unstructured/multihop_query", include_in_schema=False, response_model=MultihopReply)
@router.post(
    "/unstructured/multihop_query/",
    operation_id="multihop_query",
    summary="Answer hop by hop",
    response_model=MultihopReply,
    responses=errors(404),
)
async def multihop_query(who: Reader, service: TheService, body: MultihopRequest) -> dict[str, Any]:
    """Walk from the chunks most like the query through the namespace, hop by hop, and rank what was reached (H)."""
    check_database(who, body.db_name)

    def work() -> dict[str, Any]:
        args = body.model_dump(exclude={"query", "db_name", "namespace", "filters"})
        retriever = cast(MultihopRetriever, service.retriever(who.tenant, "multihop", args))
        question = Question.of(body.query, body.where(), max_chars=service.settings.max_question_chars)
        return retriever.query(who.tenant, question, body.namespace, service.stores.registry).to_dict()

    return await service.run(work)
