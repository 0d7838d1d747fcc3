"""What a process of ``lexigraph serve`` does, and all that it loads for that."""

import gc
import json
import os
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from threading import Thread
from typing import NoReturn

import uvicorn

from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.api.shared import Shared
from lexigraph.cli.connections import OneByOne, protocol, room_for
from lexigraph.cli.invocation import start_logging
from lexigraph.cli.output import consoles
from lexigraph.inference.factory import load_local
from lexigraph.model.errors import ModelUnavailable
from lexigraph.settings import Settings

_NEW_OBJECTS = 10_000  # after which they are looked through for garbage: with 700 a question takes 5 % longer
_GRACE_SECONDS = 3  # for requests under way when the server is told to end


def share(order: str) -> None:
    """Load what the processes that are forked from this one all need, so that it is in memory once."""
    told = json.loads(order)
    if told["processes"] > 1:
        with suppress(ModelUnavailable):  # told to who asks a question
            load_local(Settings.model_validate_json(told["settings"]))
    gc.freeze()


def serve(order: str, alive: int) -> NoReturn:
    """Serve what a line of JSON says until told to end by SIGTERM, or until nobody writes to the descriptor ``alive``."""
    told = json.loads(order)
    start_logging(consoles()[1], told["verbose"])
    Thread(target=_end_with, args=(alive, told["shared"]), daemon=True).start()
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


def _end_with(alive: int, shared: str) -> None:
    while os.read(alive, 1024):
        pass
    if shared:
        rmtree(shared, ignore_errors=True)
    os._exit(0)
