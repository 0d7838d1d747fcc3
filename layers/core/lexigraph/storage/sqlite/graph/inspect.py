"""Looking at the embedded graph as a whole: counts, sources and their chunks, ids for repair."""

import json
import sqlite3
from collections.abc import Sequence

from lexigraph.model.graph import Placement, Source
from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Doomed
from lexigraph.storage.sqlite.graph.gate import SqlitePart, public, raw, select, tenant_key
from lexigraph.storage.sqlite.graph.schema import LIVE

_LIVE_CHUNKS = f"SELECT p.chunk FROM placed p JOIN source s ON s.k = p.source WHERE {LIVE}"
_COUNTS = {
    "sources": "SELECT count(*) FROM source WHERE tenant = ? AND live IS NOT NULL",
    "chunks": f"SELECT count(DISTINCT chunk) FROM ({_LIVE_CHUNKS})",
    "topics": f"SELECT count(DISTINCT topic) FROM topic_in WHERE chunk IN ({_LIVE_CHUNKS})",
    "statements": f"SELECT count(DISTINCT statement) FROM said_in WHERE chunk IN ({_LIVE_CHUNKS})",
    "facts": f"SELECT count(DISTINCT fact) FROM supports WHERE chunk IN ({_LIVE_CHUNKS})",
    "entities": "SELECT count(*) FROM entity WHERE tenant = ? AND df > 0",
    "mentions": f"SELECT count(*) FROM mentions WHERE chunk IN ({_LIVE_CHUNKS})",
    "links": "SELECT count(*) FROM about a JOIN source s ON s.k = a.source WHERE s.tenant = ? AND s.live IS NOT NULL",
}

_OF_SOURCES = f"FROM source s CROSS JOIN placed p ON p.source = s.k {{}} WHERE s.id IN ({{{{}}}}) AND {LIVE} GROUP BY s.k"
_COUNTS_OF_EACH = {
    "sources": "SELECT s.id, 1 FROM source s WHERE s.id IN ({}) AND s.tenant = ? AND s.live IS NOT NULL",
    "chunks": f"SELECT s.id, count(DISTINCT p.chunk) {_OF_SOURCES.format('')}",
    **{
        f"{kind}s": f"SELECT s.id, count(DISTINCT x.{kind}) "
        + _OF_SOURCES.format(f"CROSS JOIN {table} x ON x.chunk = p.chunk")
        for kind, table in {"topic": "topic_in", "statement": "said_in", "fact": "supports"}.items()
    },
    "mentions": f"SELECT s.id, count(*) {_OF_SOURCES.format('CROSS JOIN mentions x ON x.chunk = p.chunk')}",
    "links": "SELECT s.id, count(*) FROM source s CROSS JOIN about a ON a.source = s.k WHERE s.id IN ({}) AND s.tenant = ? "
    "AND s.live IS NOT NULL GROUP BY s.k",
}

_SOURCES = (
    "SELECT id, uri, namespace, title, metadata, live FROM source WHERE id IN ({}) AND tenant = ? AND live IS NOT NULL"
)
_PLACEMENTS = f"""
SELECT c.id, p.seq, p."start", p."end", p.role, p.parent FROM placed p JOIN chunk c ON c.k = p.chunk
JOIN source s ON s.k = p.source WHERE s.id = ? AND {LIVE} ORDER BY p.seq
"""
_OF_SOURCE = "FROM source s CROSS JOIN chunk c ON c.source = s.k"
_NODES: dict[Kind, str] = {
    "chunk": f"SELECT c.id {_OF_SOURCE}",
    "statement": f"""SELECT DISTINCT x.id {_OF_SOURCE} CROSS JOIN said_in i ON i.chunk = c.k
        CROSS JOIN statement x ON x.k = i.statement""",
    "topic": f"SELECT DISTINCT x.id {_OF_SOURCE} CROSS JOIN topic_in i ON i.chunk = c.k CROSS JOIN topic x ON x.k = i.topic",
}


class SqliteInspect(SqlitePart):
    """What is there, readers or not."""

    def stats(self, tenant: Tenant) -> dict[str, int]:
        with self._read(tenant) as connection:
            t = tenant_key(connection, tenant)
            return {name: connection.execute(query, (t,)).fetchone()[0] for name, query in _COUNTS.items()}

    def counts(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._read(tenant) as connection:
            last = (tenant_key(connection, tenant),)
            for kind, query in _COUNTS_OF_EACH.items():
                for id_, n in select(connection, query, {raw(i) for i in source_ids}, last):
                    found.setdefault(public("source", id_), dict.fromkeys(_COUNTS_OF_EACH, 0))[kind] = n
        return found

    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        with self._read(tenant) as connection:
            rows = select(connection, _SOURCES, map(raw, source_ids), (tenant_key(connection, tenant),))
        found = {public("source", id_): row for id_, *row in rows}
        return {
            id_: Source(id_, uri, namespace, title, json.loads(metadata), live)
            for id_, (uri, namespace, title, metadata, live) in found.items()
        }

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        with self._read(tenant) as connection:
            rows = connection.execute(_PLACEMENTS, (raw(source_id), tenant_key(connection, tenant)))
            return {public("chunk", id_): Placement(*place) for id_, *place in rows}

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        query = "SELECT id FROM source WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?"
        with self._read(tenant) as connection:
            given = (tenant_key(connection, tenant), raw(after), -1 if limit is None else limit)
            return [public("source", id_) for (id_,) in connection.execute(query, given)]

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        with self._read(tenant) as connection:
            return _absent(connection, tenant, entity_ids, "SELECT id FROM entity WHERE id IN ({}) AND tenant = ?")

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        query = "SELECT c.id FROM chunk c JOIN source s ON s.k = c.source WHERE c.id IN ({}) AND s.tenant = ?"
        with self._read(tenant) as connection:
            return _absent(connection, tenant, chunk_ids, query)

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        with self._read(tenant) as connection:
            given = (raw(source_id), tenant_key(connection, tenant))
            return Doomed(
                *(
                    tuple(
                        public(kind, i)
                        for (i,) in connection.execute(f"{q} WHERE s.id = ? AND s.tenant = ? ORDER BY 1", given)
                    )
                    for kind, q in _NODES.items()
                )
            )


def _absent(connection: sqlite3.Connection, tenant: Tenant, ids: Sequence[str], among: str) -> list[str]:
    wanted = {raw(i): i for i in ids}
    there = {id_ for (id_,) in select(connection, among, wanted, (tenant_key(connection, tenant),))}
    return [wanted[i] for i in wanted if i not in there]
