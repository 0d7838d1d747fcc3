"""What the server remembers for a tenant (E-57, E-58)."""

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from lexigraph.api.access.auth import Admin, Reader
from lexigraph.api.limits import Reply
from lexigraph.api.service import TheService

router = APIRouter(prefix="/cache", tags=["service"])


class CacheStats(Reply):
    """Cache statistics of the tenant. Entries are numbered, since questions of other keys are private."""

    embedding_cache_size: int = Field(description="number of cached question embeddings", examples=[1])
    answer_cache_size: int = Field(description="number of cached answers", examples=[1])
    embedding_cache_keys: list[str] = Field(
        description="one per embedding, without the question", examples=[["embedding-1"]]
    )
    answer_cache_keys: list[str] = Field(description="one per answer, without the question", examples=[["answer-1"]])

    @classmethod
    def of(cls, embeddings: int, answers: int) -> "CacheStats":
        """Return the reply for so many vectors and answers."""
        return cls(
            embedding_cache_size=embeddings,
            answer_cache_size=answers,
            embedding_cache_keys=[f"embedding-{n + 1}" for n in range(embeddings)],
            answer_cache_keys=[f"answer-{n + 1}" for n in range(answers)],
        )


class Cleared(Reply):
    """The entries are gone."""

    cleared: Literal[True] = Field(description="always true", default=True, examples=[True])


@router.get("/stats", operation_id="cache_stats", summary="Get cache statistics")
async def cache_stats(who: Reader, service: TheService) -> CacheStats:
    """Return the number of cached answers and question embeddings of the tenant."""

    def work() -> CacheStats:
        service.freshness(who.tenant)  # what was cleared elsewhere counts no more
        return CacheStats.of(service.embeddings.count(who.tenant), service.answers.count(who.tenant))

    return await service.run(work)


@router.post("/clear", operation_id="clear_cache", summary="Clear caches")
async def clear_cache(who: Admin, service: TheService) -> Cleared:
    """Clear the tenant's cached answers and question embeddings, in every process that serves the same stores."""
    await service.run(lambda: service.forget(who.tenant))
    return Cleared()
