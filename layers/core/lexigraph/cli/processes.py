"""Server processes on one listening socket: started, started again when one dies, and ended together.

Each is forked from this process, which has loaded what all of them need, and is told what to serve in one line. Where that
is not safe, beside other threads and on other systems than Linux, each is ``python -P -m lexigraph.cli.served``. It ends
when nobody holds the other end of its pipe: with the process that started it, however that ends.
"""

import gc
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
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
_ENDING = (signal.SIGINT, signal.SIGTERM)
_THREADS = Path("/proc/self/task")


def one_thread_of_blas() -> None:
    """Have this process and those it starts multiply vectors in one thread, if numpy is not loaded yet.

    More are not faster: they wait for each other at full speed, and beside them nothing can be forked.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


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
        self._running: list[tuple[subprocess.Popen[str] | _Forked, float]] = []
        self._number, self._early = number, 0
        self._alive, self._held = os.pipe()  # of forked processes: the read end closes when this process is gone

    def run(self) -> int:
        """Serve until told to end; return by which signal, SIGTERM or SIGINT.

        Raise ``StoreUnavailable`` when the servers end as soon as they begin.
        """
        with _signals() as told:
            try:
                if _is_alone():
                    self._load()
                for _ in range(self._number):
                    self._start()
                while not told:
                    time.sleep(_LOOK_SECONDS)
                    self._replace_dead()
            finally:
                self._end(told)
                os.close(self._alive)
                os.close(self._held)
        return told[0]

    def _load(self) -> None:
        gc.disable()  # what is loaded stays: to look through it again and again takes a fifth of the start
        from lexigraph.cli import server

        server.share(self._order)

    def _start(self) -> None:
        self._running.append((self._fork() if _is_alone() else self._spawn(), time.monotonic()))

    def _fork(self) -> "_Forked":
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # until it is the process they were sent to that takes them
        process = os.fork()
        if not process:
            try:
                os.close(self._held)
                os.setsid()  # out of reach of Ctrl-C, which the terminal sends to a whole group
                signal.signal(signal.SIGINT, signal.default_int_handler)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                from lexigraph.cli.server import serve

                serve(self._order, self._alive)
            except BaseException:  # noqa: BLE001  # nothing of what this process would do next is for a server to do
                traceback.print_exc()
            finally:
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return _Forked(process)

    def _spawn(self) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lexigraph.cli.served"],  # -P: what lies in the current folder is no program
            stdin=subprocess.PIPE,
            text=True,
            pass_fds=[self._listener.fileno()],
            start_new_session=True,  # as above
        )
        with suppress(BrokenPipeError):
            if process.stdin:
                process.stdin.write(self._order + "\n")
                process.stdin.flush()
        return process

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


class _Forked:
    """A forked process, with as much of ``Popen`` as is asked for above."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _is_alone() -> bool:
    """Whether this process has no other thread, whose locks would stay locked in what is forked; False if not known."""
    return sys.platform == "linux" and sum(1 for _ in _THREADS.iterdir()) == 1


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note the signals to end."""
    told: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        told.append(number)

    before = {number: signal.signal(number, note) for number in _ENDING}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
