"""The lexical graph as the product asks for it: what is written, read and collected in one round trip each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lexigraph.model.filters import Filter
from lexigraph.model.graph import ChunkGraph, Entity, Link, Placement, Source, StatementRow
from lexigraph.model.tenant import Tenant


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
