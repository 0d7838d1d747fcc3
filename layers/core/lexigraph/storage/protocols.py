"""What the product asks of its stores, at the level of the domain. A store is learnt here; back ends repeat none of it.

Every method takes the tenant first and touches nothing of another. All methods raise ``StoreUnavailable`` when the
store cannot be reached, read or written. Writes are idempotent: repeating a call changes nothing. Objects are safe to
share between threads. A method call is one round trip, however much it carries.

The order that keeps readers right: the graph is written first (a version that is not live is invisible), then vectors,
then :meth:`GraphStore.publish` shows the version. Removal runs backwards: hidden, then vectors, then the graph. So a
vector always has its graph node, and whatever is interrupted can be finished from the graph alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.filters import Filter
from lexigraph.model.graph import ChunkGraph, Entity, Link, Metadata, Placement, Source, StatementRow
from lexigraph.model.tenant import Tenant

FloatArray = NDArray[np.float32]
IndexName = Literal["chunk", "statement", "topic", "entity", "relation"]
VECTOR_INDEXES: tuple[IndexName, ...] = ("chunk", "statement", "topic")


# ---------------------------------------------------------------- graph


@dataclass(frozen=True, slots=True)
class Doomed:
    """What leaves a source when its closed chunks are collected: ids whose vectors go first."""

    chunks: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.chunks or self.statements or self.topics)


@dataclass(frozen=True, slots=True)
class Derived:
    """Entities whose derived properties were just computed, and those that are gone."""

    present: tuple[Entity, ...] = ()
    gone: tuple[str, ...] = ()
    stamp: int = 0

    def __bool__(self) -> bool:
        return bool(self.present or self.gone)


@dataclass(frozen=True, slots=True)
class EvidenceRequest:
    """What one round trip collects.

    The statements of ``chunks`` (with those of the same topic in the chunks next to them when ``neighbours``); of
    ``entities``, and of what means the same, ``per_entity`` statements each: those that name most of the other entities
    asked for, then those in whose facts the entity stands, then those that name it, then those of the first ``per_entity``
    chunks of the sources titled by it (of at most 100 such sources: a title that more bear says nothing); and ``statements``
    themselves, with ``whole_chunks`` as if the chunks they stand in had been asked for too. An entity named more than 1,000
    times gives only statements that name another entity asked for, or that stand in a source about it: alone it is no
    evidence. A row that names what means the same as an entity asked for counts that among its ``entities``, too.

    Of ``topics`` the ``per_topic`` statements that name most of the entities asked for, then as the source reads; likewise
    of up to 20 topics each in their chunks and the ``topic_reach`` chunks before and after, the nearest first, and of up to
    20 topics that share most entities with them, of those that at most ``topic_links`` other topics name. Zero leaves
    these out. Without ``facts`` the rows come without them, which is faster.
    """

    chunks: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    neighbours: bool = True
    whole_chunks: bool = False
    per_entity: int = 50
    topics: tuple[str, ...] = ()
    per_topic: int = 25
    topic_reach: int = 0
    topic_links: int = 0
    facts: bool = True
    filters: Filter | None = None


@dataclass(frozen=True, slots=True)
class EntityLookup:
    """Entities found for ids.

    ``found`` maps the id asked for to its entity; ``aliases`` maps it to other entities that mean the same (also when no
    text names it itself); ``connected`` pairs an id asked for with an entity joined to it, or to what means the same, by a
    fact: for each id the rarest, in this order, none for what is mentioned more than 1,000 times.
    """

    found: Mapping[str, Entity] = field(default_factory=dict)
    aliases: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    connected: tuple[tuple[str, Entity], ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Links out of some chunks, the live statements of the chunks they lead to, and the entities they pass."""

    links: tuple[Link, ...] = ()
    statements: tuple[StatementRow, ...] = ()
    entities: Mapping[str, Entity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a source to come: its chunks by id with their places, and those of them that are new in full."""

    source: Source
    placements: Mapping[str, Placement]
    chunks: tuple[ChunkGraph, ...] = ()


@runtime_checkable
class GraphStore(Protocol):
    """The lexical graph. Readers see, of each source, the version that is live and nothing else."""

    # -- writing, in this order
    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        """Add the versions' new chunks, and make each version consist of exactly its placements. Atomic over all.

        Readers go on seeing the live version. A version is the live one plus one, also after an interrupted attempt at
        it, whose leftovers are closed; any other number, or a placement of a chunk never written, is a ``Conflict``.
        """

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        """Show each source in this version: live version, title, metadata and Source-ABOUT->Entity. Atomic, one write."""

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Hide the sources from readers and close all their chunks. Atomic."""

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]]) -> None:
        """Make these (other name, name) pairs all of the tenant's synonyms besides those that texts give. Atomic."""

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        """Return what :meth:`collect` would take of these sources: delete its vectors first."""

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Delete closed chunks and whatever has no support left, checked in the deleting transaction. Atomic.

        A source that is withdrawn and has no chunk left goes too.
        """

    def derive(self, tenant: Tenant, limit: int = 10_000) -> Derived:
        """Compute value, class, df and degree of entities touched since they were settled, at most ``limit`` of them.

        Entities without support are deleted and reported as gone. Empty when nothing is left to do.
        """

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        """Note that the text index holds what :meth:`derive` returned."""

    # -- reading
    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        """Return the live sources among these ids."""

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        """Return the chunks of the live version of a source; empty when there is none."""

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        """Return the entities with these ids, aliases followed; ``connected`` more per entity that share a fact with it.

        Only what a text or title of a live source names that the ``filters`` admit, and the aliases that such a source or
        the synonyms give; ``df`` and ``degree`` count all live sources.
        """

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        """Return live statements with topic, chunk, source and facts; by source, seq and position, each once."""

    def neighbourhood(
        self,
        tenant: Tenant,
        chunk_ids: Sequence[str],
        *,
        names: Mapping[str, Sequence[str]] | None = None,
        max_df: int = 15,
        per_entity: int = 10,
        prefer: Sequence[str] = (),
        facts: bool = True,
        filters: Filter | None = None,
    ) -> Neighbourhood:
        """Return where the entities mentioned in live chunks lead.

        ``about``: the chunks, in reading order, of sources titled by an entity that the chunk mentions. ``shared``: chunks
        that mention an entity in common which at most ``max_df`` sources name. ``named``: chunks that mention the entity
        which titles the chunk's own source, when at most ``4 * max_df`` sources name it. ``names`` adds ids of entities
        found in a chunk's text. Aliases are followed. At most ``per_entity`` target chunks an entity and kind: where there
        are more, those among the chunks to ``prefer``, in that order, then the first (``about``) or those that mention the
        entity most.
        What is mentioned more than 1,000 times leads only to what is ``about`` it.
        Without ``facts`` the statements come without theirs.
        """

    def egonet(self, tenant: Tenant, node_id: str, *, depth: int = 1, limit: int = 120) -> dict[str, list[dict[str, Any]]]:
        """Return ``{"nodes": [{id, label, type}], "edges": [{source, target, type}]}`` around a node."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return live counts: sources, chunks, topics, statements, facts, entities, mentions, links."""

    def dump(self, tenant: Tenant) -> dict[str, list[tuple[Any, ...]]]:
        """Return every node and edge, sorted, by public ids and without version numbers: equal content, equal dumps."""

    def source_ids(self, tenant: Tenant) -> list[str]:
        """Return every source, live or not."""

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        """Return every chunk, statement and topic of a source, live or not: what may have vectors."""

    def close(self) -> None:
        """Release connections."""


