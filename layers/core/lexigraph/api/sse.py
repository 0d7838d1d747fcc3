"""Server-sent events: what a worker thread tells, written as it comes, with a comment now and then to keep lines open.

A client that goes away stops nothing: the work goes on, its events are no longer written.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anyio import to_thread
from fastapi.responses import StreamingResponse

from lexigraph.api.errors import as_api_error

KEEP_ALIVE_SECONDS = 10.0


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


Tell = Callable[[ServerEvent], None]


def stream(work: Callable[[Tell], None], on_error: Callable[[Mapping[str, str]], ServerEvent]) -> StreamingResponse:
    """Return a response that runs ``work`` in a thread and writes what it tells until it ends.

    An error of ``work`` becomes a last event, made by ``on_error`` from ``{"error": code, "message"}``.
    """

    async def events() -> AsyncIterator[bytes]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[ServerEvent | None]()

        def tell(event: ServerEvent | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(queue.put_nowait, event)

        def run() -> None:
            try:
                work(tell)
            except Exception as error:  # noqa: BLE001  # the answer has begun: an event is all that can be sent
                told = as_api_error(error)
                tell(on_error({"error": told.code, "message": str(told.detail)}))
            finally:
                tell(None)

        running = asyncio.ensure_future(to_thread.run_sync(run, abandon_on_cancel=True))
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), KEEP_ALIVE_SECONDS)
            except TimeoutError:
                yield b": keep-alive\n\n"
                continue
            if event is None:
                break
            yield event.encode()
        await running

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)
