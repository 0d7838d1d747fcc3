"""Server-sent events: what a worker thread tells, written as it comes, with a comment now and then to keep lines open.

When a client goes away, the work goes on unless it asks whether it is still heard; its events are no longer written.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lexigraph.api.errors import as_api_error, ending, log_error, too_late

KEEP_ALIVE_SECONDS = 10.0
STREAMS = 200  # written at the same time; more wait, and hear that they do
_LIMITER: RunVar[CapacityLimiter] = RunVar("lexigraph_streams")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; without a ``name`` it is a plain message."""

    data: Any
    name: str = ""
    id: str = ""

    def encode(self) -> bytes:
        """Return the event as it goes over the wire."""
        lines = [f"id: {self.id}"] if self.id else []
        lines += [f"event: {self.name}"] if self.name else []
        lines.append(f"data: {json.dumps(self.data, ensure_ascii=False, separators=(',', ':'))}")
        return ("\n".join(lines) + "\n\n").encode()


class Tell:
    """Called with an event, sends it; ``heard`` is False once the client has gone away."""

    def __init__(self, send: Callable[[ServerEvent], None]) -> None:
        self._send = send
        self._when_left: Callable[[], None] = lambda: None
        self.heard = True

    def when_left(self, act: Callable[[], None]) -> None:
        """Let something be done when the client goes away, at once when it has. It may be done twice."""
        self._when_left = act
        if not self.heard:
            act()

    def leave(self) -> None:
        """Note that nobody hears any more."""
        self.heard = False
        self._when_left()

    def __call__(self, event: ServerEvent) -> None:
        """Send an event, if anybody hears it."""
        self._send(event)


def stream(
    work: Callable[[Tell], None], on_error: Callable[[Mapping[str, str]], ServerEvent], *, patience: float = math.inf
) -> StreamingResponse:
    """Return a response that runs ``work`` in a thread and writes what it tells until it ends.

    An error of ``work`` becomes a last event, made by ``on_error`` from ``{"error": code, "message"}``; so does a silence
    of more than ``patience`` seconds.
    """

    def broken_off(error: Exception) -> ServerEvent:
        told = as_api_error(error)
        if told.status_code >= 500:
            log_error("of a stream", error)
        return on_error({"error": told.code, "message": str(told.detail)})

    async def events() -> AsyncIterator[bytes]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[ServerEvent | None]()

        def put(event: ServerEvent | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, event)

        tell = Tell(put)

        def run() -> None:
            try:
                work(tell)
            except Exception as error:  # noqa: BLE001  # the answer has begun: an event is all that can be sent
                tell(broken_off(error))
            finally:
                put(None)

        running = asyncio.ensure_future(to_thread.run_sync(run, abandon_on_cancel=True, limiter=_limiter()))
        last = time.monotonic()
        try:
            while True:
                left = last + patience - time.monotonic()
                if left <= 0:
                    yield broken_off(too_late(patience)).encode()
                    running.cancel()
                    return
                try:
                    event = await asyncio.wait_for(queue.get(), min(KEEP_ALIVE_SECONDS, left))
                except TimeoutError:
                    yield b": keep-alive\n\n"
                    continue
                if event is None:
                    break
                last = time.monotonic()
                yield event.encode()
            await running
        finally:
            tell.leave()

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return _Events(events(), on_error, headers=headers)


class _Events(StreamingResponse):
    """A stream that says so when its server ends before it does."""

    media_type = "text/event-stream"

    def __init__(
        self, events: AsyncIterator[bytes], on_error: Callable[[Mapping[str, str]], ServerEvent], headers: Mapping[str, str]
    ) -> None:
        super().__init__(events, headers=headers)
        self._on_error = on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:  # by the server only; clients that leave are noticed further in
            told = ending()
            last = self._on_error({"error": told.code, "message": str(told.detail)})
            await send({"type": "http.response.body", "body": last.encode(), "more_body": False})


def _limiter() -> CapacityLimiter:
    """Return what counts streams: they last for minutes, and no request is to wait for one to end."""
    try:
        return _LIMITER.get()
    except LookupError:
        _LIMITER.set(made := CapacityLimiter(STREAMS))
        return made
