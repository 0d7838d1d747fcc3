"""``lexigraph keys``: who may use the HTTP API."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table

from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, all_of, parse_expression, parse_filter, plain_filter
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import ApiKey, Registry

app = typer.Typer(help="Create, list and revoke API keys.")
_LABELS = (
    "a db_name is a label: the key may give no other one, and reads all of the tenant's documents on every route; "
    "to part data, use tenants"
)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Option(help="Name of the key.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="Permission: read, ingest or admin; may be repeated. [default: read]")
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option(help="db_name that the key may use; may be repeated. A label, not a data boundary. Default: any."),
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="'KEY OP VALUE'",
            help="Restrict the key to documents whose metadata match: 'groups in [staff, press]', or JSON. "
            "Repeated filters must all match.",
        ),
    ] = None,
    principal: Annotated[
        str,
        typer.Option(metavar="ARN", help="IAM role or user that signs its requests, in a deployment, instead of a secret."),
    ] = "",
    rate: Annotated[int, typer.Option(min=0, max=1_000_000, help="Requests per minute; 0 uses LEXIGRAPH_API_RATE.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Create a key for the tenant and print it once. Only its hash is stored; a principal's key is its id."""
    from lexigraph.api.access.keys import new_key
    from lexigraph.api.access.signers import add_signer, signer_key

    settings = current(context).settings()
    scopes = tuple(dict.fromkeys(scope or ["read"]))
    limits: dict[str, Any] = {"databases": tuple(database or ()), "rate": rate}
    limits["filters"] = rights_of(filter_ or ())
    if name and principal:
        raise InvalidInput("--name cannot be used with --principal: the key takes the name of the principal")
    with _registry(settings) as registry:
        if principal:
            secret, key = "", signer_key(settings.tenant, scopes, arn=principal, **limits)
            add_signer(registry, key)
        else:
            secret, key = new_key(settings.tenant, scopes, name=name, **limits)
            registry.add_key(key)
        # as it is kept: with the time
        key = next((kept for kept in registry.keys(Tenant(settings.tenant)) if kept.id == key.id), key)
    notes = [_LABELS] if database else []
    if key.filters:
        notes.append(f"the key sees the documents that pass {_told(key.filters)}, and nothing of any other")
    for note in notes:
        current(context).err.print(note, soft_wrap=True, highlight=False, markup=False)
    if json_:
        print_json({**({"key": secret} if secret else {}), **_plain(key)})
    else:
        typer.echo(secret or key.id)


@app.command(name="list")
def list_keys(context: typer.Context, json_: JsonOption = False) -> None:
    """List the tenant's keys, including revoked ones."""
    invocation = current(context)
    settings = invocation.settings()
    with _registry(settings) as registry:
        keys = registry.keys(Tenant(settings.tenant))
    if json_:
        print_json({"keys": [_plain(key) for key in keys]})
        return
    table = Table("key", "name", "scopes", "sees", "made", "revoked", box=None, pad_edge=False)
    for key in keys:
        sees = one_line(_told(key.filters), 60) if key.filters else "all"
        times = key.created_at[:19], key.revoked_at[:19]
        table.add_row(key.id, one_line(key.name, 120), ", ".join(key.scopes), sees, *times)
    if keys:
        invocation.out.print(table)
    else:
        invocation.err.print("no keys; `lexigraph keys create` makes one")


@app.command()
def revoke(context: typer.Context, key: Annotated[str, typer.Argument(help="Key id, as shown by `keys list`.")]) -> None:
    """Revoke a key, effective immediately."""
    settings = current(context).settings()
    with _registry(settings) as registry:  # a whole key is as good a name as its id
        revoked = registry.revoke_key(Tenant(settings.tenant), "_".join(key.split("_")[:2]))
    typer.echo(f"revoked {revoked.id}")


def rights_of(expressions: Sequence[str]) -> Filter | None:
    """Return the filter that all expressions make together; one may be JSON. Raise ``InvalidInput`` for what is none."""
    from lexigraph.api.access.keys import MOST_FILTER

    rights = parse_filter(all_of(*map(_parsed, expressions)))
    if rights and len(_told(rights)) > MOST_FILTER:
        raise InvalidInput(
            f"--filter must have at most {MOST_FILTER:,} characters as JSON: filter by groups instead of documents"
        )
    return rights


def _parsed(expression: str) -> Filter:
    if not expression.lstrip().startswith("{"):
        return parse_expression(expression)
    try:
        raw = json.loads(expression)
    except ValueError:
        raise InvalidInput(f"--filter: {expression[:60]!r} is not valid JSON") from None
    return parse_filter(raw) or parse_expression(expression)


def _told(filters: Filter) -> str:
    return json.dumps(plain_filter(filters), ensure_ascii=False)


def _registry(settings: Settings) -> closing[Registry]:
    from lexigraph.storage.factory import RegistryFactory

    return closing(RegistryFactory.for_registry(settings.connections["registry"]))


def _plain(key: ApiKey) -> dict[str, Any]:
    filters = plain_filter(key.filters) if key.filters else None
    return {**{name: value for name, value in asdict(key).items() if name != "digest"}, "filters": filters}
