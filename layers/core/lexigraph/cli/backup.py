"""``lexigraph backup`` and ``restore``: a database on this machine as one file, and back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

from lexigraph.cli.invocation import current
from lexigraph.cli.options import JsonOption
from lexigraph.cli.output import print_json
from lexigraph.model.errors import InvalidInput
from lexigraph.model.numbers import counted

if TYPE_CHECKING:
    from lexigraph.ingestion.upkeep.repair import Finding

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]


def backup(context: typer.Context, file: FileArgument, json_: JsonOption = False) -> None:
    """Back up the whole database, with all tenants, into one new file. Readers and writers are not blocked.

    The file is verified by reading it back. It contains document texts and key digests: protect it like the database.
    """
    from lexigraph.ingestion.upkeep.backup import back_up

    invocation = current(context)
    with invocation.stores(invocation.settings()) as stores:
        done = back_up(stores, file)
    size = file.expanduser().stat().st_size
    if json_:
        told = {"file": str(file), "bytes": size, "documents": done.documents, "files": len(done.files)}
        print_json({**told, "made_at": done.made_at})
    else:
        held = f"{counted(done.documents, 'document')} in {counted(len(done.files), 'file')}, {decimal(size)}"
        held += ", verified"
        invocation.out.print(f"{file}: {held}", soft_wrap=True, markup=False)


def restore(context: typer.Context, file: FileArgument, json_: JsonOption = False) -> None:
    """Restore a backup into a new or empty folder (--data), and repair what was in progress when it was made."""
    from lexigraph.ingestion.upkeep import backup as core

    invocation = current(context)
    settings = invocation.settings()
    if any((settings.graph_store, settings.vector_store, settings.document_store, settings.registry)):
        raise InvalidInput("restore writes a local database: unset LEXIGRAPH_GRAPH_STORE and the other store settings")
    found: list[Finding] = []

    def settle(folder: Path) -> None:
        with invocation.stores(settings.model_copy(update={"data": folder})) as stores:
            found.extend(core.settle(stores, cache=settings.cache_is_own))

    done = core.restore(file, settings.data, max_text_chars=settings.max_text_chars, opened=settle)
    if json_:
        told = {"data": str(settings.data), "documents": done.documents, "made_at": done.made_at}
        print_json({**told, "settled": len(found)})
        return
    invocation.out.print(
        f"{settings.data}: {counted(done.documents, 'document')}, as of {done.made_at}", soft_wrap=True, markup=False
    )
    for one in found:
        what = one.uri or "database"
        invocation.out.print(f"  {what}: {one.problem}; {one.remedy}", soft_wrap=True, markup=False)
