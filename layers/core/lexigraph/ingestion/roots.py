"""Which files of this machine a tenant may have ingested by their paths: those of its root, and no secrets among them.

A root is a folder that whoever runs the server has named for one tenant (``ingest_roots``); without one nothing is read.
Wherever a root lies, and wherever links in it lead, hidden files and the server's own are not read. What a file holds is
looked at when it is loaded: databases and keys are refused there (:mod:`lexigraph.ingestion.load`).
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lexigraph.ingestion.load import FileItem, Rejected, scan
from lexigraph.model.errors import InvalidInput, Misconfigured, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.folders import embedded_folder

OUTSIDE = "must be inside the folder allowed by ingest_roots, not hidden, and not a file of the server"
NO_ROOT = "this tenant may not ingest by path (ingest_roots, serve --root): send the file to POST /documents"


def check_roots(settings: Settings) -> None:
    """Raise ``InvalidInput`` for a root that is no folder, or lies where the server keeps its own files."""
    for tenant, root in settings.ingest_roots.items():
        found = _resolved(root)
        Tenant(tenant)
        if not found.is_dir():
            raise Misconfigured(f"ingest_roots: {root} of tenant {tenant} is not an existing folder")
        if _is_own(found, own_folders(settings)):
            raise Misconfigured(
                f"ingest_roots: {root} of tenant {tenant} is inside a folder of the stores: use another folder"
            )


def inside(tenant: str, path: str | Path, settings: Settings) -> Path:
    """Return the path, a relative one in the tenant's root, with its links followed.

    Raise ``InvalidInput``, there or not, where it leaves the root or may not be read.
    """
    root = _root(tenant, settings)
    try:
        found = (root / path).resolve()
    except (OSError, ValueError, RuntimeError):
        raise InvalidInput(f"path: {OUTSIDE}") from None
    if not _is_open(found, root) or _is_own(found, own_folders(settings)):
        raise InvalidInput(f"path: {OUTSIDE}")
    return found


def files_inside(
    tenant: str, paths: Sequence[str], settings: Settings, skipped: Counter[str] | None = None
) -> tuple[list[FileItem], list[Rejected]]:
    """Return the files at and below ``paths``, and those that may or can not be read.

    Those of no known type are counted in ``skipped``, as by ``scan``. Raise ``InvalidInput`` for a path that
    :func:`inside` refuses, ``NotFound`` when nothing is there.
    """
    items: list[FileItem] = []
    outside: list[Rejected] = []
    named = [inside(tenant, path, settings) for path in paths]
    if not all(map(os.path.exists, named)):  # also False for what no file can be called
        raise NotFound("path: no such file or folder")
    root, own = _root(tenant, settings), own_folders(settings)

    def shut(path: Path) -> str | None:
        where = path.resolve()
        if _is_own(where, own):
            return ""  # not even the names of what others sent
        return None if _is_open(where, root) else OUTSIDE

    for found in scan(named, skipped, shut=shut):
        if isinstance(found, Rejected):
            outside.append(found)
        else:
            items.append(replace(found, path=found.path.resolve()))
    return items, outside


def not_own(settings: Settings) -> Callable[[Path], str | None]:
    """Return what shuts the folders of the stores to ``scan``, when it comes to them: who names what is in them means it."""
    own = own_folders(settings)
    return lambda path: "" if path.is_dir() and path.resolve() in own else None


def own_folders(settings: Settings) -> list[Path]:
    """Return the folders of the data and of the embedded stores, wherever they were put."""
    used = [*settings.connections.values(), settings.artefacts]
    kept = [(scheme, at) for at in used if (scheme := at.partition(":")[0]) in ("sqlite", "file")]
    return [_resolved(settings.data), *dict.fromkeys(embedded_folder(at, scheme).resolve() for scheme, at in kept)]


def _root(tenant: str, settings: Settings) -> Path:
    if (root := settings.ingest_roots.get(tenant)) is None:
        raise InvalidInput(f"path: {NO_ROOT}")
    return _resolved(root)


def _resolved(path: Path) -> Path:
    return path.expanduser().resolve()


def _is_open(found: Path, root: Path) -> bool:
    """Whether it lies in the root, and nothing on the way to it is hidden."""
    return found.is_relative_to(root) and not any(part.startswith(".") for part in found.relative_to(root).parts)


def _is_own(found: Path, own: Sequence[Path]) -> bool:
    return any(found.is_relative_to(folder) for folder in own)
