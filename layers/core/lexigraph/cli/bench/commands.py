"""``lexigraph bench``: how good retrieval is, and how fast this machine is at it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lexigraph.cli.bench.answers import answers
from lexigraph.cli.bench.folder import NewFolderOption, kept_or_temporary, new_or_temporary
from lexigraph.cli.bench.quality import quality
from lexigraph.cli.bench.questions import questions
from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption, PathsArgument
from lexigraph.cli.output import print_json
from lexigraph.cli.progress import overwriting

if TYPE_CHECKING:
    from lexigraph.evaluation.reading import Reading
    from lexigraph.evaluation.speed import RetrieverFigures, SpeedFigures

app = typer.Typer(help="Measure quality and speed.")
_EXCERPT_CHARS = 300


@app.callback()
def bench() -> None:
    """Measure quality and speed."""


@app.command()
def speed(
    context: typer.Context,
    statements: Annotated[
        int, typer.Option(min=100, max=10_000_000, help="Approximate number of statements in the index.")
    ] = 100_000,
    retriever: Annotated[
        list[str] | None, typer.Option(help="Retriever to measure; may be repeated. multidoc gives one row per preset.")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=10_000, help="Questions of each of the four kinds.")] = 50,
    folder: Annotated[
        Path | None, typer.Option(help="Folder in which indexes are built and reused. Default: a temporary folder.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the synthetic corpus.")] = 1,
    json_: JsonOption = False,
) -> None:
    """Measure the latency of questions on a synthetic index (warm, embeddings precomputed)."""
    from lexigraph.evaluation.speed import MEASURED, measure_speed

    invocation = current(context)
    progress = overwriting(invocation.err)
    with kept_or_temporary(folder) as home:
        figures = measure_speed(home, statements, retriever or MEASURED, questions, seed=seed, progress=progress)
    if json_:
        print_json(asdict(figures))
    else:
        _show(invocation.out, figures)


app.command()(quality)
app.command()(answers)
app.command()(questions)


@app.command()
def build(
    context: typer.Context,
    statements: Annotated[
        int, typer.Option(min=100, max=10_000_000, help="Approximate number of statements to write.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the synthetic corpus.")] = 1,
    folder: NewFolderOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure the build stage, with precomputed extractions and embeddings."""
    from lexigraph.evaluation.build import measure

    invocation = current(context)
    show = overwriting(invocation.err)
    with new_or_temporary(folder) as home:
        figures = asdict(measure(home, statements, seed=seed, progress=lambda done: show(f"{done:,} statements")))
    if json_:
        print_json(figures)
    else:
        for name, value in figures.items():
            invocation.out.print(f"{name:<24}{value:>14,}")


@app.command()
def ingest(
    context: typer.Context,
    paths: PathsArgument,
    documents: Annotated[int | None, typer.Option(min=1, help="Maximum number of documents.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Cores to use. Default: LEXIGRAPH_THREADS.")] = None,
    folder: NewFolderOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure an ingest of any files into a new embedded database, with the configured models."""
    from lexigraph.cli.progress import telling
    from lexigraph.evaluation.ingest import measure

    invocation = current(context)
    with new_or_temporary(folder) as home, telling(invocation.err) as listener:
        settings = invocation.settings()
        figures = measure(home, paths, settings, documents=documents, cores=workers, on_event=listener)
    if json_:
        print_json(asdict(figures))
    else:
        for name, value in figures.lines():
            invocation.out.print(f"{name:<28}{value:>14,}")


@app.command()
def reading(
    context: typer.Context,
    paths: PathsArgument,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 1,
    samples: Annotated[int, typer.Option(min=0, max=10_000, help="Number of statements, facts and topics to show.")] = 30,
    json_: JsonOption = False,
) -> None:
    """Show how documents are read: chunks, topics and statements by kind, with samples to inspect.

    Nothing is stored. A configured language model is called for every chunk.
    """
    from lexigraph.evaluation.reading import measure
    from lexigraph.inference.factory import make_llm
    from lexigraph.ingestion.extract import make_extractor

    invocation = current(context)
    settings = invocation.settings()
    extractor = make_extractor(settings, make_llm(settings))
    show = overwriting(invocation.err)
    found = measure(paths, settings, extractor, seed=seed, samples=samples, progress=show)
    if json_:
        print_json(asdict(found))
    else:
        _show_reading(invocation.out, found)


def _show_reading(out: Console, found: "Reading") -> None:
    document, title, most = found.longest_topic
    lines = (
        ("documents", f"{found.documents:,}, {len(found.rejected):,} rejected"),
        ("chunks", f"{found.chunks:,}, {found.tokens:,} tokens"),
        ("tokens of a chunk", "{} (5 %), {} (25 %), {} (median), {} (75 %), {} (95 %)".format(*found.chunk_tokens)),
        ("chunks under 32 tokens", f"{found.small:.1%}"),
        ("topics", f"{found.topics:,}, {found.large_topics:,} of more than 40 statements"),
        ("longest topic", f"{most:,} statements: {title} ({document})"),
        ("statements", f"{found.statements:,}, {found.statements_per_topic:.1f} a topic, {found.duplicated:,} duplicated"),
        ("kinds", ", ".join(f"{share:.1%} {kind}" for kind, share in found.kinds.items())),
        ("facts", f"{found.facts:,}"),
        ("entities", f"{found.entities:,}, {found.unclosed:,} with an unclosed bracket"),
    )
    for name, value in lines:
        out.print(f"{name:<24}{value}", highlight=False, markup=False)
    for kind, samples in found.samples.items():
        out.print(f"\n{len(samples)} {kind}", style="bold")
        for sample in samples:
            out.print(f"- {sample.read}", highlight=False, markup=False)
            out.print(f"  {sample.document}: {_excerpt(sample.passage)}", style="dim", highlight=False, markup=False)


def _excerpt(passage: str) -> str:
    line = " ".join(passage.split())
    return line if len(line) <= _EXCERPT_CHARS else f"{line[:_EXCERPT_CHARS]} ..."


def _show(out: Console, figures: "SpeedFigures") -> None:
    files = ", ".join(f"{name} {megabytes:,.1f} MB" for name, megabytes in figures.disk_mb.items())
    out.print(f"{figures.statements:,} statements, {figures.entities:,} entities; {figures.questions:,} questions; {files}")
    for found in figures.retrievers:
        out.print(f"\n{found.retriever}")
        for name, value in _lines(found):
            out.print(f"  {name:<40}{value:>10,.1f}")
    if figures.multidoc_overhead_ms is not None:
        out.print(f"\nfive documents take {figures.multidoc_overhead_ms:,.1f} ms more than one")


def _lines(found: "RetrieverFigures") -> list[tuple[str, float]]:
    return [
        ("p50 ms", found.p50_ms),
        ("p95 ms", found.p95_ms),
        *((f"{part}, ms", value) for part, value in found.wall_ms.items()),
        *((f"{part}, processor ms", value) for part, value in found.processor_ms.items()),
        *((f"question: {kind}, ms", value) for kind, value in found.kinds_ms.items()),
        *((f"step: {step}, ms", value) for step, value in found.steps_ms.items()),
        *((f"{store} calls at most", count) for store, count in found.calls.items()),
        *((f"index read: {part}, MB", size) for part, size in found.index_mb.items()),
        ("peak memory, MB", found.peak_mb),
    ]
