"""``lexigraph bulk``: many documents by batch inference of Bedrock, at half the price, and by Neptune's bulk loader."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.ingest import outcome, summarise
from lexigraph.cli.invocation import Invocation, current
from lexigraph.cli.options import JsonOption, NoProgressOption, PathsArgument
from lexigraph.cli.output import one_line, print_json
from lexigraph.cli.progress import telling
from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.numbers import counted
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.ingestion.bulk_load import BulkLoad, Progress
    from lexigraph.ingestion.load import FileItem
    from lexigraph.storage.neptune.loader import NeptuneLoader
    from lexigraph.storage.protocols import ContentCache

_LOOK_SECONDS = 15.0  # between two looks at the loader
app = typer.Typer(help="Extract with Bedrock batch inference and load with Neptune's bulk loader.")
FolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder written by `bulk prepare`.", show_default=False)
]


@app.command()
def prepare(
    context: typer.Context,
    paths: PathsArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="New folder for the batches.", show_default=False)],
    no_temperature: Annotated[
        bool, typer.Option("--no-temperature", help="Omit the temperature, for models that reject it.")
    ] = False,
    most: Annotated[
        int, typer.Option(min=200, max=50_000, help="Maximum records per job; the quota depends on the model.")
    ] = 25_000,
    json_: JsonOption = False,
) -> int:
    """Write the batch inference requests of all chunks that have no cached extraction."""
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
    role: Annotated[str, typer.Option(metavar="ARN", help="IAM role that Bedrock assumes to read and write there.")],
    json_: JsonOption = False,
) -> None:
    """Upload the batches to S3 and start their jobs. Run it again to start jobs that failed."""
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
    """Store the results of finished jobs in the cache, for the next ingest of the same documents.

    Exits with 7 while jobs are running.
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


@app.command()
def load(
    context: typer.Context,
    paths: PathsArgument,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the state of the load.", show_default=False)],
    to: Annotated[str, typer.Option(metavar="S3", help="s3://BUCKET/PREFIX?region=REGION.", show_default=False)],
    role: Annotated[str, typer.Option(metavar="ARN", help="IAM role that Neptune assumes to read there.")] = "",
    namespace: Annotated[str, typer.Option(help="Namespace, as for `ingest`.")] = "default",
    parallelism: Annotated[
        Literal["LOW", "MEDIUM", "HIGH", "OVERSUBSCRIBE"], typer.Option(help="Share of the cluster that the loader may use.")
    ] = "MEDIUM",
    inbox: Annotated[
        str, typer.Option(metavar="S3", help="Only write the files; documents will be uploaded to this inbox: s3://BUCKET.")
    ] = "",
    status: Annotated[bool, typer.Option("--status", help="Show the progress of the load and exit.")] = False,
    no_progress: NoProgressOption = False,
    json_: JsonOption = False,
) -> int:
    """Load documents with Neptune's bulk loader, then publish them. Worth it from about 100,000 chunks.

    Run it again to resume. It needs to reach Neptune and OpenSearch, so run it inside the VPC, or use --inbox to leave
    the load and the ingest to a deployment. Exits with 7 while the loader is running.
    """
    from lexigraph.ingestion.bulk_load import BulkLoad, progress_of
    from lexigraph.storage.neptune.loader import NeptuneLoader

    invocation = current(context)
    settings = invocation.settings()
    if status:
        return _tell(invocation, progress_of(out), json_=json_)
    if not role and not inbox:
        raise InvalidInput("pass --role (the role with which Neptune reads the files) or --inbox")
    loader = NeptuneLoader(settings.connections["graph"])
    items = list(_in_inbox(paths, inbox, settings.tenant, namespace)) if inbox else paths
    with (
        invocation.index(settings, create=True) as index,
        closing(BulkLoad(out, to, settings.tenant, namespace, index.models.extractor.name)) as loading,
    ):

        def told(line: str) -> None:
            if not no_progress:
                invocation.err.print(line, soft_wrap=True)

        loading.write(items, index.stores, index.models, index.llm, settings, on_part=lambda p: told(_files(p)))
        for failure in loading.progress.failures:
            invocation.err.print(one_line(f"failed: {failure.uri}: {failure.reason}"), soft_wrap=True)
        if inbox:
            return _tell(invocation, loading.progress, json_=json_, left_to_others=True)
        _follow(loading, loader, role, parallelism, told)
        with telling(invocation.err, progress=not no_progress) as listener:
            report = index.ingest(list(paths), tenant=settings.tenant, namespace=namespace, on_event=listener)
        totals = index.stores.graph.stats(Tenant(settings.tenant))
    if json_:
        print_json({"load": asdict(loading.progress), "ingest": {**report.to_dict(), "graph": totals}})
    else:
        invocation.out.print(f"{'load':<12}{_files(loading.progress)}", soft_wrap=True)
        summarise(report, totals, invocation.out)
    return outcome(report)


def _follow(loading: "BulkLoad", loader: "NeptuneLoader", role: str, parallelism: str, told: Callable[[str], None]) -> None:
    """Start the loader and wait for its end, with a line when its state changes."""
    loading.start(loader, role, parallelism=parallelism)
    pause, said = 0.2, ""
    while loading.progress.stage == "loading":
        found = loading.look(loader)
        line = f"load {found.id}: {found.status}, {counted(found.records, 'row')}"
        if line != said:
            told(line)
            said = line
        if loading.progress.stage == "loading":
            time.sleep(pause)
            pause = min(1.5 * pause, _LOOK_SECONDS)


def _in_inbox(paths: Sequence[Path], inbox: str, tenant: str, namespace: str) -> Iterator["FileItem"]:
    """Yield files under the names that they get in the inbox: below a folder as they lie there."""
    from dataclasses import replace
    from urllib.parse import quote

    from lexigraph.ingestion.load import FileItem, scan
    from lexigraph.ingestion.workflow.aws import Inbox

    place = Inbox(inbox)
    for path in paths:
        for item in scan([path]):
            if isinstance(item, FileItem):
                name = item.path.name if path.is_file() else item.path.resolve().relative_to(path.resolve()).as_posix()
                key = place.key(Tenant(tenant), namespace, name)
                yield replace(item, uri=f"s3://{place.place.name}/{quote(key)}")


def _tell(invocation: Invocation, found: "Progress | None", *, json_: bool, left_to_others: bool = False) -> int:
    if found is None:
        raise NotFound("this folder contains no load")
    if json_:
        print_json(asdict(found))
    else:
        invocation.out.print(f"{found.stage}: {_files(found)}, in {found.source}", soft_wrap=True)
        for load_id in found.load_ids:
            invocation.out.print(f"load {load_id}", soft_wrap=True)
    if left_to_others or found.stage == "loaded":
        return ExitCode.PARTLY if found.failures else ExitCode.OK
    return ExitCode.CONFLICT


def _files(found: "Progress") -> str:
    megabytes = found.bytes / 1e6
    counts = f"{counted(found.documents, 'document')}, {counted(found.statements, 'statement')}"
    return f"{counts}, {counted(found.rows, 'row')} in {counted(found.files, 'file')} ({megabytes:,.0f} MB)"


def _cache(settings: Settings) -> "closing[ContentCache]":
    from lexigraph.storage.factory import CacheFactory

    return closing(CacheFactory.for_cache(settings.connections["cache"]))
