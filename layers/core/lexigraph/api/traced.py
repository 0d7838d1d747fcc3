"""A span for each request, by the HTTP conventions of OpenTelemetry. Only added while telemetry is on."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lexigraph import telemetry

_METHODS = frozenset("CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT TRACE".split())


class TracedRequests:
    """Middleware around all others. The span ends with the last byte of a stream, or when the client leaves.

    The path is told as the route: what it holds may be a document's name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        status, found = 0, dict[str, str]()
        scope["lexigraph.route"] = found

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with telemetry.joined(headers), telemetry.span(method if method != "_OTHER" else "HTTP", "server") as span:
            try:
                await self._app(scope, receive, note)
            finally:
                if span:
                    route = found.get("path", "")
                    host, port = scope.get("server") or ("", None)
                    span.rename(f"{method if method != '_OTHER' else 'HTTP'} {route}".strip())
                    span.set(
                        {
                            "http.request.method": method,
                            "http.route": route,
                            "http.response.status_code": status or None,
                            "url.scheme": scope.get("scheme"),
                            "server.address": host,
                            "server.port": port,
                            "network.protocol.version": scope.get("http_version"),
                            "lexigraph.request.id": scope.get("lexigraph.request_id"),
                        }
                    )
                    if status >= 500:
                        span.fail(str(status))


class NamesRoute:
    """Innermost middleware, which tells the outermost the route: those between hand on copies of the scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        finally:
            if (told := scope.get("lexigraph.route")) is not None:
                told["path"] = getattr(scope.get("route"), "path", "")
