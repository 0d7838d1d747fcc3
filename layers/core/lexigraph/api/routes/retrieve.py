"""Ranked statements by any retriever, without an answer."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from lexigraph.api.access.auth import Reader
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.search import RetrieveReply, RetrieveRequest
from lexigraph.api.service import TheService
from lexigraph.retrieval.catalogue import RetrieverName

router = APIRouter(prefix="/retrieve", tags=["retrieve"])


@router.post(
    "/{retriever}",
    operation_id="retrieve",
    summary="Find statements",
    response_model=RetrieveReply,
    response_model_exclude_unset=True,
    responses=errors(404),
)
async def retrieve(
    who: Reader,
    service: TheService,
    body: RetrieveRequest,
    retriever: Annotated[RetrieverName, Path(description="by name")],
) -> dict[str, Any]:
    """Return the statements for a question, ranked, each with its reason and the parts of its score."""

    def work() -> dict[str, Any]:
        engine = service.engine(who.tenant, retriever, body.parameters)
        return engine.retrieve(body.question, filters=body.where()).to_dict()

    return await service.run(work, asks=who.tenant.whole)
