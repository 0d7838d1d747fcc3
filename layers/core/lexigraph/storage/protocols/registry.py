"""Protocol of the registry: documents, jobs, leases, API keys, sessions and decisions."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from lexigraph.model.curation import Decision
from lexigraph.model.filters import Filter
from lexigraph.model.graph import Metadata
from lexigraph.model.tenant import Tenant, View

DocumentState = Literal["BUILDING", "READY", "REMOVING", "FAILED"]
JobStatus = Literal["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]
Scope = Literal["read", "ingest", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "ingest", "admin")


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """The registry's record of a document.

    ``version`` is the live version (0 before the first). ``fingerprint`` covers content, chunking, extractor and embedding
    model. ``intended`` lists the chunk ids of the version being built or shown. ``extractions`` maps the content of each
    chunk to a hash of the result of ``extractor``. ``words`` counts the words of the parsed text; 0 in older records.
    ``files`` holds the hashes of the document's files by name; empty in older records. ``counts`` are the live counts of
    :meth:`GraphStore.counts`, if the registry keeps them.
    """

    source_id: str
    uri: str
    namespace: str
    title: str
    state: DocumentState
    version: int = 0
    fingerprint: str = ""
    metadata: Metadata = field(default_factory=dict)
    intended: tuple[str, ...] = ()
    extractions: Mapping[str, str] = field(default_factory=dict)
    extractor: str = ""
    chunks: int = 0
    characters: int = 0
    words: int = 0
    failed_chunks: int = 0
    reason: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The newest known state of a file, to be ingested by ``holder`` (a job). Orders compare as text."""

    order: str
    holder: str


@dataclass(frozen=True, slots=True)
class LateWriter:
    """A writer whose lease of ``key`` expired and was taken over: it has died, or may still write."""

    id: str
    key: str


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job: its request, status, and result once finished. ``seq`` is the number of its last event."""

    id: str
    kind: str
    status: JobStatus
    created_at: str
    updated_at: str
    request: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job; ``seq`` counts from 1 within the job."""

    seq: int
    stage: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the HTTP API, with the SHA-256 of its secret in hexadecimal, never the secret itself.

    ``databases`` are the allowed values of ``db_name`` (empty: any), ``rate`` is requests per minute (0: as in the
    settings). ``filters`` restrict the key to a view of the tenant: the documents that match. A key with ``revoked_at`` is
    invalid.
    """

    id: str
    digest: str
    tenant: str
    scopes: tuple[Scope, ...]
    name: str = ""
    databases: tuple[str, ...] = ()
    rate: int = 0
    created_at: str = ""
    revoked_at: str = ""
    filters: Filter | None = None

    @property
    def opens(self) -> Tenant:
        """The tenant that the key gives access to, or a view of it if the key has filters."""
        owner = Tenant(self.tenant)
        return View(owner, self.filters) if self.filters else owner


@dataclass(frozen=True, slots=True)
class Freshness:
    """Counters that decide whether a cached value of a tenant is current.

    ``revision`` increases with every change of its documents, ``cleared`` whenever caches are cleared.
    """

    revision: int = 0
    cleared: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A recall session: number of recalls, and when each node was last seen (seconds since the epoch)."""

    recalls: int = 0
    seen: Mapping[str, float] = field(default_factory=dict)


def seen_at(nodes: Sequence[str], at: float) -> dict[str, float]:
    """Return the times (seconds) at which the nodes of a recall, best first, count as seen: 1 µs apart, the best last."""
    return {nodes[n]: at - n * 1e-6 for n in reversed(range(len(nodes)))}


