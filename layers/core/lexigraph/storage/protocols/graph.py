"""Protocol of the graph store: writes, reads and garbage collection, each in one round trip."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lexigraph.model.filters import Filter
from lexigraph.model.graph import ChunkGraph, ChunkStatements, Entity, Link, Placement, Source, StatementRow
from lexigraph.model.relations import PairObservation, RelationCounts, Step
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols.vectors import Hit, SearchRequest

MOST_MENTIONS = 20_000  # of one entity that are read to tell how it is named, and with what
MOST_NAMED = 100_000  # mentions that are read to tell what a view names most


@dataclass(frozen=True, slots=True)
class Doomed:
    """The ids that :meth:`GraphStore.collect` will delete; delete their vectors first."""

    chunks: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.chunks or self.statements or self.topics)


@dataclass(frozen=True, slots=True)
class Derived:
    """Entities whose derived properties were just computed, and those that were deleted."""

    present: tuple[Entity, ...] = ()
    gone: tuple[str, ...] = ()
    stamp: int = 0

    def __bool__(self) -> bool:
        return bool(self.present or self.gone)


@dataclass(frozen=True, slots=True)
class EvidenceRequest:
    """A request for statements, collected in one round trip.

    - ``chunks``: their statements; with ``neighbours`` also those of the same topic in adjacent chunks.
    - ``entities``: up to ``per_entity`` statements for each entity and its aliases, in this order: those that name most of
      the other requested entities, those with facts about the entity, those that name it, those of the first ``per_entity``
      chunks of sources titled by it (ignored if more than 100 sources are). An entity named more than 1,000 times yields
      only statements that name another requested entity or stand in a source titled by it. Rows that name an alias list the
      requested entity among their ``entities``, too.
    - ``statements``: these statements; ``whole_chunks`` adds what a request for their chunks would return.
    - ``topics``: up to ``per_topic`` statements for each topic, those that name most of the requested entities first, then
      in reading order; likewise for up to 20 topics in the same chunks and the ``topic_reach`` chunks before and after,
      nearest first, and for the 20 topics that share most entities, counting entities in at most ``topic_links`` other
      topics. Zero disables these.

    ``facts`` False leaves facts out, which is faster.
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
    """The entities for requested ids.

    ``found`` maps an id to its entity; ``aliases`` maps it to the other entities that its name means, everywhere or, after
    a split, in some documents, even if no text names the entity itself; ``connected`` pairs an id with entities joined to
    it or its aliases by a fact, rarest first, none for an entity mentioned more than 1,000 times.
    """

    found: Mapping[str, Entity] = field(default_factory=dict)
    aliases: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict)
    connected: tuple[tuple[str, Entity], ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Links from some chunks, the live chunks they lead to with their statements, and the entities on the links.

    Chunks are ordered by source and ``seq``; a statement in several chunks is returned with each.
    """

    links: tuple[Link, ...] = ()
    chunks: tuple[ChunkStatements, ...] = ()
    entities: Mapping[str, Entity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """The location of a live chunk; ``first`` is the ``seq`` of the first chunk under the same headings of its source."""

    id: str
    source_id: str
    placement: Placement
    first: int


@dataclass(frozen=True, slots=True)
class ChunkEdge:
    """An edge between two chunks: ``kind`` is next, previous, parent (same headings), entity or topic (in common).

    ``among`` counts the chunks that share what joins the two, including them: those under the same headings, of the same
    topic, or that mention the rarest common entity; 2 for next and previous.
    """

    from_chunk: str
    to_chunk: str
    kind: str
    among: int = 2


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Live chunks and adjacent chunks, by id, with their sources; edges are ordered by kind, nearest first."""

    places: Mapping[str, ChunkPlace] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    edges: tuple[ChunkEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A live entity, statement or topic.

    ``kind`` is ``entity``, ``statement`` or ``topic``; ``value`` is its name or text; ``details`` is an entity's class or a
    statement's details. ``source`` is the source of a statement or topic, the first by id if there are several; None for
    an entity. ``hops`` is the distance to the nearest of the given nodes; None if none is within reach.
    """

    id: str
    kind: str
    value: str
    details: str = ""
    source: Source | None = None
    hops: int | None = None


class TextPattern(Protocol):
    """A pattern to search the texts of nodes for.

    Every matching text contains one of the ``fragments``, ignoring case (ASCII, not empty); no fragments: not known.
    """

    @property
    def fragments(self) -> tuple[str, ...]:
        """Return the fragments."""

    def share(self, text: str) -> float:
        """Return the length of the first match as a share of the text: 0 without a match, 1 for the whole text."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Nodes by id. ``complete`` is set if they include every live node that matches the pattern."""

    nodes: Mapping[str, GraphNode] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A live edge between two nodes. ``kind`` is ``RELATION`` (subject to object, ``label`` is the fact's predicate, ``id``
    the fact), ``MENTIONS`` (statement to entity) or ``BELONGS_TO`` (statement to topic); these two have no id of their own.
    """

    from_id: str
    to_id: str
    kind: str
    label: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Edges around some nodes, and all nodes that they join, by id."""

    edges: tuple[GraphEdge, ...] = ()
    nodes: Mapping[str, GraphNode] = field(default_factory=dict)


class TopicSpan(NamedTuple):
    """A topic of a document, with the range of its statements in the parsed text."""

    id: str
    value: str
    start: int
    end: int
    statements: int


class ChunkAt(NamedTuple):
    """A live chunk and its location: ``seq`` counts from 0 within its source."""

    id: str
    source_id: str
    seq: int


class Relation(NamedTuple):
    """A relation between two entities, with the number of statements that support it; ``outgoing`` from the given entity."""

    predicate: str
    outgoing: bool
    statements: int


class Companion(NamedTuple):
    """An entity (id) in the same ``statements`` as another, and the relations of the two, most frequent first."""

    id: str
    statements: int
    relations: tuple[Relation, ...] = ()


class Companions(NamedTuple):
    """A page of companions and their total number; ``complete`` is set if all mentions were read."""

    found: list[Companion]
    total: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """The names and classes of an entity in live statements, with their frequencies, most frequent first.

    ``statements`` counts the statements that name it, ``neighbours`` the other entities in them. ``complete`` is set if all
    mentions were read.
    """

    forms: tuple[tuple[str, int], ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    statements: int = 0
    neighbours: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A new version of a source: the placements of its chunks by id, and its new chunks in full."""

    source: Source
    placements: Mapping[str, Placement]
    chunks: tuple[ChunkGraph, ...] = ()


@dataclass(frozen=True, slots=True)
class RelatedRequest:
    """A request for the steps from some live chunks, or from the names in a question, to other chunks.

    Steps follow up to ``max_entities`` entities, and their aliases, that the ``chunks`` name or are titled by: those with at
    least ``min_name`` characters that at most ``max_df`` sources name. The question's entities come first, then those named
    by several sources and most of the chunks, then the rarest. ``names`` adds ids of entities found in a chunk's text, under
    the chunk's id, and those of the question, under ``""``. An entity leads to at most ``per_entity`` chunks: those among
    ``chunks`` and ``prefer``, in that order, then those that most of the followed entities lead to. An entity mentioned more
    than 1,000 times leads only to chunks titled by it.

    Besides steps over one entity, ``all_kinds`` adds ``relates`` (at least two entities in common), ``cooccur`` (each chunk
    names one of two entities that occur together in at least ``least_together`` chunks; only entities named by at most 50
    chunks) and ``llm_rel`` (relations with a mean confidence of at least ``min_confidence``). If nothing is requested or
    found, the ``first`` chunks of the first sources are returned; 0 disables this.
    """

    chunks: tuple[str, ...] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    prefer: tuple[str, ...] = ()
    max_entities: int = 20
    max_df: int = 15
    per_entity: int = 10
    min_name: int = 2
    all_kinds: bool = True
    least_together: int = 2
    min_confidence: float = 0.4
    first: int = 0
    filters: Filter | None = None


@runtime_checkable
class GraphStore(Protocol):
    """Stores the lexical graph. Readers see only the live version of each source.

    For a view, every reading method answers as if the tenant had only the sources in the view, including counts, ranks and
    limits.
    """

    # -- writing, in this order
    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        """Add the new chunks of versions, and set each version to exactly its placements. Atomic over all versions.

        Readers continue to see the live version. A version must be the live version plus one; leftovers of an interrupted
        attempt at it are closed. Raise ``Conflict`` for any other number, or for a placement of an unknown chunk.
        """

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        """Make these versions live, with title, metadata and Source-ABOUT->Entity. Atomic, one write."""

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Hide the sources from readers and close all their chunks. Atomic."""

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]], senses: Sequence[tuple[str, str]] = ()) -> None:
        """Replace the tenant's synonyms, except aliases found in texts, by these (other name, name) pairs. Atomic.

        ``senses`` are pairs of a name and what it means in some documents: looking up the name (:meth:`entities`, the
        question's names in :meth:`related`) finds both; the reverse does not hold, and no link from a document follows them.
        """

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        """Return the ids that :meth:`collect` would delete for these sources; delete their vectors first."""

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        """Delete closed chunks and everything without support, checked in the same transaction. Atomic.

        Withdrawn sources without chunks are deleted, too.
        """

    def derive(self, tenant: Tenant) -> Derived:
        """Compute value, class, df and degree of up to 10,000 entities changed since they were last settled.

        Entities without support are deleted and reported. The result is empty when there is nothing left to do. For an
        entity with more than 1,000 live mentions, ``value`` and ``class`` are the most frequent in 1,001 of them, and ``df``
        and ``degree`` are capped at 1,000.
        """

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        """Record that the text index is up to date with the result of :meth:`derive`."""

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        """Replace an observer's relations of pairs of chunks. Atomic.

        A pair that failed keeps its relations. With ``keep``, existing relations (same ends and type, of any observer) are
        not changed. Pairs with a missing chunk are ignored. Return the numbers of new and of existing relations.
        """

    # -- reading
    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        """Return the pairs, by their first chunk, for which this observer has answered in this way.

        The value is the number of relations between the two, of any observer.
        """

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        """Return the requested steps between live chunks, sorted by their ends; relations are followed both ways."""

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        """Count live relations (ends and type), pairs of chunks that share at least two entities, pairs of entities that
        occur together in at least ``least_together`` chunks (E-52), and entities with other names.

        Entities with fewer than ``min_name`` characters, or named by more than 50 chunks, are ignored. Reads every mention:
        cache the result until the registry's revision changes.
        """

    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        """Return the live sources among these ids."""

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        """Return the chunks of the live version of a source; empty when there is none."""

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        """Return the entities with these ids and their aliases, and for each up to ``connected`` entities joined by a fact.

        Only entities named in a text or title of a live source that matches the ``filters``, and aliases from such a source
        or from the synonyms; ``df`` and ``degree`` count all live sources.
        """

    def names(self, view: View, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Search the names of the entities in a view, as the index ``entity`` of a vector store does for a tenant.

        Results may lag behind changes by about 20 times the time that reading the names takes.
        """

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        """Return live statements with topic, chunk, source and facts, ordered by source, seq and position, each once."""

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
        """Return the links from live chunks over the entities that they mention.

        ``about``: chunks, in reading order, of sources titled by an entity that the chunk mentions. ``shared``: chunks that
        mention a common entity named by at most ``max_df`` sources. ``named``: chunks that mention the entity that titles
        the chunk's own source, if at most ``4 * max_df`` sources name it. ``names`` adds ids of entities found in a chunk's
        text. Aliases are followed. At most ``per_entity`` target chunks per entity and kind are returned: those in
        ``prefer``, in that order, then the first (``about``) or those that mention the entity most. An entity mentioned more
        than 1,000 times has only ``about`` links. ``facts`` False leaves facts out.
        """

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        """Return the locations of the live chunks among these and, for each, up to ``per_kind`` adjacent chunks per kind.

        For headings and topics the nearest chunks, for entities those that share the rarest, ties by id. Entities mentioned
        more than 100 times are ignored. With ``per_kind`` 0, only the locations.
        """

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        """Return the live entities, statements and topics among these ids, each with its hops from the nearest of ``near``.

        A hop is, in either direction, a fact that joins two entities, a statement that names an entity, or a statement of a
        topic; up to 3 hops are counted. Entities named more than 100 times and topics of more than 20 chunks are reached
        but not followed.
        """

    def matching(
        self,
        tenant: Tenant,
        pattern: TextPattern,
        node_ids: Sequence[str] = (),
        *,
        near: Sequence[str] = (),
        most: int = 1_000,
        filters: Filter | None = None,
    ) -> Matches:
        """Return the result of :meth:`nodes` and all live entities, statements and topics whose text matches a pattern.

        The text is the value, for a statement followed by its details on a separate line. If more than ``most`` of a kind
        match, those with the largest matching share are returned, ties by id; in a graph too large to scan, those found in
        time.
        """

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        """Return up to ``per_node`` live edges of each of these nodes, in the given order of nodes, best first.

        Edges between the nodes come first. Then, for an entity, its facts, rarest entity first, and the statements that name
        it; for a statement, its entities, rarest first, and its topic; for a topic, its statements in reading order. A node
        named more than 1,000 times has only edges that other given nodes lead to it.
        """

    def topics(self, tenant: Tenant, source_id: str) -> list[TopicSpan]:
        """Return the topics of a live source in reading order; empty for an unknown source."""

    def naming(
        self, tenant: Tenant, entity_id: str, *, source_id: str = "", after: tuple[str, int] | None = None, limit: int = 50
    ) -> list[ChunkAt]:
        """Return a page of live chunks with statements that name an entity, by source id and ``seq``, of one source or all.

        ``after`` is the last source id and ``seq`` of the previous page.
        """

    def profile(self, tenant: Tenant, entity_id: str) -> EntityProfile:
        """Return the names and classes of an entity in live statements, from up to ``MOST_MENTIONS`` mentions."""

    def companions(self, tenant: Tenant, entity_id: str, *, offset: int = 0, limit: int = 50) -> Companions:
        """Return the entities in the same live statements as one: by number of statements, descending, ties by id.

        Reads up to ``MOST_MENTIONS`` mentions.
        """

    def leading(self, tenant: Tenant, limit: int) -> list[Entity]:
        """Return the entities named by the most live sources, ties by id, without reading all entities.

        For a view, counts come from up to ``MOST_NAMED`` mentions.
        """

    def egonet(
        self,
        tenant: Tenant,
        node_id: str,
        *,
        depth: int = 1,
        limit: int = 120,
        offset: int = 0,
        kinds: Collection[str] = (),
    ) -> dict[str, Any]:
        """Return ``{"nodes": [{id, label, type}], "edges": [{source, target, type}]}`` around a node.

        The first ``offset`` adjacent nodes, ordered by id, are skipped; ``next_offset`` is the next offset, None at the end.
        ``totals`` counts ``nodes``, including the node itself, and ``edges``; ``complete`` says whether these counts are
        exact, since at most 2,000 edges per type are read. ``kinds`` restricts the result to nodes of these kinds.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return live counts: sources, chunks, topics, statements, facts, entities, mentions, links."""

    def counts(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return live counts by source: sources (1), chunks, topics, statements, facts, mentions, links.

        Their sums equal :meth:`stats`, except for facts, which count in every source that supports them.
        """

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        """Return up to ``limit`` ids of sources, live or not, after ``after``, sorted."""

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        """Return the entities among these that the graph does not contain, live or not."""

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        """Return the chunks among these that the graph does not contain, in any version of any source."""

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        """Return the ids of all chunks, statements and topics of a source, live or not: those that may have vectors."""

    def close(self) -> None:
        """Release connections."""
