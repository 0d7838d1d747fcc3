"""``lexigraph recall``: the nodes that a memory holds for a query, those near to what the session was about first (M-20)."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lexigraph.cli.answers import print_warnings
from lexigraph.cli.ask import FilterOption, given_text
from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.filters import all_of, parse_expression
from lexigraph.model.numbers import counted
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.recall.args import RecallArgs, recall_query
from lexigraph.retrieval.recall.results import RecallNode, RecallResults

_DEFAULT = RecallArgs()
_SHOWN = 160


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words or a regular expression, or - to read them from stdin.")],
    session_id: Annotated[
        str,
        typer.Option(
            metavar="NAME", show_default=False, help="Session whose earlier recalls count. Default: a new session."
        ),
    ] = _DEFAULT.session_id,
    max_results: Annotated[
        int, typer.Option("--max-results", "-n", metavar="N", help="Maximum number of nodes, 1 to 50.")
    ] = _DEFAULT.max_results,
    force_regex: Annotated[
        bool, typer.Option("--force-regex", help="Treat the query as a regular expression.")
    ] = _DEFAULT.force_regex,
    filters: FilterOption = None,
    json_: JsonOption = False,
) -> None:
    """Recall entities, statements and topics with their edges, weighted by the session so far.

    --json prints the response of POST /api/v1/memory/recall.
    """
    invocation = current(context)
    settings = invocation.settings()
    args = RecallArgs(session_id, max_results, force_regex)
    text = recall_query(given_text(query), force_regex=force_regex)
    condition = all_of(*map(parse_expression, filters or ()))
    with invocation.stores(settings) as stores:
        from lexigraph.retrieval.retrievers import RecallRetriever

        found = RecallRetriever(stores.graph, stores.vectors, stores.registry, settings=settings).retrieve(
            Tenant(settings.tenant), Question(text, condition), **asdict(args)
        )
        if not found.nodes:
            invocation.tell_if_empty(stores, settings)
    if json_:
        print_json(found.to_dict())
        return
    _print(invocation.out, found)
    print_warnings(invocation.err, found.warnings)


def _print(console: Console, found: RecallResults) -> None:
    for number, node in enumerate(found.nodes, 1):
        _print_node(console, f"{number}. ", node)
    if not found.nodes:
        console.print("nothing found")
    if found.context:
        console.print("\nAround them")
    for node in found.context:
        _print_node(console, "   ", node)
    names = {node.key: node.name for node in (*found.nodes, *found.context)}
    relations = [edge for edge in found.edges if edge.type == "RELATION"]
    if relations:
        console.print("\nRelations")
    for edge in relations:
        line = f"   {names[edge.source]} | {edge.relationship} | {names[edge.target]}"
        console.print(Text(one_line(line)), soft_wrap=True)
    told = f"session {found.session_id}: {found.phase}, {counted(found.recalls, 'recall')} before"
    console.print(
        Text(f"\n{counted(len(found.nodes), 'node')}, {counted(len(found.edges), 'edge')}; {one_line(told)}", style="dim"),
        soft_wrap=True,
    )


def _print_node(console: Console, lead: str, node: RecallNode) -> None:
    sources, name, more = ", ".join(node.sources), node.name, node.description
    if node.type == "statement":  # its name is the beginning of its text
        name, more = more or name, ""
    console.print(
        Text.assemble((lead, "cyan"), f"{node.score:.3f}  {one_line(name, _SHOWN)}  ", (f"{node.type}, {sources}", "dim")),
        soft_wrap=True,
    )
    if more and more != name:
        console.print(Text(f"   {one_line(more, _SHOWN)}", style="dim"), soft_wrap=True)
