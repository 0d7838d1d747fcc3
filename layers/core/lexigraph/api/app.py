"""The application: ``create_app`` puts middleware, routes and documentation together."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from fastapi import Depends, FastAPI

from lexigraph import __version__, telemetry
from lexigraph.api.access.auth import Principals
from lexigraph.api.errors import handle_errors
from lexigraph.api.explorer import add_explorer
from lexigraph.api.jobs.arrivals import Arrivals
from lexigraph.api.limits import Requests, only_declared
from lexigraph.api.openapi.document import describe, errors
from lexigraph.api.routes.mcp import add_mcp
from lexigraph.api.service import Service
from lexigraph.api.startup import PAGE, Openness
from lexigraph.settings import Settings, load_settings

# in the order of the documentation
ROUTES = (
    "health",
    "diagnostics",
    "overview",
    "query",
    "multidoc",
    "retrieve",
    "recall",
    "unstructured",
    "ingest",
    "estimate",
    "documents",
    "reading",
    "entities",
    "curation",
    "decisions",
    "jobs",
    "graph",
    "cache",
    "keys",
)


def create_app(
    settings: Settings | None = None,
    service: Service | None = None,
    *,
    open_: Openness | None = None,
    page: Path = PAGE,
    only: Sequence[str] = (),
) -> FastAPI:
    """Return the application over the stores and models of the settings.

    ``open_`` lets everybody in without a key, as the default tenant: for loopback only; ``until_key`` until the first key
    of any tenant is made; default as the settings say (``api_auth``). ``page`` is the folder of the built explorer. ``only``
    names those of :data:`ROUTES` that are served, then without documentation, explorer and MCP. The service's stores are
    opened when first needed, so that making the app costs nothing.
    """
    settings = settings or load_settings()
    telemetry.start(settings)
    service = service or Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if service.resumes:
            await service.run(service.jobs.resume)
        yield
        if tools:
            await tools.close()
        service.close()
        telemetry.flush()

    app = FastAPI(
        title="Lexigraph",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None if only else "/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would lead to whatever host the request names
    )
    app.state.service = service
    handle_errors(app)
    for name in only or ((*ROUTES, "offers") if settings.workflow else ROUTES):
        router = import_module(f"lexigraph.api.routes.{name}").router
        # alive is whoever answers: it needs no key and no store
        told = errors(400, 401, 403, 413, 422, 429, 500, 503) if name != "health" else errors(403, 413, 422, 500)
        # and whatever a load balancer appends to the path of its checks
        asked = [Depends(only_declared)] if name != "health" else []
        app.include_router(router, dependencies=asked, responses=told)
    tools = None
    if not only:
        describe(app)
        add_explorer(app, page)
        tools = add_mcp(app, service)
    if telemetry.on():
        from lexigraph.api.traced import NamesRoute

        app.add_middleware(NamesRoute)
    app.add_middleware(Arrivals, service=service, most=settings.max_file_bytes)
    app.add_middleware(
        Principals,
        registry=lambda: service.stores.registry,
        tenant=settings.tenant,
        open_=settings.api_auth == "open" if open_ is None else open_,
        rate=settings.api_rate,
        shared=service.shared,
        source=settings.api_auth if settings.api_auth in ("gateway", "adapter") else None,
    )
    # the last one added is the outermost
    app.add_middleware(Requests, max_file_bytes=settings.max_file_bytes)
    if telemetry.on():
        from lexigraph.api.traced import TracedRequests

        app.add_middleware(TracedRequests)
    return app
