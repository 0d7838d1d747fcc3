"""The embedded cache of model results, in ``cache.sqlite``.

An entry is put before anybody owns it, so that an interrupted run finds it again. Such an entry is noted as ``unowned``
until an owner uses it; it goes a week after it was put, or with the tenant's last owner, whichever comes first.
"""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.folders import embedded_path
from lexigraph.storage.sqlite.database import Create, Database

VERSION = 2
UNOWNED_SECONDS = 7 * 24 * 3600

SCHEMA = """
CREATE TABLE entries (
    k INTEGER PRIMARY KEY, tenant TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, data BLOB NOT NULL,
    UNIQUE (tenant, kind, key)
);
CREATE TABLE owners (k INTEGER PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL, UNIQUE (tenant, owner));
CREATE TABLE uses (owner INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (owner, entry)) WITHOUT ROWID;
CREATE INDEX uses_entry ON uses (entry);
CREATE TABLE unowned (entry INTEGER PRIMARY KEY, tenant TEXT NOT NULL, since REAL NOT NULL);
CREATE INDEX unowned_since ON unowned (tenant, since);
"""

# lists travel as one JSON argument: one statement, whatever the length
_GET = """
SELECT key, data FROM entries WHERE tenant = ? AND kind = ? AND key IN (SELECT value FROM json_each(?))
"""
_KEYS = "SELECT key, k FROM entries WHERE tenant = ? AND kind = ? AND key IN (SELECT value FROM json_each(?))"
_PUT = """
INSERT INTO entries (tenant, kind, key, data) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, kind, key) DO UPDATE SET data = excluded.data
"""
_NOTE_UNOWNED = """
INSERT INTO unowned (entry, tenant, since)
SELECT k, tenant, :now FROM entries WHERE tenant = :tenant AND kind = :kind
    AND key IN (SELECT value FROM json_each(:keys)) AND NOT EXISTS (SELECT 1 FROM uses WHERE entry = k)
ON CONFLICT (entry) DO UPDATE SET since = excluded.since
"""
_OWNERS = "SELECT owner, k FROM owners WHERE tenant = ? AND owner IN (SELECT value FROM json_each(?))"
_USES = "SELECT owner, entry FROM uses WHERE owner IN (SELECT value FROM json_each(?))"
_FORGET_USES = "DELETE FROM uses WHERE owner IN (SELECT value FROM json_each(?))"
_FORGET_OWNERS = "DELETE FROM owners WHERE k IN (SELECT value FROM json_each(?))"
_FORGET_IDLE = """
DELETE FROM owners WHERE k IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM uses WHERE owner = k)
"""
_COLLECT = """
DELETE FROM entries WHERE k IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM uses WHERE entry = k)
"""
_STALE = "SELECT entry FROM unowned WHERE tenant = ? AND since < ?"
_HAS_OWNERS = "SELECT EXISTS (SELECT 1 FROM owners WHERE tenant = ?)"


class SqliteContentCache:
    """A :class:`~lexigraph.storage.protocols.ContentCache` in the folder of ``sqlite:///FOLDER``, made when missing.

    Safe between threads, processes and forked children; may be shared by several databases.
    """

    def __init__(self, connection: str, *, unowned_seconds: float = UNOWNED_SECONDS, create: Create = True) -> None:
        """Open the cache, or ``create`` it. Raise ``InvalidInput`` for a connection or file that is refused.

        ``unowned_seconds``: how long an entry waits for its first owner.
        """
        self._unowned_seconds = unowned_seconds
        self.path = embedded_path(connection, "cache.sqlite")
        self._database = Database(self.path, SCHEMA, version=VERSION, migrations={1: ""}, mapped=False, create=create)

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        with self._database.read() as c:
            return dict(c.execute(_GET, (tenant, kind, json.dumps(list(keys)))))

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        note = {"tenant": tenant, "kind": kind, "keys": json.dumps(list(entries))}
        with self._database.write() as c:
            c.executemany(_PUT, [(tenant, kind, key, data) for key, data in entries.items()])
            c.execute(_NOTE_UNOWNED, {**note, "now": time.time()})

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        wanted = {owner: set(pairs) for owner, pairs in uses.items()}
        if not wanted:
            return
        with self._database.write() as c:
            c.executemany(
                "INSERT OR IGNORE INTO owners (tenant, owner) VALUES (?, ?)", [(tenant, owner) for owner in wanted]
            )
            owners = dict(c.execute(_OWNERS, (tenant, json.dumps(list(wanted)))))
            entries = _entries(c, tenant, set().union(*wanted.values()))
            after = {(owners[o], entries[pair]) for o, pairs in wanted.items() for pair in pairs if pair in entries}
            listed = json.dumps(list(owners.values()))
            before = set(c.execute(_USES, (listed,)))
            c.executemany("DELETE FROM uses WHERE owner = ? AND entry = ?", before - after)
            c.executemany("INSERT INTO uses VALUES (?, ?)", after - before)
            c.executemany("DELETE FROM unowned WHERE entry = ?", [(entry,) for _, entry in after - before])
            c.execute(_FORGET_IDLE, (listed,))
            _collect(c, [entry for _, entry in before - after])
            _sweep(c, tenant, time.time() - self._unowned_seconds)

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None:
        if not owners:
            return
        with self._database.write() as c:
            listed = json.dumps([k for _, k in c.execute(_OWNERS, (tenant, json.dumps(list(owners))))])
            released = [entry for _, entry in c.execute(_USES, (listed,))]
            c.execute(_FORGET_USES, (listed,))
            c.execute(_FORGET_OWNERS, (listed,))
            _collect(c, released)
            has_owners = c.execute(_HAS_OWNERS, (tenant,)).fetchone()[0]
            _sweep(c, tenant, time.time() - self._unowned_seconds if has_owners else float("inf"))

    def owners(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        query = "SELECT owner FROM owners WHERE tenant = ? AND owner > ? ORDER BY owner LIMIT ?"
        with self._database.read() as c:
            return [owner for (owner,) in c.execute(query, (tenant, after, limit))]

    def stats(self, tenant: Tenant) -> dict[str, int]:
        with self._database.read() as c:
            return dict(c.execute("SELECT kind, count(*) FROM entries WHERE tenant = ? GROUP BY kind", (tenant,)))

    def close(self) -> None:
        self._database.close()


def _entries(c: sqlite3.Connection, tenant: Tenant, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the keys of the entries that exist among these (kind, key) pairs."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for kind, key in pairs:
        by_kind[kind].append(key)
    return {
        (kind, key): k for kind, keys in by_kind.items() for key, k in c.execute(_KEYS, (tenant, kind, json.dumps(keys)))
    }


def _collect(c: sqlite3.Connection, released: Sequence[int]) -> None:
    c.execute(_COLLECT, (json.dumps(released),))


def _sweep(c: sqlite3.Connection, tenant: Tenant, before: float) -> None:
    """Delete the entries that have waited for an owner since ``before``."""
    stale = [(entry,) for (entry,) in c.execute(_STALE, (tenant, before))]
    c.executemany("DELETE FROM entries WHERE k = ?", stale)
    c.executemany("DELETE FROM unowned WHERE entry = ?", stale)
