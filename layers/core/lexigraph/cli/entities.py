"""``lexigraph entities``: which names mean the same, and which one means two things: decided by people, listed, undone."""

import getpass
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.table import Table

from lexigraph.cli.invocation import Invocation, index_of, stores_of
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.curation import Decision
from lexigraph.model.graph import Entity

_MOST = 1_000  # entities in a list
_SHOWN = 3  # documents of a split that a line names
app = typer.Typer(no_args_is_help=True, help="List, merge and split entities.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the entity that is meant.", show_default=False)]
Others = Annotated[list[str], typer.Argument(metavar="OTHER...", help="Other names of it.", show_default=False)]
Note = Annotated[str, typer.Option(help="Why, for the history.")]


@app.command("list")
def list_entities(
    context: typer.Context,
    words: Annotated[str, typer.Argument(help="Words of a name. Default: the most frequent.", show_default=False)] = "",
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Maximum number.")] = 20,
    json_: JsonOption = False,
) -> None:
    """List entities by name, or the most frequent ones."""
    from lexigraph.storage.common.counts import live_counts
    from lexigraph.storage.protocols import SearchRequest

    with stores_of(context) as (invocation, stores, owner):
        if words:
            (hits,) = stores.vectors.search_many(owner, [SearchRequest("entity", text=words, k=limit + 1, prefix=True)])
            ids = [hit.id for hit in hits]
            found = stores.graph.entities(owner, ids).found
            entities: list[Entity] = [found[id_] for id_ in ids if id_ in found]
        else:
            entities = stores.graph.leading(owner, limit + 1)
        entities, more = entities[:limit], len(entities) > limit
        total = live_counts(stores, owner)["entities"] if more and not words else None
        aliases = stores.graph.entities(owner, [entity.id for entity in entities]).aliases
    same = {entity.id: sorted(other.value for other in aliases.get(entity.id, ())) for entity in entities}
    if json_:
        told = [{**entity.to_dict(), "means_the_same": same[entity.id]} for entity in entities]
        print_json({"entities": told, "more": more})
        return
    if not entities:
        invocation.err.print("no entities")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("name", "class", "documents", "means the same"):
        table.add_column(name, overflow="fold", justify="right" if name == "documents" else "left")
    for entity in entities:
        table.add_row(one_line(entity.value), entity.class_ or "-", f"{entity.df:,}", one_line(", ".join(same[entity.id])))
    invocation.out.print(table)
    if more:
        shown = f"the first {limit:,}" + (f" of {total:,}" if total else "")
        invocation.err.print(f"{shown}: {'--limit shows more' if limit < _MOST else 'words of a name narrow them'}")


@app.command()
def merge(context: typer.Context, name: Name, others: Others, note: Note = "", json_: JsonOption = False) -> None:
    """Merge entities: questions about one name find what documents say of the others.

    Kept over ingests and deletions of documents, listed by `history`, reverted by `undo`.
    """
    _decide(context, "merge", name, others, note, json_=json_)


@app.command()
def alias(context: typer.Context, name: Name, others: Others, note: Note = "", json_: JsonOption = False) -> None:
    """Add other names to an entity, also such that no document contains yet."""
    _decide(context, "alias", name, others, note, json_=json_)


@app.command()
def split(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name that documents use.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="NEW", help="Name of what it means in these.", show_default=False)],
    documents: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT...", help="Ids, URIs, paths or file names.", show_default=False)
    ],
    note: Note = "",
    json_: JsonOption = False,
) -> None:
    """Split an entity: in the given documents, the name means another entity.

    Rebuilds these documents without a model call. Kept over later ingests, reverted by `undo`.
    """
    with index_of(context) as (invocation, index, tenant):
        made = index.split(name, other, documents, tenant=tenant, by=getpass.getuser(), note=note)
        _show(invocation, made, json_=json_)


@app.command()
def proposals(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Only pairs with this name.", show_default=False)] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number.")] = 20,
    json_: JsonOption = False,
) -> None:
    """Propose merges: entities with similar names in the same company, with the evidence.

    Considers the 2,000 entities that most documents name. Accept a pair with `accept`.
    """
    from lexigraph.ingestion.proposals import propose

    with stores_of(context) as (invocation, stores, owner):
        found = propose(stores, owner, limit=limit, name=name)
    if json_:
        print_json({"proposals": [{"id": one.id, **asdict(one)} for one in found]})
        return
    if not found:
        invocation.err.print("no proposals")
    for one in found:
        told = f"{one.id}  {one.score:.2f}  {one.name} = {one.other}  ({one.evidence})"
        invocation.out.print(told, soft_wrap=True, markup=False)


@app.command()
def accept(
    context: typer.Context,
    proposal: Annotated[str, typer.Argument(help="Id, as shown by `proposals`.", show_default=False)],
    json_: JsonOption = False,
) -> None:
    """Accept a proposed merge. The history keeps its evidence."""
    from lexigraph.ingestion.proposals import accept

    with stores_of(context) as (invocation, stores, owner):
        _show(invocation, accept(stores, owner, proposal, by=getpass.getuser()), json_=json_)


@app.command()
def undo(
    context: typer.Context,
    decision: Annotated[str, typer.Argument(help="Id, as shown by `history`.", show_default=False)],
    json_: JsonOption = False,
) -> None:
    """Undo a merge, an alias or a split."""
    with index_of(context) as (invocation, index, tenant):
        _show(invocation, index.undo(decision, tenant=tenant), json_=json_)


@app.command()
def history(context: typer.Context, json_: JsonOption = False) -> None:
    """List all merges, aliases and splits, including undone ones."""
    from lexigraph.ingestion import curation

    with stores_of(context) as (invocation, stores, owner):
        decisions = curation.history(stores, owner)
    if json_:
        print_json({"decisions": [asdict(one) for one in decisions]})
        return
    if not decisions:
        invocation.err.print("no decisions")
    for one in decisions:
        invocation.out.print(_line(one), soft_wrap=True, markup=False)


def _decide(
    context: typer.Context, kind: Literal["merge", "alias"], name: str, others: list[str], note: str, *, json_: bool
) -> None:
    from lexigraph.ingestion import curation

    with stores_of(context) as (invocation, stores, owner):
        _show(invocation, curation.decide(stores, owner, kind, name, others, by=getpass.getuser(), note=note), json_=json_)


def _show(invocation: Invocation, decision: Decision, *, json_: bool) -> None:
    if json_:
        print_json(asdict(decision))
    else:
        invocation.out.print(_line(decision), soft_wrap=True, markup=False)


def _line(one: Decision) -> str:
    means = f"{one.name} = {', '.join(one.others)}"
    if one.documents:
        means += f" in {', '.join(uri for _, uri in one.documents[:_SHOWN])}"
        means += f" and {len(one.documents) - _SHOWN} more" if len(one.documents) > _SHOWN else ""
    told = f"{one.id}  {one.kind}  {means}  by {one.by or 'unknown'}"
    return told + (f"  ({one.note})" if one.note else "") + (f"  undone {one.undone_at[:19]}" if one.undone_at else "")
