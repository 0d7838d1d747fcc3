"""Documents as plain files in a folder: ``FOLDER/<tenant>/<two hex>/<source hex>/<name>``.

A file is replaced in one step, also under ``kill -9``; after a loss of power the files of the last seconds may be gone.
"""

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.storage.embedded import embedded_folder, translated

MAX_NAME_BYTES = 200
_SOURCE_ID = re.compile(r"source:([0-9a-f]{32})")
_FORBIDDEN = re.compile(r"[/\\\x00-\x1f\x7f]|^\.")
_ATTEMPTS = 100


class FileDocumentStore:
    """A :class:`~lexigraph.storage.protocols.DocumentStore` in the folder of ``file:///FOLDER``, made when first written.

    Names are plain file names: 1 to 200 bytes of UTF-8 without slash, backslash and control characters, not starting
    with a full stop. Safe between threads and processes.
    """

    def __init__(self, connection: str) -> None:
        """Raise ``InvalidInput`` for a connection that names no folder."""
        self.folder = embedded_folder(connection, "file")

    def put(self, tenant: Tenant, source_id: str, name: str, data: bytes) -> None:
        folder = self._folder_of(tenant, source_id)
        target = folder / _checked(name)
        unfinished = folder / f".{secrets.token_hex(8)}"
        with translated(target):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    folder.mkdir(parents=True, exist_ok=True)
                    unfinished.write_bytes(data)
                    unfinished.replace(target)
                except BaseException as error:
                    with suppress(OSError):
                        unfinished.unlink()
                    # whoever deletes the last file beside us may take a folder away at any moment: start again
                    if not (left and isinstance(error, (FileNotFoundError, FileExistsError))):
                        raise
                else:
                    return

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        path = self._folder_of(tenant, source_id) / _checked(name)
        with translated(path):
            try:
                return path.read_bytes()
            except FileNotFoundError:
                raise NotFound(f"{source_id} has no file {name!r}") from None

    def names(self, tenant: Tenant, source_id: str) -> list[str]:
        folder = self._folder_of(tenant, source_id)
        with translated(folder):
            return sorted(_names(folder))

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        folder = self._folder_of(tenant, source_id)
        with translated(folder):
            # what an interrupted put left behind goes too
            for name in set(_entries(folder)) - set(keep):
                (folder / name).unlink(missing_ok=True)
            # source, first two digits, tenant: as far up as nothing is left
            with suppress(OSError):
                for empty in (folder, *folder.parents[:2]):
                    empty.rmdir()

    def sources(self, tenant: Tenant) -> list[str]:
        top = self.folder / Tenant(tenant)
        with translated(top):
            return sorted(
                f"source:{digits}"
                for shard in _entries(top)
                for digits in _entries(top / shard)
                if _SOURCE_ID.fullmatch(f"source:{digits}") and any(_names(top / shard / digits))
            )

    def _folder_of(self, tenant: Tenant, source_id: str) -> Path:
        match = _SOURCE_ID.fullmatch(source_id)
        if not match:
            raise InvalidInput(f"source id {source_id[:80]!r} is not 'source:' and 32 hexadecimal digits")
        digits = match[1]
        return self.folder / Tenant(tenant) / digits[:2] / digits


def _entries(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return


def _names(folder: Path) -> Iterator[str]:
    return (name for name in _entries(folder) if not name.startswith("."))


def _checked(name: str) -> str:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= MAX_NAME_BYTES or _FORBIDDEN.search(name):
        raise InvalidInput(
            f"file name {name[:80]!r} is not allowed: use 1 to {MAX_NAME_BYTES} bytes of UTF-8 without slash, backslash and "
            "control characters, not starting with a full stop"
        )
    return name
