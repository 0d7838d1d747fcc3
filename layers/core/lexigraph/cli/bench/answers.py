"""``lexigraph bench answers``: how good answers about any documents are, over questions whose answers are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from lexigraph.cli.bench.folder import FolderArgument, IndexOption, taken_in
from lexigraph.cli.bench.quality import check_run, chosen, counting, write_run
from lexigraph.cli.comparison import budgets_dict, percent, show_compared, table_of
from lexigraph.cli.invocation import current
from lexigraph.cli.options import ArgOption, JsonOption, assigned
from lexigraph.cli.output import print_json
from lexigraph.model.numbers import counted

if TYPE_CHECKING:
    from lexigraph.evaluation.answers import Reply
    from lexigraph.evaluation.comparison import Compared


def answers(
    context: typer.Context,
    folder: FolderArgument,
    questions: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="JSON lines with question, one of expected, answer or unanswerable, and files; - reads stdin.",
        ),
    ],
    retriever: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Retriever to measure; may be repeated. Default: all.")
    ] = None,
    budgets: Annotated[str, typer.Option(metavar="N,N,...", help="Context sizes to compare, in tokens.")] = "300,1000,2000",
    index: IndexOption = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='Write the results as JSON lines: {"id", "texts", "figures"} per question.'),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only the first N questions.")] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Language model that writes the answers, or none. (LEXIGRAPH_LLM)")
    ] = None,
    by_type: Annotated[bool, typer.Option("--by-type", help="Also show the figures by type of question.")] = False,
    arg: ArgOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure answers about your own documents against plain search, given questions with known answers.

    The documents are ingested first, unless --index names a folder that already contains them.
    """
    from lexigraph.answering.query_engine import AnswerArgs
    from lexigraph.evaluation.answers import answer_figures, ask, found_within
    from lexigraph.evaluation.expectations import read_expectations
    from lexigraph.evaluation.room import parse_budgets
    from lexigraph.inference.factory import make_llm
    from lexigraph.retrieval.catalogue import check_parameters
    from lexigraph.retrieval.stages.args import names_of

    names, args, rooms = chosen(retriever or ["all"]), assigned(arg or ()), parse_budgets(budgets)
    answering = names_of(AnswerArgs)
    for name in names:
        check_parameters(name, {given: value for given, value in args.items() if given not in answering})
    check_run(run, names)
    invocation = current(context)
    expected = read_expectations(questions, limit)
    model = make_llm(invocation.settings(llm=llm))
    replies: dict[str, list[Reply]] = {}
    with taken_in(invocation, folder, index) as opened:
        size = {"documents": len(opened.documents(tenant=opened.settings.tenant)), "questions": len(expected)}
        for name in names:
            advance = counting(invocation.err, name)
            replies[name] = ask(opened, name, expected, room=max(rooms), llm=model, advance=advance, **args)
    if run is not None:
        write_run(run, (one.to_dict() for one in replies[names[0]]))
    found, figures = found_within(expected, replies, rooms), answer_figures(expected, replies)
    if json_:
        measured = {name: _figures(name, replies[name], found, figures) for name in names}
        print_json({**size, "answered_by": model.name if model else "quotations", "retrievers": measured})
        return
    invocation.out.print(", ".join(counted(number, what.removesuffix("s")) for what, number in size.items()))
    for what, budgeted in found.items():
        for budget, compared in budgeted.items():
            show_compared(invocation.out, f"{what}, {budget:,} tokens", compared)
    _show_answers(invocation.out, figures, replies, by_type)


def _figures(
    name: str,
    replies: Sequence["Reply"],
    found: Mapping[str, Mapping[int, Mapping[str, "Compared"]]],
    figures: Mapping[str, Mapping[str, "Compared"]],
) -> dict[str, Any]:
    return {
        **{what: budgets_dict(compared, name)["budgets"] for what, compared in found.items()},
        "answers": {figure: compared[name].to_dict() for figure, compared in figures.items()},
        "milliseconds": {"p50": _median(replies)},
    }


def _show_answers(
    out: Console,
    figures: Mapping[str, Mapping[str, "Compared"]],
    replies: Mapping[str, Sequence["Reply"]],
    by_type: bool,
) -> None:
    """Print the figures of the answers: a row a figure, with ``by_type`` a row a type below it; a column a retriever."""
    rows = {}
    for figure, found in figures.items():
        types = next(iter(found.values())).by_type
        asked = sum(number for _, number in types.values())
        rows[f"{figure} ({asked})"] = [f"{percent(one.mean)} {_mark(one)}" for one in found.values()]
        for kind, (_, number) in types.items() if by_type else ():
            means = (one.by_type[kind][0] for one in found.values())
            rows[f"{figure}, {kind or 'no type'} ({number})"] = [f"{100 * mean:.1f}  " for mean in means]
    rows["milliseconds, median"] = [f"{_median(found):.0f}  " for found in replies.values()]
    out.print()
    out.print(table_of("answers, percent [95 %] (questions)", list(replies), rows))
    out.print("+ and -: above and below the best rival, question by question; answerable refused: less is better")


def _mark(one: "Compared") -> str:
    """Whether a figure differs from that of the best rival for sure."""
    if one.difference is None or one.difference.low <= 0 <= one.difference.high:
        return " "
    return "+" if one.difference.low > 0 else "-"


def _median(replies: Sequence["Reply"]) -> float:
    return round(float(np.median([one.milliseconds for one in replies])), 2)
