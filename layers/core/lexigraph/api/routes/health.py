"""Liveness (E-01): needs no key and touches no store."""

from fastapi import APIRouter

from lexigraph import __version__
from lexigraph.api.openapi.document import only_errors
from lexigraph.api.schemas.health import Health

router = APIRouter(tags=["service"])


@router.get(
    "/health", operation_id="health", summary="Tell whether the server is alive", responses=only_errors(403, 413, 422, 500)
)
async def health() -> Health:
    """Answer at once, without a key."""
    return Health(api_version=__version__)
