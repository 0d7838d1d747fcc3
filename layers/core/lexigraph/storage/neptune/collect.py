"""Collection in Neptune: closed chunks go, with whatever has no support left.

Every deleting query looks again whether the chunks are closed and whether the node has support left, so that it harms
nothing that was written meanwhile. The order makes each query find its way from the chunks that are left: facts, mentions,
aliases, statements and topics, the chunks last. A collection that was killed is finished by the next one; a chunk that comes
back before is written anew in full, since losing its ``statements`` comes first.
"""

import json
from collections import defaultdict
from collections.abc import Sequence

from lexigraph.model.batches import batched
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.publish import TOUCH, UNTOUCHED
from lexigraph.storage.neptune.schema import edge_id
from lexigraph.storage.protocols import Doomed

_CHUNKS_AT_ONCE = 50
_PASSES = 5  # another writer may have changed what a pass judged by; the next pass judges anew

_CLOSED = """
UNWIND $ids AS id
MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: id}) WHERE s.tenant = $tenant
WITH c, s.live AS live, max(p.until) AS until WHERE until <= live
RETURN id(c) AS id, c.aliases AS aliases
"""
_SAID_IN = """
UNWIND $ids AS id
MATCH (:Chunk {`~id`: id})<-[i:MENTIONED_IN]-(n)
WITH DISTINCT n
MATCH (n)-[o:MENTIONED_IN]->(d:Chunk)
RETURN id(n) AS id, id(d) AS chunk
"""
# The chunks among $chunks that are closed indeed, as `c`, and the ids of all of them, as `doomed`
_AGAIN = """
UNWIND $chunks AS chunk
MATCH (c:Chunk {`~id`: chunk})-[p:EXTRACTED_FROM]->(s:Source)
WITH c, s.live AS live, max(p.until) AS until WHERE until <= live
WITH collect(id(c)) AS doomed
UNWIND doomed AS closed
MATCH (c:Chunk {`~id`: closed})
"""
_INCOMPLETE = f"""{_AGAIN}
REMOVE c.statements
"""
_FACTS = f"""{_AGAIN}
MATCH (c)<-[i:MENTIONED_IN]-(x:Statement)<-[u:SUPPORTS]-(f:Fact) WHERE u.chunk = id(c)
WITH DISTINCT f, doomed
"""


def _touching(found: str, delete: str) -> str:
    """Return a query that touches the entities `e` of what was found, and deletes: in one query, so that none is missed.

    Found twice, as an entity that is touched already is left alone; after the count there is one row.
    """
    return f"""{found}
WITH DISTINCT e WHERE {UNTOUCHED}
{TOUCH}
WITH count(*) AS touched
{found}
{delete}
"""


