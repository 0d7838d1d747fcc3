"""The OpenAPI document and its page, which works without a network."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field

from lexigraph.api.access.auth import PUBLIC
from lexigraph.api.access.keys import HEADER
from lexigraph.api.errors import CODES
from lexigraph.model.errors import InvalidInput

_STATIC = "/static-offline-docs"
_ABOUT = """
GraphRAG as a service: ingest documents into a lexical graph, retrieve ranked statements and get answers with citations.

Every route except `/health` requires a key in the header `X-API-Key`. Every error has the same shape: `error`, `message`,
`request_id` and, in some cases, a `hint`. Changes are additive; clients should ignore unknown fields.
"""


class ErrorReply(BaseModel):
    """Body of every error response."""

    error: str = Field(description="stable, machine-readable code", examples=["invalid_input"])
    message: str = Field(description="the field, the limit and the remedy", examples=["max_results: at most 50"])
    request_id: str = Field(description="id of the request in the log", examples=["9f86d081884c7d65"])
    hint: str | None = Field(None, description="what to do", examples=["send at most 50"])


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what is documented for these statuses."""
    return {s: {"model": ErrorReply, "description": CODES.get(s, "internal error")} for s in statuses}


def events(description: str, example: str) -> dict[str, Any]:
    """Return what a route documents that answers with server-sent events; the example shows them as they are written."""
    text = {"type": "string"}
    schema = {
        "type": "object",
        "description": "each event; `data` is JSON",
        "properties": {"event": text, "id": text, "data": text},
        "required": ["data"],
    }
    return {"content": {"text/event-stream": {"schema": schema, "example": example}}, "description": description}


def describe(app: FastAPI) -> None:
    """Give the application its document at ``/openapi.json`` and its page at ``/docs``."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, description=_ABOUT.strip(), routes=app.routes)
            made.setdefault("components", {})["securitySchemes"] = {
                "key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": HEADER,
                    "description": "create one with `lexigraph keys create`",
                }
            }
            for path, methods in made["paths"].items():
                for operation in methods.values():
                    operation["security"] = [] if path in PUBLIC else [{"key": []}]
                    if "requestBody" in operation:
                        replies = operation["responses"]
                        replies["415"] = {**replies["422"], "description": CODES[415]}
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's own way to replace it

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{_STATIC}/swagger-ui-bundle.js",
            swagger_css_url=f"{_STATIC}/swagger-ui.css",
            swagger_favicon_url=f"{_STATIC}/favicon.png",
        )
        # in a frame of another page it would send what a reader is led to click, to a server without keys
        page.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
        return page

    app.mount(_STATIC, StaticFiles(directory=_static_files()), name="static")


def _static_files() -> Path:
    found = find_spec("fastapi_offline")
    if found is None or found.origin is None:
        raise InvalidInput("fastapi-offline is not installed: install the extra `api`")
    # importing it would load a second application class
    return Path(found.origin).parent / "static"
