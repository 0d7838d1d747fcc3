"""The part of the embedded registry beside documents and jobs: keys, sessions, places, claims, and the revision."""

import json
import sqlite3
from collections.abc import Sequence

from lexigraph.model.curation import Decision
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import (
    KEY,
    decision_json,
    decision_of,
    key_columns,
    key_exists,
    key_of,
    no_key,
    now_text,
)
from lexigraph.storage.protocols import ApiKey, Claim, Freshness, Session, seen_at
from lexigraph.storage.sqlite.database import Database

TABLES = """
CREATE TABLE keys (
    k INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
    scopes TEXT NOT NULL, name TEXT NOT NULL, databases TEXT NOT NULL, rate INTEGER NOT NULL, created_at TEXT NOT NULL,
    revoked_at TEXT NOT NULL DEFAULT ''
);
CREATE INDEX keys_tenant ON keys (tenant);
CREATE TABLE sessions (
    tenant TEXT NOT NULL, id TEXT NOT NULL, recalls INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE TABLE seen (
    tenant TEXT NOT NULL, session TEXT NOT NULL, node TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (tenant, session, node)
) WITHOUT ROWID;
CREATE INDEX seen_at ON seen (tenant, at);
CREATE TABLE ordinals (
    tenant TEXT NOT NULL, namespace TEXT NOT NULL, source TEXT NOT NULL, ordinal INTEGER NOT NULL,
    PRIMARY KEY (tenant, namespace, source)
) WITHOUT ROWID;
CREATE UNIQUE INDEX ordinals_place ON ordinals (tenant, namespace, ordinal);
CREATE TABLE revisions (tenant TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
"""
CLAIMS = """
CREATE TABLE IF NOT EXISTS claims (
    tenant TEXT NOT NULL, key TEXT NOT NULL, "order" TEXT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
"""
FILTERS = "ALTER TABLE keys ADD COLUMN filters TEXT NOT NULL DEFAULT '';\n"
CURATION = """
CREATE TABLE IF NOT EXISTS curation (
    tenant TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
"""
# servers forget what they remember for a tenant when this has grown
CLEARED = "ALTER TABLE revisions ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0;\n"

_KEY = f"SELECT {', '.join(KEY)} FROM keys"
_ADD_KEY = f"INSERT INTO keys ({', '.join(KEY)}) VALUES (:{', :'.join(KEY)})"
_ADD_RECALL = """
INSERT INTO sessions (tenant, id, recalls, at) VALUES (:tenant, :session, 1, :at)
ON CONFLICT (tenant, id) DO UPDATE SET recalls = iif(at < :awake_since, 0, recalls) + 1, at = max(at, excluded.at)
"""
_SEE = """
INSERT INTO seen (tenant, session, node, at) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, session, node) DO UPDATE SET at = max(at, excluded.at)
"""
_PLACE = """
INSERT OR IGNORE INTO ordinals (tenant, namespace, source, ordinal)
SELECT :tenant, :namespace, :source, coalesce(max(ordinal), -1) + 1
FROM ordinals WHERE tenant = :tenant AND namespace = :namespace
"""
_PLACES = """
SELECT source, ordinal FROM ordinals
WHERE tenant = ? AND namespace = ? AND source IN (SELECT value FROM json_each(?))
"""
_CLAIM = """
INSERT INTO claims (tenant, key, "order", holder) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant, key) DO UPDATE SET "order" = excluded."order", holder = excluded.holder
WHERE excluded."order" > "order"
"""
_CLAIMED = 'SELECT "order", holder FROM claims WHERE tenant = ? AND key = ?'
_CLEAR = """
INSERT INTO revisions (tenant, number, cleared) VALUES (?, 0, 1)
ON CONFLICT (tenant) DO UPDATE SET cleared = cleared + 1 RETURNING cleared
"""
_BUMP = """
INSERT INTO revisions (tenant, number) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET number = number + 1
"""


