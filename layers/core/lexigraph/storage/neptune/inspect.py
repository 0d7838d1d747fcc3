"""Looking at the graph in Neptune as a whole: counts, ids for repair, places of chunks."""

from collections.abc import Sequence

from lexigraph.model.graph import Placement, Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.schema import LIVE, SHOWN, SOURCE_COLUMNS, source_of
from lexigraph.storage.protocols import Doomed

_PLACED = "(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)"
_COUNTS = {
    "sources": f"MATCH (s:Source) WHERE {SHOWN} RETURN count(s) AS n",
    "chunks": f"MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(c)) AS n",
    "topics": f"MATCH (n:Topic)-[i:MENTIONED_IN]->{_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(n)) AS n",
    "statements": f"MATCH (n:Statement)-[i:MENTIONED_IN]->{_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(n)) AS n",
    "facts": "MATCH (f:Fact)-[u:SUPPORTS]->(x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE f.tenant = $tenant "
    f"WITH f, u, c WHERE id(c) = u.chunk MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(f)) AS n",
    "entities": "MATCH (e:Entity) WHERE e.tenant = $tenant AND e.df > 0 RETURN count(e) AS n",
    "mentions": "MATCH (e:Entity)<-[m:MENTIONS]-(x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE e.tenant = $tenant "
    f"WITH m, c WHERE id(c) = m.chunk MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(m)) AS n",
    "links": f"MATCH (s:Source)-[a:ABOUT]->(e:Entity) WHERE {SHOWN} RETURN count(a) AS n",
}
_ENTITIES_SEEN = (
    "MATCH (e:Entity)<-[m:MENTIONS]-(x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE m.chunk = id(c) WITH e, c "
    f"MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(e)) AS n"
)
_OF_EACH = {
    "chunks": ("", "c"),
    "topics": ("MATCH (c)<-[:MENTIONED_IN]-(n:Topic)", "n"),
    "statements": ("MATCH (c)<-[:MENTIONED_IN]-(n:Statement)", "n"),
    "facts": ("MATCH (c)<-[:MENTIONED_IN]-(:Statement)<-[u:SUPPORTS]-(n:Fact) WHERE u.chunk = id(c)", "n"),
    "mentions": ("MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[n:MENTIONS]->(:Entity) WHERE n.chunk = id(c)", "n"),
}
_COUNTS_OF_EACH = "\nUNION ALL\n".join(
    [
        *(
            f"UNWIND $ids AS id MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {{`~id`: id}}) WHERE {LIVE} {further} "
            f"RETURN id, '{kind}' AS kind, count(DISTINCT id({counted})) AS n"
            for kind, (further, counted) in _OF_EACH.items()
        ),
        f"UNWIND $ids AS id MATCH (s:Source {{`~id`: id}}) WHERE {SHOWN} RETURN id, 'sources' AS kind, count(s) AS n",
        f"UNWIND $ids AS id MATCH (s:Source {{`~id`: id}})-[a:ABOUT]->(:Entity) WHERE {SHOWN} "
        "RETURN id, 'links' AS kind, count(a) AS n",
    ]
)
_SOURCES = f"""
UNWIND $ids AS id
MATCH (s:Source {{`~id`: id}}) WHERE {SHOWN}
RETURN {SOURCE_COLUMNS}
"""
_PLACEMENTS = f"""
MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {{`~id`: $id}}) WHERE {LIVE}
RETURN id(c) AS chunk, p.seq AS seq, p.`start` AS `start`, p.`end` AS `end`, p.role AS role, p.parent AS parent
ORDER BY p.seq
"""
_SOURCE_IDS = "MATCH (s:Source) WHERE s.tenant = $tenant AND id(s) > $after RETURN id(s) AS id ORDER BY id"
_ENTITIES = "UNWIND $ids AS id MATCH (e:Entity {`~id`: id}) WHERE e.tenant = $tenant RETURN id(e) AS id"
_CHUNKS = "UNWIND $ids AS id MATCH (c:Chunk {`~id`: id}) WHERE c.tenant = $tenant RETURN id(c) AS id"
_OF_SOURCE = "MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: $id}) WHERE s.tenant = $tenant"
_NODES_OF_SOURCE = f"""
{_OF_SOURCE} RETURN DISTINCT id(c) AS id
UNION
{_OF_SOURCE} MATCH (n:Statement)-[i:MENTIONED_IN]->(c) RETURN DISTINCT id(n) AS id
UNION
{_OF_SOURCE} MATCH (n:Topic)-[i:MENTIONED_IN]->(c) RETURN DISTINCT id(n) AS id
"""


class NeptuneInspect:
    """What is there, readers or not."""

    _client: NeptuneClient

    def stats(self, tenant: Tenant) -> dict[str, int]:
        # `df` counts all sources of a tenant
        queries = _COUNTS | ({"entities": _ENTITIES_SEEN} if isinstance(tenant, View) else {})
        return {name: int(self._client.read(query, tenant=tenant)[0]["n"]) for name, query in queries.items()}

    def counts(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        kinds = [kind for kind in _COUNTS if kind != "entities"]
        found: dict[str, dict[str, int]] = {}
        for row in self._client.read_in_parts(_COUNTS_OF_EACH, sorted(set(source_ids)), tenant=tenant):
            found.setdefault(row["id"], dict.fromkeys(kinds, 0))[row["kind"]] = row["n"]
        return found

    def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
        rows = self._client.read_latest(_SOURCES, ids=sorted(set(source_ids)), tenant=tenant)
        return {row["source"]: source_of(row) for row in rows}

    def chunk_ids(self, tenant: Tenant, source_id: str) -> dict[str, Placement]:
        return {
            row["chunk"]: Placement(row["seq"], row["start"], row["end"], row["role"], row["parent"])
            for row in self._client.read_latest(_PLACEMENTS, id=source_id, tenant=tenant)
        }

    def source_ids(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        query = _SOURCE_IDS if limit is None else f"{_SOURCE_IDS} LIMIT {limit:d}"
        return [row["id"] for row in self._client.read_latest(query, tenant=tenant, after=after)]

    def absent(self, tenant: Tenant, entity_ids: Sequence[str]) -> list[str]:
        return self._absent(_ENTITIES, tenant, entity_ids)

    def absent_chunks(self, tenant: Tenant, chunk_ids: Sequence[str]) -> list[str]:
        return self._absent(_CHUNKS, tenant, chunk_ids)

    def node_ids(self, tenant: Tenant, source_id: str) -> Doomed:
        found = sorted(str(row["id"]) for row in self._client.read_latest(_NODES_OF_SOURCE, id=source_id, tenant=tenant))
        chunks, statements, topics = (
            tuple(i for i in found if i.startswith(f"{kind}:")) for kind in ("chunk", "statement", "topic")
        )
        return Doomed(chunks, statements, topics)

    def _absent(self, query: str, tenant: Tenant, ids: Sequence[str]) -> list[str]:
        there = {row["id"] for row in self._client.read_latest(query, ids=sorted(set(ids)), tenant=tenant)}
        return [i for i in ids if i not in there]
