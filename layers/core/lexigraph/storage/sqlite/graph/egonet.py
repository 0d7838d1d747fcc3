"""What is around a node of the embedded graph, breadth first."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.graph.gate import SqlitePart, keys_of, public, raw, select, tenant_key
from lexigraph.storage.sqlite.graph.schema import LIVE

MOST = 2_000  # edges of one kind, one way, in a step
Edge = tuple[str, str, str]  # type, from, to


def _gated(a: str, b: str, tables: str) -> str:
    return f"""SELECT {a} AS a, {b} AS b FROM {tables} JOIN placed p ON p.chunk = x.chunk
        JOIN source s ON s.k = p.source WHERE {LIVE}"""


# Edges between live nodes: from kind, to kind, type, query from key to key; walked both ways.
_EDGES: tuple[tuple[Kind, Kind, str, str], ...] = (
    ("chunk", "source", "EXTRACTED_FROM", _gated("x.chunk", "p.source", "(SELECT k AS chunk FROM chunk) x")),
    ("topic", "chunk", "MENTIONED_IN", _gated("x.topic", "x.chunk", "topic_in x")),
    ("statement", "chunk", "MENTIONED_IN", _gated("x.statement", "x.chunk", "said_in x")),
    ("statement", "topic", "BELONGS_TO", _gated("st.k", "st.topic", "said_in x JOIN statement st ON st.k = x.statement")),
    ("fact", "statement", "SUPPORTS", _gated("x.fact", "x.statement", "supports x")),
    ("entity", "fact", "SUBJECT", _gated("f.subject_entity", "f.k", "supports x JOIN fact f ON f.k = x.fact")),
    ("entity", "fact", "OBJECT", _gated("x.object_entity", "x.fact", "supports x") + " AND x.object_entity > 0"),
    ("statement", "entity", "MENTIONS", _gated("x.statement", "x.entity", "mentions x")),
    (
        "chunk",
        "chunk",
        "REL",
        _gated("x.chunk", "x.dst", "(SELECT src AS chunk, dst FROM rel) x")
        + """ AND EXISTS (SELECT 1 FROM placed q JOIN source z ON z.k = q.source
            WHERE q.chunk = x.dst AND q.since <= z.live AND (q.until IS NULL OR q.until > z.live))""",
    ),
    (
        "source",
        "entity",
        "ABOUT",
        """SELECT x.source AS a, x.entity AS b FROM about x JOIN source s ON s.k = x.source
            WHERE s.tenant = ? AND s.live IS NOT NULL""",
    ),
)
_LABELS: dict[Kind, str] = {
    "source": "SELECT coalesce(nullif(title, ''), uri) FROM source WHERE id = ?",
    "chunk": "SELECT s.uri || '#' || p.seq FROM chunk c JOIN placed p ON p.chunk = c.k "
    "JOIN source s ON s.k = p.source WHERE c.id = ?",
    "topic": "SELECT value FROM topic WHERE id = ?",
    "statement": "SELECT value FROM statement WHERE id = ?",
    "fact": "SELECT subject || ' ' || predicate || ' ' || object FROM fact WHERE id = ?",
    "entity": "SELECT value FROM entity WHERE id = ?",
}


class SqliteEgonet(SqlitePart):
    """What is around a node."""

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
        with self._read(tenant) as connection:

            def shown(node: str) -> str:
                query = next(query for kind, query in _LABELS.items() if node.startswith(f"{kind}:"))
                return str(connection.execute(query, (raw(node),)).fetchone()[0])

            return net(node_id, depth, limit, offset, kinds, partial(_edges_at, connection, tenant), shown)


def net(
    node_id: str,
    depth: int,
    limit: int,
    offset: int,
    kinds: Collection[str],
    edges_at: Callable[[Sequence[str]], set[Edge]],
    shown: Callable[[str], str],
) -> dict[str, Any]:
    """Draw the nodes within ``depth`` steps, at most ``limit``: of a step's new nodes those with the smallest ids.

    ``edges_at`` returns the edges at some nodes, after which ``shown`` says what their ends are shown as.
    """
    if _kind(node_id) not in _LABELS:
        raise InvalidInput(f"node id {node_id[:60]!r}: it begins with one of {', '.join(_LABELS)} and ':'")
    nodes = {node_id: None}
    every: set[Edge] = set()
    frontier = [node_id]
    complete, following, lives = True, None, False
    for step in range(depth):
        found = edges_at(frontier) if frontier else set()
        lives = lives or bool(found)
        if kinds:
            found = {edge for edge in found if all(end == node_id or _kind(end) in kinds for end in edge[1:])}
        complete = complete and max(Counter(type_ for type_, *_ in found).values(), default=0) < MOST
        every |= found
        passed = 0 if step else offset
        new = sorted({end for edge in found for end in edge[1:]} - nodes.keys())
        frontier = new[passed : passed + max(0, limit - len(nodes))]
        if not step and passed + len(frontier) < len(new):
            following = passed + len(frontier)
        nodes |= dict.fromkeys(frontier)
    edges = sorted((edge for edge in every if nodes.keys() >= set(edge[1:])), key=lambda e: (e[1:], e[0]))
    if not lives:
        raise NotFound(f"node {node_id[:60]!r} does not exist")
    ends = {node_id, *(end for edge in every for end in edge[1:])}
    return {
        "nodes": [{"id": node, "label": shown(node), "type": _kind(node)} for node in nodes],
        "edges": [{"source": a, "target": b, "type": type_} for type_, a, b in edges],
        "totals": {"nodes": len(ends), "edges": len(every), "complete": complete},
        "offset": offset,
        "next_offset": following,
    }


def _kind(node: str) -> str:
    return node.partition(":")[0]


def _edges_at(connection: sqlite3.Connection, tenant: Tenant, nodes: Sequence[str]) -> set[Edge]:
    t = tenant_key(connection, tenant)
    asked = {
        kind: list(keys_of(connection, kind, [raw(i) for i in nodes if i.startswith(f"{kind}:")]).values())
        for kind in _LABELS
    }
    found: set[tuple[str, Kind, int, Kind, int]] = set()
    for kind_a, kind_b, type_, query in _EDGES:
        for side, kind in (("a", kind_a), ("b", kind_b)):
            if not asked[kind]:
                continue
            # the tenant comes before the keys: these are not the first parameters
            listed = ",".join(map(str, asked[kind]))
            rows = connection.execute(f"SELECT a, b FROM ({query}) WHERE {side} IN ({listed}) LIMIT {MOST}", (t,))
            found |= {(type_, kind_a, a, kind_b, b) for a, b in rows}
    ids: dict[tuple[Kind, int], str] = {}
    for kind in _LABELS:
        keys = {k for _, kind_a, a, kind_b, b in found for of, k in ((kind_a, a), (kind_b, b)) if of == kind}
        ids |= {
            (kind, k): public(kind, i) for k, i in select(connection, f"SELECT k, id FROM {kind} WHERE k IN ({{}})", keys)
        }
    return {(type_, ids[kind_a, a], ids[kind_b, b]) for type_, kind_a, a, kind_b, b in found}
