"""A database on this machine as one file, and back: consistent while others read and write, and read again to the last byte.

All writers wait for the moment in which each store is pinned and the texts are linked; what is copied afterwards is what was
there then. It is what a kill at that moment would have left: no document is half seen, and repair puts right what was under
way. The file is a zip, which other tools can read, with a list of all files and their hashes.
"""

import errno
import json
import os
import re
import secrets
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from lexigraph import __version__
from lexigraph.ingestion.files import read_file
from lexigraph.ingestion.upkeep import repair
from lexigraph.model.errors import InvalidInput, LexigraphError, Misconfigured, NotFound, StoreDamaged
from lexigraph.storage.common.folders import is_read_only, translated
from lexigraph.storage.common.records import now_text
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.protocols import Stores
from lexigraph.storage.sqlite.damage import FILES, examine
from lexigraph.storage.sqlite.database import Database, connect, database_of, leave_out_deleted
from lexigraph.storage.sqlite.registry import SqliteRegistry

DOCUMENTS = "documents"
_MANIFEST, _FORMAT = "manifest.json", 1
_NAME = re.compile(
    r"(?:registry|graph|vectors|cache)\.sqlite|documents/[a-z0-9._-]+/[0-9a-f]{2}/[0-9a-f]{32}/[^/\\.][^/\\]*"
)
_BLOCK = 1 << 20
_MAX_TEXT_CHARS, _BYTES_OF_CHARACTER = 20_000_000, 4  # as the setting has it; in UTF-8
_ENTRY_BYTES = 1_000  # of the list of files, more than a name and a hash take


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds: ``files`` has the hash of each by name. Times are UTC."""

    made_at: str
    documents: int
    files: Mapping[str, str]
    lexigraph: str = __version__
    format: int = _FORMAT


def back_up(stores: Stores, target: Path) -> Backup:
    """Write all that the stores hold, of every tenant, into a new file.

    Raise ``InvalidInput`` for stores that are not on this machine or a file that exists, ``StoreDamaged`` when what is
    stored is not what was written: then there is no file.
    """
    databases = [found for store in (stores.registry, stores.graph, stores.vectors) if (found := database_of(store))]
    if len(databases) < 3 or not isinstance(stores.documents, FileDocumentStore):
        raise InvalidInput("backup supports only databases on this machine: for a deployment, see docs/operate.md")
    if (kept := database_of(stores.cache)) and kept.path.parent == databases[0].path.parent:
        databases.append(kept)  # one in a place of its own may serve other databases, too
    target = target.expanduser().absolute()
    if target.exists():
        raise InvalidInput(f"backup: {target} already exists; use a new file name")
    part = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    with translated(target), _removed(part):
        target.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir(0o700)
        texts = stores.documents.folder
        with _linked(stores.documents, part) as links, _one_moment(databases, texts, links) as pinned:
            for name, connection in pinned.items():
                _copy(connection, part / name)
            count = _checked(part, links)
            for name in pinned:
                leave_out_deleted(part / name)
            done = _write(part / "zip", {name: part / name for name in pinned} | _files(links), count)
        _verified(part / "zip")
        (part / "zip").chmod(0o600)  # everybody's documents
        os.link(part / "zip", target)  # does not replace what came there meanwhile
    return done


def restore(
    source: Path,
    folder: Path,
    *,
    max_text_chars: int = _MAX_TEXT_CHARS,
    opened: Callable[[Path], object] | None = None,
) -> Backup:
    """Make a database of a backup in a folder that does not exist or is empty.

    Texts of more than ``max_text_chars`` are refused. ``opened`` is called with the database before it stands in its folder:
    what it raises leaves none.

    Raise ``InvalidInput`` for a folder with something in it, for texts that are too long or files that do not fit on the
    disk, ``NotFound`` without the file, ``StoreDamaged`` for a backup that is cut or altered: then there is no database.
    """
    folder = folder.expanduser().absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"restore: {folder} is not empty: move it or choose another folder with --data")
    if not source.is_file():
        raise NotFound(f"no backup {source}")
    part = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    with translated(folder), _removed(part):
        part.mkdir(0o700, parents=True)
        told = _verified(source, into=part, max_text_chars=max_text_chars)
        if damaged := next(examine(part), None):
            raise StoreDamaged(f"{source}: {damaged.path.name}: {damaged.problem}")
        if opened:
            opened(part)
        if folder.exists():
            folder.rmdir()
        part.rename(folder)
    return told


def settle(stores: Stores, *, cache: bool) -> list[repair.Finding]:
    """Put right what was under way when a backup was taken, of every tenant; return what was found."""
    tenants = stores.documents.tenants() if isinstance(stores.documents, FileDocumentStore) else []
    return [found for tenant in tenants for found in repair.examine(stores, tenant, repair=True, cache=cache)]


@contextmanager
def _removed(part: Path) -> Iterator[None]:
    try:
        yield
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def _one_moment(databases: Sequence[Database], documents: Path, links: Path) -> Iterator[dict[str, sqlite3.Connection]]:
    """Give a connection to each database, all of which see the moment in which the texts were linked."""
    with ExitStack() as readers:
        with ExitStack() as writers:
            for database in databases:
                if not is_read_only(database.path):
                    writers.enter_context(database.write())
            pinned = {database.path.name: readers.enter_context(_pinned(database.path)) for database in databases}
            if links != documents:
                _link(documents, links)
        yield pinned


@contextmanager
def _pinned(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(path)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield connection


@contextmanager
def _linked(documents: FileDocumentStore, part: Path) -> Iterator[Path]:
    """Give the folder for links to the texts: on their disk, which may be another one than that of the backup."""
    if is_read_only(documents.folder):
        yield documents.folder if documents.folder.is_dir() else part / DOCUMENTS
        return
    links = documents.folder.with_name(f".{documents.folder.name}-{part.name[-8:]}")
    with _removed(links):
        yield links


def _link(documents: Path, links: Path) -> None:
    links.mkdir(0o700)
    for folder, _, names in os.walk(documents):
        there = links / Path(folder).relative_to(documents)
        there.mkdir(exist_ok=True)
        for name in names:
            if not name.startswith("."):
                _link_one(Path(folder) / name, there / name)


def _link_one(file: Path, there: Path) -> None:
    try:
        os.link(file, there)
    except FileNotFoundError:
        return  # of a version that nobody sees any more
    except OSError:
        shutil.copyfile(file, there)  # a disk without links


def _copy(source: sqlite3.Connection, target: Path) -> None:
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


def _checked(part: Path, links: Path) -> int:
    """Return how many documents readers see in a copy. Raise ``StoreDamaged`` when it is not what was written."""
    if damaged := next(examine(part), None):
        raise StoreDamaged(f"{damaged.path.name}: {damaged.problem}: `lexigraph doctor --repair` first; no backup was made")
    documents, count = FileDocumentStore(f"file:///{links}"), 0
    with closing(SqliteRegistry(f"sqlite:///{part}", create=False)) as registry:
        for tenant in documents.tenants():
            for record in repair.records(registry, tenant):
                if record.state == "READY":
                    count += 1
                    for name in record.files:
                        read_file(documents, tenant, record, name)
    return count


def _files(links: Path) -> dict[str, Path]:
    found = (path for path in sorted(links.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {f"{DOCUMENTS}/{path.relative_to(links).as_posix()}": path for path in found}


def _write(target: Path, files: Mapping[str, Path], documents: int) -> Backup:
    hashes = {}
    with target.open("xb") as raw, ZipFile(raw, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, path in files.items():
            digest = sha256()
            with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as member:
                while block := source.read(_BLOCK):
                    digest.update(block)
                    member.write(block)
            hashes[name] = digest.hexdigest()
        done = Backup(now_text(), documents, hashes)
        archive.writestr(_MANIFEST, json.dumps(asdict(done)))
    with target.open("rb") as written:
        os.fsync(written.fileno())
    return done


def _verified(file: Path, *, into: Path | None = None, max_text_chars: int = _MAX_TEXT_CHARS) -> Backup:
    """Read a backup whole, and write its files into a folder. Raise ``StoreDamaged`` when it is cut or altered.

    How much is to be written is looked at first: none of a file is unpacked beyond the size that its archive tells.
    """
    try:
        with ZipFile(file) as archive:
            told = _manifest(archive, file)
            if {*archive.namelist()} != {_MANIFEST, *told.files}:
                raise StoreDamaged(f"{file}: files listed in the backup are missing")
            if into:
                _check_sizes({name: archive.getinfo(name).file_size for name in told.files}, file, into, max_text_chars)
            for name, hash_ in told.files.items():
                digest = sha256()
                with archive.open(name) as member, _place(into, name).open("wb") as place:
                    while block := member.read(_BLOCK):
                        digest.update(block)
                        place.write(block)
                if digest.hexdigest() != hash_:
                    raise StoreDamaged(f"{file}: {name} is damaged")
    except (BadZipFile, zlib.error, EOFError, OverflowError, RuntimeError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"{file}: incomplete backup: {error}") from error
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # where its directory says that a file begins, no file can
        raise StoreDamaged(f"{file}: incomplete backup: {error}") from error
    return told


def _check_sizes(sizes: Mapping[str, int], file: Path, into: Path, max_text_chars: int) -> None:
    if (needed := sum(sizes.values())) > (free := shutil.disk_usage(into).free):
        raise InvalidInput(f"restore: {file} needs {needed:,} bytes, but only {free:,} are free: free up disk space")
    longest = max((size for name, size in sizes.items() if name.startswith(DOCUMENTS)), default=0)
    if longest > max_text_chars * _BYTES_OF_CHARACTER:
        raise InvalidInput(
            f"restore: {file} has a document of {longest:,} bytes, more than max_text_chars={max_text_chars:,} allows: "
            "raise the limit if the backup is yours"
        )


def _manifest(archive: ZipFile, file: Path) -> Backup:
    try:
        if archive.getinfo(_MANIFEST).file_size > _ENTRY_BYTES * (len(archive.namelist()) + 1):
            raise StoreDamaged(f"{file}: is no backup of Lexigraph")
        raw = json.loads(archive.read(_MANIFEST))
        if raw["format"] > _FORMAT:
            raise Misconfigured(
                f"{file}: was written by Lexigraph {str(raw['lexigraph'])[:20]!r}, which is newer: upgrade to restore it"
            )
        told = Backup(
            **{**raw, "made_at": datetime.fromisoformat(raw["made_at"]).isoformat(), "documents": int(raw["documents"])}
        )
        names = {*told.files.keys()}
    except LexigraphError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise StoreDamaged(f"{file}: is no backup of Lexigraph") from error
    if not {*FILES[:3]} <= names or not all(isinstance(name, str) and _NAME.fullmatch(name) for name in names):
        raise StoreDamaged(f"{file}: is no backup of Lexigraph")
    return told


def _place(folder: Path | None, name: str) -> Path:
    if folder is None:
        return Path(os.devnull)
    place = folder / name
    place.parent.mkdir(0o700, parents=True, exist_ok=True)
    return place
