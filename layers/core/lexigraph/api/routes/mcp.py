"""``/mcp``: the tools of the Model Context Protocol. The SDK is loaded by the first request."""

from typing import Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lexigraph.api.service import Service


class LazyMcp:
    """Makes the application when it is first asked."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._app: Any = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
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
