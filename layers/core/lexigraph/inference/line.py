"""The line over which models reply to one asker. It can be hung up from another thread, also while a model says nothing.

A read that waits for the next byte cannot be told to stop; its connection can be shut down below it, and then it ends.
Whoever asks a model inside ``with asking_over(line)`` asks over that line; clients of models tell it of their connections.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock

from lexigraph.model.errors import ModelUnavailable


class HungUp(ModelUnavailable):
    """Nobody waits for the reply any more; no model failed."""


class Line:
    """Ends what is read over it when it is hung up, for good. For one asker, one thread that reads, and any that hang up."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._connections: list[socket.socket] = []
        self.is_hung_up = False

    def hang_up(self) -> None:
        """End what is read over the line, and what would be."""
        with self._lock:
            self.is_hung_up = True
            for connection in self._connections:
                _shut(connection)

    def add(self, connection: socket.socket) -> None:
        """Let a connection end with the line. Closed by its owner meanwhile, it does no harm."""
        with self._lock:
            self._connections.append(connection)
            if self.is_hung_up:
                _shut(connection)

    def remove(self, connection: socket.socket) -> None:
        """Take a connection off the line."""
        with self._lock:
            self._connections.remove(connection)


_CURRENT: ContextVar[Line | None] = ContextVar("lexigraph_line", default=None)


@contextmanager
def asking_over(line: Line) -> Iterator[None]:
    """Let models that are asked in the block, by this thread, reply over a line."""
    token = _CURRENT.set(line)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def hung_up() -> bool:
    """Whether the line of this thread was hung up."""
    line = _CURRENT.get()
    return line is not None and line.is_hung_up


def still_wanted() -> None:
    """Raise :class:`HungUp` when the line of this thread was hung up."""
    if hung_up():
        raise HungUp("nobody waits for the reply any more")


def connected(connection: socket.socket | None) -> None:
    """Put a new connection on the line of this thread, if there is one. Raise :class:`HungUp` when it was hung up."""
    still_wanted()
    if connection is not None and (line := _CURRENT.get()):
        line.add(connection)


@contextmanager
def read_over(fileno: Callable[[], int]) -> Iterator[None]:
    """Put the connection of a file descriptor, if it has one, on the line of this thread for as long as the block lasts."""
    line, connection = _CURRENT.get(), None
    if line:
        with suppress(OSError, ValueError, AttributeError):  # what is read may have come whole already
            connection = socket.socket(fileno=os.dup(fileno()))
    if line is None or connection is None:
        yield
        return
    line.add(connection)
    try:
        yield
    finally:
        line.remove(connection)
        connection.close()


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it has ended already
        socket.socket.shutdown(connection, socket.SHUT_RDWR)  # below TLS, which another thread is reading
