"""What the server remembers for a tenant (E-57, E-58)."""

from fastapi import APIRouter

from lexigraph.api.access.auth import Admin, Reader
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.cache import CacheStats, Cleared
from lexigraph.api.service import TheService

router = APIRouter(prefix="/cache", tags=["service"])


@router.get("/stats", operation_id="cache_stats", summary="Show what is remembered", responses=errors())
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


@router.post("/clear", operation_id="clear_cache", summary="Forget what is remembered", responses=errors())
async def clear_cache(who: Admin, service: TheService) -> Cleared:
    """Forget the tenant's answers and vectors of questions, in every process that serves the same stores."""
    await service.run(lambda: service.forget(who.tenant))
    return Cleared()