# ---------------------------------------------------------------- vectors and text


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """An entry of an index; ``vector`` is L2-normalised float32, None in text-only indexes (entity, relation)."""

    id: str
    text: str
    source_id: str = ""
    chunk_id: str = ""
    vector: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search: by cosine when ``vector`` is given, else by BM25 over the words of ``text``.

    ``ids``: score exactly these (``k`` is ignored; ids without a score are left out). ``prefix``: the last word of
    ``text`` may be the beginning of a word. Scores are rounded to 6 digits, ties go by id.
    """

    index: IndexName
    vector: FloatArray | None = None
    text: str = ""
    k: int = 10
    ids: tuple[str, ...] | None = None
    prefix: bool = False
    filters: Filter | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A record found, best first in its list. Cosine -1..1, or BM25 >= 0."""

    id: str
    score: float
    text: str
    source_id: str
    chunk_id: str


@runtime_checkable
class VectorStore(Protocol):
    """Vectors and full text. Made for one embedding (``label`` like ``minilm-384``), which names its vector indexes."""

    label: str
    dimension: int

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        """Add or replace records. Atomic over all indexes given."""

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        """Note what filters see of the sources in this version; earlier versions still match until untagged."""

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        """Forget the sources' tags but those of version ``keep[source_id]``."""

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        """Delete records; unknown ids are passed over. Atomic."""

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Answer all requests in one round trip.

        Raise ``InvalidInput`` when the store holds vectors of another embedding only.
        """

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        """Return the records that exist, with their vectors."""

    def visible(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> bool:
        """Tell whether searches see all of these records yet."""

    def ids(self, tenant: Tenant, index: IndexName, source_id: str | None = None) -> list[str]:
        """Return the ids in an index, of one source or of all, sorted."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of records by index."""

    def dump(self, tenant: Tenant) -> dict[str, list[tuple[Any, ...]]]:
        """Return every record (id, source, chunk, text, vector as tuple rounded to 4 digits) and tag, sorted."""

    def close(self) -> None:
        """Release connections and mapped files."""


