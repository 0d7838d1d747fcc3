"""Figures at budgets of tokens, as a reader sees them: means with intervals, and paired differences to the best rival."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from lexigraph.evaluation.metrics import Estimate
    from lexigraph.evaluation.room import AtBudget

BudgetsOption = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Compare what stands in the first so many tokens, as 300,1000,2000.")
]


def show_budgets(console: Console, what: str, measured: Mapping[str, Sequence["AtBudget"]]) -> None:
    """Print a table a budget, in percent, with a row a retriever; nothing when nothing was measured."""
    for rows in zip(*measured.values(), strict=True):
        kinds = list(rows[0].by_type) if len(rows[0].by_type) > 1 else []
        heads = [f"{kind or 'not known'} ({rows[0].by_type[kind][1]})" for kind in kinds]
        cells = [[*_cells(one), *(f"{100 * one.by_type[kind][0]:.1f}" for kind in kinds)] for one in rows]
        corner = f"{what}, {rows[0].budget:,} tokens"
        known = ["percent [95 %]", "minus best rival [95 %]", "best rival"]
        console.print()
        console.print(table_of(corner, [*known, *heads], dict(zip(measured, cells, strict=True))))


def budgets_dict(measured: Sequence["AtBudget"]) -> dict[str, Any]:
    """Return the figures of a retriever as plain data; nothing when nothing was measured."""
    return {"budgets": [one.to_dict() for one in measured]} if measured else {}


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


def _cells(one: "AtBudget") -> list[str]:
    return [percent(one.mean), percent(one.difference, "+") if one.difference else "", one.rival]
