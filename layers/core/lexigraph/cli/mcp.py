"""``lexigraph mcp``: the tools of the Model Context Protocol over stdin and stdout."""

import typer

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current, require_database
from lexigraph.model.tenant import Tenant


def mcp(context: typer.Context) -> int:
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
    return ExitCode.OK
