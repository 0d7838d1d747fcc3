"""What several server processes know together: answers, vectors of questions, and how often a key has asked.

It is one SQLite file in a folder of their own, which goes when they do. What one process was told, every other knows with
its next request; what a tenant has cleared is gone for all of them.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from lexigraph.api.access.rates import take_token
from lexigraph.api.caches import Key
from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import StoreUnavailable
from lexigraph.storage.sqlite.database import Database

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE remembered (
    k INTEGER PRIMARY KEY, kind TEXT NOT NULL, tenant TEXT NOT NULL, key TEXT NOT NULL, until REAL NOT NULL,
    value BLOB NOT NULL, UNIQUE (kind, tenant, key)
);
CREATE INDEX remembered_until ON remembered (kind, until);
CREATE TABLE buckets (key TEXT PRIMARY KEY, left REAL NOT NULL, since REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX buckets_since ON buckets (since);
"""
_GET = "SELECT value FROM remembered WHERE kind = ? AND tenant = ? AND key = ? AND until >= ?"
_PUT = "INSERT OR REPLACE INTO remembered (kind, tenant, key, until, value) VALUES (?, ?, ?, ?, ?)"
_COUNT = "SELECT count(*) FROM remembered WHERE kind = ? AND tenant = ? AND until >= ?"
_TRIM = """
DELETE FROM remembered WHERE kind = :kind AND (until < :now OR k IN (
    SELECT k FROM remembered WHERE kind = :kind ORDER BY until DESC, k DESC LIMIT -1 OFFSET :most))
"""
_TAKE = "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)"


class Shared:
    """The file of the processes that share ``folder``. Safe between threads and processes.

    Raise ``StoreUnavailable`` when it cannot be opened or written. ``clock`` has to be one clock for all processes.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = Database(folder / "shared.sqlite", _SCHEMA), clock

    def answers(self, most: int, seconds: float) -> "SharedMemory[Any]":
        """Return the memory of answers: JSON data."""
        return SharedMemory(self, "answer", most, seconds, lambda value: json.dumps(value).encode(), json.loads)

    def embeddings(self, most: int, seconds: float) -> "SharedMemory[FloatArray]":
        """Return the memory of the vectors of questions."""
        as_bytes, as_vector = (lambda v: np.asarray(v, "<f4").tobytes()), (lambda kept: np.frombuffer(kept, "<f4"))
        return SharedMemory(self, "embedding", most, seconds, as_bytes, as_vector)

    def wait(self, key: str, rate: int) -> float:
        """Take a token as :class:`~lexigraph.api.access.rates.RateLimit` does, from a bucket that all processes take
        from.
        """
        if rate <= 0:
            return 0.0
        with self._database.write() as c:
            now = self._clock()
            c.execute("DELETE FROM buckets WHERE since < ?", (now - 60,))  # full again
            found = c.execute("SELECT left, since FROM buckets WHERE key = ?", (key,)).fetchone()
            bucket, wait = take_token(found, rate, now)
            c.execute(_TAKE, (key, *bucket))
        return wait

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class SharedMemory(Generic[T]):
    """A :class:`~lexigraph.api.caches.Memory` of all processes: the ``most`` values put last, for ``seconds``."""

    def __init__(
        self,
        shared: Shared,
        kind: str,
        most: int,
        seconds: float,
        write: Callable[[T], bytes],
        read: Callable[[bytes], T],
    ) -> None:
        self._database, self._clock = shared._database, shared._clock
        self._kind, self._most, self._seconds, self._write, self._read = kind, most, seconds, write, read

    def get(self, key: Key) -> T | None:
        with suppress(StoreUnavailable), self._database.read() as c:  # what cannot be remembered is found anew
            asked = (self._kind, key[0], json.dumps(key[1:]), self._clock())
            found = c.execute(_GET, asked).fetchone()
            return self._read(found[0]) if found else None
        return None

    def put(self, key: Key, value: T) -> None:
        now = self._clock()
        row = (self._kind, key[0], json.dumps(key[1:]), now + self._seconds, self._write(value))
        with suppress(StoreUnavailable), self._database.write() as c:
            c.execute(_PUT, row)
            c.execute(_TRIM, {"kind": self._kind, "now": now, "most": self._most})

    def count(self, tenant: str) -> int:
        with self._database.read() as c:
            return int(c.execute(_COUNT, (self._kind, tenant, self._clock())).fetchone()[0])

    def clear(self, tenant: str) -> None:
        with self._database.write() as c:
            c.execute("DELETE FROM remembered WHERE kind = ? AND tenant = ?", (self._kind, tenant))
