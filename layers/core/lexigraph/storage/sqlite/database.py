"""A SQLite file as the embedded stores use it: WAL, one connection a thread, short write transactions, a format version.

What is promised: a transaction that was committed survives ``kill -9`` of any process (write-ahead log); after a loss of
power the last transactions may be gone, never half of one. Readers do not wait for writers and see one moment. Writers of
all processes and threads take turns, and none of them starves. A process may fork between transactions.
"""

import fcntl
import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar

from lexigraph.model.batches import batched
from lexigraph.model.errors import Misconfigured, NotFound, StoreDamaged, StoreUnavailable
from lexigraph.storage.common.folders import REPAIR, SQLITE_REMEDIES, UNREADABLE, is_read_only, translated
from lexigraph.storage.sqlite import ledger

T = TypeVar("T")
Create = bool | Literal["again"]
APPLICATION_ID = 0x4C455849  # "LEXI"
# the files of a database that know its documents, and what asks them; results of models know none
EVIDENCE = {
    "registry.sqlite": "SELECT 1 FROM documents",
    "graph.sqlite": "SELECT 1 FROM source",
    "vectors.sqlite": "SELECT 1 FROM partitions",
}
FULL_TEXT = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5(%'"
_BUSY_SECONDS = 120.0
_MAPPED_BYTES = 1024**3
_MOST_IN = 900  # values of one IN: SQLite before 3.32 takes 999
_PRAGMAS = f"""
PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f};
PRAGMA synchronous=NORMAL;
PRAGMA foreign_keys=OFF;
PRAGMA recursive_triggers=ON;
PRAGMA temp_store=MEMORY;
PRAGMA cache_size=-8192;
PRAGMA journal_size_limit=67108864;
PRAGMA secure_delete=ON;
"""


class Database:
    """One SQLite file with a schema. A file put in its place is used from the next transaction on.

    A ``mapped`` file is read through memory, which counts as that of the process: not for what is read once.

    ``version`` is the format this code writes, ``migrations[n]`` brings a file from format n to n+1. A newer file, or a
    file of another program, is refused and left as it is. Connections come and go between transactions, so nothing should
    be kept in one; ``opened`` is called with each new one. In a folder that cannot be written there is only reading.

    A file that is missing is made with ``create``, unless files beside it hold documents: then it was lost, and is
    made ``again`` only for whoever builds those anew.

    Raise ``InvalidInput`` for a file that is refused, ``NotFound`` for one that is missing, ``StoreDamaged`` for one that is
    lost or damaged, ``StoreUnavailable`` for one that cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        *,
        version: int = 1,
        migrations: Mapping[int, str | Callable[[sqlite3.Connection], None]] | None = None,
        mapped: bool = True,
        create: Create = True,
        opened: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.path, self._mapped, self._again, self._opened = path, mapped, create == "again", opened
        self._schema, self._version, self._migrations = schema, version, migrations or {}
        self._fits: tuple[int, int] | None = None  # the file that was found to be of one database with those beside it
        self._reset()
        with _REGISTER:
            _DATABASES.add(self)
        with translated(path):
            if not create and not path.exists():
                raise NotFound(f"no database in {path.parent}: {path.name} is not there; ingest documents first")
            # other people's documents, also in a folder that was there; SQLite gives the files beside it the same mode
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            if not path.exists():
                with suppress(OSError):  # SQLite says what is wrong
                    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
        with self._borrowed(create=True) as handle:
            self._prepare(handle)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside a read transaction: all its queries see one moment. Nesting joins the outer one."""
        with self._borrowed() as handle:
            connection = handle.connect()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside the one write transaction; committed at the end, rolled back on any error."""
        with self._borrowed() as handle, handle.transaction() as connection:
            yield connection

    @property
    def file(self) -> tuple[int, int] | None:
        """Which file it was in the last transaction."""
        return self._fits

    def close(self) -> None:
        """Close the connections of all threads, each when its transaction is over; who waits to write gives up."""
        with self._lock:
            handles = list(self._handles)
        self._closing.set()
        try:
            for handle in handles:
                with handle.lock:
                    handle.close()
        finally:
            self._closing.clear()

    def _reset(self) -> None:
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._local = threading.local()
        # a thread's connection goes when the thread does
        self._handles: weakref.WeakSet[_Handle] = weakref.WeakSet()

    @contextmanager
    def _borrowed(self, *, create: bool = False) -> Iterator["_Handle"]:
        handle: _Handle | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._local.handle = _Handle(self.path, self._closing, self._mapped, self._opened)
            with self._lock:
                self._handles.add(handle)
        with handle.lock, translated(self.path):
            handle.open(create=create)
            if handle.file != self._fits:
                self._refuse_foreign(handle.connect())
                self._fits = handle.file
            yield handle

    def _prepare(self, handle: "_Handle") -> None:
        with self.read() as connection:  # of one moment: another thread or process may be making the same file
            if (found := self._format(connection)) == self._version:
                return
        if found == 0:
            self._refuse_lost()
        if is_read_only(self.path):
            raise Misconfigured(
                f"{self.path}: is of format {found or 'none'} and cannot be written; open it once where it can"
            )
        handle.execute_when_free("PRAGMA journal_mode=WAL")
        with _alone_in(self.path.parent), handle.transaction() as connection:
            found = self._format(connection)
            if found == 0:
                _execute(connection, self._schema)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            ledger.suspend(connection)
            for step in range(found or self._version, self._version):
                if step not in self._migrations:
                    raise Misconfigured(f"{self.path}: format {found} is too old to convert; ingest into a new folder")
                _execute(connection, self._migrations[step])
            connection.execute(f"PRAGMA user_version={self._version}")
            ledger.install(connection, next((of for file in siblings(self.path) if (of := belongs_to(file))), ""))

    def _refuse_lost(self) -> None:
        """Raise ``StoreDamaged`` when an empty file is to be made beside others that hold documents."""
        holding = [file for file in siblings(self.path) if holds_documents(file)]
        if holding and self.path.name in EVIDENCE and not self._again:
            raise StoreDamaged(
                f"{self.path}: is empty or missing, and {holding[0].name} beside it holds documents: put the file back, or "
                "let `lexigraph doctor --repair` make it again"
            )

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        """Raise ``StoreDamaged`` for a file of another database than those beside it: its answers would be that one's."""
        beside = ((file, of) for file in siblings(self.path) if file.name in EVIDENCE and (of := belongs_to(file)))
        if self.path.name in EVIDENCE and (mine := ledger.belongs_to(connection)) and (first := next(beside, None)):
            file, other = first
            if mine != other:
                raise StoreDamaged(f"{self.path}: is of another database than {file.name} beside it: {REPAIR}")

    def _format(self, connection: sqlite3.Connection) -> int:
        """Return the format of the file, 0 when it is empty; refuse what is not ours to touch."""
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        found: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if owner != APPLICATION_ID:
            if tables or owner or found:
                raise Misconfigured(f"{self.path}: is a SQLite file of another program; use another folder")
            return 0
        if found > self._version:
            raise Misconfigured(
                f"{self.path}: written in format {found} by a newer Lexigraph; this one knows up to {self._version}: "
                "upgrade, or use another folder"
            )
        return found


class _Handle:
    """The connection of one thread to a file, opened when first used; ``lock`` is held while it is in use."""

    def __init__(
        self,
        path: Path,
        closing: threading.Event,
        mapped: bool,
        opened: Callable[[sqlite3.Connection], None] | None,
    ) -> None:
        self.path, self.lock, self._opened = path, threading.RLock(), opened
        self._closing, self._mapped, self._turn = closing, mapped, -1
        self.file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        self._changes: ledger.Changes | None = None
        self._still = False  # read as a file that nobody writes

    @property
    def in_transaction(self) -> bool:
        return self._connection is not None and self._connection.in_transaction

    def open(self, *, create: bool) -> None:
        """Connect; again, when another file has taken the place of the one in use. One that is gone is not made anew."""
        if self.in_transaction:
            return
        found = _identity(self.path)
        if self._connection is not None and (found != self.file or (self._still and _log_of(self.path).exists())):
            self.close()
        if found is None and not create:
            raise StoreUnavailable(f"{self.path}: is missing; restore the file, then try again")
        self.connect()

    def connect(self) -> sqlite3.Connection:
        if self._connection is None:
            if _identity(self.path) in _IN_USE_AT_FORK:
                raise StoreUnavailable(
                    f"{self.path}: was in use at the moment this process was forked; fork when no call is running, "
                    "or start processes with the spawn method"
                )
            connection = connect(self.path, check_same_thread=False)
            try:
                self._changes = ledger.Changes(connection)
                connection.executescript(f"{_PRAGMAS}PRAGMA mmap_size={_MAPPED_BYTES if self._mapped else 0};")
                if self._opened is not None:
                    self._opened(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self.file = connection, _identity(self.path)
            self._still = is_read_only(self.path) and not _log_of(self.path).exists()
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, begun when it is our turn.

        A writer that begins again right after its commit wins against all who poll for SQLite's lock. So one waits for a
        lock of our own first: who has it competes with nobody but the writer at work, which has to queue up again.
        """
        connection = self.connect()
        if self._turn < 0:
            self._turn = os.open(f"{self.path}-turn", os.O_RDONLY | os.O_CREAT, 0o600)
            # in kB; readers, of whom a server has dozens, share what is mapped. More is no faster: what a writer misses
            # here it finds in the system's cache, and an ingest writes to four databases
            connection.execute("PRAGMA cache_size=-16384")
        give_up = time.monotonic() + _BUSY_SECONDS
        while not lock_now(self._turn):
            if time.monotonic() > give_up or self._closing.is_set():
                raise StoreUnavailable(f"{self.path}: {SQLITE_REMEDIES[sqlite3.SQLITE_BUSY]}")
            time.sleep(random.uniform(0.001, 0.01))  # noqa: S311  # unequal waits, so that writers fall out of step
        try:
            self.execute_when_free("BEGIN IMMEDIATE")
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        try:
            yield connection
            if self._changes:
                self._changes.enter(connection)
            connection.commit()
        except BaseException:
            if self._changes:
                self._changes.forget()
            connection.rollback()
            raise

    def execute_when_free(self, statement: str) -> None:
        """Execute a statement that needs SQLite's lock, asking every 2 ms; SQLite itself asks every 100 ms, or never."""
        connection = self.connect()
        give_up = time.monotonic() + _BUSY_SECONDS
        connection.execute("PRAGMA busy_timeout=0")
        try:
            while True:
                try:
                    connection.execute(statement)
                except sqlite3.OperationalError as error:
                    over = time.monotonic() > give_up or self._closing.is_set()
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or over:
                        raise
                    time.sleep(0.002)
                else:
                    return
        finally:
            connection.execute(f"PRAGMA busy_timeout={_BUSY_SECONDS * 1000:.0f}")

    def close(self) -> None:
        # taken before it is closed: when its thread ends, a handle goes without the lock, perhaps while the store is closed
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.leave_queue()

    def leave_queue(self) -> None:
        turn, self._turn = self._turn, -1  # closed twice, a descriptor may be somebody else's by then
        if turn >= 0:
            os.close(turn)

    def __del__(self) -> None:
        self.close()


# A SQLite connection must not cross a fork: the child would believe in locks that only its parent holds, even on files it
# opens anew. So idle connections are closed before a fork; a file in use at that moment is out of bounds for the child.
_REGISTER = threading.Lock()
_DATABASES: weakref.WeakSet[Database] = weakref.WeakSet()
_IN_USE_AT_FORK: set[tuple[int, int] | None] = set()
_inherited: list[_Handle] = []
_idle: list[_Handle] = []  # locked while the process forks: no thread is to connect between the look and the fork


def _before_fork() -> None:
    _REGISTER.acquire()
    for database in _DATABASES:
        database._lock.acquire()
        for handle in list(database._handles):
            if not handle.lock.acquire(blocking=False):
                _inherited.append(handle)
                continue
            _idle.append(handle)
            if handle.in_transaction:
                _inherited.append(handle)
            else:
                handle.close()


def _after_fork_in_parent() -> None:
    _inherited.clear()
    while _idle:
        _idle.pop().lock.release()
    for database in _DATABASES:
        database._lock.release()
    _REGISTER.release()


def _after_fork_in_child() -> None:
    for handle in _inherited:
        _IN_USE_AT_FORK.add(_identity(handle.path))
        handle.leave_queue()
    _IN_USE_AT_FORK.discard(None)
    while _idle:
        _idle.pop().lock.release()
    for database in _DATABASES:
        database._reset()
    _REGISTER.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def database_of(store: object) -> Database | None:
    """Return the file that an embedded store keeps all in; None of a store elsewhere."""
    found = getattr(store, "_database", None)
    return found if isinstance(found, Database) else None


def connect(path: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Return a connection to a file; one that only reads where nothing can be written.

    There nobody else writes either, unless a write-ahead log says so.
    """
    name = str(path)
    if uri := path.exists() and is_read_only(path):
        name = f"{path.absolute().as_uri()}?mode=ro{'' if _log_of(path).exists() else '&immutable=1'}"
    return sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=check_same_thread, uri=uri)


def leave_out_deleted(path: Path) -> None:
    """Write a file that nobody uses anew: without free pages, and without words of removed texts in full-text indexes."""
    made = path.with_name(f"{path.name}-made")
    with closing(sqlite3.connect(path)) as copy:
        for (index,) in copy.execute(FULL_TEXT).fetchall():
            copy.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
        copy.commit()
        copy.execute("VACUUM INTO ?", (str(made),))
    with closing(sqlite3.connect(made)) as written:
        written.execute("PRAGMA journal_mode=WAL")  # which VACUUM does not hand on
    made.replace(path)


def siblings(path: Path) -> list[Path]:
    """Return the other files of the database in the folder of one."""
    return [file for name in (*EVIDENCE, "cache.sqlite") if (file := path.with_name(name)) != path and file.is_file()]


def holds_documents(path: Path) -> bool:
    """Tell whether a file holds anything of a document; of one that cannot be read, that it does not."""
    return bool(_asked(path, lambda connection: connection.execute(EVIDENCE[path.name]).fetchone() is not None))


def remove_unused(folder: Path) -> None:
    """Remove the files of a database that knows no document, job under way or key, and the folder, if nothing else is there.

    Raise ``OSError`` when something else is.
    """
    registry = folder / "registry.sqlite"
    used = "SELECT 1 FROM documents UNION SELECT 1 FROM keys UNION SELECT 1 FROM jobs WHERE status = 'RUNNING'"
    if registry.is_file() and _asked(registry, lambda connection: connection.execute(used).fetchone() is None) is not True:
        return
    for name in (*EVIDENCE, "cache.sqlite"):
        for file in folder.glob(f"{name}*"):
            file.unlink(missing_ok=True)
    for empty in (folder / "holders", folder / "documents", folder):
        if empty.is_dir():
            empty.rmdir()


def belongs_to(path: Path) -> str:
    """Return the id of the database that a file belongs to; empty when it is not known."""
    return _asked(path, ledger.belongs_to) or ""


def _asked(path: Path, ask: Callable[[sqlite3.Connection], T]) -> T | None:
    try:
        with closing(connect(path)) as connection:
            return ask(connection) if path.stat().st_size else None
    except (*UNREADABLE, KeyError):
        return None


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def lock_now(descriptor: int) -> bool:
    """Take the exclusive lock on an open file unless somebody has it. It ends with the process, however that ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process or thread make files in a folder at a time: the next one finds which database they belong to."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # not only closed: a child that was forked has it open, too
        os.close(descriptor)


def _execute(connection: sqlite3.Connection, script: str | Callable[[sqlite3.Connection], None]) -> None:
    """Carry out a script within the transaction, which ``executescript`` would end."""
    if not isinstance(script, str):
        script(connection)
        return
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(statement)


def in_batches(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield the values, as many at a time as fit into one ``IN (?, ...)``."""
    return batched(values, _MOST_IN)


def marks(count: int) -> str:
    """Return ``?, ?, ...`` for an ``IN`` list."""
    return ",".join("?" * count)
