"""What the server remembers for a tenant (E-57, E-58)."""

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from lexigraph.api.access.auth import Admin, Reader
from lexigraph.api.limits import Reply
from lexigraph.api.service import TheService

router = APIRouter(prefix="/cache", tags=["service"])


class CacheStats(Reply):
    """The tenant's entries, oldest first."""

    embedding_cache_size: int = Field(description="questions whose vectors are remembered", examples=[1])
    answer_cache_size: int = Field(description="questions whose answers are remembered", examples=[1])
    embedding_cache_keys: list[str] = Field(description="which, oldest first", examples=[["question:Describe the flow"]])
    answer_cache_keys: list[str] = Field(description="which, oldest first", examples=[["Describe the flow"]])


class Cleared(Reply):
    """The entries are gone."""

    cleared: Literal[True] = Field(description="always true", default=True, examples=[True])


@router.get("/stats", operation_id="cache_stats", summary="Show what is remembered")
async def cache_stats(who: Reader, service: TheService) -> CacheStats:
    """Return the questions whose vectors, and those whose answers, are remembered: the tenant's own."""

    def work() -> tuple[list[str], list[str]]:
        service.freshness(who.tenant)  # what was cleared elsewhere counts no more
        return service.embeddings.names(who.tenant), service.answers.names(who.tenant)

    embeddings, answers = await service.run(work)
    return CacheStats(
        embedding_cache_size=len(embeddings),
        answer_cache_size=len(answers),
        embedding_cache_keys=embeddings,
        answer_cache_keys=answers,
    )


@router.post("/clear", operation_id="clear_cache", summary="Forget what is remembered")
async def clear_cache(who: Admin, service: TheService) -> Cleared:
    """Forget the tenant's answers and vectors of questions, in every process that serves the same stores."""
    await service.run(lambda: service.forget(who.tenant))
    return Cleared()
