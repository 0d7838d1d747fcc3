"""What is known of documents and runs, and who is at work on what."""

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
    """A document as the registry knows it.

    ``version`` is the version readers see (0 before the first). ``fingerprint`` is what it was made from and with:
    content, chunking, extractor, embedding. ``intended`` lists the chunk ids of the version being built or shown.
    ``extractions`` maps the content of each chunk to a hash of what it yielded to ``extractor``. ``words`` are those of the
    whole parsed text; 0 in a record that was written before they were counted. ``files`` has the hashes of the document's
    files by name; of those of older records none is known. ``counts`` are what readers see of it in the graph
    (:meth:`GraphStore.counts`), where the registry keeps that.
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
    """The newest state of a file that somebody was told of: ``holder`` (a job) brings it in. Orders compare as text."""

    order: str
    holder: str


@dataclass(frozen=True, slots=True)
class LateWriter:
    """Somebody whose lease of ``key`` was taken by another before he gave it back: dead, or asleep and to write yet."""

    id: str
    key: str


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A run: what was asked for, how it stands, and its result when it is over. ``seq`` is the number of its last event."""

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
    """A step of a job; ``seq`` counts from 1 within the job."""

    seq: int
    stage: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the HTTP API: never the secret itself, only its SHA-256 as hex.

    ``id`` is its public name. ``databases`` are the labels it may name (empty: any), ``rate`` the requests it may make a
    minute (0: as the settings say). With ``filters`` it opens a view of the tenant: the documents that pass them. A key with
    ``revoked_at`` opens nothing.
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
        """The tenant, or with filters the view of it, that whoever has the key reads."""
        owner = Tenant(self.tenant)
        return View(owner, self.filters) if self.filters else owner


@dataclass(frozen=True, slots=True)
class Freshness:
    """Of when something has to be to hold still for a tenant.

    ``revision`` grows with every change of its documents, ``cleared`` each time servers are to forget what they remember.
    """

    revision: int = 0
    cleared: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """What a session of recalls has touched: how often it asked, and when (seconds since the epoch) it last saw a node."""

    recalls: int = 0
    seen: Mapping[str, float] = field(default_factory=dict)


def seen_at(nodes: Sequence[str], at: float) -> dict[str, float]:
    """Return when (seconds) the nodes of a recall, best first, were seen: each a microsecond before the better one.

    So the best are those seen last, and no half-life feels it.
    """
    return {nodes[n]: at - n * 1e-6 for n in reversed(range(len(nodes)))}


