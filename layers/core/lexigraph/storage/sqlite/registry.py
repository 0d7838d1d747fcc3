"""The embedded registry: documents, jobs with their events, and leases, in ``registry.sqlite``.

A lease is a row that names its holder: a file in ``holders/`` that is locked as long as the lease is held. The lock ends
with the process, so whoever comes next sees that the lease of a dead one is free.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, get_args

from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.folders import embedded_path
from lexigraph.storage.common.records import (
    DOCUMENT,
    as_json,
    check_limit,
    columns_of,
    document_of,
    no_job,
    now_text,
    rest_of,
)
from lexigraph.storage.common.views import seen_by_views
from lexigraph.storage.protocols import DocumentRecord, DocumentState, JobEvent, JobRecord, JobStatus, LateWriter
from lexigraph.storage.sqlite.access import (
    CLAIMS,
    CLEARED,
    CURATION,
    FILTERS,
    TABLES,
    SqliteAccess,
    bump,
)
from lexigraph.storage.sqlite.database import Create, Database
from lexigraph.storage.sqlite.holders import Holder

VERSION = 6

# `record` holds, as JSON, the fields of a document that no query asks for
SCHEMA = (
    """
CREATE TABLE documents (
    k INTEGER PRIMARY KEY, tenant TEXT NOT NULL, source_id TEXT NOT NULL, uri TEXT NOT NULL, namespace TEXT NOT NULL,
    state TEXT NOT NULL, fingerprint TEXT NOT NULL, updated_at TEXT NOT NULL, record TEXT NOT NULL,
    UNIQUE (tenant, source_id)
);
CREATE UNIQUE INDEX documents_uri ON documents (tenant, uri, source_id);
CREATE INDEX documents_namespace ON documents (tenant, namespace, uri, source_id);
CREATE INDEX documents_state ON documents (tenant, state);
CREATE TABLE jobs (
    k INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    status TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, request TEXT NOT NULL,
    result TEXT NOT NULL DEFAULT '{}', reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX jobs_tenant ON jobs (tenant);
CREATE TABLE events (
    job INTEGER NOT NULL, seq INTEGER NOT NULL, stage TEXT NOT NULL, at TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (job, seq)
) WITHOUT ROWID;
CREATE TABLE leases (
    tenant TEXT NOT NULL, key TEXT NOT NULL, holder TEXT NOT NULL, PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX leases_holder ON leases (holder);
"""
    + TABLES
    + CLAIMS
    + CLEARED
    + FILTERS
    + CURATION
)


_DOCUMENT = f"SELECT {', '.join(DOCUMENT)}, record FROM documents WHERE tenant = :tenant"
_SAVE = """
INSERT INTO documents (tenant, source_id, uri, namespace, state, fingerprint, updated_at, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (tenant, source_id) DO UPDATE SET uri = excluded.uri, namespace = excluded.namespace, state = excluded.state,
    fingerprint = excluded.fingerprint, updated_at = excluded.updated_at, record = excluded.record
"""
_FINGERPRINTS = """
SELECT source_id, state, fingerprint FROM documents WHERE tenant = ? AND source_id IN (SELECT value FROM json_each(?))
"""
_RECORDS = f"{_DOCUMENT} AND source_id IN (SELECT value FROM json_each(:ids))"
_FORGET = "DELETE FROM documents WHERE tenant = ? AND source_id IN (SELECT value FROM json_each(?))"
_OF_JOB = """
id, kind, status, created_at, updated_at, request, result, reason,
(SELECT coalesce(max(seq), 0) FROM events WHERE job = jobs.k)
"""
_JOB = f"SELECT {_OF_JOB} FROM jobs WHERE tenant = ?"
_UNFINISHED = f"""
SELECT tenant, {_OF_JOB} FROM jobs
WHERE status = 'RUNNING' ORDER BY k
"""
_START_JOB = """
INSERT INTO jobs (tenant, id, kind, status, created_at, updated_at, request) VALUES (?, ?, ?, 'RUNNING', ?, ?, ?)
ON CONFLICT (id) DO NOTHING
"""
_FINISH_JOB = "UPDATE jobs SET status = ?, result = ?, reason = ?, updated_at = ? WHERE tenant = ? AND id = ?"
_EVENTS = """
SELECT e.seq, e.stage, e.at, e.data FROM jobs j JOIN events e ON e.job = j.k
WHERE j.tenant = ? AND j.id = ? AND e.seq > ? ORDER BY e.seq
"""
_ADD_EVENT = """
INSERT INTO events (job, seq, stage, at, data)
SELECT :job, coalesce(max(seq), 0) + 1, :stage, :at, :data FROM events WHERE job = :job
"""
_DROP_DEAD = "DELETE FROM leases WHERE holder NOT IN (SELECT value FROM json_each(?))"


@seen_by_views
class SqliteRegistry(SqliteAccess):
    """A :class:`~lexigraph.storage.protocols.Registry` in the folder of ``sqlite:///FOLDER``, which is made when missing.

    Safe between threads, processes and forked children.
    """

    keeps_counts = False  # the graph beside it counts all it holds in a moment

    def __init__(self, connection: str, *, create: Create = True) -> None:
        """Open the registry, or ``create`` it. Raise ``InvalidInput`` for a connection or file that is refused."""
        self.path = embedded_path(connection, "registry.sqlite")
        migrations = {1: TABLES, 2: CLAIMS, 3: CLEARED, 4: FILTERS, 5: CURATION}
        self._database = Database(self.path, SCHEMA, version=VERSION, migrations=migrations, create=create)

    # -- documents

    def document(self, tenant: Tenant, source_id: str) -> DocumentRecord | None:
        with self._database.read() as c:
            row = c.execute(f"{_DOCUMENT} AND source_id = :id", {"tenant": tenant, "id": source_id}).fetchone()
        return _document(row) if row else None

    def documents(
        self, tenant: Tenant, *, namespace: str | None = None, after: str = "", limit: int = 1_000
    ) -> list[DocumentRecord]:
        check_limit(limit)
        query = f"{_DOCUMENT} {'' if namespace is None else 'AND namespace = :namespace'}"
        values = {"tenant": tenant, "namespace": namespace, "after": after, "limit": limit}
        beyond = "uri > :after" if after else "uri >= :after"
        with self._database.read() as c:
            rows = c.execute(f"{query} AND {beyond} ORDER BY uri, source_id LIMIT :limit", values).fetchall()
            if len(rows) == limit:
                values |= {"id": rows[-1][0], "uri": rows[-1][1]}
                rows += c.execute(f"{query} AND uri = :uri AND source_id > :id ORDER BY source_id", values)
        return [_document(row) for row in rows]

    def records(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, DocumentRecord]:
        with self._database.read() as c:
            rows = c.execute(_RECORDS, {"tenant": tenant, "ids": json.dumps(list(source_ids))})
            return {row[0]: _document(row) for row in rows}

    def fingerprints(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, tuple[DocumentState, str]]:
        with self._database.read() as c:
            rows = c.execute(_FINGERPRINTS, (tenant, json.dumps(list(source_ids))))
            return {source_id: (state, fingerprint) for source_id, state, fingerprint in rows}

    def save(self, tenant: Tenant, records: Sequence[DocumentRecord]) -> None:
        now = now_text()
        rows = [(tenant, *columns_of(r, now).values(), as_json(rest_of(r), f"document {r.uri!r}")) for r in records]
        with self._database.write() as c:
            c.executemany(_SAVE, rows)
            bump(c, tenant)

    def counts(self, tenant: Tenant) -> dict[str, int]:  # noqa: ARG002  # none are kept
        return {}

    def forget(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        with self._database.write() as c:
            c.execute(_FORGET, (tenant, json.dumps(list(source_ids))))
            bump(c, tenant)

    # -- leases

    @contextmanager
    def lease(self, tenant: Tenant, keys: Sequence[str]) -> Iterator[frozenset[str]]:
        holder = Holder(self.path.parent / "holders")
        try:
            yield self._take(tenant, keys, holder)
        finally:
            if holder.is_open:
                # closing the holder frees the leases even when their rows cannot be deleted now
                with suppress(StoreUnavailable), self._database.write() as c:
                    c.execute("DELETE FROM leases WHERE holder = ?", (holder.token,))
                holder.close()

    def _take(self, tenant: Tenant, keys: Sequence[str], holder: Holder) -> frozenset[str]:
        if not keys:
            return frozenset()
        with self._database.write() as c:
            holder.open()
            c.execute(_DROP_DEAD, (json.dumps(holder.living()),))
            c.executemany("INSERT OR IGNORE INTO leases VALUES (?, ?, ?)", [(tenant, key, holder.token) for key in keys])
            return frozenset(key for (key,) in c.execute("SELECT key FROM leases WHERE holder = ?", (holder.token,)))

    def fence(self, tenant: Tenant, keys: Sequence[str]) -> None:
        """Do nothing: a lease ends with its holder's process, and whoever is dead writes nothing."""

    def late_writers(self, tenant: Tenant, *, since: float) -> list[LateWriter]:  # noqa: ARG002  # as the protocol has it
        """Return none."""
        return []

    def late_tenants(self, *, since: float) -> list[Tenant]:  # noqa: ARG002  # as the protocol has it
        """Return none."""
        return []

    def dismiss(self, tenant: Tenant, late: Sequence[LateWriter]) -> None:
        """Do nothing: there are none."""

    # -- jobs

    def start_job(self, tenant: Tenant, kind: str, request: Mapping[str, Any], *, job_id: str = "") -> JobRecord:
        now, job_id, asked = now_text(), job_id or secrets.token_hex(16), as_json(request, "request of a job")
        with self._database.write() as c:
            c.execute(_START_JOB, (tenant, job_id, kind, now, now, asked))
        return self.job(tenant, job_id)

    def job(self, tenant: Tenant, job_id: str) -> JobRecord:
        with self._database.read() as c:
            row = c.execute(f"{_JOB} AND id = ?", (tenant, job_id)).fetchone()
        if row is None:
            raise no_job(job_id)
        return _job(row)

    def jobs(self, tenant: Tenant, *, limit: int = 50) -> list[JobRecord]:
        check_limit(limit)
        with self._database.read() as c:
            return [_job(row) for row in c.execute(f"{_JOB} ORDER BY k DESC LIMIT ?", (tenant, limit))]

    def unfinished(self) -> list[tuple[Tenant, JobRecord]]:
        with self._database.read() as c:
            rows = c.execute(_UNFINISHED).fetchall()
        return [(Tenant(tenant), _job(row)) for tenant, *row in rows]

    def add_events(self, tenant: Tenant, job_id: str, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        prepared = [{"stage": stage, "data": as_json(data, f"event {stage!r}")} for stage, data in events]
        with self._database.write() as c:
            job = c.execute("SELECT k FROM jobs WHERE tenant = ? AND id = ?", (tenant, job_id)).fetchone()
            if job is None:
                raise no_job(job_id)
            # the time is taken inside the transaction: it grows with seq, whoever writes
            now = now_text()
            c.executemany(_ADD_EVENT, [{**event, "job": job[0], "at": now} for event in prepared])

    def events(self, tenant: Tenant, job_id: str, *, after: int = 0) -> list[JobEvent]:
        with self._database.read() as c:
            rows = c.execute(_EVENTS, (tenant, job_id, after))
            return [JobEvent(seq, stage, at, json.loads(data)) for seq, stage, at, data in rows]

    def finish_job(
        self, tenant: Tenant, job_id: str, status: JobStatus, result: Mapping[str, Any], reason: str = ""
    ) -> None:
        values = (status, as_json(result, "result of a job"), reason, now_text(), tenant, job_id)
        with self._database.write() as c:
            done = c.execute(_FINISH_JOB, values)
            if done.rowcount == 0:
                raise no_job(job_id)

    def stats(self, tenant: Tenant) -> dict[str, int]:
        with self._database.read() as c:
            states = dict(c.execute("SELECT state, count(*) FROM documents WHERE tenant = ? GROUP BY state", (tenant,)))
            jobs = c.execute("SELECT count(*) FROM jobs WHERE tenant = ?", (tenant,)).fetchone()[0]
        return {**{state: states.get(state, 0) for state in get_args(DocumentState)}, "jobs": jobs}

    def close(self) -> None:
        self._database.close()


def _document(row: tuple[Any, ...]) -> DocumentRecord:
    return document_of(dict(zip(DOCUMENT, row, strict=False)), json.loads(row[-1]))


def _job(row: Sequence[Any]) -> JobRecord:
    job_id, kind, status, created_at, updated_at, request, result, reason, seq = row
    return JobRecord(job_id, kind, status, created_at, updated_at, json.loads(request), json.loads(result), reason, seq)
