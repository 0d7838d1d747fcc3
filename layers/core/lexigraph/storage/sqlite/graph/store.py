"""The embedded graph store: one SQLite file, safe between threads and processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Placement, Source, StatementRow
from lexigraph.model.relations import PairObservation, RelationCounts, Step
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import refuse_strays
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
from lexigraph.storage.sqlite.database import Database, embedded_path
from lexigraph.storage.sqlite.graph import adjacent as sqlite_adjacent
from lexigraph.storage.sqlite.graph import derive as sqlite_derive
from lexigraph.storage.sqlite.graph import inspect as sqlite_inspect
from lexigraph.storage.sqlite.graph import links as sqlite_links
from lexigraph.storage.sqlite.graph import read as sqlite_read
from lexigraph.storage.sqlite.graph import related as sqlite_related
from lexigraph.storage.sqlite.graph import relations as sqlite_relations
from lexigraph.storage.sqlite.graph import rows as sqlite_rows
from lexigraph.storage.sqlite.graph import walks as sqlite_walks
from lexigraph.storage.sqlite.graph import write as sqlite_write
from lexigraph.storage.sqlite.graph.migrations import MIGRATIONS
from lexigraph.storage.sqlite.graph.schema import SCHEMA, VERSION


class SqliteGraphStore:
    """:class:`~lexigraph.storage.protocols.GraphStore` in ``FOLDER/graph.sqlite`` of ``sqlite:///FOLDER``."""

    def __init__(self, connection: str) -> None:
        path = embedded_path(connection, "graph.sqlite")
        self._database = Database(path, SCHEMA, version=VERSION, migrations=MIGRATIONS)

    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        refuse_strays(versions)
        with self._database.write() as connection:
            sqlite_rows.store_statements(connection, sqlite_write.write_chunks(connection, tenant, versions))
            for version in versions:
                sqlite_write.place(connection, tenant, version.source, version.placements)

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        with self._database.write() as connection:
            sqlite_write.publish(connection, tenant, sources)

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        with self._database.write() as connection:
            sqlite_write.withdraw(connection, tenant, source_ids)

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]]) -> None:
        with self._database.write() as connection:
            sqlite_write.set_synonyms(connection, tenant, pairs)

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        with self._database.read() as connection:
            return sqlite_inspect.doomed(connection, tenant, list(source_ids))

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        with self._database.write() as connection:
            sqlite_write.collect(connection, tenant, source_ids)

    def derive(self, tenant: Tenant, limit: int = 10_000) -> Derived:
        with self._database.write() as connection:
            return sqlite_derive.derive(connection, tenant, limit)

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        with self._database.write() as connection:
            sqlite_derive.settle(connection, tenant, derived)

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        with self._database.write() as connection:
            return sqlite_relations.relate(connection, tenant, observations, keep)

    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        with self._database.read() as connection:
            return sqlite_relations.observed(connection, tenant, chunk_ids, observer, how)

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        with self._database.read() as connection:
            return sqlite_related.related(connection, tenant, request)

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        with self._database.read() as connection:
            return sqlite_relations.relation_counts(connection, tenant, least_together, min_name)

    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        with self._database.read() as connection:
            return sqlite_read.sources(connection, tenant, source_ids)

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        with self._database.read() as connection:
            return sqlite_read.chunk_ids(connection, tenant, source_id)

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        with self._database.read() as connection:
            return sqlite_read.entities(connection, tenant, entity_ids, connected, filters)

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        with self._database.read() as connection:
            return sqlite_read.evidence(connection, tenant, request)

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
        with self._database.read() as connection:
            return sqlite_links.neighbourhood(
                connection, tenant, chunk_ids, names or {}, max_df, per_entity, prefer, facts, filters
            )

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        with self._database.read() as connection:
            return sqlite_adjacent.adjacent(connection, tenant, chunk_ids, per_kind, filters)

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        with self._database.read() as connection:
            return sqlite_walks.nodes(connection, tenant, node_ids, near, filters)

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        with self._database.read() as connection:
            return sqlite_walks.surroundings(connection, tenant, node_ids, per_node, filters)

    def egonet(self, tenant: Tenant, node_id: str, *, depth: int = 1, limit: int = 120) -> dict[str, list[dict[str, Any]]]:
        with self._database.read() as connection:
            return sqlite_inspect.egonet(connection, tenant, node_id, depth, limit)

    def stats(self, tenant: Tenant) -> dict[str, int]:
        with self._database.read() as connection:
            return sqlite_inspect.stats(connection, tenant)

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        with self._database.read() as connection:
            return sqlite_read.source_ids(connection, tenant, after, limit)

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        with self._database.read() as connection:
            return sqlite_inspect.absent(connection, tenant, entity_ids)

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        with self._database.read() as connection:
            return sqlite_inspect.absent_chunks(connection, tenant, chunk_ids)

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        with self._database.read() as connection:
            return sqlite_inspect.node_ids(connection, tenant, source_id)

    def close(self) -> None:
        self._database.close()
