"""``lexigraph bench``: how good retrieval is, and how fast this machine is at it."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.bench_quality import quality
from lexigraph.cli.bench_speed import speed
from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current
from lexigraph.cli.output import print_json
from lexigraph.model.errors import InvalidInput

app = typer.Typer(help="Measure quality and speed.")


@app.callback()
def bench() -> None:
    """Measure quality and speed."""


app.command()(speed)
app.command()(quality)


@app.command()
def build(
    context: typer.Context,
    statements: Annotated[int, typer.Option(min=100, max=10_000_000, help="About how many are written.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the made-up corpus.")] = 1,
    folder: Annotated[
        Path | None, typer.Option(help="Where the database is built, and left; default is a temporary one.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Measure the build stage: extractions and embeddings are given, everything is written."""
    from lexigraph.evaluation.build import measure

    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"--folder {folder} is {'not empty' if folder.is_dir() else 'a file'}: name a new folder")
    invocation = current(context)

    def progress(done: int) -> None:
        if invocation.err.is_terminal:
            invocation.err.print(f"{done:,} statements", end="\r")

    with tempfile.TemporaryDirectory(prefix="lexigraph-bench-") as temporary:
        figures = asdict(measure(folder or Path(temporary), statements, seed=seed, progress=progress))
    if json_:
        print_json(figures)
    else:
        for name, value in figures.items():
            invocation.out.print(f"{name:<24}{value:>14,}")
    return ExitCode.OK
