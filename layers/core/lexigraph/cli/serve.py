"""``lexigraph serve``: the HTTP API on this machine; ``lexigraph mcp``: its tools over stdin and stdout."""

import signal
import socket
import tempfile
from typing import Annotated

import typer

from lexigraph.cli.invocation import current, require_database
from lexigraph.cli.processes import Processes
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tenant import Tenant


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
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Server processes.")] = 1,
) -> None:
    """Serve the HTTP API, with its documentation at /docs, until interrupted."""
    from lexigraph.api.access.auth import LOOPBACK
    from lexigraph.api.service import Service
    from lexigraph.cli.served import order

    invocation = current(context)
    settings = invocation.settings()
    service = Service(settings)
    registry = service.stores.registry  # what cannot be opened is told before anybody is listened to
    if open_ is None:
        has_keys = any(not key.revoked_at for key in registry.keys(Tenant(settings.tenant)))
        open_ = settings.api_auth == "open" or (host in LOOPBACK and not has_keys)
    if open_ and host not in LOOPBACK:
        raise InvalidInput(f"host {host}: a server without keys listens on loopback only; use --keys, or leave --host out")
    service.close()  # each process opens its own
    with listening(host, port) as listener, tempfile.TemporaryDirectory(prefix="lexigraph-serve-") as folder:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        invocation.err.print(f"listening on {address}, documentation at {address}/docs", soft_wrap=True, highlight=False)
        if open_:
            invocation.err.print(f"no key is asked for: everybody on this machine is tenant {settings.tenant}")
        else:
            invocation.err.print("a key is asked for in X-API-Key; `lexigraph keys create` makes one")
        shared = folder if workers > 1 else ""
        told = order(settings, listener, open_=open_, processes=workers, shared=shared, verbose=invocation.verbose)
        by = Processes(workers, told, listener).run()
    signal.raise_signal(by)  # who waits for this process sees why it ended


def mcp(context: typer.Context) -> None:
    """Serve search, answers and recall as tools to a program that starts this command (MCP over stdio)."""
    import asyncio

    from lexigraph.api.access.keys import Principal
    from lexigraph.api.mcp import serve_stdio
    from lexigraph.api.service import Service

    settings = current(context).settings()
    require_database(settings)
    service = Service(settings)
    asyncio.run(serve_stdio(service, Principal(Tenant(settings.tenant), frozenset({"read"}))))
    service.close()


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
