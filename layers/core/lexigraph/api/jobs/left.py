"""Folders of uploads: each is locked while a file arrives in it, and belongs to a job afterwards; all others are left over.

The lock ends with the process, however that ends, so whoever starts next sees what a killed server left.
"""

import os
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from lexigraph.storage.common.folders import translated
from lexigraph.storage.sqlite.database import lock_now


@contextmanager
def held_folder(uploads: Path) -> Iterator[Path]:
    """Make a folder for an upload; nobody takes it for left over while it is held."""
    with translated(uploads):
        while True:
            folder = uploads / secrets.token_hex(16)
            folder.mkdir(mode=0o700, parents=True)
            descriptor = os.open(folder, os.O_RDONLY)
            if lock_now(descriptor) and folder.is_dir():  # else somebody has just removed it
                break
            os.close(descriptor)
    try:
        yield folder
    finally:
        os.close(descriptor)


def remove_left(uploads: Path, waiting: Callable[[], Collection[str]]) -> None:
    """Remove the folders that nobody writes into and no job waits for; ``waiting`` gives the names of those jobs do."""
    with suppress(OSError):
        free = {folder: descriptor for folder in uploads.iterdir() if (descriptor := _locked(folder)) is not None}
        try:
            # asked after they were locked: an upload that arrived before has its job by now
            kept = waiting() if free else ()
            for folder in free:
                if folder.name not in kept:
                    rmtree(folder, ignore_errors=True)
        finally:
            for descriptor in free.values():
                os.close(descriptor)


def _locked(folder: Path) -> int | None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        if lock_now(descriptor):
            return descriptor
        os.close(descriptor)
    return None
