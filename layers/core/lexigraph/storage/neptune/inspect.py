"""Looking at the graph in Neptune as a whole: counts, the dump that comparisons use, ids for repair, places of chunks."""

from collections.abc import Sequence
from typing import Any

from lexigraph.model.graph import Placement, Source
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.schema import LIVE, OPEN, SOURCE_COLUMNS, source_of
from lexigraph.storage.protocols import Doomed

_PLACED = "(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)"
_COUNTS = {
    "sources": "MATCH (s:Source) WHERE s.tenant = $tenant AND s.live > 0 RETURN count(s) AS n",
    "chunks": f"MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(c)) AS n",
    "topics": f"MATCH (n:Topic)-[i:MENTIONED_IN]->{_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(n)) AS n",
    "statements": f"MATCH (n:Statement)-[i:MENTIONED_IN]->{_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(n)) AS n",
    "facts": "MATCH (f:Fact)-[u:SUPPORTS]->(x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE f.tenant = $tenant "
    f"WITH f, u, c WHERE id(c) = u.chunk MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(f)) AS n",
    "entities": "MATCH (e:Entity) WHERE e.tenant = $tenant AND e.df > 0 RETURN count(e) AS n",
    "mentions": "MATCH (e:Entity)<-[m:MENTIONS]-(x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE e.tenant = $tenant "
    f"WITH m, c WHERE id(c) = m.chunk MATCH {_PLACED} WHERE {LIVE} RETURN count(DISTINCT id(m)) AS n",
    "links": "MATCH (s:Source)-[a:ABOUT]->(e:Entity) WHERE s.tenant = $tenant AND s.live > 0 RETURN count(a) AS n",
}
# Every node and edge of a tenant by ids; version numbers stay out, closed places are marked. Columns c0, c1 ... in order.
_DUMP = {
    "source": "MATCH (s:Source) WHERE s.tenant = $tenant "
    "RETURN id(s) AS c0, s.uri AS c1, s.namespace AS c2, s.title AS c3, s.metadata AS c4, s.live > 0 AS c5",
    "placed": "MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE s.tenant = $tenant RETURN id(c) AS c0, id(s) AS c1, "
    "p.seq AS c2, p.`start` AS c3, p.`end` AS c4, p.role AS c5, p.parent AS c6, p.until = $open AS c7",
    "chunk": "MATCH (c:Chunk) WHERE c.tenant = $tenant RETURN id(c) AS c0, c.source AS c1",
    "topic": "MATCH (t:Topic) WHERE t.tenant = $tenant RETURN id(t) AS c0, t.source AS c1, t.value AS c2",
    "topic_in": "MATCH (t:Topic)-[i:MENTIONED_IN]->(c:Chunk) WHERE t.tenant = $tenant "
    "RETURN DISTINCT id(c) AS c0, id(t) AS c1",
    "statement": "MATCH (x:Statement)-[b:BELONGS_TO]->(t:Topic) WHERE x.tenant = $tenant "
    "RETURN id(x) AS c0, id(t) AS c1, x.value AS c2, x.details AS c3",
    "said_in": "MATCH (x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE x.tenant = $tenant "
    "RETURN id(c) AS c0, id(x) AS c1, i.position AS c2, i.`start` AS c3, i.`end` AS c4",
    "fact": "MATCH (e:Entity)-[b:SUBJECT]->(f:Fact) WHERE f.tenant = $tenant "
    "RETURN id(f) AS c0, f.subject AS c1, f.predicate AS c2, f.object AS c3, id(e) AS c4",
    "supports": "MATCH (f:Fact)-[u:SUPPORTS]->(x:Statement) WHERE f.tenant = $tenant "
    "OPTIONAL MATCH (e:Entity)-[o:OBJECT]->(f) WHERE o.chunk = u.chunk AND o.statement = id(x) "
    "RETURN u.chunk AS c0, id(x) AS c1, id(f) AS c2, id(e) AS c3, u.confidence AS c4",
    "entity": "MATCH (e:Entity) WHERE e.tenant = $tenant "
    "RETURN id(e) AS c0, e.value AS c1, e.class AS c2, e.df AS c3, e.degree AS c4",
    "mentions": "MATCH (x:Statement)-[m:MENTIONS]->(e:Entity) WHERE e.tenant = $tenant "
    "RETURN m.chunk AS c0, id(x) AS c1, id(e) AS c2, m.form AS c3, m.class AS c4",
    "about": "MATCH (s:Source)-[a:ABOUT]->(e:Entity) WHERE s.tenant = $tenant RETURN id(s) AS c0, id(e) AS c1, a.form AS c2",
    "alias": "MATCH (a:Entity)-[r:ALIAS_OF]->(b:Entity) WHERE a.tenant = $tenant "
    "RETURN id(a) AS c0, id(b) AS c1, r.chunk AS c2",
    "rel": "MATCH (a:Chunk)-[r:REL]->(b:Chunk) WHERE a.tenant = $tenant "
    "RETURN id(a) AS c0, id(b) AS c1, r.type AS c2, r.observer AS c3, r.confidence AS c4, r.evidence AS c5",
    "rel_pair": "MATCH (a:Chunk)-[o:OBSERVED]->(b:Chunk) WHERE a.tenant = $tenant "
    "RETURN id(a) AS c0, id(b) AS c1, o.observer AS c2, o.how AS c3, o.failed AS c4",
    "touched": "MATCH (e:Entity) WHERE e.touched = $tenant RETURN id(e) AS c0",
}
_SOURCES = f"""
UNWIND $ids AS id
MATCH (s:Source {{`~id`: id}}) WHERE s.tenant = $tenant AND s.live > 0
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


def stats(client: NeptuneClient, tenant: str) -> dict[str, int]:
    """Count what readers see."""
    return {name: int(client.read(query, tenant=tenant)[0]["n"]) for name, query in _COUNTS.items()}


def dump(client: NeptuneClient, tenant: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return all nodes and edges of a tenant in a form that depends on the content only, the same in every graph store."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name, query in _DUMP.items():
        parameters = {"open": OPEN} if "$open" in query else {}
        rows = client.read_latest(query, tenant=tenant, **parameters)
        found[name] = sorted((tuple(_bare(row[f"c{n}"]) for n in range(len(row))) for row in rows), key=repr)
    return found


def _bare(value: Any) -> Any:
    """Return an id without its kind, a truth value as a number, and no owner where that is the synonyms."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith("synonyms:"):
        return None
    kind, _, key = value.partition(":") if isinstance(value, str) else ("", "", "")
    return key if kind in ("source", "chunk", "topic", "statement", "fact", "entity") and len(key) == 32 else value


