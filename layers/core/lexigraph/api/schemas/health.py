"""What ``/health`` answers (E-01)."""

from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply


class Health(Reply):
    """The server is alive; its stores and models are the matter of ``/diagnostics``."""

    status: Literal["ok"] = Field(description="always ok", default="ok", examples=["ok"])
    api_version: str = Field(description="of the HTTP API, semantic versioning", examples=["0.1.0"])