@runtime_checkable
class Registry(Protocol):
    """Documents, jobs, events, leases, API keys and sessions.

    Of a view :meth:`document`, :meth:`documents`, :meth:`records` and :meth:`stats` tell what it sees, and the methods of
    jobs those that were begun in it, without counts of what others have; sessions and places in namespaces are its own.

    ``keeps_counts`` says whether it keeps :meth:`counts`, as for a graph that would have to go through all it holds.
    """

    keeps_counts: bool

    def document(self, tenant: Tenant, source_id: str) -> DocumentRecord | None:
        """Return the record of a document."""

    def documents(
        self, tenant: Tenant, *, namespace: str | None = None, after: str = "", limit: int = 1_000
    ) -> list[DocumentRecord]:
        """Return records ordered by uri then id; ``after`` is the uri after which to go on.

        A page may be longer than ``limit``: documents of one uri are never parted. A ``limit`` below 1 is ``InvalidInput``.
        """

    def records(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, DocumentRecord]:
        """Return the records of the documents that exist: one round trip for all."""

    def fingerprints(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, tuple[DocumentState, str]]:
        """Return state and fingerprint of the documents that exist: one round trip for a whole scan."""

    def save(self, tenant: Tenant, records: Sequence[DocumentRecord]) -> None:
        """Write records whole. ``updated_at`` is set here. Atomic."""

    def forget(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Delete records."""

    def lease(self, tenant: Tenant, keys: Sequence[str]) -> AbstractContextManager[frozenset[str]]:
        """Take the leases that are free, without waiting; the value says which. A dead holder's lease is free.

        Given back at the end, also on errors. A forked child does not hold its parent's; whoever holds a key cannot take
        it again. A store whose leases run out raises ``Conflict`` from writes under a lease that was lost, and at the end.
        """

    def fence(self, tenant: Tenant, keys: Sequence[str]) -> None:
        """Raise ``Conflict`` when a lease of these that was taken here was lost. Costs no request while its term runs."""

    def late_writers(self, tenant: Tenant, *, since: float) -> list[LateWriter]:
        """Return, oldest first, whose leases were taken from them at least ``since`` seconds ago, until :meth:`dismiss`.

        Noted in the transaction that takes the lease, for some weeks. Empty where a lease ends only with its holder.
        """

    def late_tenants(self, *, since: float) -> list[Tenant]:
        """Return, in order, the tenants that have :meth:`late_writers`: one query for all."""

    def dismiss(self, tenant: Tenant, late: Sequence[LateWriter]) -> None:
        """Forget late writers: nothing that they left is there any more."""

    def claim(self, tenant: Tenant, key: str, order: str, holder: str) -> Claim:
        """Note that ``holder`` brings ``key`` to this order, unless as new a claim is noted; return what is noted then.

        Nothing gives a claim back: what is older comes too late for ever. One conditional write.
        """

    def claimed(self, tenant: Tenant, key: str) -> Claim | None:
        """Return the claim that is noted."""

    def start_job(self, tenant: Tenant, kind: str, request: Mapping[str, Any], *, job_id: str = "") -> JobRecord:
        """Create a running job. With a ``job_id`` of the caller's: return the job of that id when it was created before."""

    def job(self, tenant: Tenant, job_id: str) -> JobRecord:
        """Return a job. Raise ``NotFound``."""

    def jobs(self, tenant: Tenant, *, limit: int = 50) -> list[JobRecord]:
        """Return jobs, newest first."""

    def unfinished(self) -> list[tuple[Tenant, JobRecord]]:
        """Return the running jobs of all tenants, oldest first, at work or interrupted."""

    def add_events(self, tenant: Tenant, job_id: str, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Append (stage, data) pairs in order. Raise ``NotFound`` for an unknown job."""

    def events(self, tenant: Tenant, job_id: str, *, after: int = 0) -> list[JobEvent]:
        """Return events with ``seq`` over ``after``; none for an unknown job."""

    def finish_job(
        self, tenant: Tenant, job_id: str, status: JobStatus, result: Mapping[str, Any], reason: str = ""
    ) -> None:
        """Close a job. Raise ``NotFound``."""

    def revision(self, tenant: Tenant) -> int:
        """Return a number that grows with every change of the tenant's documents: what was answered before is stale."""

    def freshness(self, tenant: Tenant) -> Freshness:
        """Return the revision, and how often :meth:`clear` was called: one read, as for the revision alone."""

    def clear(self, tenant: Tenant) -> int:
        """Let every server forget what it remembers for a tenant, when it asks next; return the new ``cleared``."""

    def ordinals(self, tenant: Tenant, namespace: str, source_ids: Sequence[str]) -> dict[str, int]:
        """Return the place of each source in its namespace, from 0; given once, in the order asked, and kept. Atomic."""

    def add_key(self, key: ApiKey) -> None:
        """Keep a new key; ``created_at`` is set here. Raise ``Conflict`` for an id or digest that exists."""

    def key(self, digest: str) -> ApiKey | None:
        """Return the key with this digest, whoever's it is; None when there is none or it was revoked."""

    def signer(self, digest: str) -> ApiKey | None:
        """Return the oldest key, not revoked, whose digest is this one, a ``#`` and its id; None when there is none.

        So are the keys of who signs with IAM (:mod:`lexigraph.api.access.signers`), of which there may be revoked ones.
        """

    def keys(self, tenant: Tenant) -> list[ApiKey]:
        """Return the tenant's keys, revoked ones too, oldest first."""

    def any_key(self) -> bool:
        """Tell whether a key was ever made, whoever's it is, revoked ones too."""

    def revoke_key(self, tenant: Tenant, key_id: str) -> ApiKey:
        """Revoke a key; at once for whoever asks the registry. Raise ``NotFound``."""

    def session(self, tenant: Tenant, session_id: str, *, since: float, awake_since: float | None = None) -> Session:
        """Return what a session has touched since a time. When it asked nothing since ``awake_since`` (by default the same
        time) it begins again, with no recalls.
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
        """Note one more recall, at this time, that returned these nodes, best first (:func:`seen_at`). Atomic.

        What was last seen more than ``keep_seconds`` before is forgotten. After more than ``idle_seconds`` (by default as
        many) without a recall these are counted from the first again.
        """

    def decide(self, tenant: Tenant, decision: Decision) -> None:
        """Add a decision of a curator, or replace the one of its id."""

    def decisions(self, tenant: Tenant) -> list[Decision]:
        """Return all decisions, undone ones too, by id."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of documents by state (all four, also zero) and of ``jobs``."""

    def counts(self, tenant: Tenant) -> dict[str, int]:
        """Return the sums of the ``counts`` of all documents: one read. Empty where none are kept."""

    def close(self) -> None:
        """Release connections."""