# ---------------------------------------------------------------- documents


@runtime_checkable
class DocumentStore(Protocol):
    """Files of a document by name: the parsed text of each version, and originals where there is no other home."""

    def put(self, tenant: Tenant, source_id: str, name: str, data: bytes) -> None:
        """Write a file. Readers see the old bytes or the new."""

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        """Return a file. Raise ``NotFound``."""

    def names(self, tenant: Tenant, source_id: str) -> list[str]:
        """Return the names under a source, sorted."""

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        """Delete the source's files except those in ``keep``; unknown sources are passed over."""

    def sources(self, tenant: Tenant) -> list[str]:
        """Return the ids of all sources that have files, sorted."""


# ---------------------------------------------------------------- registry

DocumentState = Literal["BUILDING", "READY", "REMOVING", "FAILED"]
JobStatus = Literal["RUNNING", "SUCCEEDED", "FAILED"]


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the registry knows it.

    ``version`` is the version readers see (0 before the first). ``fingerprint`` is what it was made from and with:
    content, chunking, extractor, embedding. ``intended`` lists the chunk ids of the version being built or shown.
    ``extractions`` maps the content of each chunk to a hash of what it yielded to ``extractor``.
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
    failed_chunks: int = 0
    reason: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A run: what was asked for, how it stands, and its result when it is over."""

    id: str
    kind: str
    status: JobStatus
    created_at: str
    updated_at: str
    request: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """A step of a job; ``seq`` counts from 1 within the job."""

    seq: int
    stage: str
    at: str
    data: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Registry(Protocol):
    """Documents, jobs, events and leases."""

    def document(self, tenant: Tenant, source_id: str) -> DocumentRecord | None:
        """Return the record of a document."""

    def documents(
        self, tenant: Tenant, *, namespace: str | None = None, after: str = "", limit: int = 1_000
    ) -> list[DocumentRecord]:
        """Return records ordered by uri then id; ``after`` is the uri after which to go on.

        A page may be longer than ``limit``: documents of one uri are never parted. A ``limit`` below 1 is ``InvalidInput``.
        """

    def fingerprints(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, tuple[DocumentState, str]]:
        """Return state and fingerprint of the documents that exist: one round trip for a whole scan."""

    def save(self, tenant: Tenant, records: Sequence[DocumentRecord]) -> None:
        """Write records whole. ``updated_at`` is set here. Atomic."""

    def forget(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Delete records."""

    def lease(self, tenant: Tenant, keys: Sequence[str]) -> AbstractContextManager[frozenset[str]]:
        """Take the leases that are free, without waiting; the value says which. A dead holder's lease is free.

        Given back at the end, also on errors. A forked child does not hold its parent's; whoever holds a key cannot take
        it again.
        """

    def start_job(self, tenant: Tenant, kind: str, request: Mapping[str, Any]) -> JobRecord:
        """Create a running job."""

    def job(self, tenant: Tenant, job_id: str) -> JobRecord:
        """Return a job. Raise ``NotFound``."""

    def jobs(self, tenant: Tenant, *, limit: int = 50) -> list[JobRecord]:
        """Return jobs, newest first."""

    def add_events(self, tenant: Tenant, job_id: str, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Append (stage, data) pairs in order. Raise ``NotFound`` for an unknown job."""

    def events(self, tenant: Tenant, job_id: str, *, after: int = 0) -> list[JobEvent]:
        """Return events with ``seq`` over ``after``; none for an unknown job."""

    def finish_job(
        self, tenant: Tenant, job_id: str, status: JobStatus, result: Mapping[str, Any], reason: str = ""
    ) -> None:
        """Close a job. Raise ``NotFound``."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of documents by state (all four, also zero) and of ``jobs``."""

    def close(self) -> None:
        """Release connections."""


@runtime_checkable
class ContentCache(Protocol):
    """Results of models by content. An entry lives as long as an owner (a chunk) that uses it.

    An entry is put before it is owned and waits up to a week. Entries that waited longer go with the tenant's next ``own``
    or ``disown``, and all that wait go when ``disown`` leaves the tenant without owners. Uses of entries that do not exist
    are passed over, so put before owning, and own the new before disowning the old.
    """

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that exist; ``kind`` names model and version."""

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries."""

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        """Make the (kind, key) pairs given all that each owner uses; entries nobody uses any more go. Atomic."""

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None:
        """Forget the owners and the entries that nobody else uses. Atomic."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of entries by kind."""

    def close(self) -> None:
        """Release connections."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The five stores of one deployment."""

    graph: GraphStore
    vectors: VectorStore
    documents: DocumentStore
    registry: Registry
    cache: ContentCache

    def close(self) -> None:
        """Release them all."""
        for store in (self.graph, self.vectors, self.registry, self.cache):
            store.close()
