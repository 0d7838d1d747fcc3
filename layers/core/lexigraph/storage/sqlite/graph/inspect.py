"""Looking at the embedded graph as a whole: counts, ids for repair, egonets."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.ids import Kind
from lexigraph.storage.protocols import Doomed
from lexigraph.storage.sqlite.database import in_batches, marks
from lexigraph.storage.sqlite.graph.schema import LIVE
from lexigraph.storage.sqlite.graph.write import DOOMED_STATEMENTS, DOOMED_TOPICS, find_doomed, public, raw, tenant_key

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


def stats(connection: sqlite3.Connection, tenant: str) -> dict[str, int]:
    """Count what readers see."""
    t = tenant_key(connection, tenant)
    return {name: connection.execute(query, (t,)).fetchone()[0] for name, query in _COUNTS.items()}


def doomed(connection: sqlite3.Connection, tenant: str, source_ids: list[str]) -> Doomed:
    """Return what a collection would take of these sources."""
    find_doomed(connection, tenant, source_ids)
    return Doomed(
        chunks=_public(connection, "chunk", "SELECT k FROM temp.doomed"),
        statements=_public(connection, "statement", DOOMED_STATEMENTS),
        topics=_public(connection, "topic", DOOMED_TOPICS),
    )


def _public(connection: sqlite3.Connection, kind: Kind, keys: str) -> tuple[str, ...]:
    rows = connection.execute(f"SELECT id FROM {kind} WHERE k IN ({keys}) ORDER BY id")
    return tuple(public(kind, row[0]) for row in rows)


def node_ids(connection: sqlite3.Connection, tenant: str, source_id: str) -> Doomed:
    """Return every chunk, statement and topic of a source, live or not."""
    of_source = "FROM source s CROSS JOIN chunk c ON c.source = s.k"
    joins = {
        "chunk": f"SELECT c.id {of_source}",
        "statement": f"SELECT DISTINCT x.id {of_source} CROSS JOIN said_in i ON i.chunk = c.k "
        "CROSS JOIN statement x ON x.k = i.statement",
        "topic": f"SELECT DISTINCT x.id {of_source} CROSS JOIN topic_in i ON i.chunk = c.k "
        "CROSS JOIN topic x ON x.k = i.topic",
    }
    found: dict[str, tuple[str, ...]] = {}
    for kind, query in joins.items():
        rows = connection.execute(
            f"{query} WHERE s.id = ? AND s.tenant = ? ORDER BY 1", (raw(source_id), tenant_key(connection, tenant))
        )
        found[kind] = tuple(f"{kind}:{row[0].hex()}" for row in rows)
    return Doomed(found["chunk"], found["statement"], found["topic"])


def absent(connection: sqlite3.Connection, tenant: str, entity_ids: Sequence[str]) -> list[str]:
    """Return the entities among the ids that do not exist."""
    return _absent(connection, tenant, entity_ids, "SELECT id FROM entity WHERE tenant = ? AND id")


def absent_chunks(connection: sqlite3.Connection, tenant: str, chunk_ids: Sequence[str]) -> list[str]:
    """Return the chunks among the ids that do not exist."""
    of_tenant = "SELECT c.id FROM chunk c JOIN source s ON s.k = c.source WHERE s.tenant = ? AND c.id"
    return _absent(connection, tenant, chunk_ids, of_tenant)


def _absent(connection: sqlite3.Connection, tenant: str, ids: Sequence[str], among: str) -> list[str]:
    wanted, there = {raw(i): i for i in ids}, set[bytes]()
    for batch in in_batches(list(wanted)):
        query = f"{among} IN ({marks(len(batch))})"
        there |= {row[0] for row in connection.execute(query, (tenant_key(connection, tenant), *batch))}
    return [wanted[i] for i in wanted if i not in there]


# ---------------------------------------------------------------- egonet

# Steps between live nodes, each (from kind, to kind, edge type, query from key to key); walked both ways.
_GATED = f"JOIN placed p ON p.chunk = x.chunk JOIN source s ON s.k = p.source WHERE {LIVE}"
_STEPS: tuple[tuple[Kind, Kind, str, str], ...] = (
    (
        "chunk",
        "source",
        "EXTRACTED_FROM",
        f"SELECT x.chunk AS a, p.source AS b FROM (SELECT k AS chunk FROM chunk) x {_GATED}",
    ),
    ("topic", "chunk", "MENTIONED_IN", f"SELECT x.topic AS a, x.chunk AS b FROM topic_in x {_GATED}"),
    ("statement", "chunk", "MENTIONED_IN", f"SELECT x.statement AS a, x.chunk AS b FROM said_in x {_GATED}"),
    (
        "statement",
        "topic",
        "BELONGS_TO",
        f"SELECT x.statement AS a, st.topic AS b FROM said_in x JOIN statement st ON st.k = x.statement {_GATED}",
    ),
    ("fact", "statement", "SUPPORTS", f"SELECT x.fact AS a, x.statement AS b FROM supports x {_GATED}"),
    (
        "entity",
        "fact",
        "SUBJECT",
        f"SELECT f.subject_entity AS a, x.fact AS b FROM supports x JOIN fact f ON f.k = x.fact {_GATED}",
    ),
    (
        "entity",
        "fact",
        "OBJECT",
        f"SELECT x.object_entity AS a, x.fact AS b FROM supports x {_GATED} AND x.object_entity > 0",
    ),
    (
        "chunk",
        "chunk",
        "REL",
        f"SELECT x.chunk AS a, x.dst AS b FROM (SELECT src AS chunk, dst FROM rel) x {_GATED} AND EXISTS (SELECT 1 "
        "FROM placed q JOIN source z ON z.k = q.source WHERE q.chunk = x.dst AND q.since <= z.live "
        "AND (q.until IS NULL OR q.until > z.live))",
    ),
    ("statement", "entity", "MENTIONS", f"SELECT x.statement AS a, x.entity AS b FROM mentions x {_GATED}"),
    (
        "source",
        "entity",
        "ABOUT",
        "SELECT x.source AS a, x.entity AS b FROM about x JOIN source s ON s.k = x.source "
        "WHERE s.tenant = ? AND s.live IS NOT NULL",
    ),
)
_LABELS = {
    "source": "SELECT id, coalesce(nullif(title, ''), uri) FROM source WHERE k = ?",
    "chunk": "SELECT c.id, s.uri || '#' || p.seq FROM chunk c JOIN placed p ON p.chunk = c.k "
    "JOIN source s ON s.k = p.source WHERE c.k = ?",
    "topic": "SELECT id, value FROM topic WHERE k = ?",
    "statement": "SELECT id, value FROM statement WHERE k = ?",
    "fact": "SELECT id, subject || ' ' || predicate || ' ' || object FROM fact WHERE k = ?",
    "entity": "SELECT id, value FROM entity WHERE k = ?",
}
Node = tuple[str, int]


def egonet(
    connection: sqlite3.Connection, tenant: str, node_id: str, depth: int, limit: int
) -> dict[str, list[dict[str, Any]]]:
    """Walk outwards from a node, breadth first, until ``depth`` steps or ``limit`` nodes. Raise ``NotFound``."""
    kind = node_id.partition(":")[0]
    if kind not in _LABELS:
        raise InvalidInput(f"node id {node_id[:60]!r}: it begins with one of {', '.join(_LABELS)} and ':'")
    t = tenant_key(connection, tenant)
    row = connection.execute(f"SELECT k FROM {kind} WHERE id = ?", (raw(node_id),)).fetchone()
    nodes: dict[Node, None] = {(kind, row[0]): None} if row else {}
    edges: set[tuple[Node, Node, str]] = set()
    frontier = list(nodes)
    for _ in range(depth):
        step = _step(connection, t, frontier)
        for a, b, _type in sorted(step):
            for node in (a, b):
                if len(nodes) < limit:
                    nodes.setdefault(node)
        edges |= {edge for edge in step if edge[0] in nodes and edge[1] in nodes}
        seen = set(frontier)
        frontier = [n for n in nodes if n not in seen and any(n in edge[:2] for edge in step)]
    if not edges:
        raise NotFound(f"no live node {node_id[:60]!r}")
    shown = {node: connection.execute(_LABELS[node[0]], (node[1],)).fetchone() for node in nodes}
    public_id = {node: f"{node[0]}:{found[0].hex()}" for node, found in shown.items()}
    return {
        "nodes": [{"id": public_id[n], "label": shown[n][1], "type": n[0]} for n in nodes],
        "edges": [{"source": public_id[a], "target": public_id[b], "type": e} for a, b, e in sorted(edges)],
    }


def _step(connection: sqlite3.Connection, tenant: int, frontier: list[Node]) -> set[tuple[Node, Node, str]]:
    edges: set[tuple[Node, Node, str]] = set()
    for kind_a, kind_b, edge, query in _STEPS:
        for column, kind in (("a", kind_a), ("b", kind_b)):
            for batch in in_batches([k for of, k in frontier if of == kind]):
                rows = connection.execute(
                    f"SELECT a, b FROM ({query}) WHERE {column} IN ({marks(len(batch))}) LIMIT 2000",
                    (tenant, *batch),
                )
                edges |= {((kind_a, a), (kind_b, b), edge) for a, b in rows}
    return edges
