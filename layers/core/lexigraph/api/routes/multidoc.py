"""Answers from several documents (W)."""

from typing import Any

from fastapi import APIRouter

from lexigraph.answering.multidoc import query_multidoc
from lexigraph.api.access.auth import Reader
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.multidoc import MultidocReply, MultidocRequest
from lexigraph.api.service import TheService
from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer

router = APIRouter(prefix="/query", tags=["query"])


@router.post(
    "/multidoc",
    operation_id="query_multidoc",
    summary="Answer from several documents",
    response_model=MultidocReply,
    responses=errors(),
)
async def multidoc(who: Reader, service: TheService, body: MultidocRequest) -> dict[str, Any]:
    """Answer from the best sections of the best articles; the same question is answered from memory (W-20)."""

    def work() -> dict[str, Any]:
        key = service.answer_key(who.tenant, "multidoc", body.model_dump())
        if (known := service.answers.get(key)) is not None:
            return dict(known)
        synthesizer = MultiDocSynthesizer(
            service.stores,
            body.num_docs,
            body.max_sections,
            body.min_relevance,
            preset=body.preset,
            tenant=who.tenant,
            filters=body.where(),
            min_fact_chars=body.min_fact_chars,
            reranker=body.reranker,
            settings=service.settings,
        )
        examples = [(e.question, e.answer) for e in body.examples]
        answer = query_multidoc(
            synthesizer, body.question, service.embedder(who.tenant), llm=service.llm, examples=examples
        ).to_dict()
        if not answer["warnings"]:
            service.answers.put(key, answer, body.question[:80])
        return answer

    return await service.run(work)
