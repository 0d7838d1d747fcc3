"""``lexigraph documents``: what is in the database, one document in full, and taking documents out."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from lexigraph.cli.exits import ExitCode, exit_code_of
from lexigraph.cli.invocation import index_of
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import one_line, print_json, printable, short_path
from lexigraph.model.errors import InvalidInput, LexigraphError
from lexigraph.model.numbers import counted

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex
    from lexigraph.storage.protocols import DocumentRecord

app = typer.Typer(help="List, show and remove documents.")
# how the registry does its work says nothing to a user
_INTERNAL = ("counts", "fingerprint", "intended", "extractions", "extractor", "words", "files")
_SHOWN = 10
_WIDE = 70  # columns of a terminal from which a list has room for counts
_NAME = "Id, path, URI, the end of a URI, or the `id` that the document came with."


@app.command(name="list")
def list_documents(
    context: typer.Context,
    namespace: Annotated[str | None, typer.Option(help="Only documents of this namespace.")] = None,
    json_: JsonOption = False,
) -> None:
    """List documents, sorted by URI."""
    with index_of(context) as (invocation, index, tenant):
        documents = index.documents(tenant=tenant, namespace=namespace)
    if json_:
        print_json({"documents": [plain(d) for d in documents]})
        return
    namespaces = {d.namespace for d in documents} - {"default"}
    table = Table(box=None, pad_edge=False)
    for name in ("document", "title", "state", *(["namespace"] if namespaces else [])):
        table.add_column(name, overflow="fold")
    numbers = ("chunks", "characters") if invocation.out.width >= _WIDE else ()
    for name in numbers:
        table.add_column(name, justify="right")
    for d in documents:
        state = d.state.lower() + (f", {d.failed_chunks} failed" if d.failed_chunks else "")
        place = [printable(d.namespace)] if namespaces else []
        counts = (f"{getattr(d, name):,}" for name in numbers)
        table.add_row(short_path(d.uri), one_line(d.title, 40), state, *place, *counts)
    if documents:
        invocation.out.print(table)
    else:
        invocation.err.print("no documents")


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help=_NAME, show_default=False)],
    text: Annotated[bool, typer.Option("--text", help="Print the parsed text, to which all offsets refer.")] = False,
    json_: JsonOption = False,
) -> None:
    """Show one document."""
    with index_of(context) as (invocation, index, tenant):
        document = index.document(name, tenant=tenant)
        content = index.text(document, tenant=tenant) if text else ""
    if json_:
        print_json({**plain(document), **({"text": content} if text else {})})
    elif text:
        sys.stdout.write(printable(content) if sys.stdout.isatty() else content)
    else:
        for key, value in plain(document).items():
            shown = "".join(f"\n  {k}: {one_line(str(v))}" for k, v in value.items()) if isinstance(value, dict) else value
            invocation.out.print(f"{key}: {printable(str(shown))}", soft_wrap=True)


@app.command()
def rm(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help=_NAME, show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Remove every document of the tenant.")] = False,
    namespace: Annotated[str | None, typer.Option(help="With --all: only documents of this namespace.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    json_: JsonOption = False,
) -> int:
    """Remove documents and everything that only they support."""
    if bool(names) == every or (namespace is not None and not every):
        raise InvalidInput("name the documents to remove, or use --all, optionally with --namespace")
    with index_of(context) as (invocation, index, tenant):
        chosen, failures = _named(index, tenant, names or [])
        if every:
            chosen = index.documents(tenant=tenant, namespace=namespace)
        for name, error in failures:
            invocation.err.print(one_line(f"failed: {name}: {error}"), soft_wrap=True)
        if chosen and not yes and not _agreed(chosen, every):
            invocation.err.print("nothing was removed")
            return ExitCode.INTERRUPTED
        removed = index.remove([d.source_id for d in chosen], tenant=tenant) if chosen else 0
    if json_:
        failed = [{"name": name, "reason": str(error)} for name, error in failures]
        print_json({"removed": [{"id": d.source_id, "uri": d.uri} for d in chosen], "failures": failed})
    else:
        invocation.out.print(f"removed {counted(removed, 'document')}")
    if failures:
        return ExitCode.PARTLY if chosen else exit_code_of(failures[0][1])
    return ExitCode.OK


def plain(document: "DocumentRecord") -> dict[str, Any]:
    """Return a document as the JSON of ``list`` and ``show``."""
    known = asdict(document)
    return {"id": known.pop("source_id"), **{k: v for k, v in known.items() if k not in _INTERNAL}}


def _named(
    index: "LexicalGraphIndex", tenant: str, names: Sequence[str]
) -> tuple[list["DocumentRecord"], list[tuple[str, LexigraphError]]]:
    """Return the documents of these names, each once, and the names that fit none or several."""
    chosen: dict[str, DocumentRecord] = {}
    failures: list[tuple[str, LexigraphError]] = []
    for name in names:
        try:
            found = index.document(name, tenant=tenant)
        except LexigraphError as error:
            failures.append((name, error))
        else:
            chosen[found.source_id] = found
    return list(chosen.values()), failures


def _agreed(chosen: Sequence["DocumentRecord"], every: bool) -> bool:
    """Ask on a terminal. Elsewhere names are clear enough, but everything takes a ``--yes``."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        if every:
            raise InvalidInput("documents rm --all cannot ask for confirmation without a terminal: add --yes")
        return True
    shown = "\n".join(f"  {short_path(d.uri)}" for d in chosen[:_SHOWN])
    more = f"\n  and {len(chosen) - _SHOWN:,} more" if len(chosen) > _SHOWN else ""
    return typer.confirm(f"{shown}{more}\nRemove {counted(len(chosen), 'document')}?", err=True)
