"""How long a file may be read: its reader is stopped wherever it is when its processor time is over.

Limits of size cannot foresee what every parser does with every file. Nothing asks the parser to look at a clock: another
thread does, and lets an exception come up in the one that reads. A call into C (a regular expression, a decoder) ends first.
"""

import ctypes
import time
from collections.abc import Iterator
from threading import Event, Lock, Thread, get_ident
from types import TracebackType
from typing import TypeVar

from lexigraph.model.errors import InvalidInput

T = TypeVar("T")
_LOOKS = 0.5  # seconds between two looks at the clock, at most


class _TimeIsOver(BaseException):
    """No ``Exception``: parsers catch those."""


def limit_time(found: Iterator[T], seconds: float) -> Iterator[T]:
    """Yield what is found. Raise ``InvalidInput`` when finding it took more ``seconds`` of processor time.

    What this thread does with it in between does not count, nor does waiting.
    """
    watch = _Watch(seconds)
    try:
        while True:
            with watch:
                try:
                    one = next(found)
                except StopIteration:
                    return
            yield one
    except _TimeIsOver:
        raise InvalidInput(
            f"takes more than {seconds:,g} seconds of CPU time to read (max_read_seconds): split it or raise the limit"
        ) from None
    finally:
        watch.ended.set()


class _Watch:
    """A thread that counts the processor time of another one while that is within ``with``."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._began = 0.0
        self._read_by = 0  # the thread that is within
        self._over = False
        self._lock = Lock()
        self.ended = Event()
        Thread(target=self._look, args=(min(_LOOKS, seconds / 4),), daemon=True, name="limit-time").start()

    def __enter__(self) -> None:
        with self._lock:
            self._read_by = get_ident()
            self._began = _processor_time(self._read_by)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            self._left -= _processor_time(self._read_by) - self._began
            if self._over:  # it may not have come up yet, and must not do so later, in other work
                _raise_in(self._read_by, None)
            self._read_by = 0

    def _look(self, pause: float) -> None:
        while not self.ended.wait(pause):
            with self._lock:
                if self._read_by and _processor_time(self._read_by) - self._began > self._left:
                    self._over = True  # and again at the next look, should a parser catch everything
                    _raise_in(self._read_by, _TimeIsOver)


def _processor_time(thread: int) -> float:
    """Return the processor time of a thread at work; of the whole process where the system does not tell."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    return time.process_time()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Let an exception come up in a thread, or none that has not yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error) if error else None)
