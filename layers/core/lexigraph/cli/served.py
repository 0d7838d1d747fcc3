"""One process of ``lexigraph serve``: ``python -m lexigraph.cli.served``, told what to serve in one line of JSON."""

import json
import os
import socket
import sys
from pathlib import Path
from shutil import rmtree
from threading import Thread
from typing import Any

import uvicorn

from lexigraph.api.access.auth import Openness
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.api.shared import Shared
from lexigraph.cli.invocation import start_logging
from lexigraph.cli.output import consoles
from lexigraph.settings import Settings

_GRACE_SECONDS = 3  # for requests under way when the server is told to end


class OneByOne(socket.socket):
    """A listening socket of several processes: who is busy takes no more connections than it is asked for.

    The event loop would take all that wait at once, and leave nothing to the others.
    """

    _took = False

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection; say every other time that there is none, which ends a turn of the loop."""
        self._took = not self._took
        if not self._took:
            raise BlockingIOError
        return super().accept()


def order(
    settings: Settings, listener: socket.socket, *, open_: Openness, processes: int, shared: str, verbose: bool
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


def main() -> None:
    """Serve until told to end by SIGTERM, or until the input ends."""
    told = json.loads(sys.stdin.readline())
    start_logging(consoles()[1], told["verbose"])
    Thread(target=_end_with_input, args=(told["shared"],), daemon=True).start()
    settings = Settings.model_validate_json(told["settings"])
    shared = Shared(Path(told["shared"])) if told["shared"] else None
    service = Service(settings, shared=shared, processes=told["processes"])
    app = create_app(settings, service, open_=told["open"])
    config = uvicorn.Config(
        app, loop="asyncio", log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE_SECONDS
    )
    server = uvicorn.Server(config)
    server.run(sockets=[OneByOne(fileno=told["listener"])])
    # threads may be left that wait for a model or a store, for ever
    os._exit(0 if server.started else 3)


def _end_with_input(shared: str) -> None:
    sys.stdin.read()
    if shared:
        rmtree(shared, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
