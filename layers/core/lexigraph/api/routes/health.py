"""Liveness (E-01): needs no key and touches no store."""

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from lexigraph import __version__
from lexigraph.api.limits import Reply
from lexigraph.api.service import TheService

router = APIRouter(tags=["service"])


class Health(Reply):
    """Liveness of the server; ``/diagnostics`` checks stores and models."""

    status: Literal["ok"] = Field(description="always ok", default="ok", examples=["ok"])
    stores: Literal["ok", "damaged"] = Field(
        description="damaged if a request has hit damaged files since the server started; `lexigraph doctor` lists them",
        default="ok",
        examples=["ok"],
    )
    api_version: str = Field(description="version of the HTTP API (semantic versioning)", examples=["0.1.0"])


@router.get("/health", operation_id="health", summary="Health check")
async def health(service: TheService) -> Health:
    """Return immediately; no key is required."""
    return Health(stores="damaged" if service.damaged else "ok", api_version=__version__)
