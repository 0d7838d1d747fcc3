"""``lexigraph keys``: who may use the HTTP API."""

from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import ApiKey, Registry

app = typer.Typer(help="Make, list and revoke the keys of the HTTP API.")
_LABELS = (
    "a db_name is a label: the key may give no other one, and reads all of the tenant's documents on every route; "
    "to part data, use tenants"
)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="What it may do: read, ingest or admin; may be repeated. [default: read]")
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option(
            help="A db_name it may give where a route has one; may be repeated. A label: it parts no data. Default: any."
        ),
    ] = None,
    rate: Annotated[int, typer.Option(min=0, max=1_000_000, help="Requests a minute; 0 is as the settings say.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Make a key for the tenant and print it: this once, for only its hash is kept."""
    from lexigraph.api.access.keys import new_key

    settings = current(context).settings()
    secret, key = new_key(
        settings.tenant, tuple(dict.fromkeys(scope or ["read"])), name=name, databases=tuple(database or ()), rate=rate
    )
    with _registry(settings) as registry:
        registry.add_key(key)
    if database:
        current(context).err.print(_LABELS, soft_wrap=True, highlight=False)
    if json_:
        print_json({"key": secret, **_plain(key)})
    else:
        typer.echo(secret)


@app.command(name="list")
def list_keys(context: typer.Context, json_: JsonOption = False) -> None:
    """List the tenant's keys, revoked ones too."""
    invocation = current(context)
    settings = invocation.settings()
    with _registry(settings) as registry:
        keys = registry.keys(Tenant(settings.tenant))
    if json_:
        print_json({"keys": [_plain(key) for key in keys]})
        return
    table = Table("key", "name", "scopes", "made", "revoked", box=None, pad_edge=False)
    for key in keys:
        table.add_row(key.id, one_line(key.name, 40), ", ".join(key.scopes), key.created_at[:19], key.revoked_at[:19])
    if keys:
        invocation.out.print(table)
    else:
        invocation.err.print("no keys; `lexigraph keys create` makes one")


@app.command()
def revoke(context: typer.Context, key: Annotated[str, typer.Argument(help="Its id, as `keys list` shows it.")]) -> None:
    """Revoke a key: it opens nothing from now on."""
    settings = current(context).settings()
    with _registry(settings) as registry:  # a whole key is as good a name as its id
        revoked = registry.revoke_key(Tenant(settings.tenant), "_".join(key.split("_")[:2]))
    typer.echo(f"revoked {revoked.id}")


def _registry(settings: Settings) -> closing[Registry]:
    from lexigraph.storage.factory import RegistryFactory

    return closing(RegistryFactory.for_registry(settings.connections["registry"]))


def _plain(key: ApiKey) -> dict[str, Any]:
    return {name: value for name, value in asdict(key).items() if name != "digest"}
