"""``lexigraph bench questions``: questions for ``bench answers``, drafted from the documents themselves."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.bench.folder import FolderArgument, IndexOption, taken_in
from lexigraph.cli.bench.quality import counting
from lexigraph.cli.invocation import Invocation, current
from lexigraph.cli.output import printable
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.numbers import counted

if TYPE_CHECKING:
    from lexigraph.evaluation.drafts import Draft
    from lexigraph.inference.protocols import LanguageModel
    from lexigraph.model.graph import StatementRow


def questions(
    context: typer.Context,
    folder: FolderArgument,
    number: Annotated[int, typer.Option(min=0, max=10_000, help="Number of questions that the documents answer.")] = 50,
    unanswerable: Annotated[
        int, typer.Option(min=0, max=10_000, help="Number of questions that the documents do not answer.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draft; the same seed gives the same questions.")] = 1,
    index: IndexOption = None,
    llm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Language model that writes the questions, or none. (LEXIGRAPH_LLM)")
    ] = None,
) -> None:
    """Draft questions with expected answers about your own documents, as JSON lines for bench answers.

    Without a language model they are derived from facts. Review them, and correct or delete bad ones.
    """
    from lexigraph.evaluation.drafts import cloze, statements_of, swapped
    from lexigraph.inference.factory import make_llm

    invocation = current(context)
    model = make_llm(invocation.settings(llm=llm))
    with taken_in(invocation, folder, index) as opened:
        rows = statements_of(opened)
    drafts = _by_model(invocation, model, rows, number, seed) if model else cloze(rows, number, seed=seed)
    foreign = swapped(rows, unanswerable, seed=seed)
    for at, draft in enumerate((*drafts, *foreign), 1):
        sys.stdout.write(json.dumps(draft.to_dict(at), ensure_ascii=False) + "\n")
    told = f"{counted(len(drafts), 'question')} and {counted(len(foreign), 'unanswerable one')}"
    told += ": drafts, to be read before they are trusted"
    if (len(drafts), len(foreign)) != (number, unanswerable):
        told += f"; {number:,} and {unanswerable:,} were asked for, the documents give no more"
    invocation.err.print(told, soft_wrap=True)


def _by_model(
    invocation: Invocation, model: "LanguageModel", rows: "Sequence[StatementRow]", number: int, seed: int
) -> "list[Draft]":
    """Return what a model writes; where it fails, or nothing of it can be used, questions made of facts, with a warning."""
    from lexigraph.evaluation.drafts import cloze
    from lexigraph.evaluation.written import written

    why = "nothing that the model wrote can be used"
    try:
        if drafts := written(rows, number, model, seed=seed, advance=counting(invocation.err, model.name)):
            return drafts
    except ModelUnavailable as error:
        why = str(error)
    invocation.err.print(printable(f"warning: {why}; questions are made of facts instead"), soft_wrap=True)
    return cloze(rows, number, seed=seed)
