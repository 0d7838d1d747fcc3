"""Server processes on one listening socket: started, started again when one dies, and ended together.

Each is ``python -P -m lexigraph.cli.served``. It is told what to serve in one line, and ends when its input does: with the
process that started it, however that ends.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from lexigraph.model.errors import StoreUnavailable

if TYPE_CHECKING:
    from lexigraph.api.startup import Openness
    from lexigraph.settings import Settings

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
_END_SECONDS = 8.0  # after the grace for requests under way
_EARLY_SECONDS = 5.0
_MOST_EARLY = 5  # ends in a row before they are of use
STARTUP_FAILED = 3  # uvicorn's exit code


def order(
    settings: "Settings", listener: socket.socket, *, open_: "Openness", processes: int, shared: str, verbose: bool
) -> str:
    """Return the line for a process; ``shared`` is the folder of what they know together, empty for one alone."""
    return json.dumps(
        {
            "settings": settings.model_dump_json(),
            "listener": listener.fileno(),
            "open": open_,
            "processes": processes,
            "shared": shared,
            "verbose": verbose,
        }
    )


class Processes:
    """``number`` servers over ``listener``; ``order`` is the line each is told."""

    def __init__(self, number: int, order: str, listener: socket.socket) -> None:
        self._order, self._listener = order, listener
        self._running: list[tuple[subprocess.Popen[str], float]] = []
        self._number, self._early = number, 0

    def run(self) -> int:
        """Serve until told to end; return by which signal, SIGTERM or SIGINT.

        Raise ``StoreUnavailable`` when the servers end as soon as they begin.
        """
        with _signals() as told:
            try:
                for _ in range(self._number):
                    self._start()
                while not told:
                    time.sleep(_LOOK_SECONDS)
                    self._replace_dead()
            finally:
                self._end(told)
        return told[0]

    def _start(self) -> None:
        # products of vectors are not faster with more threads of BLAS, which wait for each other at full speed
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lexigraph.cli.served"],  # -P: what lies in the current folder is no program
            stdin=subprocess.PIPE,
            text=True,
            env=environment,
            pass_fds=[self._listener.fileno()],
            start_new_session=True,  # out of reach of Ctrl-C, which the terminal sends to a whole group
        )
        self._running.append((process, time.monotonic()))
        with suppress(BrokenPipeError):
            if process.stdin:
                process.stdin.write(self._order + "\n")
                process.stdin.flush()

    def _replace_dead(self) -> None:
        for process, began in [*self._running]:
            if process.poll() is None:
                continue
            self._running.remove((process, began))
            self._early = self._early + 1 if time.monotonic() - began < _EARLY_SECONDS else 0
            if process.returncode == STARTUP_FAILED or self._early >= _MOST_EARLY:
                raise StoreUnavailable("the server stops right after it starts; see its log")
            logger.warning("server process %d has ended (%d), another takes its place", process.pid, process.returncode)
            self._start()

    def _end(self, told: list[int]) -> None:
        """End all: those at once that take too long, or when we are told a second time."""
        for process, _ in self._running:
            process.terminate()
        give_up, before = time.monotonic() + _END_SECONDS, len(told)
        while any(process.poll() is None for process, _ in self._running):
            if time.monotonic() > give_up or len(told) > max(1, before):
                for process, _ in self._running:
                    process.kill()
            time.sleep(_LOOK_SECONDS / 2)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note the signals to end."""
    told: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        told.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
