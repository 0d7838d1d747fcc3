"""``lexigraph bench quality``: how much of the evidence a retriever finds first, over questions whose evidence is known."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lexigraph.cli.bench.folder import IndexOption, kept_or_temporary
from lexigraph.cli.comparison import BudgetsOption, budgets_dict, percent, show_compared, table_of
from lexigraph.cli.invocation import current
from lexigraph.cli.options import ArgOption, JsonOption, assigned
from lexigraph.cli.output import print_json
from lexigraph.cli.progress import telling
from lexigraph.model.errors import InvalidInput, reason_of
from lexigraph.model.tenant import Tenant

if TYPE_CHECKING:
    from lexigraph.evaluation.index import CorpusIndex
    from lexigraph.evaluation.quality import Asked, Quality

_LINE_SECONDS = 10.0
COMPARED = ("traversal", "semantic-guided", "hybrid", "vector", "bm25", "fused")  # what `all` stands for


def quality(
    context: typer.Context,
    corpus: Annotated[
        Path, typer.Option(metavar="FILE", help="Passages as JSON lines with id, title and text; may be gzipped.")
    ],
    questions: Annotated[
        Path, typer.Option(metavar="FILE", help="Questions as JSON lines with id, question, gold and hops.")
    ],
    retriever: Annotated[
        list[str], typer.Option(metavar="NAME", help=f"One of {', '.join(COMPARED)}, or all; may be repeated.")
    ],
    run: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Write the results as JSON lines: {"id", "ranked"} per question.')
    ] = None,
    index: IndexOption = None,
    no_titles: Annotated[bool, typer.Option("--no-titles", help="Ignore titles in text, embeddings and links.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Use only the first N questions.")] = None,
    budgets: BudgetsOption = None,
    arg: ArgOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure recall of the known evidence, and the time that retrieval takes.

    The corpus is ingested first, unless --index names a folder that already contains it.
    """
    from lexigraph.evaluation.corpus import read_corpus, read_questions
    from lexigraph.evaluation.index import corpus_index
    from lexigraph.evaluation.quality import ask, gold_kept, summary
    from lexigraph.evaluation.room import filling, parse_budgets
    from lexigraph.inference.factory import make_llm
    from lexigraph.retrieval.catalogue import check_parameters, make_retriever

    names, args = chosen(retriever), assigned(arg or ())
    for name in names:
        check_parameters(name, args)
    check_run(run, names)
    rooms = parse_budgets(budgets) if budgets else ()
    room = max(rooms, default=0)
    invocation = current(context)
    settings = invocation.settings()
    passages = read_corpus(corpus)
    gold = read_questions(questions, {p.id for p in passages}, limit)
    tenant = Tenant(settings.tenant)
    asked: dict[str, list[Asked]] = {}
    with kept_or_temporary(index) as folder, corpus_index(folder, passages, settings, titles=not no_titles) as indexed:
        stores = indexed.stores
        models: dict[str, Any] = {"embedder": indexed.embedder, "llm": make_llm(settings), "settings": settings}
        retrievers = {
            name: make_retriever(name, stores.graph, stores.vectors, **models, **{**filling(name, room), **args})
            for name in names
        }
        _fill(indexed, invocation.err)
        statements = stores.graph.stats(tenant)["statements"]
        for name, made in retrievers.items():
            advance = counting(invocation.err, name)
            asked[name] = ask(made, tenant, gold, max_chars=settings.max_question_chars, room=room, advance=advance)
    if run is not None:
        write_run(run, ({"id": one.id, "ranked": one.ranked} for one in asked[names[0]]))
    size = {"passages": len(passages), "statements": statements, "questions": len(gold)}
    measured = {name: summary(gold, found) for name, found in asked.items()}
    kept = gold_kept(gold, asked, rooms) if rooms else {}
    if json_:
        figures = {name: q.to_dict() | budgets_dict(kept, name) for name, q in measured.items()}
        print_json({**size, "titles": not no_titles, "retrievers": figures})
    else:
        show(invocation.out, ", ".join(f"{n:,} {what}" for what, n in size.items()) + (", no titles" * no_titles), measured)
        for budget, compared in kept.items():
            show_compared(invocation.out, f"gold passages handed over, {budget:,} tokens", compared)


def chosen(names: Sequence[str]) -> list[str]:
    """Return the retrievers named, each once; ``all`` stands for those that are compared."""
    return list(dict.fromkeys(one for name in names for one in (COMPARED if name == "all" else (name,))))


def check_run(run: Path | None, names: Sequence[str]) -> None:
    """Raise ``InvalidInput`` when the run cannot be written, before anything is measured for it."""
    if run is not None and len(names) > 1:
        raise InvalidInput("--run needs exactly one retriever: choose it with --retriever")
    if run is not None and (run.is_dir() or not run.parent.is_dir()):
        raise InvalidInput(f"--run {run}: name a file in a folder that exists")


def write_run(run: Path, found: Iterable[Mapping[str, Any]]) -> None:
    """Write a line of JSON a question. Raise ``InvalidInput``."""
    lines = (json.dumps(one, ensure_ascii=False) for one in found)
    try:
        run.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"--run {run}: cannot be written: {reason_of(error)}") from None


def show(console: Console, head: str, measured: Mapping[str, "Quality"]) -> None:
    """Print what was measured, as tables."""
    console.print(head)
    for table in tables(measured):
        console.print()
        console.print(table)


def tables(measured: Mapping[str, "Quality"]) -> Iterator[Table]:
    """Yield what is printed: the figures in percent with their intervals, recall@5 by hops, and time and store calls."""
    first = next(iter(measured.values()))
    yield table_of(
        "percent [95 %]",
        list(first.figures),
        {name: [percent(e) for e in q.figures.values()] for name, q in measured.items()},
    )
    if len(first.by_hops) > 1:
        yield table_of(
            "recall@5 by hops",
            [f"{hops or 'not known'} ({number})" for hops, (_, number) in first.by_hops.items()],
            {name: [f"{100 * mean:.1f}" for mean, _ in q.by_hops.values()] for name, q in measured.items()},
        )
    yield table_of(
        "a question",
        ["ms p50", "p95", "question embedded p50", "p95", "store calls at most", "warnings"],
        {
            name: [
                *(f"{ms:.1f}" for ms in (*q.milliseconds, *q.retrieval)),
                ", ".join(f"{number} {store}" for store, number in q.calls.items()),
                ", ".join(f"{kind} {number}" for kind, number in q.warnings.items()) or "none",
            ]
            for name, q in measured.items()
        },
    )


def _fill(indexed: "CorpusIndex", console: Console) -> None:
    with telling(console) as listener:
        report = indexed.fill(listener)
    if report and report.chunks_failed:
        failed = f"warning: {report.chunks_failed:,} chunks have no usable extraction; run again to try them again"
        console.print(failed, soft_wrap=True)


def counting(console: Console, name: str) -> Callable[[int, int], None]:
    """Return what tells how many questions are done: over one line on a terminal, a line every ten seconds elsewhere."""
    told = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal told
        line = f"{name}: {done:,}/{total:,} questions"
        if console.is_terminal:
            console.print(line, end="\r" if done < total else "\n")
        elif time.monotonic() - told >= _LINE_SECONDS:
            told = time.monotonic()
            console.print(line)

    return advance
