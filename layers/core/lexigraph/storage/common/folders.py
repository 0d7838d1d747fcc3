"""Stores on this machine: which folder a connection string names, and what errors of its files mean."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lexigraph.model.errors import InvalidInput, LexigraphError, Misconfigured, StoreDamaged, StoreUnavailable
from lexigraph.storage.common.connection import read_connection

_FULL = "free disk space and run the same command again; nothing was half written"
REPAIR = (
    "`lexigraph doctor` shows what is lost, `lexigraph doctor --repair` rebuilds it, `lexigraph restore` restores a backup"
)
_FORBIDDEN = "give write permission to the folder and the files in it"
SQLITE_REMEDIES = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: "check the disk, its free space and quota, then run the same command again",
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_BUSY: "another process has been writing for too long; try again",
    sqlite3.SQLITE_CANTOPEN: "check that the folder exists and can be written",
    sqlite3.SQLITE_NOTADB: f"the file is damaged or not a SQLite database: {REPAIR}",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged: {REPAIR}",
}
_VALUE = " with text '"  # what follows in a message is the value that was stored: it belongs into no log
_DAMAGE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
# what reading a damaged file raises: where the damage is in its schema, Python cannot decode the message of SQLite
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
_OS_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EMFILE: "allow this process more open files (ulimit -n)",
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into ``StoreUnavailable`` that names the file and a remedy."""
    try:
        yield
    except LexigraphError:
        raise
    except sqlite3.Error as error:
        said, undecodable, _ = str(error).partition(_VALUE)
        code = sqlite3.SQLITE_CORRUPT if undecodable else getattr(error, "sqlite_errorcode", 0) & 0xFF
        kind, remedy = StoreDamaged if code in _DAMAGE else StoreUnavailable, SQLITE_REMEDIES.get(code)
        raise kind(": ".join(filter(None, (str(path), said, remedy))), passes=remedy is not _FORBIDDEN) from error
    except OSError as error:
        remedy = _OS_REMEDIES.get(error.errno or 0)
        message = ": ".join(filter(None, (str(path), error.strerror or str(error), remedy)))
        raise StoreUnavailable(message, passes=remedy is not _FORBIDDEN) from error
    except UnicodeDecodeError as error:
        raise StoreDamaged(f"{path}: {SQLITE_REMEDIES[sqlite3.SQLITE_CORRUPT]}") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{path.name}: the text contains a lone surrogate, which is not a valid character") from error


def is_read_only(path: Path) -> bool:
    """Tell whether a file, or files beside it, may not be written."""
    folder = not os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    return folder or (path.exists() and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids))


def embedded_folder(connection: str, scheme: str = "sqlite") -> Path:
    """Return the folder of a ``SCHEME:///FOLDER`` connection string; ``SCHEME:////abs`` is absolute, ``~`` is the home.

    Raise ``Misconfigured`` when FOLDER is missing or is a file.
    """
    form = f"{scheme}:///FOLDER"
    folder = read_connection(connection, form)[0]
    if not folder.startswith("/") or folder == "/" or "\x00" in folder:
        raise Misconfigured(f"{scheme} connection: expected {form}")
    try:
        path = Path(folder[1:]).expanduser().absolute()  # a later chdir must not lead elsewhere
    except RuntimeError as error:
        raise Misconfigured(f"{scheme} connection: {error}") from error
    with translated(path):
        if path.is_file():
            raise Misconfigured(f"{scheme} connection: {path} is a file; give the folder that holds the database")
    return path


def embedded_path(connection: str, file: str) -> Path:
    """Return a file in the folder of a ``sqlite:///FOLDER`` connection string; errors as in :func:`embedded_folder`."""
    return embedded_folder(connection) / file
