"""Where ``lexigraph bench`` keeps what it measures, and documents of a folder, taken in where they are not yet."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
NewFolderOption = Annotated[
    Path | None, typer.Option(help="Folder in which the database is built and kept. Default: a temporary folder.")
]


@contextmanager
def kept_or_temporary(given: Path | None) -> Iterator[Path]:
    """Give the folder, else one that goes with the block."""
    if given is not None:
        yield given
    else:
        with tempfile.TemporaryDirectory(prefix="lexigraph-bench-") as temporary:
            yield Path(temporary)


@contextmanager
def new_or_temporary(given: Path | None) -> Iterator[Path]:
    """Give the folder, else one that goes with the block. Raise ``InvalidInput`` for one that is not empty."""
    if given is not None and given.exists() and (not given.is_dir() or any(given.iterdir())):
        raise InvalidInput(f"--folder {given} is {'not empty' if given.is_dir() else 'a file'}: name a new folder")
    with kept_or_temporary(given) as home:
        yield home


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
