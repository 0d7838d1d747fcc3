"""Server-sent events, and an answer that arrives piece by piece."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

from lexigraph.client import types
from lexigraph.client.failures import decoded, failure_from

_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")  # the half of one may be the last that has come


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a stream: its ``name`` (empty for a plain message), its ``data``, and its ``id`` where it has one."""

    name: str
    data: Any
    id: str = ""


class Parser:
    """Makes events of the text of a stream; comments keep a connection open and are no events."""

    def __init__(self) -> None:
        self._name, self._id, self._rest = "", "", ""
        self._data: list[str] = []

    def feed(self, piece: str) -> Iterator[Event]:
        """Take a piece of the text; yield the events that it completes. Raise ``ApiFailure`` for one that is no JSON."""
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        for line in lines:
            if event := self._take(line):
                yield event

    def _take(self, line: str) -> Event | None:
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self._name = value
            elif field == "id":
                self._id = value
            elif field == "data":
                self._data.append(value)
            return None
        if not self._data:
            return None
        event = Event(self._name, decoded("\n".join(self._data)), self._id)
        self._name, self._id, self._data = "", "", []
        return event


class _Arriving:
    """What has arrived of an answer. ``result`` is the whole reply once the stream has ended, else None."""

    def __init__(self) -> None:
        self.text = ""
        self.sources: list[types.SourceReply] = []
        self.result: types.QueryReply | None = None

    def take(self, event: Event) -> str:
        """Note an event; return the piece of text that it brings. Raise ``ApiFailure`` for an error in the stream."""
        if event.name == "error":
            raise failure_from(int(event.data.get("status", 503)), event.data)
        if event.name == "token":
            piece = str(event.data["text"])
            self.text += piece
            return piece
        if event.name == "sources":
            self.sources = event.data
        elif event.name == "done":
            self.result = cast(types.QueryReply, {"sources": self.sources, **event.data})
        return ""


class Answer(_Arriving):
    """An answer that arrives: iterate over it for pieces of text; leave the ``with`` block to cancel it.

    Examples:
        >>> with client.stream("Who leads the Heron Team?") as answer:
        ...     for piece in answer:
        ...         print(piece, end="", flush=True)
        >>> answer.result["references"]
    """

    def __init__(self, events: Iterator[Event]) -> None:
        super().__init__()
        self._events = events

    def __iter__(self) -> Iterator[str]:
        for event in self._events:
            if piece := self.take(event):
                yield piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._events.close()  # type: ignore[attr-defined]  # a generator


class AsyncAnswer(_Arriving):
    """As :class:`Answer`, for ``async with`` and ``async for``."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        super().__init__()
        self._events = events

    async def __aiter__(self) -> AsyncIterator[str]:
        async for event in self._events:
            if piece := self.take(event):
                yield piece

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._events.aclose()  # type: ignore[attr-defined]  # a generator
