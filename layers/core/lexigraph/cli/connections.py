"""Connections of a server process: how many there may be, and how long one may keep the server waiting.

Each has a time by which its client must have gone on, ``due``: to say what it wants, or to take what it is sent; a look
around every second ends those that have not. Where there are as many as there may be, the one that is due first makes room
for a new one, so that half a request keeps nobody out. Nothing is due while it is the server's turn.
"""

import asyncio
import errno
import json
import logging
import math
import os
import resource
import secrets
import socket
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address
from operator import attrgetter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from lexigraph.api.errors import CODES, RETRY_SECONDS, error_body

logger = logging.getLogger(__name__)

_OWN_FILES = 256  # of stores, processes and libraries
_FILES_EACH = 2  # a connection, and what is put aside of its body
_LEAST = 16
_NO_MORE_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_SAY_SECONDS = 60.0  # between two lines of the log that say the same
_HALF_OF_IPV6 = 8  # bytes: a client has all addresses of its network


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a client is given up.

    ``head``: for the head of a request to be whole, from the connection or the answer before. ``body``: for its body, beside
    what that takes at ``rate`` bytes a second. ``answer``: for any of an answer to be taken. ``look`` is between two looks.
    """

    head: float = 10.0
    body: float = 20.0
    rate: int = 1_000
    answer: float = 30.0
    look: float = 1.0


class Room:
    """The connections of a process: at most ``most``, and ``each`` of one address (0: as many as there may be)."""

    def __init__(self, most: int, each: int, patience: Patience | None = None) -> None:
        self.patience = patience or Patience()
        self._most, self._each = most, each or most
        self._all: set[Connection] = set()
        self._near: defaultdict[str, set[Connection]] = defaultdict(set)
        self._looking: asyncio.TimerHandle | None = None
        self._told = Seldom()

    def enter(self, new: "Connection") -> None:
        """Note a connection; where there are too many now, end the one that is due first, perhaps the new one."""
        near = self._near[new.address]
        for these in (self._all, near):
            these.add(new)
        if self._looking is None:
            self._looking = new.loop.call_later(self.patience.look, self._look, new.loop)
        crowded = near if len(near) > self._each else self._all if len(self._all) > self._most else None
        if crowded:
            self._told.warn("there are %d connections, as many as there may be: who waits longest goes", len(crowded) - 1)
            first = min(crowded, key=attrgetter("due"))
            first = new if first.due == math.inf else first
            first.end(503, "too many connections: try again in a few seconds", always=first is new)

    def leave(self, one: "Connection") -> None:
        """Forget a connection."""
        self._all.discard(one)
        near = self._near[one.address]
        near.discard(one)
        if not near:
            del self._near[one.address]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        for one in [*self._all]:
            one.look()
            if one.due < loop.time():
                one.end(408, "the request did not arrive in time: send it faster")
        self._looking = loop.call_later(self.patience.look, self._look, loop) if self._all else None


class Connection(H11Protocol):
    """A connection that knows by when its client must have gone on; ``room`` is that of its class."""

    room: Room
    due: float  # of the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        super().connection_made(transport)
        self.address = _network(self.client[0]) if self.client else ""
        self._begun = self.loop.time()
        self._taken_until = self._begun + self.room.patience.answer
        self._body = self._unsent = 0
        self._turn()
        self.room.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.conn.their_state
        super().data_received(data)
        if self.conn.their_state is h11.SEND_BODY:
            self._begun = self.loop.time() if before is h11.IDLE else self._begun
            self._body += len(data)
        self._turn()

    def on_response_complete(self) -> None:
        self._begun, self._body = self.loop.time(), 0
        super().on_response_complete()
        self._turn()

    def resume_writing(self) -> None:
        self._taken_until = self.loop.time() + self.room.patience.answer
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  # as its base has it
        """Answer what cannot be read as HTTP in the one shape; what was answered before it arrives whole."""
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()
            return
        self.transport.write(_answer(400, "the request is not valid HTTP/1.1"))
        self._leave_cycle()
        self.transport.close()

    def look(self) -> None:
        """Find anew by when the client must have gone on: what it does not take of an answer is seen only by looking."""
        patience, left = self.room.patience, self.transport.get_write_buffer_size()
        if not left or left < self._unsent:
            self._taken_until = self.loop.time() + patience.answer
        self._unsent = left
        if self.flow.read_paused:  # by ourselves
            self._begun += patience.look
        self._turn()

    def end(self, status: int, message: str, *, always: bool = False) -> None:
        """End it; say why where half a request has come and nothing of an answer has gone out, or ``always``."""
        self.room.leave(self)
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            self.transport.abort()
            return
        sends_body = self.conn.their_state is h11.SEND_BODY
        answered = sends_body and self.cycle is not None and self.cycle.response_started
        if always or (not answered and (sends_body or self.conn.trailing_data[0])):
            self.transport.write(_answer(status, message))
        self._leave_cycle()
        self.transport.close()

    def _leave_cycle(self) -> None:
        if self.cycle is not None:  # whoever works on it is told that the client has gone
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _turn(self) -> None:
        patience = self.room.patience
        if self._unsent:
            self.due = self._taken_until
        elif self.conn.their_state is h11.IDLE:
            self.due = self._begun + patience.head
        elif self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused:
            self.due = self._begun + patience.body + self._body / patience.rate
        else:
            self.due = math.inf


def protocol(room: Room) -> type[Connection]:
    """Return the connections of a room, as uvicorn asks for them."""
    return type("Connection", (Connection,), {"room": room})


def room_for(most: int, each: int) -> Room:
    """Return the room for so many connections; for fewer where this process may not open as many files."""
    allowed, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OWN_FILES + _FILES_EACH * most
    if allowed < wanted:
        allowed = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, highest))
    fit = max(_LEAST, (allowed - _OWN_FILES) // _FILES_EACH)
    if fit < most:
        logger.warning("this process may open %d files: it takes %d connections instead of %d", allowed, fit, most)
    return Room(min(most, fit), each)


class OneByOne(socket.socket):
    """A listening socket of several processes: who is busy takes no more connections than it is asked for.

    The event loop would take all that wait at once, and leave nothing to the others. Where no file can be opened any more,
    connections are ended as they come: the event loop would log each with its traceback, and take none for a second.
    """

    def __init__(self, fileno: int) -> None:
        super().__init__(fileno=fileno)
        self._took = False
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._told = Seldom()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; say every other time that there is none, which ends a turn of the loop."""
        self._took = not self._took
        if not self._took:
            raise BlockingIOError
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_MORE_FILES:
                raise
        self._told.warn("connections are ended as they come: no more files can be opened here")
        os.close(self._spare)
        with suppress(OSError):
            super().accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)
        raise BlockingIOError


class Seldom:
    """Logs what may happen a thousand times a second once a minute."""

    def __init__(self) -> None:
        self._next = -math.inf

    def warn(self, message: str, *args: object) -> None:
        """Log a warning, unless one was logged within the last minute."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + _SAY_SECONDS
            logger.warning(message, *args)


def _network(address: str) -> str:
    """Return whose an address is: itself, or the network of one of IPv6."""
    known = ip_address(address.partition("%")[0])
    if known.version == 4 or known.ipv4_mapped:
        return str(known.ipv4_mapped if known.version == 6 else known)
    return known.packed[:_HALF_OF_IPV6].hex()


def _answer(status: int, message: str) -> bytes:
    request_id = secrets.token_hex(8)
    body = json.dumps(error_body(CODES[status], message, request_id)).encode()
    again = "" if status == HTTPStatus.BAD_REQUEST else f"retry-after: {RETRY_SECONDS}\r\n"
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n{again}x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
