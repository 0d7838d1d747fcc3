"""One process of ``lexigraph serve``: ``python -P -m lexigraph.cli.served``, told what to serve in one line of JSON."""

import gc
import json
import os
import sys
from pathlib import Path
from shutil import rmtree
from threading import Thread

_NEW_OBJECTS = 10_000  # after which they are looked through for garbage: with 700 a question takes 5 % longer
_GRACE_SECONDS = 3  # for requests under way when the server is told to end


def main() -> None:
    """Serve until told to end by SIGTERM, or until the input ends."""
    told = json.loads(sys.stdin.readline())
    gc.disable()  # what is loaded stays: to look through it again and again takes a fifth of the start
    import uvicorn

    from lexigraph.api.app import create_app
    from lexigraph.api.service import Service
    from lexigraph.api.shared import Shared
    from lexigraph.cli.connections import OneByOne, protocol, room_for
    from lexigraph.cli.invocation import start_logging
    from lexigraph.cli.output import consoles
    from lexigraph.settings import Settings

    start_logging(consoles()[1], told["verbose"])
    Thread(target=_end_with_input, args=(told["shared"],), daemon=True).start()
    settings = Settings.model_validate_json(told["settings"])
    shared = Shared(Path(told["shared"])) if told["shared"] else None
    service = Service(settings, shared=shared, processes=told["processes"])
    app = create_app(settings, service, open_=told["open"])
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    gc.enable()
    room = room_for(settings.api_connections, settings.api_connections_each)
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=protocol(room),
        ws="none",
        log_level="error",  # what a client does wrong would be a line each
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
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
