"""Liveness (E-01): needs no key and touches no store."""

from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from lexigraph import __version__
from lexigraph.api.limits import Reply
from lexigraph.api.service import TheService

router = APIRouter(tags=["service"])


class Health(Reply):
    """The server is alive; its stores and models are the matter of ``/diagnostics``, which asks them."""

    status: Literal["ok"] = Field(description="always ok", default="ok", examples=["ok"])
    stores: Literal["ok", "damaged"] = Field(
        description="damaged: a request has met damaged files since the server began; lexigraph doctor names them",
        default="ok",
        examples=["ok"],
    )
    api_version: str = Field(description="of the HTTP API, semantic versioning", examples=["0.1.0"])


@router.get("/health", operation_id="health", summary="Tell whether the server is alive")
async def health(service: TheService) -> Health:
    """Answer at once, without a key."""
    return Health(stores="damaged" if service.damaged else "ok", api_version=__version__)
