"""The documents that ``bench answers`` and ``bench questions`` are about, taken in where they are not yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.bench.quality import kept_or_temporary
from lexigraph.cli.invocation import Invocation
from lexigraph.cli.progress import telling
from lexigraph.model.errors import InvalidInput

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of documents, or a Lexigraph database.")]
IndexOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Folder in which the index is kept and reused. Default: a temporary folder."),
]


@contextmanager
def taken_in(invocation: Invocation, folder: Path, index: Path | None) -> Iterator["LexicalGraphIndex"]:
    """Open the index of a folder, with all that is in it; tell on stderr how it goes.

    Documents are read by the models of the settings, whoever is to answer. Raise ``InvalidInput``.
    """
    from lexigraph.evaluation.folder import fill, folder_index, is_database

    if index is not None and is_database(folder):
        raise InvalidInput(f"--index: {folder} is already a database: omit --index")
    with kept_or_temporary(index) as home, folder_index(folder, home, invocation.settings()) as opened:
        with telling(invocation.err) as listener:
            fill(opened, folder, listener)
        yield opened
