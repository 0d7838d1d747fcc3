"""``lexigraph bulk``: extraction of many documents by batch inference of Bedrock, before they are ingested."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json
from lexigraph.model.numbers import counted
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.storage.protocols import ContentCache

app = typer.Typer(help="Extract many documents at half the price, by batch inference of Bedrock; then ingest them.")
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="What `bulk prepare` wrote.", show_default=False)]


@app.command()
def prepare(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="New folder for the batches.", show_default=False)],
    no_temperature: Annotated[
        bool, typer.Option("--no-temperature", help="Send no temperature: for models that refuse one.")
    ] = False,
    most: Annotated[int, typer.Option(min=200, max=50_000, help="Records a job; the quota differs by model.")] = 25_000,
    json_: JsonOption = False,
) -> int:
    """Cut documents into chunks and write down what has to be asked: chunks whose extraction is not cached."""
    from lexigraph.inference.factory import make_batches
    from lexigraph.ingestion import bulk

    invocation = current(context)
    settings = invocation.settings()
    llm, _ = make_batches(settings)
    with _cache(settings) as cache:
        report = bulk.prepare(
            paths, out, settings, llm, cache, tenant=settings.tenant, temperature=not no_temperature, most=most
        )
    for failure in report.failures:
        invocation.err.print(one_line(f"failed: {failure.uri}: {failure.reason}"), soft_wrap=True)
    if json_:
        print_json(asdict(report))
    else:
        counts = (
            f"{counted(report.documents, 'document')}, {counted(report.chunks, 'chunk')}, {report.cached:,} of them cached"
        )
        todo = f"{counted(report.records, 'record')} in {counted(report.jobs, 'job')}"
        todo += f": lexigraph bulk submit {out} --to s3://BUCKET --role ARN"
        invocation.out.print(f"{counts}\n{todo if report.records else 'nothing to ask: lexigraph ingest'}", soft_wrap=True)
    if not report.failures:
        return ExitCode.OK
    return ExitCode.PARTLY if report.documents else ExitCode.NOTHING


@app.command()
def submit(
    context: typer.Context,
    folder: FolderArgument,
    to: Annotated[str, typer.Option(metavar="S3", help="s3://BUCKET/PREFIX[?region=REGION].", show_default=False)],
    role: Annotated[str, typer.Option(metavar="ARN", help="Role with which Bedrock reads and writes there.")],
    json_: JsonOption = False,
) -> None:
    """Put the batches into S3 and start their jobs. Run again, it starts those that failed or were not started."""
    from lexigraph.inference.factory import make_batches
    from lexigraph.ingestion import bulk

    invocation = current(context)
    _, batches = make_batches(invocation.settings())
    started = bulk.submit(folder, batches, to, role)
    if json_:
        print_json({"started": started})
    else:
        rest = f"; when they are over: lexigraph bulk collect {folder}" if started else ""
        invocation.out.print("\n".join([*started, f"{counted(len(started), 'job')} started{rest}"]), soft_wrap=True)


@app.command()
def collect(context: typer.Context, folder: FolderArgument, json_: JsonOption = False) -> int:
    """Put the replies of jobs that are over into the cache: an ingest of the same documents finds them there.

    Exit code 7 says that jobs are still at work.
    """
    from lexigraph.inference.factory import make_batches
    from lexigraph.ingestion import bulk

    invocation = current(context)
    settings = invocation.settings()
    llm, batches = make_batches(settings)
    with _cache(settings) as cache:
        report = bulk.collect(folder, settings, llm, batches, cache)
    if json_:
        print_json(asdict(report))
    else:
        left = {"unusable": report.unusable, "unanswered": report.unanswered, **report.errors}
        asked_again = ", ".join(f"{count:,} {reason}" for reason, count in left.items() if count)
        invocation.out.print(f"{report.filled:,} of {report.records:,} records are in the cache", soft_wrap=True)
        if asked_again:
            invocation.out.print(f"not usable: {asked_again}; the next ingest asks again", soft_wrap=True)
        for failed in report.failed:
            invocation.err.print(one_line(f"failed: {failed}; run `lexigraph bulk submit` again"), soft_wrap=True)
        if report.waiting:
            invocation.err.print(f"{counted(report.waiting, 'job is', 'jobs are')} not over: collect again later")
    if report.waiting:
        return ExitCode.CONFLICT
    return ExitCode.PARTLY if report.failed else ExitCode.OK


def _cache(settings: Settings) -> "closing[ContentCache]":
    from lexigraph.storage.factory import CacheFactory

    return closing(CacheFactory.for_cache(settings.connections["cache"]))
