"""``lexigraph serve``: the HTTP API on this machine."""

import os
import socket
import sys
import threading
from typing import Annotated

import typer

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tenant import Tenant

_GRACE_SECONDS = 3  # for requests under way when the server is told to end


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="Port; 0 takes a free one.")] = 8010,
    open_: Annotated[
        bool | None,
        typer.Option(
            "--open/--keys",
            help="Ask for no key, on loopback only; or for one. Default: for one as soon as the tenant has one.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Serve the HTTP API, with its documentation at /docs, until interrupted."""
    import uvicorn

    from lexigraph.api.app import create_app
    from lexigraph.api.auth import LOOPBACK
    from lexigraph.api.service import Service

    invocation = current(context)
    settings = invocation.settings()
    service = Service(settings)
    registry = service.stores.registry  # what cannot be opened is told before anybody is listened to
    if open_ is None:
        has_keys = any(not key.revoked_at for key in registry.keys(Tenant(settings.tenant)))
        open_ = settings.api_auth == "open" or (host in LOOPBACK and not has_keys)
    if open_ and host not in LOOPBACK:
        raise InvalidInput(f"host {host}: a server without keys listens on loopback only; use --keys, or leave --host out")
    with listening(host, port) as listener:
        app = create_app(settings, service, open_=open_)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE_SECONDS)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        invocation.err.print(f"listening on {address}, documentation at {address}/docs", soft_wrap=True, highlight=False)
        if open_:
            invocation.err.print(f"no key is asked for: everybody on this machine is tenant {settings.tenant}")
        else:
            invocation.err.print("a key is asked for in X-API-Key; `lexigraph keys create` makes one")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            _end_at_once(ExitCode.INTERRUPTED)
            raise
        _end_at_once(ExitCode.OK)
    return ExitCode.OK


def _end_at_once(code: int) -> None:
    """End the process now if threads are left that wait for a model or a store, which may be for ever."""
    if any(thread is not threading.current_thread() and not thread.daemon for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raise ``InvalidInput`` when the port is taken or not allowed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2_048)
    except OSError as error:
        raise InvalidInput(f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port") from None
    # connections inherit it; without it each reply waits 40 ms for the acknowledgement of its own head
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
