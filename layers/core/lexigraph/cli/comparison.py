"""Compared figures as a reader sees them: means with intervals, and paired differences to the best rival."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from lexigraph.evaluation.comparison import Compared
    from lexigraph.evaluation.metrics import Estimate

BudgetsOption = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Compare the first N tokens of the results, such as 300,1000,2000.")
]


def show_compared(console: Console, what: str, found: Mapping[str, "Compared"]) -> None:
    """Print a table in percent, with a row a retriever and a column a type of question."""
    types = next(iter(found.values())).by_type
    heads = [f"{kind or 'not known'} ({number})" for kind, (_, number) in types.items()] if len(types) > 1 else []
    rows = {
        name: [
            percent(one.mean),
            percent(one.difference, "+") if one.difference else "",
            one.rival,
            *(f"{100 * mean:.1f}" for mean, _ in one.by_type.values() if heads),
        ]
        for name, one in found.items()
    }
    console.print()
    console.print(table_of(what, ["percent [95 %]", "minus best rival [95 %]", "best rival", *heads], rows))


def budgets_dict(found: Mapping[int, Mapping[str, "Compared"]], name: str) -> dict[str, Any]:
    """Return what was compared of a retriever as plain data, by budget; nothing when nothing was."""
    return {"budgets": {str(budget): compared[name].to_dict() for budget, compared in found.items()}} if found else {}


def percent(estimate: "Estimate", sign: str = "") -> str:
    """Return a mean in percent with its interval."""
    mean, low, high = (f"{round(100 * value, 1) + 0.0:{sign}.1f}" for value in (estimate.mean, estimate.low, estimate.high))
    return f"{mean} [{low}, {high}]"


def table_of(corner: str, heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Table:
    """Return a table with a row a name, numbers to the right."""
    table = Table(box=None, pad_edge=False)
    table.add_column(corner)
    for head in heads:
        table.add_column(head, justify="right")
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table