class SqliteAccess:
    """Keys, sessions, ordinals, claims and the revision, over the registry's ``_database``."""

    _database: Database

    def revision(self, tenant: Tenant) -> int:
        return self.freshness(tenant).revision

    def freshness(self, tenant: Tenant) -> Freshness:
        with self._database.read() as c:
            found = c.execute("SELECT number, cleared FROM revisions WHERE tenant = ?", (tenant,)).fetchone()
        return Freshness(*found) if found else Freshness()

    def clear(self, tenant: Tenant) -> int:
        with self._database.write() as c:
            (cleared,) = c.execute(_CLEAR, (tenant,)).fetchone()
        return int(cleared)

    def ordinals(self, tenant: Tenant, namespace: str, source_ids: Sequence[str]) -> dict[str, int]:
        wanted = (tenant, namespace, json.dumps(list(source_ids)))
        with self._database.read() as c:
            found = dict(c.execute(_PLACES, wanted))
        new = [i for i in dict.fromkeys(source_ids) if i not in found]
        if new:
            with self._database.write() as c:
                c.executemany(_PLACE, [{"tenant": tenant, "namespace": namespace, "source": i} for i in new])
                found = dict(c.execute(_PLACES, wanted))
        return {i: found[i] for i in source_ids}

    def claim(self, tenant: Tenant, key: str, order: str, holder: str) -> Claim:
        with self._database.write() as c:
            c.execute(_CLAIM, (tenant, key, order, holder))
            return Claim(*c.execute(_CLAIMED, (tenant, key)).fetchone())

    def claimed(self, tenant: Tenant, key: str) -> Claim | None:
        with self._database.read() as c:
            row = c.execute(_CLAIMED, (tenant, key)).fetchone()
        return Claim(*row) if row else None

    def add_key(self, key: ApiKey) -> None:
        with self._database.write() as c:
            try:
                c.execute(_ADD_KEY, key_columns(key))
            except sqlite3.IntegrityError:
                raise key_exists(key.id) from None

    def key(self, digest: str) -> ApiKey | None:
        with self._database.read() as c:
            row = c.execute(f"{_KEY} WHERE digest = ? AND revoked_at = ''", (digest,)).fetchone()
        return _api_key(row) if row else None

    def signer(self, digest: str) -> ApiKey | None:
        with self._database.read() as c:
            row = c.execute(f"{_KEY} WHERE digest = ? || '#' || id AND revoked_at = '' ORDER BY k", (digest,)).fetchone()
        return _api_key(row) if row else None

    def keys(self, tenant: Tenant) -> list[ApiKey]:
        with self._database.read() as c:
            return [_api_key(row) for row in c.execute(f"{_KEY} WHERE tenant = ? ORDER BY k", (tenant,))]

    def any_key(self) -> bool:
        with self._database.read() as c:
            return bool(c.execute("SELECT EXISTS (SELECT 1 FROM keys)").fetchone()[0])

    def revoke_key(self, tenant: Tenant, key_id: str) -> ApiKey:
        with self._database.write() as c:
            found = "tenant = ? AND id = ?"
            c.execute(f"UPDATE keys SET revoked_at = ? WHERE {found} AND revoked_at = ''", (now_text(), tenant, key_id))
            row = c.execute(f"{_KEY} WHERE {found}", (tenant, key_id)).fetchone()
        if row is None:
            raise no_key(key_id)
        return _api_key(row)

    def decide(self, tenant: Tenant, decision: Decision) -> None:
        with self._database.write() as c:
            c.execute("INSERT OR REPLACE INTO curation VALUES (?, ?, ?)", (tenant, decision.id, decision_json(decision)))

    def decisions(self, tenant: Tenant) -> list[Decision]:
        with self._database.read() as c:
            found = c.execute("SELECT record FROM curation WHERE tenant = ? ORDER BY id", (tenant,))
            return [decision_of(record) for (record,) in found]

    def session(self, tenant: Tenant, session_id: str, *, since: float, awake_since: float | None = None) -> Session:
        name, awake = (tenant, session_id), since if awake_since is None else awake_since
        with self._database.read() as c:
            counted = "SELECT recalls FROM sessions WHERE tenant = ? AND id = ? AND at >= ?"
            found = c.execute(counted, (*name, awake)).fetchone()
            seen = dict(c.execute("SELECT node, at FROM seen WHERE tenant = ? AND session = ? AND at >= ?", (*name, since)))
        return Session(found[0] if found else 0, seen)

    def touch(
        self,
        tenant: Tenant,
        session_id: str,
        nodes: Sequence[str],
        at: float,
        *,
        keep_seconds: float,
        idle_seconds: float | None = None,
    ) -> None:
        awake_since = at - (keep_seconds if idle_seconds is None else idle_seconds)
        counted = {"tenant": tenant, "session": session_id, "at": at, "awake_since": awake_since}
        with self._database.write() as c:
            c.execute("DELETE FROM seen WHERE tenant = ? AND at < ?", (tenant, at - keep_seconds))
            c.execute("DELETE FROM sessions WHERE tenant = ? AND at < ?", (tenant, at - keep_seconds))
            c.execute(_ADD_RECALL, counted)
            c.executemany(_SEE, [(tenant, session_id, node, when) for node, when in seen_at(nodes, at).items()])


def bump(connection: sqlite3.Connection, tenant: Tenant) -> None:
    """Let the tenant's revision grow, inside the write transaction of the change."""
    connection.execute(_BUMP, (tenant,))


def _api_key(row: tuple[str | int, ...]) -> ApiKey:
    return key_of(dict(zip(KEY, row, strict=True)))
