"""``lexigraph serve``: the HTTP API on this machine; ``lexigraph mcp``: its tools over stdin and stdout."""

import signal
import socket
import tempfile
import webbrowser
from collections.abc import Sequence
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.api.startup import LOOPBACK, PAGE, UNTIL_KEY, Openness
from lexigraph.cli.invocation import Invocation, current, require_database
from lexigraph.cli.processes import Processes, one_thread_of_blas, order
from lexigraph.model.errors import InvalidInput, Misconfigured
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.storage.protocols import Registry


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(metavar="HOST", help="Host to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="Port; 0 picks a free one.")] = 8010,
    open_: Annotated[
        bool | None,
        typer.Option(
            "--open/--keys",
            help="Require no key (loopback only), or require one. Default: no key until the first one is created.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TENANT=]FOLDER",
            help="Folder whose files the tenant may ingest by path; one per tenant. Default: none.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Server processes.")] = 1,
) -> None:
    """Serve the explorer and the HTTP API, with API documentation at /docs."""
    from lexigraph.ingestion.roots import check_roots

    invocation = current(context)
    settings = invocation.settings()
    settings = settings.model_copy(update={"ingest_roots": settings.ingest_roots | _roots(root or (), settings.tenant)})
    check_roots(settings)
    serve_until_interrupted(invocation, settings, host, port, open_=open_, workers=workers)


def serve_until_interrupted(
    invocation: Invocation,
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 8010,
    *,
    open_: bool | None = None,
    workers: int = 1,
    browse: bool = False,
) -> None:
    """Serve the data of the settings until interrupted; with ``browse`` the explorer is opened in the user's browser."""
    _require("the server", "api", "fastapi", "uvicorn")
    one_thread_of_blas()
    from lexigraph.storage.factory import open_stores

    # what cannot be opened is told before anybody is listened to; each process opens its own
    with closing(open_stores(settings, seconds=settings.api_deadline, create=True)) as stores:
        opens = _openness(host, True if open_ is None and settings.api_auth == "open" else open_, stores.registry)
    with listening(host, port) as listener, tempfile.TemporaryDirectory(prefix="lexigraph-serve-") as folder:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        places = f"explorer at {address}/explorer/, documentation at {address}/docs"
        invocation.err.print(f"listening on {address}, {places}", soft_wrap=True, highlight=False)
        if opens:
            until = " until the first one is created" if opens == UNTIL_KEY else ""
            told = f"no key is required{until}; all requests from this machine act for tenant {settings.tenant}"
            invocation.err.print(told, soft_wrap=True, highlight=False)
        else:
            invocation.err.print("requests need a key in X-API-Key; create one with `lexigraph keys create`")
        if not (PAGE / "index.html").is_file():
            invocation.err.print("the explorer is not built; run `make web`, also while the server runs")
        if browse:  # what the browser asks for waits until a process answers
            webbrowser.open(f"{address}/explorer/")
        shared = folder if workers > 1 else ""
        told = order(settings, listener, open_=opens, processes=workers, shared=shared, verbose=invocation.verbose)
        by = Processes(workers, told, listener).run()
    signal.raise_signal(by)  # who waits for this process sees why it ended


def mcp(context: typer.Context) -> None:
    """Serve search, answers and recall as MCP tools over stdio."""
    import asyncio

    _require("lexigraph mcp", "mcp", "fastapi", "mcp")
    from lexigraph.api.access.keys import Principal
    from lexigraph.api.mcp import serve_stdio
    from lexigraph.api.service import Service

    settings = current(context).settings()
    require_database(settings)
    service = Service(settings)
    asyncio.run(serve_stdio(service, Principal(Tenant(settings.tenant), frozenset({"read"}))))
    service.close()


def _require(what: str, extra: str, *packages: str) -> None:
    """Raise ``Misconfigured`` where packages that something needs are not installed."""
    if missing := [name for name in packages if find_spec(name) is None]:
        raise Misconfigured(f'{what} needs {", ".join(missing)}; run: pip install "lexigraph[{extra}]"')


def _openness(host: str, asked: bool | None, registry: "Registry") -> Openness:
    """Return whom to let in without a key: whom ``asked`` says, else everybody of this machine until a key was ever made.

    Raise ``InvalidInput`` for a server that would be open to other machines.
    """
    if asked and host not in LOOPBACK:
        raise InvalidInput(f"host {host}: a server without keys listens only on loopback: use --keys or omit --host")
    if asked is None and host in LOOPBACK and not registry.any_key():
        return UNTIL_KEY
    return bool(asked)


def _roots(given: Sequence[str], tenant: str) -> dict[str, Path]:
    """Return the folders by tenant; a folder alone is that of ``tenant``. Raise ``InvalidInput`` for two of one tenant."""
    roots: dict[str, Path] = {}
    for each in given:
        owner, folder = tenant, each
        with suppress(InvalidInput):  # a folder may have the sign in its name, too
            named, equals, rest = each.partition("=")
            owner, folder = (Tenant(named), rest) if equals else (tenant, each)
        if owner in roots:
            raise InvalidInput(f"--root: tenant {owner} has two folders; use one folder per tenant")
        roots[owner] = Path(folder).expanduser().resolve()
    return roots


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
