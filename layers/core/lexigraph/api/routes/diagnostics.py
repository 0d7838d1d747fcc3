"""What works, what is in the stores, and how ranking is set (E-48 to E-56)."""

from fastapi import APIRouter

from lexigraph.api.access.auth import Reader
from lexigraph.api.diagnostics import diagnose
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.diagnostics import Diagnostics
from lexigraph.api.service import TheService

router = APIRouter(tags=["service"])


@router.get("/diagnostics", operation_id="diagnostics", summary="Tell what works", responses=errors())
async def diagnostics(who: Reader, service: TheService) -> Diagnostics:
    """Tell what works and what is there. What is down is said, and is no error (E-71); no model is paid for it."""
    return await service.run(lambda: diagnose(service, who.tenant))
