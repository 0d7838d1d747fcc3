"""``/mcp``: the tools of the Model Context Protocol. The SDK is loaded by the first request."""

from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lexigraph.api.errors import ApiError
from lexigraph.api.service import Service


class LazyMcp:
    """Makes the application when it is first asked. Raises ``ApiError`` where the SDK is not installed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._app: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            if find_spec("mcp") is None:
                hint = 'whoever runs it installs it: pip install "lexigraph[mcp]"'
                raise ApiError(501, "MCP is not installed on this server", hint=hint)
            from lexigraph.api.mcp import McpApp

            self._app = McpApp(self._service)
        await self._app(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
        if self._app is not None:
            await self._app.close()


def add_mcp(app: FastAPI, service: Service) -> LazyMcp:
    """Give the application its ``/mcp``: no session to listen to (GET) or to end (DELETE), since each request is its own."""
    tools = LazyMcp(service)
    for path in ("/mcp", "/mcp/"):
        app.router.routes.append(Route(path, endpoint=tools, methods=["POST"], include_in_schema=False))
    return tools
