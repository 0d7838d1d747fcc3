"""The lexical graph as the product asks for it: what is written, read and collected in one round trip each."""

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
    """Links out of some chunks, the live chunks they lead to with what they say, and the entities they pass.

    The chunks come by source and ``seq``; a statement said in several of them comes with each.
    """

    links: tuple[Link, ...] = ()
    chunks: tuple[ChunkStatements, ...] = ()
    entities: Mapping[str, Entity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a live chunk stands; ``first`` is the ``seq`` of the first chunk under the same headings of its source."""

    id: str
    source_id: str
    placement: Placement
    first: int


@dataclass(frozen=True, slots=True)
class ChunkEdge:
    """A chunk beside another: ``kind`` is next, previous, parent (same headings), entity or topic (one in common).

    ``among`` is how many chunks have in common what joins the two, themselves counted: those under the same headings, of
    the same topic, that mention the rarest entity that both do; in reading order two.
    """

    from_chunk: str
    to_chunk: str
    kind: str
    among: int = 2


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Live chunks and those beside them, by id, with their sources; the edges kind by kind, the nearest first."""

    places: Mapping[str, ChunkPlace] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    edges: tuple[ChunkEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A live entity, statement or topic.

    ``kind`` is ``entity``, ``statement`` or ``topic``; ``value`` is its name or text, ``details`` what is known beyond it:
    an entity's class, a statement's details. ``source`` is where a statement or topic stands, of several the first by id;
    an entity stands in many. ``hops`` is how far the nearest of the nodes asked about is: None when none is near.
    """

    id: str
    kind: str
    value: str
    details: str = ""
    source: Source | None = None
    hops: int | None = None


class TextPattern(Protocol):
    """What the texts of nodes are searched for, whatever it is made of.

    A text that it is found in holds one of the ``fragments``, in whatever case (ASCII, at least one character each); none:
    unknown.
    """

    @property
    def fragments(self) -> tuple[str, ...]:
        """Return the fragments."""

    def share(self, text: str) -> float:
        """Return what share of a text the first match takes up: over 0 where there is one, 1 for all of it."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Nodes by id. ``complete``: every live node in which the pattern is found is among them."""

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
    """Edges around some nodes, and every node at an end of one, by id."""

    edges: tuple[GraphEdge, ...] = ()
    nodes: Mapping[str, GraphNode] = field(default_factory=dict)


class TopicSpan(NamedTuple):
    """A topic of a document: from where its first statement begins to where its last ends, in the parsed text."""

    id: str
    value: str
    start: int
    end: int
    statements: int


class ChunkAt(NamedTuple):
    """A live chunk and where it stands: ``seq`` counts from 0 in its source."""

    id: str
    source_id: str
    seq: int


class Relation(NamedTuple):
    """What facts say of two entities, and how many statements do; ``outgoing``: of the one asked about."""

    predicate: str
    outgoing: bool
    statements: int


class Companion(NamedTuple):
    """An entity (id) that ``statements`` name together with another, and what facts say of the two, the most said first."""

    id: str
    statements: int
    relations: tuple[Relation, ...] = ()


class Companions(NamedTuple):
    """A page of companions, and how many there are in all: of those in the mentions that were read (``complete``: all)."""

    found: list[Companion]
    total: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """How live statements name an entity: in which forms and as what, each with how often, most first.

    ``statements`` name it, and ``neighbours`` are the entities that one of these names, too: of the mentions that were read,
    which are all (``complete``) of most entities.
    """

    forms: tuple[tuple[str, int], ...] = ()
    classes: tuple[tuple[str, int], ...] = ()
    statements: int = 0
    neighbours: int = 0
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a source to come: its chunks by id with their places, and those of them that are new in full."""

    source: Source
    placements: Mapping[str, Placement]
    chunks: tuple[ChunkGraph, ...] = ()


@dataclass(frozen=True, slots=True)
class RelatedRequest:
    """Which steps lead on from some live chunks, or from the names of a question.

    Followed are at most ``max_entities`` entities that the ``chunks`` name or are titled by, with what means the same:
    those whose value has ``min_name`` characters or more and which at most ``max_df`` sources name; the question's first,
    then those that several sources and most of the chunks name, then the rarest. ``names`` adds ids of entities found in a
    chunk's text, under its id, and those of the question under ``""``. An entity leads to at most ``per_entity`` chunks: to
    those among ``chunks`` and ``prefer`` in that order, then to those that most of the entities followed lead to. What is
    mentioned more than 1,000 times leads only to what is titled by it.

    ``all_kinds`` adds, to steps over one entity, ``relates`` (two entities or more in common), ``cooccur`` (the chunk
    names one of two entities that stand together in ``least_together`` chunks or more, the other chunk names the other
    one; only for entities that at most 50 chunks name) and ``llm_rel`` (observed with ``min_confidence`` or more on
    average). Where nothing was asked for or found, the ``first`` chunks of the first sources, 0 to leave them out.
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
    """The lexical graph. Readers see, of each source, the version that is live and nothing else.

    Of a view every reading method tells what it would if the tenant had only the sources that the view sees: whatever is
    counted, ranked or cut is counted, ranked and cut among these.
    """

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

    def derive(self, tenant: Tenant) -> Derived:
        """Compute value, class, df and degree of entities touched since they were settled, at most 10,000 of them.

        Entities without support are deleted and reported as gone. Empty when nothing is left to do.

        Of an entity with more than 1,000 live mentions, ``value`` and ``class`` are those of the most of any 1,001 of them,
        ``df`` is the number of live sources, at most 1,000, and ``degree`` at most 1,000.
        """

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        """Note that the text index holds what :meth:`derive` returned."""

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        """Note what an observer said of pairs of chunks, instead of what it said before; atomic.

        A pair that failed keeps what was known of it. With ``keep`` nothing that exists is changed: a relation of the same
        ends and type, whoever observed it, is passed over. Pairs of chunks that do not exist are left out. Return how many
        relations (ends and type) are new, and how many were known.
        """

    # -- reading
    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        """Return the pairs whose first chunk is given of which this observer was asked, in this way, without failing.

        The value is the number of relations between the two, whoever observed them.
        """

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        """Return the steps that a request asks for, between live chunks, sorted by their ends; a REL leads both ways."""

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        """Count what readers can follow: relations (ends and type), pairs of chunks that share two entities or more, and
        pairs of entities that stand together in ``least_together`` chunks or more (E-52); and entities with other names.

        Entities with less than ``min_name`` characters, or that more than 50 chunks name, relate nothing. Reads every
        mention: keep the answer as long as the registry's revision stays.
        """

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

    def names(self, view: View, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Search the names of the entities that a view sees, as the index ``entity`` of a vector store has a tenant's.

        That they have changed may be noticed late where reading them takes long: some 20 times as long.
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

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        """Return where the live ones of these chunks stand and, for each, at most ``per_kind`` chunks of a kind beside it.

        Of the same headings or topic those that stand nearest; of the same entities those that share the rarest, ties by
        id. What is mentioned more than 100 times joins no chunks. With ``per_kind`` 0 only the chunks themselves.
        """

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        """Return the live entities, statements and topics among these ids, each with its hops from the nearest of ``near``.

        A hop is a fact that joins two entities, a statement that names an entity, or a statement of a topic, either way;
        0 to 3 hops are told. An entity named more than 100 times, and a topic that runs over more than 20 chunks, is
        reached but leads nowhere further: what they join need have nothing to do with each other.
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
        """Return what :meth:`nodes` does, and all live entities, statements and topics in whose text a pattern is found.

        The text is the value, of a statement its details too, in a line of their own. Of more than ``most`` of a kind those
        of which the match takes up the largest share, ties by id; of a graph that is too large to look at all of it, what
        is found in time.
        """

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        """Return the live edges around these nodes, at most ``per_node`` of each: those to another of the nodes first.

        Then of an entity its facts, those that lead to the rarest entity first, and the statements that name it; of a
        statement the entities that it names, the rarest first, and its topic; of a topic its statements in reading order.
        What is named more than 1,000 times has only edges to others of the nodes that lead there themselves. Edges come by
        node as asked, best first.
        """

    def topics(self, tenant: Tenant, source_id: str) -> list[TopicSpan]:
        """Return the topics of a live source in the order in which they begin; empty when there is none."""

    def naming(
        self, tenant: Tenant, entity_id: str, *, source_id: str = "", after: tuple[str, int] | None = None, limit: int = 50
    ) -> list[ChunkAt]:
        """Return live chunks with a statement that names an entity, by source id and place; of one source when given.

        ``after`` is the source id and ``seq`` after which to go on. What a hub is named by is never read whole.
        """

    def profile(self, tenant: Tenant, entity_id: str) -> EntityProfile:
        """Return how live statements name an entity; nothing of one that none names. Reads ``MOST_MENTIONS`` at most."""

    def companions(self, tenant: Tenant, entity_id: str, *, offset: int = 0, limit: int = 50) -> Companions:
        """Return entities that live statements name together with one: those of most statements first, ties by id.

        Of an entity that is mentioned more than ``MOST_MENTIONS`` times so many mentions are read.
        """

    def leading(self, tenant: Tenant, limit: int) -> list[Entity]:
        """Return the entities that most live sources name, ties by id, without reading all of them.

        For a view, which has no such counts, it is told from ``MOST_NAMED`` mentions at most.
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

        Of the nodes a step away, by id, the first ``offset`` are passed over; ``next_offset`` is where to go on, None at
        the end. ``totals`` are how many ``nodes`` and ``edges`` were found, the node itself counted, and whether these are
        all (``complete``): of an edge's type 2,000 are looked at. Of other nodes than of these ``kinds``, where given,
        nothing is told.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return live counts: sources, chunks, topics, statements, facts, entities, mentions, links."""

    def counts(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return for each source that readers see what they see of it: sources (1), chunks, topics, statements, facts,
        mentions, links. One read.

        The sum over sources is what :meth:`stats` tells, but for facts, which count in each source that says them.
        """

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        """Return the sources, live or not, sorted: those ``after`` an id, at most ``limit``."""

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        """Return those of these entities that the graph does not have, whether readers would see them or not."""

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        """Return those of these chunks that the graph does not have, of no version of any source."""

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        """Return every chunk, statement and topic of a source, live or not: what may have vectors."""

    def close(self) -> None:
        """Release connections."""
