"""Recall from memory (M)."""

from typing import Any

from fastapi import APIRouter

from lexigraph.api.access.auth import Reader
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.recall import RecallReply, RecallRequest
from lexigraph.api.service import TheService
from lexigraph.model.question import Question
from lexigraph.retrieval.recall.args import recall_query

router = APIRouter(prefix="/api/v1/memory", tags=["recall"])


@router.post(
    "/recall",
    operation_id="hm_recall",
    summary="Recall what is known",
    response_model=RecallReply,
    response_model_exclude_unset=True,
    responses=errors(),
)
async def recall(who: Reader, service: TheService, body: RecallRequest) -> dict[str, Any]:
    """Return entities, statements and topics for words or a pattern, those near to what the session saw first."""

    def work() -> dict[str, Any]:
        text = recall_query(body.query, force_regex=body.force_regex)
        found = service.recall(who.tenant).retrieve(
            who.tenant,
            Question(text, body.where()),
            session_id=body.session_id,
            max_results=body.max_results,
            force_regex=body.force_regex,
        )
        return found.to_dict()

    return await service.run(work)
