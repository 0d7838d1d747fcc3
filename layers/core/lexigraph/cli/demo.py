"""``lexigraph demo``: the example corpus becomes a graph, and some of its questions get answers."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import lexigraph
from lexigraph.cli.answers import print_sources, print_timings, print_warnings
from lexigraph.cli.ingest import outcome, summarise
from lexigraph.cli.invocation import current
from lexigraph.cli.output import duration, printable, prose, short_path
from lexigraph.cli.progress import telling
from lexigraph.cli.serve import serve_until_interrupted
from lexigraph.model.errors import NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.counts import live_counts

FOLDER = Path(".demo")
QUESTIONS = ("pellucid-late", "database-or-analytics", "tidewater-predecessor", "tidewater-city")


@dataclass(frozen=True, slots=True)
class Example:
    """A question of ``questions.jsonl`` and the files one has to read to answer it."""

    question: str
    files: tuple[str, ...]


def demo(
    context: typer.Context,
    open_: Annotated[
        bool, typer.Option("--open", help="Afterwards, serve the index and open the explorer in a browser.")
    ] = False,
) -> int:
    """Ingest the example corpus into .demo and answer four questions. Needs no account and no language model."""
    from lexigraph.answering.query_engine import LexicalGraphQueryEngine
    from lexigraph.api.startup import PAGE

    invocation = current(context)
    began = time.perf_counter()
    examples = examples_folder()
    questions = read_examples(examples / "questions.jsonl")
    settings = invocation.settings(data=invocation.given.get("data", FOLDER))
    out = invocation.out
    out.print(f"1. {short_path((examples / 'corpus').as_uri())} becomes a lexical graph in {settings.data}\n")
    with invocation.index(settings, create=True) as index:
        with telling(invocation.err) as listener:
            report = index.ingest([examples / "corpus"], tenant=settings.tenant, on_event=listener)
        summarise(report, live_counts(index.stores, Tenant(settings.tenant)), out)
        engine = LexicalGraphQueryEngine.for_traversal_based_search(
            index.stores.graph, index.stores.vectors, embedder=index.models.embedder, settings=settings
        )
        out.print(f"\n2. {len(QUESTIONS)} questions")
        for name in QUESTIONS:
            _ask(out, invocation.err, engine, questions[name])
    seconds = time.perf_counter() - began
    out.print(f"\ndone in {duration(1000 * seconds)}. Now ask your own:")
    out.print(f'  lexigraph --data {settings.data} query "Who approves spending from the Cobalt Budget?"', soft_wrap=True)
    if open_:
        serve_until_interrupted(invocation, settings, port=0, browse=True)
        return outcome(report)
    built = "" if (PAGE / "index.html").is_file() else "after `make web`, "
    out.print(f"\nSee it in a browser: {built}`lexigraph demo --open`", soft_wrap=True)
    return outcome(report)


def examples_folder() -> Path:
    """Return the folder of examples: that of the wheel, or of the checkout that the package runs from."""
    package = Path(lexigraph.__file__).resolve().parent
    for folder in (package / "examples", package.parents[2] / "examples"):
        if (folder / "corpus").is_dir() and (folder / "questions.jsonl").is_file():
            return folder
    raise NotFound(f"no examples in {package}: this installation is incomplete; reinstall lexigraph")


def read_examples(path: Path) -> dict[str, Example]:
    """Return the questions of a file by id. Raise ``NotFound`` when one that the demo asks is missing."""
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    found = {q["id"]: Example(q["question"], tuple(q["files"])) for q in lines}
    if missing := [name for name in QUESTIONS if name not in found]:
        raise NotFound(f"{path} has no question {missing[0]!r}: take the file of this version of the repository")
    return found


def _ask(out: Console, err: Console, engine: "lexigraph.LexicalGraphQueryEngine", example: Example) -> None:
    """Ask a question and print answer, sources, the files they are in, and the time."""
    out.print(Text(f"\nQ: {example.question}", style="bold cyan"), soft_wrap=True)
    out.print(Text(f"   the answer takes {' and '.join(example.files)}", style="dim"), soft_wrap=True)
    response = engine.stream(example.question).complete()
    prose(out, printable(response.response))
    print_sources(out, response)
    print_warnings(err, response.warnings)
    print_timings(out, response.timings)