# The entities are touched with their edges, whatever the order in which their other edges go.
_OBJECTS = _touching(f"{_FACTS} MATCH (e:Entity)-[o:OBJECT]->(f) WHERE o.chunk IN doomed", "DELETE o")
_UNSUPPORTED_FACTS = _touching(
    f"""{_FACTS}
MATCH (f)-[y:SUPPORTS]->(:Statement)
WITH f, sum(CASE WHEN y.chunk IN doomed THEN 0 ELSE 1 END) AS others WHERE others = 0
MATCH (e:Entity)-[b:SUBJECT]->(f)""",
    "WITH DISTINCT f DETACH DELETE f",
)
_SHARED_SUPPORT = f"""{_FACTS}
MATCH (f)-[y:SUPPORTS]->(:Statement)
WITH f, doomed, sum(CASE WHEN y.chunk IN doomed THEN 0 ELSE 1 END) AS others WHERE others > 0
MATCH (f)-[mine:SUPPORTS]->(:Statement) WHERE mine.chunk IN doomed
DELETE mine
"""
_MENTIONS = _touching(
    f"{_AGAIN} MATCH (c)<-[i:MENTIONED_IN]-(x:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)", "DELETE m"
)
_ALIASES = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})-[p:EXTRACTED_FROM]->(s:Source)
WITH row, s.live AS live, max(p.until) AS until WHERE until <= live
MATCH (a:Entity {`~id`: row.alias})-[r:ALIAS_OF {`~id`: row.id}]->(b:Entity)
SET a.touched = $tenant, a.claim = 0, b.touched = $tenant, b.claim = 0
DELETE r
"""
_ONLY_HERE = f"""{_AGAIN}
MATCH (c)<-[i:MENTIONED_IN]-(n)
WITH DISTINCT n, doomed
MATCH (n)-[r:MENTIONED_IN]->(d:Chunk)
WITH n, sum(CASE WHEN id(d) IN doomed THEN 0 ELSE 1 END) AS others WHERE others = 0
OPTIONAL MATCH (n)<-[u:SUPPORTS]-(:Fact)
WITH n, count(u) AS supported WHERE supported = 0
"""
# Found twice, as a topic names nobody and what SET does on null is written nowhere; after the count there is one row.
_UNSAID = f"""{_ONLY_HERE}
MATCH (n)-[:MENTIONS]->(e:Entity)
WITH DISTINCT e WHERE {UNTOUCHED}
{TOUCH}
WITH count(*) AS touched
{_ONLY_HERE}
DETACH DELETE n
"""
# What is said in other chunks, too, loses its edges to these.
_SAID_ELSEWHERE = f"""{_AGAIN}
MATCH (c)<-[i:MENTIONED_IN]-(n)-[r:MENTIONED_IN]->(d:Chunk)
WITH c, i, n, sum(CASE WHEN id(d) IN doomed THEN 0 ELSE 1 END) AS others WHERE others > 0
OPTIONAL MATCH (n)<-[u:SUPPORTS]-(:Fact) WHERE u.chunk = id(c)
WITH i, count(u) AS supported WHERE supported = 0
DELETE i
"""
_CHUNKS = f"""{_AGAIN}
OPTIONAL MATCH (c)<-[i:MENTIONED_IN]-(n)
WITH c, count(i) AS held WHERE held = 0
DETACH DELETE c
"""
_FORMER_PLACES = """
UNWIND $ids AS id
MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: id}) WHERE s.tenant = $tenant AND p.until <= s.live
MATCH (c)-[q:EXTRACTED_FROM]->(s) WHERE q.until > s.live
WITH DISTINCT p
DELETE p
"""
_SOURCES = """
UNWIND $ids AS id
MATCH (s:Source {`~id`: id}) WHERE s.tenant = $tenant AND s.live = 0
OPTIONAL MATCH (s)<-[p:EXTRACTED_FROM]-(:Chunk)
WITH s, count(p) AS chunks WHERE chunks = 0
DETACH DELETE s
"""


class NeptuneCollect:
    """What goes when no version needs it."""

    _client: NeptuneClient

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        chunks = {str(row["id"]) for row in _closed(self._client, tenant, source_ids)}
        if not chunks:
            return Doomed()
        said_in: dict[str, set[str]] = defaultdict(set)
        for row in self._client.read_latest(_SAID_IN, ids=sorted(chunks)):
            said_in[row["id"]].add(row["chunk"])
        only = sorted(node for node, at in said_in.items() if at <= chunks)
        return Doomed(
            chunks=tuple(sorted(chunks)),
            statements=tuple(i for i in only if i.startswith("statement:")),
            topics=tuple(i for i in only if i.startswith("topic:")),
        )

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        ids = sorted(set(source_ids))
        closed = _closed(self._client, tenant, ids)
        for _ in range(_PASSES):
            for some in batched(closed, _CHUNKS_AT_ONCE):
                _take(self._client, tenant, some)
            if not closed or not (closed := _closed(self._client, tenant, ids)):
                break
        else:
            raise Conflict(f"{len(closed)} closed chunks are still in use; collect again")
        self._client.write(_FORMER_PLACES, tenant=tenant, ids=ids)
        self._client.write(_SOURCES, tenant=tenant, ids=ids)


def _closed(client: NeptuneClient, tenant: str, source_ids: Sequence[str]) -> list[Row]:
    rows = client.read_latest(_CLOSED, ids=sorted(set(source_ids)), tenant=tenant)
    return sorted(rows, key=lambda row: str(row["id"]))


def _take(client: NeptuneClient, tenant: str, closed: Sequence[Row]) -> None:
    chunks = [row["id"] for row in closed]
    client.write(_INCOMPLETE, chunks=chunks)
    client.write(_OBJECTS, chunks=chunks, tenant=tenant)
    client.write(_UNSUPPORTED_FACTS, chunks=chunks, tenant=tenant)
    client.write(_SHARED_SUPPORT, chunks=chunks)
    client.write(_MENTIONS, chunks=chunks, tenant=tenant)
    aliases = [
        {"id": edge_id("ALIAS_OF", a, b, row["id"]), "chunk": row["id"], "alias": a}
        for row in closed
        for a, b in json.loads(row["aliases"])
    ]
    client.write(_ALIASES, sorted(aliases, key=lambda row: str(row["alias"])), tenant=tenant)
    client.write(_UNSAID, chunks=chunks, tenant=tenant)
    client.write(_SAID_ELSEWHERE, chunks=chunks)
    client.write(_CHUNKS, chunks=chunks)
