"""A SQLite file as the embedded stores use it: WAL, one connection a thread, short write transactions, a format version.

What is promised: a transaction that was committed survives ``kill -9`` of any process (write-ahead log); after a loss of
power the last transactions may be gone, never half of one. Readers do not wait for writers and see one moment. Writers of
all processes take turns.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lexigraph.model.errors import InvalidInput, LexigraphError, StoreUnavailable

APPLICATION_ID = 0x4C455849  # "LEXI"
_BUSY_SECONDS = 120.0
_PRAGMAS = """
PRAGMA synchronous=NORMAL;
PRAGMA foreign_keys=OFF;
PRAGMA temp_store=MEMORY;
PRAGMA cache_size=-65536;
PRAGMA mmap_size=1073741824;
"""


class Database:
    """One SQLite file with a schema.

    ``version`` is the format this code writes, ``migrations[n]`` brings a file from format n to n+1. A newer file, or a
    file of another program, is refused. ``on_open`` prepares each new connection (functions, collations).
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        *,
        version: int = 1,
        migrations: Mapping[int, Callable[[sqlite3.Connection], None]] | None = None,
        on_open: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.path = path
        self._schema, self._version, self._migrations = schema, version, migrations or {}
        self._on_open = on_open
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._prepare()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside a read transaction: all its queries see one moment. Nesting joins the outer one."""
        with self._translated():
            connection = self._connection()
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
        with self._translated():
            connection = self._connection()
            self._begin(connection)
            try:
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        # a connection must not cross a fork, so its owner is remembered
        if getattr(self._local, "owner", None) != os.getpid():
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.executescript(_PRAGMAS)
            if self._on_open:
                self._on_open(connection)
            self._local.connection, self._local.owner = connection, os.getpid()
            with self._lock:
                self._all.append(connection)
        return self._local.connection  # type: ignore[no-any-return]  # threading.local is untyped

    def _begin(self, connection: sqlite3.Connection) -> None:
        # SQLite's own waiting is not fair between processes; asking again keeps a writer from starving
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def _prepare(self) -> None:
        connection = self._connection()
        if connection.execute("PRAGMA user_version").fetchone()[0] == self._version:
            self._refuse_strangers(connection)
            return
        connection.execute("PRAGMA journal_mode=WAL")
        self._begin(connection)
        try:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            self._refuse_strangers(connection)
            if found > self._version:
                raise InvalidInput(
                    f"{self.path}: written in format {found} by a newer Lexigraph; this one knows up to {self._version}: "
                    "upgrade, or use another folder"
                )
            if found == 0:
                for statement in filter(str.strip, self._schema.split(";\n")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            else:
                for step in range(found, self._version):
                    if step not in self._migrations:
                        raise InvalidInput(
                            f"{self.path}: format {found} is too old to be converted; ingest into a new folder"
                        )
                    self._migrations[step](connection)
            connection.execute(f"PRAGMA user_version={self._version}")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise

    def _refuse_strangers(self, connection: sqlite3.Connection) -> None:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        if tables and owner != APPLICATION_ID:
            raise InvalidInput(f"{self.path}: is a SQLite file of another program; choose another folder")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except LexigraphError:
            raise
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{self.path}: {_explain(str(error))}") from error
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: {error.strerror or error}") from error


def _explain(message: str) -> str:
    remedies = {
        "full": "free some space and run the same command again; nothing is half written",
        "readonly": "give write permission to the folder and the files in it",
        "locked": "another process is writing for very long; try again",
        "unable to open": "check that the folder exists and can be written",
        "not a database": "the file is damaged or of another kind; move it away and ingest again",
        "malformed": "the file is damaged; move it away and ingest again",
    }
    return next((f"{message}: {remedy}" for part, remedy in remedies.items() if part in message), message)


def embedded_path(connection: str, file: str) -> Path:
    """Return the file of a ``sqlite:///FOLDER`` connection string; ``sqlite:////abs`` is absolute.

    Raise ``InvalidInput`` when FOLDER is missing or is a file.
    """
    folder = connection.removeprefix("sqlite:///")
    if not connection.startswith("sqlite:///") or not folder:
        raise InvalidInput(f"connection {connection!r}: expected sqlite:///FOLDER")
    path = Path(folder).expanduser()
    if path.is_file():
        raise InvalidInput(f"connection {connection!r}: {path} is a file; give the folder that holds the database")
    return path / file


def in_batches(values: list[str] | list[bytes] | list[int], size: int = 900) -> Iterator[list[object]]:
    """Yield slices short enough for one ``IN (?, ...)``."""
    for at in range(0, len(values), size):
        yield list(values[at : at + size])


def marks(count: int) -> str:
    """Return ``?, ?, ...`` for an ``IN`` list."""
    return ",".join("?" * count)
