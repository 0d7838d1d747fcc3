"""Server-sent events: what a worker thread tells, written as it comes, with a comment now and then to keep lines open.

When a client goes away, the work goes on unless it asks whether it is still heard; its events are no longer written.
"""

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, ServerSentEvent, format_sse_event
from starlette.types import Receive, Scope, Send

from lexigraph.api.errors import as_api_error, ending, log_error, too_late

PING_SECONDS = 15.0
STREAMS = 200  # written at the same time; more wait, and hear that they do
_LIMITER: RunVar[CapacityLimiter] = RunVar("lexigraph_streams")
OnError = Callable[[Mapping[str, str]], ServerSentEvent]
# which many readers of lines take for their end, and JSON may have as they are
_LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def event(data: Any, name: str | None = None, *, id_: str | None = None) -> ServerSentEvent:
    """Return an event with compact JSON; without a ``name`` it is a plain message. Letters stay as they are."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_LINE_ENDS)
    return ServerSentEvent(raw_data=written, event=name, id=id_)


class Tell:
    """Called with an event, sends it; ``heard`` is False once the client has gone away."""

    def __init__(self, send: Callable[[ServerSentEvent], None]) -> None:
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

    def __call__(self, event: ServerSentEvent) -> None:
        """Send an event, if anybody hears it."""
        self._send(event)


def stream(
    work: Callable[[Tell], None],
    on_error: OnError,
    *,
    patience: float = math.inf,
    ping: float = PING_SECONDS,
    turn: AbstractContextManager[Any] | None = None,
) -> EventSourceResponse:
    """Return a response that runs ``work`` in a thread and writes what it tells until it ends, and has ``turn`` until then.

    An error of ``work`` becomes a last event, made by ``on_error`` from ``{"error": code, "message"}``; so does a silence
    of more than ``patience`` seconds. A comment keeps a line open that is silent for ``ping`` seconds.
    """

    def broken_off(error: Exception) -> ServerSentEvent:
        told = as_api_error(error)
        if told.status_code >= 500:
            log_error("of a stream", error)
        return on_error({"error": told.code, "message": told.detail})

    async def events() -> AsyncIterator[bytes]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[ServerSentEvent | None]()

        def put(event: ServerSentEvent | None) -> None:
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
        until = time.monotonic() + patience
        try:
            while (left := until - time.monotonic()) > 0:
                try:
                    event = await asyncio.wait_for(queue.get(), min(ping, left))
                except TimeoutError:
                    yield KEEPALIVE_COMMENT
                    continue
                if event is None:
                    await running
                    return
                until = time.monotonic() + patience
                yield _framed(event)
            yield _framed(broken_off(too_late(patience)))
            running.cancel()
        finally:
            tell.leave()

    return Stream(events(), on_error, turn or nullcontext())


class Stream(EventSourceResponse):
    """A stream that says so when its server ends before it does."""

    def __init__(self, events: AsyncIterator[bytes], on_error: OnError, turn: AbstractContextManager[Any]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._on_error, self._turn = on_error, turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._turn:
                await super().__call__(scope, receive, send)
        except asyncio.CancelledError:  # by the server only; clients that leave are noticed further in
            told = ending()
            last = _framed(self._on_error({"error": told.code, "message": told.detail}))
            await send({"type": "http.response.body", "body": last, "more_body": False})


def _framed(event: ServerSentEvent) -> bytes:
    return format_sse_event(data_str=event.raw_data, event=event.event, id=event.id)


def _limiter() -> CapacityLimiter:
    """Return what counts streams: they last for minutes, and no request is to wait for one to end."""
    if (found := _LIMITER.get(None)) is None:
        _LIMITER.set(found := CapacityLimiter(STREAMS))
    return found
