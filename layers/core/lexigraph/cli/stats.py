"""``lexigraph stats``: how much there is, and the room it takes."""

from pathlib import Path

import typer
from rich.filesize import decimal
from rich.table import Table

from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import print_json
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.counts import live_counts


def stats(context: typer.Context, json_: JsonOption = False) -> None:
    """Show counts for the tenant, and sizes on disk of all tenants."""
    invocation = current(context)
    settings = invocation.settings()
    tenant = Tenant(settings.tenant)
    with invocation.stores(settings) as stores:
        counts = {
            "graph": live_counts(stores, tenant),
            "vectors": stores.vectors.stats(tenant),
            "documents": stores.registry.stats(tenant),
            "cache": stores.cache.stats(tenant),
        }
    disk = on_disk(settings)
    if json_:
        print_json({"tenant": str(tenant), **counts, "disk": disk})
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column()
    table.add_column(justify="right")
    for group, numbers in counts.items():
        for at, (name, number) in enumerate(numbers.items()):
            table.add_row("" if at else group, name, f"{number:,}")
    for at, (name, number) in enumerate(disk.items()):
        table.add_row("" if at else "disk", name, decimal(number))
    invocation.out.print(table)


def on_disk(settings: Settings) -> dict[str, int]:
    """Return bytes by store of those in local folders; write-ahead logs and other companions of a file count with it."""
    from lexigraph.storage.common.folders import embedded_folder

    sizes: dict[str, int] = {}
    for store, connection in settings.connections.items():
        if connection.startswith("sqlite:///"):
            folder = embedded_folder(connection)
            names = "vector*" if store == "vector" else f"{store}.*"
            sizes[store] = _total(folder, names)
        elif connection.startswith("file:///"):
            sizes[store] = _total(embedded_folder(connection, "file"), "**/*")
    return sizes


def _total(folder: Path, pattern: str) -> int:
    total = 0
    for path in folder.glob(pattern):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # gone meanwhile
            continue
    return total
