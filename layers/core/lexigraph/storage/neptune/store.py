"""The graph store in Amazon Neptune: openCypher over the HTTPS data API, and walks by Gremlin.

It is safe between threads and processes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Placement, Source, StatementRow
from lexigraph.model.relations import PairObservation, RelationCounts, Step
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune import adjacent as neptune_adjacent
from lexigraph.storage.neptune import collect as neptune_collect
from lexigraph.storage.neptune import derive as neptune_derive
from lexigraph.storage.neptune import edges as neptune_edges
from lexigraph.storage.neptune import egonet as neptune_egonet
from lexigraph.storage.neptune import inspect as neptune_inspect
from lexigraph.storage.neptune import links as neptune_links
from lexigraph.storage.neptune import publish as neptune_publish
from lexigraph.storage.neptune import read as neptune_read
from lexigraph.storage.neptune import related as neptune_related
from lexigraph.storage.neptune import relations as neptune_relations
from lexigraph.storage.neptune import walks as neptune_walks
from lexigraph.storage.neptune import write as neptune_write
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import READ_SECONDS, NeptuneClient
from lexigraph.storage.neptune.gremlin import walks as neptune_gremlin_walks
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks
from lexigraph.storage.protocols import (
    Adjacency,
    Derived,
    Doomed,
    EntityLookup,
    EvidenceRequest,
    GraphNode,
    Neighbourhood,
    RelatedRequest,
    SourceVersion,
    Surroundings,
)


class NeptuneGraphStore:
    """:class:`~lexigraph.storage.protocols.GraphStore` in the cluster of ``neptune-db://HOST[:PORT]``.

    ``options`` are those of :class:`~lexigraph.storage.neptune.client.NeptuneClient`. What a method writes in more
    than one query is written so that it may end between any two of them (see the modules that write). Egonets and
    distances are walked by Gremlin, one traversal each; with ``?gremlin=off`` in the connection by openCypher.
    """

    def __init__(self, connection: str, **options: Any) -> None:
        self._client = NeptuneClient.connect(connection, **options)
        address = NeptuneAddress.parse(connection)
        seconds, backoff = options.get("read_seconds", READ_SECONDS), options.get("backoff")
        self._walks = GremlinWalks(address, seconds=seconds, backoff=backoff) if address.walks else None

    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        neptune_write.write(self._client, tenant, versions)

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        neptune_publish.publish(self._client, tenant, sources)

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        neptune_publish.withdraw(self._client, tenant, source_ids)

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]]) -> None:
        neptune_publish.set_synonyms(self._client, tenant, pairs)

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        return neptune_collect.doomed(self._client, tenant, source_ids)

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        neptune_collect.collect(self._client, tenant, source_ids)

    def derive(self, tenant: Tenant, limit: int = 10_000) -> Derived:
        return neptune_derive.derive(self._client, tenant, limit)

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        neptune_derive.settle(self._client, tenant, derived)

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        return neptune_relations.relate(self._client, tenant, observations, keep)

    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        return neptune_relations.observed(self._client, tenant, chunk_ids, observer, how)

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        return neptune_related.related(self._client, tenant, request)

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        return neptune_relations.relation_counts(self._client, tenant, least_together, min_name)

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        return neptune_read.entities(self._client, tenant, entity_ids, connected, filters)

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        return neptune_read.evidence(self._client, tenant, request)

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
        return neptune_links.neighbourhood(
            self._client, tenant, chunk_ids, names or {}, max_df, per_entity, prefer, facts, filters
        )

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        return neptune_adjacent.adjacent(self._client, tenant, chunk_ids, per_kind, filters)

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        if near and self._walks:
            return neptune_gremlin_walks.nodes(self._walks, tenant, node_ids, near, filters)
        return neptune_walks.nodes(self._client, tenant, node_ids, near, filters)

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        return neptune_edges.surroundings(self._client, tenant, node_ids, per_node, filters)

    def egonet(self, tenant: Tenant, node_id: str, *, depth: int = 1, limit: int = 120) -> dict[str, list[dict[str, Any]]]:
        if self._walks:
            return neptune_gremlin_walks.egonet(self._walks, tenant, node_id, depth, limit)
        return neptune_egonet.egonet(self._client, tenant, node_id, depth, limit)

    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        return neptune_inspect.sources(self._client, tenant, source_ids)

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        return neptune_inspect.chunk_ids(self._client, tenant, source_id)

    def stats(self, tenant: Tenant) -> dict[str, int]:
        return neptune_inspect.stats(self._client, tenant)

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        return neptune_inspect.source_ids(self._client, tenant, after, limit)

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        return neptune_inspect.absent(self._client, tenant, entity_ids)

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        return neptune_inspect.absent_chunks(self._client, tenant, chunk_ids)

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        return neptune_inspect.node_ids(self._client, tenant, source_id)

    def close(self) -> None:
        self._client.close()
        if self._walks:
            self._walks.close()