@runtime_checkable
class Registry(Protocol):
    """Stores documents, jobs, events, leases, API keys, sessions and decisions.

    For a view, :meth:`document`, :meth:`documents`, :meth:`records` and :meth:`stats` cover the documents in the view, and
    the methods of jobs those started in it. Sessions and ordinals are separate for each view.

    ``keeps_counts`` is set if the registry maintains :meth:`counts`, for graph stores where counting means a full scan.
    """

    keeps_counts: bool

    def document(self, tenant: Tenant, source_id: str) -> DocumentRecord | None:
        """Return the record of a document; None if there is none."""

    def documents(
        self, tenant: Tenant, *, namespace: str | None = None, after: str = "", limit: int = 1_000
    ) -> list[DocumentRecord]:
        """Return a page of records ordered by URI, then id; ``after`` is the last URI of the previous page.

        A page may exceed ``limit``, since documents with the same URI are not split. Raise ``InvalidInput`` for a ``limit``
        below 1.
        """

    def records(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, DocumentRecord]:
        """Return the records of the documents that exist, by id."""

    def fingerprints(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, tuple[DocumentState, str]]:
        """Return state and fingerprint of the documents that exist, by id."""

    def save(self, tenant: Tenant, records: Sequence[DocumentRecord]) -> None:
        """Write complete records and set ``updated_at``. Atomic."""

    def forget(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Delete records."""

    def lease(self, tenant: Tenant, keys: Sequence[str]) -> AbstractContextManager[frozenset[str]]:
        """Acquire the free leases among ``keys`` without waiting; the context value names those acquired.

        Leases are released when the context exits, and are free if their holder has died. They are not reentrant and not
        inherited by forked processes. If a lease can expire, writes under a lost lease and the end of the context raise
        ``Conflict``.
        """

    def fence(self, tenant: Tenant, keys: Sequence[str]) -> None:
        """Raise ``Conflict`` if one of these leases was acquired here and lost. Takes no request before it could expire."""

    def late_writers(self, tenant: Tenant, *, since: float) -> list[LateWriter]:
        """Return, oldest first, the writers whose leases were taken over at least ``since`` seconds ago.

        Recorded in the transaction that takes the lease over, and kept until :meth:`dismiss` or for some weeks. Empty if
        leases do not expire.
        """

    def late_tenants(self, *, since: float) -> list[Tenant]:
        """Return the tenants that have :meth:`late_writers`, sorted."""

    def dismiss(self, tenant: Tenant, late: Sequence[LateWriter]) -> None:
        """Delete late writers once their leftovers are removed."""

    def claim(self, tenant: Tenant, key: str, order: str, holder: str) -> Claim:
        """Record that ``holder`` ingests ``key`` in this order, unless a claim as new exists; return the current claim.

        Claims are never released: an older order stays rejected. One conditional write.
        """

    def claimed(self, tenant: Tenant, key: str) -> Claim | None:
        """Return the current claim; None if there is none."""

    def start_job(self, tenant: Tenant, kind: str, request: Mapping[str, Any], *, job_id: str = "") -> JobRecord:
        """Create a running job. With a ``job_id``, return the existing job of that id if there is one."""

    def job(self, tenant: Tenant, job_id: str) -> JobRecord:
        """Return a job. Raise ``NotFound``."""

    def jobs(self, tenant: Tenant, *, limit: int = 50) -> list[JobRecord]:
        """Return jobs, newest first."""

    def unfinished(self) -> list[tuple[Tenant, JobRecord]]:
        """Return the jobs of all tenants that have not finished, oldest first, including interrupted ones."""

    def add_events(self, tenant: Tenant, job_id: str, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Append (stage, data) pairs in order. Raise ``NotFound`` for an unknown job."""

    def events(self, tenant: Tenant, job_id: str, *, after: int = 0) -> list[JobEvent]:
        """Return events with ``seq`` over ``after``; none for an unknown job."""

    def finish_job(
        self, tenant: Tenant, job_id: str, status: JobStatus, result: Mapping[str, Any], reason: str = ""
    ) -> None:
        """Close a job. Raise ``NotFound``."""

    def revision(self, tenant: Tenant) -> int:
        """Return a number that increases with every change of the tenant's documents and so outdates cached answers."""

    def freshness(self, tenant: Tenant) -> Freshness:
        """Return the revision and the number of calls of :meth:`clear`, in one read."""

    def clear(self, tenant: Tenant) -> int:
        """Have every server clear its caches of the tenant before its next answer; return the new ``cleared``."""

    def ordinals(self, tenant: Tenant, namespace: str, source_ids: Sequence[str]) -> dict[str, int]:
        """Return the ordinal of each source in its namespace, from 0; assigned on first request and permanent. Atomic."""

    def add_key(self, key: ApiKey) -> None:
        """Store a new key and set ``created_at``. Raise ``Conflict`` if its id or digest exists."""

    def key(self, digest: str) -> ApiKey | None:
        """Return the key with this digest, of any tenant; None if there is none or it was revoked."""

    def signer(self, digest: str) -> ApiKey | None:
        """Return the oldest key of an IAM principal that is not revoked; None if there is none.

        Digests of such keys are the given one, ``#`` and the key's id (:mod:`lexigraph.api.access.signers`).
        """

    def keys(self, tenant: Tenant) -> list[ApiKey]:
        """Return the tenant's keys, including revoked ones, oldest first."""

    def any_key(self) -> bool:
        """Return whether a key was ever created, for any tenant, including revoked ones."""

    def revoke_key(self, tenant: Tenant, key_id: str) -> ApiKey:
        """Revoke a key, effective immediately. Raise ``NotFound``."""

    def session(self, tenant: Tenant, session_id: str, *, since: float, awake_since: float | None = None) -> Session:
        """Return a session with the nodes seen since a time. If it had no recall since ``awake_since`` (default: the same
        time), its count of recalls is 0.
        """

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
        """Record a recall at this time that returned these nodes, best first (:func:`seen_at`). Atomic.

        Nodes last seen more than ``keep_seconds`` earlier are deleted. After more than ``idle_seconds`` (default: the same)
        without a recall, the count of recalls starts again.
        """

    def decide(self, tenant: Tenant, decision: Decision) -> None:
        """Add a curation decision, or replace the one with its id."""

    def decisions(self, tenant: Tenant) -> list[Decision]:
        """Return all decisions, including undone ones, ordered by id."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of documents by state (all four states, including zeros) and of ``jobs``."""

    def counts(self, tenant: Tenant) -> dict[str, int]:
        """Return the sums of the ``counts`` of all documents; empty if none are kept."""

    def close(self) -> None:
        """Release connections."""