def sources(client: NeptuneClient, tenant: str, source_ids: Sequence[str]) -> dict[str, Source]:
    """Return the live sources among the ids."""
    rows = client.read_latest(_SOURCES, ids=sorted(set(source_ids)), tenant=tenant)
    return {row["source"]: source_of(row) for row in rows}


def chunk_ids(client: NeptuneClient, tenant: str, source_id: str) -> dict[str, Placement]:
    """Return the live chunks of a source with their places, in reading order."""
    return {
        row["chunk"]: Placement(row["seq"], row["start"], row["end"], row["role"], row["parent"])
        for row in client.read_latest(_PLACEMENTS, id=source_id, tenant=tenant)
    }


def source_ids(client: NeptuneClient, tenant: str, after: str, limit: int | None) -> list[str]:
    """Return the sources of the tenant after an id, live or not; without a limit all of them."""
    query = _SOURCE_IDS if limit is None else f"{_SOURCE_IDS} LIMIT {limit:d}"
    return [row["id"] for row in client.read_latest(query, tenant=tenant, after=after)]


def absent(client: NeptuneClient, tenant: str, entity_ids: Sequence[str]) -> list[str]:
    """Return the entities among the ids that do not exist."""
    there = {row["id"] for row in client.read_latest(_ENTITIES, ids=sorted(set(entity_ids)), tenant=tenant)}
    return [i for i in entity_ids if i not in there]


def absent_chunks(client: NeptuneClient, tenant: str, chunk_ids: Sequence[str]) -> list[str]:
    """Return the chunks among the ids that do not exist."""
    there = {row["id"] for row in client.read_latest(_CHUNKS, ids=sorted(set(chunk_ids)), tenant=tenant)}
    return [i for i in chunk_ids if i not in there]


def node_ids(client: NeptuneClient, tenant: str, source_id: str) -> Doomed:
    """Return every chunk, statement and topic of a source, live or not."""
    found = sorted(str(row["id"]) for row in client.read_latest(_NODES_OF_SOURCE, id=source_id, tenant=tenant))
    chunks, statements, topics = (
        tuple(i for i in found if i.startswith(f"{kind}:")) for kind in ("chunk", "statement", "topic")
    )
    return Doomed(chunks, statements, topics)
