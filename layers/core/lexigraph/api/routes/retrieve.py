"""Ranked statements by any retriever, without an answer."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from lexigraph.api.access.auth import Reader
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.search import EvidenceReply, RetrieveReply, RetrieveRequest
from lexigraph.api.service import TheService
from lexigraph.retrieval.catalogue import RETRIEVERS, RetrieverName
from lexigraph.retrieval.drawing import draw, locate

router = APIRouter(prefix="/retrieve", tags=["retrieve"])


@router.post(
    "/{retriever}",
    operation_id="retrieve",
    summary="Retrieve statements",
    response_model=RetrieveReply,
    response_model_exclude_unset=True,
    responses=errors(404),
)
async def retrieve(
    who: Reader,
    service: TheService,
    body: RetrieveRequest,
    retriever: Annotated[RetrieverName, Path(description="retriever name")],
) -> dict[str, Any]:
    """Return ranked statements for a question, each with its reason and score parts."""

    def work() -> dict[str, Any]:
        engine = service.engine(who.tenant, retriever, body.parameters)
        found = engine.retrieve(body.question, filters=body.where())
        if not body.evidence:
            return found.to_dict()
        drawing = draw(found, most=body.evidence_limit, citations=body.citations)
        locate(drawing, service.stores.graph, who.tenant)
        return {**found.to_dict(), "evidence": EvidenceReply.of(drawing).model_dump(by_alias=True)}

    kind = "searches" if RETRIEVERS[retriever].light else "asks"
    return await service.run(work, **{kind: who.tenant.whole})
