"""Finding damage in the files of an embedded database: what they hold against what was written.

Each file is read whole, from outside of the stores and as one moment has it; nothing is changed. What is found where tells
SQLite (trees, indexes), FTS5 (words against texts), the ledger (every row), and the checksums of the write-ahead log.
"""

import sqlite3
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lexigraph.storage.common.folders import UNREADABLE, is_read_only
from lexigraph.storage.sqlite import ledger
from lexigraph.storage.sqlite.database import EVIDENCE, FULL_TEXT, connect, holds_documents
from lexigraph.storage.sqlite.vector.sidecar import Sidecars

_ASKED = {**EVIDENCE, "cache.sqlite": "SELECT 1 FROM entries"}  # what only a file of this name has
FILES = tuple(_ASKED)
_BUILT = ("graph.sqlite", "vectors.sqlite")
_VIEW = "SELECT 1 FROM sqlite_master WHERE type = 'view'"
_OTHER_TABLES = "its tables are not those that were made"
_TOLD = 3  # of what SQLite lists
_LOG_HEADER, _FRAME_HEADER = 32, 24


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged file and what is wrong with it. A ``derived`` one is made again whenever it is missing."""

    path: Path
    problem: str
    derived: bool = False


def examine(folder: Path, used: Collection[str] = tuple(EVIDENCE)) -> Iterator[Damage]:
    """Yield what is damaged in a folder.

    A file that is missing or empty is damage when it is among ``used``, the files that stores keep there, and another
    holds documents.
    """
    present = [path for name in FILES if (path := folder / name).is_file()]
    ids: dict[str, list[Path]] = {}
    for path in present:
        try:
            if broken := log_damage(path):
                yield Damage(path, broken)
            with closing(connect(path)) as connection:
                ledger.Changes(connection)
                connection.execute("BEGIN")
                if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    continue  # lost, if others know of documents: then it is told below
                if connection.execute(_VIEW).fetchone():  # none is ours, and what one does may never end
                    raise sqlite3.DatabaseError(_OTHER_TABLES)
                connection.execute(_ASKED[path.name])
                yield from (Damage(path, problem) for problem in _problems(connection, is_read_only(path)))
                ids.setdefault(ledger.belongs_to(connection), []).append(path)
                if path.name == "vectors.sqlite":
                    yield from _sidecar_damage(connection, folder)
        except UnicodeDecodeError:
            yield Damage(path, _OTHER_TABLES)
        except sqlite3.Error as error:
            yield Damage(path, str(error))
    yield from _lost(folder, used)
    # the most files are right; of as many, those with the registry, which alone cannot be made again
    for others in sorted(ids.values(), key=lambda files: (len(files), files[0].name == FILES[0]))[:-1]:
        yield from (Damage(path, "is of another database than the files beside it") for path in others)


def set_aside(damages: Sequence[Damage]) -> dict[Path, Path]:
    """Move damaged files away, so that they are made again; return where each lies now.

    What is derived of others is removed. A graph and its vectors are built together, so they go together.
    """
    moved: dict[Path, Path] = {}
    damaged = {damage.path for damage in damages}
    built = {path.with_name(name) for path in damaged for name in _BUILT if path.name in _BUILT}
    for path in sorted(damaged | built):
        if any(damage.derived for damage in damages if damage.path == path):
            path.unlink(missing_ok=True)
            continue
        away = path.parent / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        away.mkdir(0o700, exist_ok=True)
        moved[path] = away / path.name
        for file in sorted(path.parent.glob(f"{path.name}*")):
            if not file.name.endswith("-turn"):  # whoever writes now waits for it
                file.rename(away / file.name)
    return moved


def log_damage(path: Path) -> str:
    """Return what is wrong with the write-ahead log of a file: changes in it that SQLite leaves out without a word."""
    try:
        raw = path.with_name(f"{path.name}-wal").read_bytes()
    except FileNotFoundError:
        return ""
    if not raw:
        return ""
    if len(raw) < _LOG_HEADER:
        return "its write-ahead log is cut"
    magic, _, page, *_ = struct.unpack(">8I", raw[:_LOG_HEADER])
    order = ">" if magic & 1 else "<"
    salts, sums = raw[16:24], _checksum(order, raw[:24], (0, 0))
    if magic & ~1 != 0x377F0682 or struct.pack(">2I", *sums) != raw[24:32]:
        return "the head of its write-ahead log is damaged"
    size, whole = _FRAME_HEADER + page, True
    for at in range(_LOG_HEADER, len(raw) - size + 1, size):
        frame = raw[at : at + size]
        if whole:
            sums = _checksum(order, frame[:8] + frame[_FRAME_HEADER:], sums)
            whole = frame[8:16] == salts and frame[16:24] == struct.pack(">2I", *sums)
        elif frame[8:16] == salts:
            return "its write-ahead log is damaged: changes after the damage are lost"
    return ""


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    a, b = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        a = (a + first + b) & 0xFFFFFFFF
        b = (b + second + a) & 0xFFFFFFFF
    return a, b


def _problems(connection: sqlite3.Connection, read_only: bool) -> Iterator[str]:
    found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_TOLD})")]
    if found != ["ok"]:
        yield "; ".join(" ".join(line.split()) for line in found)
        return
    for table in ledger.changed(connection):
        yield _OTHER_TABLES if table == "schema" else f"rows of {table} are not those written"
    words = [] if read_only else [name for (name,) in connection.execute(FULL_TEXT)]
    for name in words:  # FTS5 takes its check for a change
        try:
            connection.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            yield f"the words of {name} are not those of its texts"
    connection.rollback()
    connection.execute("BEGIN")


def _lost(folder: Path, used: Collection[str]) -> Iterator[Damage]:
    holding = [path for name in EVIDENCE if (path := folder / name).is_file() and holds_documents(path)]
    if holding:
        for name in EVIDENCE:
            path = folder / name
            if name in used and path not in holding and not _is_made(path):
                yield Damage(path, f"is empty or missing, and {holding[0].name} beside it holds documents")


def _is_made(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with closing(connect(path)) as connection:
            return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except UNREADABLE:
        return True  # damaged, which is told elsewhere


def _sidecar_damage(connection: sqlite3.Connection, folder: Path) -> Iterator[Damage]:
    for path in Sidecars(folder).differing(connection):
        yield Damage(path, "its vectors are not those of the database", derived=True)
