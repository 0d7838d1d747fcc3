"""Documents as plain files in a folder: ``FOLDER/<tenant>/<two hex>/<source hex>/<name>``.

A file is replaced in one step, also under ``kill -9``; after a loss of power the files of the last seconds may be gone.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.document_names import checked_name, is_source_id, source_digits
from lexigraph.storage.common.folders import embedded_folder, translated

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
        target = folder / checked_name(name)
        unfinished = folder / f".{secrets.token_hex(8)}"
        with translated(target):
            for left in reversed(range(_ATTEMPTS)):
                try:
                    self.folder.mkdir(0o700, parents=True, exist_ok=True)
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
        path = self._folder_of(tenant, source_id) / checked_name(name)
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

    def sources(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        top, last = self.folder / Tenant(tenant), source_digits(after) if after else ""
        with translated(top):
            found = (
                f"source:{digits}"
                for shard in sorted(_entries(top))
                if shard >= last[:2]
                for digits in sorted(_entries(top / shard))
                if digits > last and is_source_id(f"source:{digits}") and any(_names(top / shard / digits))
            )
            return list(islice(found, limit))

    def tenants(self) -> list[Tenant]:
        """Return who has folders here."""
        with translated(self.folder):
            return sorted(filter(None, map(_tenant, _entries(self.folder))))

    def _folder_of(self, tenant: Tenant, source_id: str) -> Path:
        digits = source_digits(source_id)
        return self.folder / Tenant(tenant) / digits[:2] / digits


def _tenant(name: str) -> Tenant | None:
    try:
        return Tenant(name)
    except InvalidInput:
        return None


def _entries(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return


def _names(folder: Path) -> Iterator[str]:
    return (name for name in _entries(folder) if not name.startswith("."))
