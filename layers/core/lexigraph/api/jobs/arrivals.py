"""Files on their way in: refused unread when the key may send none, or too much of its tenant waits already."""

import anyio
from anyio import to_thread
from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lexigraph.api.access.auth import check_scope
from lexigraph.api.access.keys import Principal
from lexigraph.api.errors import answer_error
from lexigraph.api.limits import sends_file
from lexigraph.api.service import Service

_DRAIN_SECONDS = 5.0


class Arrivals:
    """The middleware, behind the one that knows who asks. ``most`` are the bytes of a form that does not say its length."""

    def __init__(self, app: ASGIApp, *, service: Service, most: int) -> None:
        self._app, self._service, self._most = app, service, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = scope.get("lexigraph.principal")
        if scope["type"] != "http" or not sends_file(scope) or not isinstance(who, Principal):
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        size = int(length) if length.isdecimal() else self._most
        try:
            check_scope(who, "ingest")  # the framework would read the form first
            arrived = None
            if not self._service.settings.workflow:
                arrived = await to_thread.run_sync(self._service.jobs.arrive, who.tenant, size)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told in the one shape
            # who is answered in the middle of a body, and then cut off, may never read the answer
            with anyio.move_on_after(_DRAIN_SECONDS):
                while "expect" not in Headers(scope=scope) and (await receive()).get("more_body"):
                    pass
            await answer_error(Request(scope), error)(scope, receive, send)
            return
        left = [arrived] if arrived else []

        async def until_whole() -> Message:
            message = await receive()
            if left and not message.get("more_body"):
                left.pop()()  # from here on it waits, or is refused
            return message

        try:
            await self._app(scope, until_whole, send)
        finally:
            if left:
                left.pop()()
