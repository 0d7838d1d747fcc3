"""``lexigraph reembed``: all records embedded by another model, beside those in use; then the old ones go."""

import json
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current
from lexigraph.cli.output import print_json
from lexigraph.model.errors import InvalidInput
from lexigraph.model.numbers import counted
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.ingestion.events import Event, Listener
    from lexigraph.ingestion.upkeep.reembed_progress import ReembedReport

_LINE_SECONDS = 5.0


def reembed(
    context: typer.Context,
    model: Annotated[
        str | None,
        typer.Option("--embedding-model", metavar="MODEL", help="New model. [default: LEXIGRAPH_EMBEDDING_MODEL]"),
    ] = None,
    dimension: Annotated[
        int | None, typer.Option("--embedding-dimension", min=8, max=16_000, help="Vector size of the new model.")
    ] = None,
    options: Annotated[
        str, typer.Option("--embedding-options", metavar="JSON", help="Arguments of the new LlamaIndex class (JSON).")
    ] = "{}",
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="LABEL",
            help="Label of the present embeddings, such as minilm-384. [default: that of the settings]",
        ),
    ] = None,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Delete the old records once all new ones exist.")] = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show only the summary.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Embed all records of the tenant with another model, beside those in use, without extracting again.

    Readers use the old model until LEXIGRAPH_EMBEDDING_MODEL names the new one and they restart. Run it again for
    documents ingested meanwhile (with --from LABEL after the switch), and finally with --drop-old.
    """
    from lexigraph.inference.factory import make_embedder
    from lexigraph.ingestion.upkeep import reembed as core

    invocation = current(context)
    settings = invocation.settings()
    target = _target(settings, model, dimension, options)
    source = core.embedding_of(from_) if from_ else settings.embedding
    if drop_old and settings.embedding.label != target.embedding.label:
        raise InvalidInput(
            f"--drop-old: the settings still use {settings.embedding.label}, so its records cannot be dropped: set "
            "LEXIGRAPH_EMBEDDING_MODEL to the new model, start all readers again, and name the old label with --from"
        )
    with ExitStack() as stack:
        stores = stack.enter_context(invocation.stores(settings))
        old, new = stack.enter_context(core.side_by_side(settings, source, target.embedding))
        listener = _lines_to(invocation.err, progress=not no_progress)
        report = core.reembed(
            stores,
            old,
            new,
            make_embedder(target),
            tenant=settings.tenant,
            drop_old=drop_old,
            on_event=listener,
        )
    if json_:
        print_json(asdict(report))
    else:
        _summarise(report, invocation.out, in_use=settings.embedding.label == target.embedding.label)
    return ExitCode.PARTLY if report.missing else ExitCode.OK


def _target(settings: Settings, model: str | None, dimension: int | None, options: str) -> Settings:
    """Return the settings with the new model."""
    from lexigraph.ingestion.upkeep.reembed import settings_with

    if model is None and (dimension is not None or options != "{}"):
        raise InvalidInput("--embedding-dimension and --embedding-options need --embedding-model")
    if model is None:
        return settings
    try:
        given = json.loads(options)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidInput("--embedding-options must be a JSON object")
    return settings_with(settings, model, dimension, given)


def _lines_to(console: Console, *, progress: bool) -> "Listener":
    shown = time.monotonic()

    def tell(event: "Event") -> None:
        nonlocal shown
        if progress and event.stage == "documents" and time.monotonic() - shown >= _LINE_SECONDS:
            shown = time.monotonic()
            console.print(
                f"{event.current:,}/{event.total:,} documents, {counted(event.detail['records'], 'record')} written"
            )

    return tell


def _summarise(report: "ReembedReport", console: Console, *, in_use: bool) -> None:
    rows = {
        "embedding": f"{report.source} -> {report.target}",
        "documents": f"{report.documents:,} have all their records"
        + (f", {report.unfinished:,} are not built to the end: ingest them again" if report.unfinished else ""),
        "records": f"{report.records:,} there, {report.written:,} of them new, {report.embedded:,} texts embedded"
        + (f", {report.removed:,} without a document removed" if report.removed else ""),
        "time": f"{report.elapsed_sec:.1f} s",
    }
    if report.missing:
        rows["missing"] = f"{report.missing:,} records are in neither: ingest their documents again with the new model"
    if report.dropped:
        rows["old"] = f"all records of {report.source} are deleted"
    elif in_use:
        rows["next"] = f"when nobody uses {report.source} any more: lexigraph reembed --from {report.source} --drop-old"
    else:
        rows["next"] = "set LEXIGRAPH_EMBEDDING_MODEL to the new model and start everything again that reads or ingests"
    for name, value in rows.items():
        console.print(f"{name:<12}{value}", soft_wrap=True)
