"""``lexigraph ingest``: files and folders become a lexical graph."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.invocation import current
from lexigraph.cli.options import NoProgressOption, PathsArgument
from lexigraph.cli.output import print_json
from lexigraph.cli.progress import telling
from lexigraph.ingestion.events import IngestReport, told, useless
from lexigraph.model.numbers import counted
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.counts import live_counts

_TOTALS = ("sources", "chunks", "topics", "statements", "facts", "entities")


def ingest(
    context: typer.Context,
    paths: PathsArgument,
    namespace: Annotated[
        str, typer.Option(help="Namespace of the documents. The same file in two namespaces is two documents.")
    ] = "default",
    full: Annotated[
        bool, typer.Option("--full", help="Extract and embed everything again, including unchanged documents.")
    ] = False,
    extractor: Annotated[
        Literal["auto", "local", "llm"] | None,
        typer.Option(help="Extractor; auto uses llm if a language model is configured. (LEXIGRAPH_EXTRACTOR)"),
    ] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Language model, such as ollama:llama3.2, or none. (LEXIGRAPH_LLM)")
    ] = None,
    synonyms: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with lines 'name = other name, other name'. (LEXIGRAPH_SYNONYMS)"),
    ] = None,
    no_progress: NoProgressOption = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Ingest files and folders. Unchanged documents are skipped.

    File types: txt, md, rst, adoc, html, pdf, docx, odt, pptx, odp, epub, eml, mbox, xlsx, xls, ods, csv, json, jsonl (one
    document per line: id, title, text), ipynb, vtt, srt, log, man, source code; each also with .gz. Files that cannot be
    read are reported and skipped. Run it again to resume an interrupted ingest.
    """
    invocation = current(context)
    settings = invocation.settings(extractor=extractor, llm=llm, synonyms=synonyms)
    # told from the beginning: to import what reads and stores takes a second
    with telling(invocation.err, progress=not no_progress) as listener, invocation.index(settings, create=True) as index:
        report = index.ingest(list(paths), tenant=settings.tenant, namespace=namespace, refresh=full, on_event=listener)
        totals = live_counts(index.stores, Tenant(settings.tenant))
    return concluded(report, totals, invocation.out, json_=json_)


def concluded(report: IngestReport, totals: Mapping[str, int], console: Console, *, json_: bool) -> ExitCode:
    """Print what a run did, and return its exit code."""
    if json_:
        print_json({**report.to_dict(), "graph": totals})
    else:
        summarise(report, totals, console)
    return outcome(report)


def outcome(report: IngestReport) -> ExitCode:
    """Return the exit code that says how a run went."""
    done = report.documents_new + report.documents_updated + report.documents_unchanged
    if not report.failures and not report.chunks_failed:
        return ExitCode.OK
    return ExitCode.PARTLY if done and not useless(report.to_dict()) else ExitCode.NOTHING


def summarise(report: IngestReport, totals: Mapping[str, int], console: Console) -> None:
    """Print what a run did; ``totals`` are what the graph holds now."""
    done = report.documents_new + report.documents_updated
    seconds = max(report.elapsed_sec, 0.001)
    documents = (
        f"{report.documents_new:,} new, {report.documents_updated:,} updated, "
        f"{report.documents_unchanged:,} unchanged, {len(report.failures):,} failed"
    )
    if report.documents_removed:
        documents += f", {report.documents_removed:,} removed"
    chunks = f"{report.chunks_new:,} new, {report.chunks_skipped:,} skipped"
    if report.chunks_failed:
        chunks += f", {report.chunks_failed:,} without a usable extraction (run again to retry)"
    relations = f"{report.relations_created:,} created"
    if report.pairs_failed:
        relations += f", {counted(report.pairs_failed, 'pair')} of chunks could not be related (run again to retry)"
    rows = {
        "documents": documents,
        "chunks": chunks,
        "statements": f"{report.statements_created:,}",
        "relations": relations,
        "models": f"{counted(report.extracted, 'chunk')} extracted, {counted(report.embedded, 'text')} embedded",
        "time": f"{report.elapsed_sec:.1f} s ({done / seconds:.1f} documents/s, "
        f"{report.statements_created / seconds:,.0f} statements/s)",
        "graph": ", ".join(f"{totals.get(name, 0):,} {name}" for name in _TOTALS),
    }
    if report.skipped:
        rows["skipped"] = told(report.skipped)
    if not report.files_processed and not report.failures:
        console.print("nothing to ingest: no supported files there")
        rows = {name: value for name, value in rows.items() if name == "skipped"}
    for name, value in rows.items():
        console.print(f"{name:<12}{value}", soft_wrap=True)
