"""Every node and edge of a tenant in a graph store, in a form that depends on the content only: equal content, equal dumps.

Public ids without their kind, rows sorted; version numbers stay out, closed places are marked.
"""

from typing import Any

from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.schema import OPEN
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import GraphStore
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore

Dump = dict[str, list[tuple[Any, ...]]]

_SQLITE = {
    "source": "SELECT id, uri, namespace, title, metadata, live IS NOT NULL FROM source WHERE tenant = ?",
    "placed": 'SELECT c.id, s.id, p.seq, p."start", p."end", p.role, p.parent, p.until IS NULL FROM placed p '
    "JOIN chunk c ON c.k = p.chunk JOIN source s ON s.k = p.source WHERE s.tenant = ?",
    "chunk": "SELECT c.id, s.id FROM chunk c JOIN source s ON s.k = c.source WHERE s.tenant = ?",
    "topic": "SELECT x.id, s.id, x.value FROM topic x JOIN source s ON s.k = x.source WHERE s.tenant = ?",
    "topic_in": "SELECT c.id, x.id FROM topic_in i JOIN chunk c ON c.k = i.chunk JOIN topic x ON x.k = i.topic "
    "JOIN source s ON s.k = c.source WHERE s.tenant = ?",
    "statement": "SELECT x.id, t.id, x.value, x.details, x.kind FROM statement x JOIN topic t ON t.k = x.topic "
    "JOIN source s ON s.k = t.source WHERE s.tenant = ?",
    "said_in": 'SELECT c.id, x.id, i.position, i."start", i."end", i.original FROM said_in i JOIN chunk c ON c.k = i.chunk '
    "JOIN statement x ON x.k = i.statement JOIN source s ON s.k = c.source WHERE s.tenant = ?",
    "fact": "SELECT f.id, f.subject, f.predicate, f.object, e.id FROM fact f JOIN entity e ON e.k = f.subject_entity "
    "WHERE e.tenant = ?",
    "supports": "SELECT c.id, x.id, f.id, o.id, i.confidence FROM supports i JOIN chunk c ON c.k = i.chunk "
    "JOIN statement x ON x.k = i.statement JOIN fact f ON f.k = i.fact LEFT JOIN entity o ON o.k = i.object_entity "
    "JOIN source s ON s.k = c.source WHERE s.tenant = ?",
    "entity": "SELECT id, value, class, df, degree FROM entity WHERE tenant = ?",
    "mentions": "SELECT c.id, x.id, e.id, i.form, i.class FROM mentions i JOIN chunk c ON c.k = i.chunk "
    "JOIN statement x ON x.k = i.statement JOIN entity e ON e.k = i.entity WHERE e.tenant = ?",
    "about": "SELECT s.id, e.id, a.form FROM about a JOIN source s ON s.k = a.source JOIN entity e ON e.k = a.entity "
    "WHERE s.tenant = ?",
    "alias": "SELECT a.id, b.id, c.id FROM alias x JOIN entity a ON a.k = x.alias JOIN entity b ON b.k = x.target "
    "LEFT JOIN chunk c ON c.k = x.chunk WHERE a.tenant = ?",
    "rel": "SELECT a.id, b.id, r.type, r.observer, r.confidence, r.evidence FROM rel r JOIN chunk a ON a.k = r.src "
    "JOIN chunk b ON b.k = r.dst JOIN source s ON s.k = a.source WHERE s.tenant = ?",
    "rel_pair": "SELECT a.id, b.id, x.observer, x.how, x.failed FROM rel_pair x JOIN chunk a ON a.k = x.first "
    "JOIN chunk b ON b.k = x.second JOIN source s ON s.k = a.source WHERE s.tenant = ?",
    "touched": "SELECT id FROM touched WHERE tenant = ?",
}
# Columns c0, c1 ... in order.
_NEPTUNE = {
    "source": "MATCH (s:Source) WHERE s.tenant = $tenant "
    "RETURN id(s) AS c0, s.uri AS c1, s.namespace AS c2, s.title AS c3, s.metadata AS c4, s.live > 0 AS c5",
    "placed": "MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE s.tenant = $tenant RETURN id(c) AS c0, id(s) AS c1, "
    "p.seq AS c2, p.`start` AS c3, p.`end` AS c4, p.role AS c5, p.parent AS c6, p.until = $open AS c7",
    "chunk": "MATCH (c:Chunk) WHERE c.tenant = $tenant RETURN id(c) AS c0, c.source AS c1",
    "topic": "MATCH (t:Topic) WHERE t.tenant = $tenant RETURN id(t) AS c0, t.source AS c1, t.value AS c2",
    "topic_in": "MATCH (t:Topic)-[i:MENTIONED_IN]->(c:Chunk) WHERE t.tenant = $tenant "
    "RETURN DISTINCT id(c) AS c0, id(t) AS c1",
    "statement": "MATCH (x:Statement)-[b:BELONGS_TO]->(t:Topic) WHERE x.tenant = $tenant "
    "RETURN id(x) AS c0, id(t) AS c1, x.value AS c2, x.details AS c3, x.kind AS c4",
    "said_in": "MATCH (x:Statement)-[i:MENTIONED_IN]->(c:Chunk) WHERE x.tenant = $tenant "
    "RETURN id(c) AS c0, id(x) AS c1, i.position AS c2, i.`start` AS c3, i.`end` AS c4, "
    "i.original AS c5",
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


def dump_graph(store: GraphStore, tenant: Tenant) -> Dump:
    """Return all nodes and edges of a tenant, the same in every graph store."""
    if isinstance(store, SqliteGraphStore):
        return _of_sqlite(store, tenant)
    assert isinstance(store, NeptuneGraphStore)
    return _of_neptune(store, tenant)


def _of_sqlite(store: SqliteGraphStore, tenant: Tenant) -> Dump:
    with store._database.read() as connection:
        row = connection.execute("SELECT k FROM tenant WHERE name = ?", (tenant,)).fetchone() or (0,)
        return {
            name: sorted(
                (tuple(v.hex() if isinstance(v, bytes) else v for v in r) for r in connection.execute(q, row)), key=repr
            )
            for name, q in _SQLITE.items()
        }


def _of_neptune(store: NeptuneGraphStore, tenant: Tenant) -> Dump:
    found: Dump = {}
    for name, query in _NEPTUNE.items():
        parameters = {"open": OPEN} if "$open" in query else {}
        rows = store._client.read_latest(query, tenant=tenant, **parameters)
        found[name] = sorted((tuple(_bare(row[f"c{n}"]) for n in range(len(row))) for row in rows), key=repr)
    return found


def _bare(value: Any) -> Any:
    """Return an id without its kind, a truth value as a number, and no owner where that is the synonyms."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith(("synonyms:", "senses:")):
        return None
    kind, _, key = value.partition(":") if isinstance(value, str) else ("", "", "")
    return key if kind in ("source", "chunk", "topic", "statement", "fact", "entity") and len(key) == 32 else value
