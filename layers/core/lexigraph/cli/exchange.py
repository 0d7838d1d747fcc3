"""``lexigraph export`` and ``import``: a tenant's graph as a file that other tools read, or another index."""

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import IO, Annotated, Literal, cast

import typer

from lexigraph.cli.exits import ExitCode
from lexigraph.cli.ingest import concluded
from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption, NoProgressOption
from lexigraph.cli.output import print_json
from lexigraph.cli.progress import telling
from lexigraph.model.errors import InvalidInput, NotFound, reason_of
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.counts import live_counts

Format = Literal["jsonl", "graphml", "nquads", "parquet"]
_SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".graphml": "graphml", ".nq": "nquads", ".parquet": "parquet"}


def export(
    context: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="FILE", help="New file, or - for stdout.", show_default=False)],
    format_: Annotated[
        Format | None, typer.Option("--format", help="Default: by the suffix: .jsonl, .graphml, .nq, .parquet.")
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Only documents of this namespace.")] = None,
    json_: JsonOption = False,
) -> int:
    """Export the tenant's documents and graph to a new file, gzipped if its name ends in .gz.

    jsonl can be imported again. graphml and nq (N-Quads) hold the graph with its provenance, parquet (a folder) the tables
    documents, statements, facts and entities.
    """
    from lexigraph.exchange import formats, portable, records
    from lexigraph.inference.factory import make_llm
    from lexigraph.ingestion.extract import make_extractor

    invocation = current(context)
    settings = invocation.settings()
    chosen = _format(target, format_)
    owner, documents, missing, decisions = Tenant(settings.tenant), 0, 0, 0

    def counted(graphs: Iterable[records.DocumentGraph]) -> Iterator[records.DocumentGraph]:
        nonlocal documents
        for graph in graphs:
            yield graph
            documents += 1
            tell(documents)

    def tell(done: int) -> None:
        if done and not done % 100:
            invocation.err.print(f"{done:,} documents")

    with invocation.stores(settings) as stores:
        found = counted(records.graphs(stores, owner, namespace))
        if chosen == "parquet":
            with _new_folder(target) as folder:
                formats.parquet(found, folder)
        elif chosen == "jsonl":
            extractor = make_extractor(settings, make_llm(settings) if settings.extraction == "llm" else None)
            with _new_file(target) as file:
                for line, without in portable.lines(stores, owner, extractor, settings, namespace):
                    file.write(line)
                    documents, missing = documents + 1, missing + without
                    tell(documents - 1)
                for decisions, line in enumerate(() if namespace else portable.decided(stores, owner), 1):  # noqa: B007
                    file.write(line)
            documents -= 1  # the head
        else:
            write = formats.graphml if chosen == "graphml" else formats.nquads
            with _new_file(target) as file:
                file.writelines(write(found))
    if missing:
        invocation.err.print(
            f"{missing:,} chunks have no kept extraction by {settings.extraction}: an import extracts them again"
        )
    if json_:
        counts = {"documents": documents, "decisions": decisions, "chunks_without_extraction": missing}
        print_json({"file": str(target), "format": chosen, **counts})
    elif str(target) != "-":
        invocation.out.print(f"{target}: {documents:,} documents", soft_wrap=True, markup=False)
    return ExitCode.OK


def import_(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A jsonl export; may be gzipped.", show_default=False)],
    namespace: Annotated[str | None, typer.Option(help="Import all documents into this namespace.")] = None,
    no_progress: NoProgressOption = False,
    json_: JsonOption = False,
) -> int:
    """Import documents that `lexigraph export` wrote as jsonl, without extracting them again.

    Unchanged documents are skipped; others of the same URI and namespace are replaced. Run it again to resume.
    """
    from lexigraph.exchange.portable import MOST_CHARS, take

    invocation = current(context)
    settings = invocation.settings()
    with (
        _lines(source, MOST_CHARS) as lines,
        invocation.index(settings, create=True) as index,
        telling(invocation.err, progress=not no_progress) as listener,
    ):
        try:
            report = take(index, lines, tenant=settings.tenant, namespace=namespace, on_event=listener)
        except InvalidInput as error:
            raise type(error)(f"{source}: {error}") from None
        totals = live_counts(index.stores, Tenant(settings.tenant))
    return concluded(report, totals, invocation.out, json_=json_)


def _format(target: Path, given: Format | None) -> Format:
    suffix = Path(target.name.removesuffix(".gz")).suffix
    chosen = given or _SUFFIXES.get(suffix)
    if chosen is None:
        raise InvalidInput(f"--format: {target.name!r} has no known suffix; use one of {', '.join(_SUFFIXES.values())}")
    if chosen == "parquet" and str(target) == "-":
        raise InvalidInput("parquet writes a folder: pass a folder instead of -")
    return chosen


@contextmanager
def _new_file(target: Path) -> Iterator[IO[str]]:
    """A file that is there only when it is whole; ``-`` is stdout."""
    if str(target) == "-":
        yield typer.get_text_stream("stdout", encoding="utf-8")
        return
    partial = _partial(target)
    opened: Callable[..., IO[bytes]] = gzip.open if target.suffix == ".gz" else open  # type: ignore[assignment]
    try:
        with cast(IO[str], opened(partial, "wt", encoding="utf-8", newline="\n")) as file:
            yield file
        os.replace(partial, target)  # noqa: PTH105
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be written: {reason_of(error)}") from None
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    partial = _partial(target)
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.rename(target)
    except OSError as error:
        raise InvalidInput(f"{target}: cannot be written: {reason_of(error)}") from None
    finally:
        rmtree(partial, ignore_errors=True)


def _partial(target: Path) -> Path:
    if target.exists():
        raise InvalidInput(f"{target} already exists: choose a new file or remove it")
    return target.with_name(f".{target.name}.{os.getpid()}.partial")


@contextmanager
def _lines(source: Path, most: int) -> Iterator[Iterator[str]]:
    """The lines of a file; one that is too long is handed on in part, so that its reader refuses it."""
    if not source.is_file():
        raise NotFound(f"no file {source}")
    try:
        with gzip.open(source, "rt", encoding="utf-8") if source.suffix == ".gz" else source.open(encoding="utf-8") as file:
            yield iter(lambda: file.readline(most + 1), "")
    except (EOFError, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise InvalidInput(f"{source} is damaged or not a text file: {type(error).__name__}") from None
