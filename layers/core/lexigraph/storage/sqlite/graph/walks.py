"""Walks in the embedded graph: which nodes are live, how far they are from others, and the edges around them."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphNode
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, SqlitePart, select
from lexigraph.storage.sqlite.graph.keys import keys_of, public, raw
from lexigraph.storage.sqlite.graph.read import entity_rows, seen_entities, seldom

KINDS: tuple[Kind, ...] = ("entity", "statement", "topic")
PASSED = 100  # mentions of an entity that a walk still goes through
RUNS_OVER = 20  # chunks of a topic that a walk still goes through

Key = tuple[str, int]  # kind, integer key
Hop = tuple[Key, Key]

# One row for each live place of a statement or topic that was asked for, its source with it.
_PLACES = "p.source, p.seq, s.id, s.uri, s.namespace, s.title, s.metadata, s.live"
_STATEMENTS = f"""SELECT st.k, st.id, st.value, st.details, {_PLACES}
    FROM statement st CROSS JOIN said_in x ON x.statement = st.k {PLACED} WHERE st.k IN ({{}}) AND"""
_TOPICS = f"""SELECT t.k, t.id, t.value, '', {_PLACES}
    FROM topic t CROSS JOIN topic_in x ON x.topic = t.k {PLACED} WHERE t.k IN ({{}}) AND"""
# Steps, one row (from, to) each; from a statement only a few lead away, from an entity or topic as many as name it.
_NAMES = f"""SELECT DISTINCT x.statement, m.entity FROM said_in x CROSS JOIN mentions m
    ON m.chunk = x.chunk AND m.statement = x.statement {PLACED} WHERE x.statement IN ({{}}) AND"""
_TOPIC_OF = f"""SELECT DISTINCT x.statement, st.topic FROM said_in x CROSS JOIN statement st ON st.k = x.statement {PLACED}
    WHERE x.statement IN ({{}}) AND"""
NAMED_IN = f"SELECT DISTINCT x.entity, x.statement FROM mentions x {PLACED} WHERE x.entity IN ({{}}) AND"
STATEMENTS_OF = f"""SELECT DISTINCT t.topic, x.statement FROM topic_in t CROSS JOIN said_in x ON x.chunk = t.chunk
    CROSS JOIN statement st ON st.k = x.statement AND st.topic = t.topic {PLACED} WHERE t.topic IN ({{}}) AND"""
# One row for each fact that joins an entity asked for, as its subject or its object, to another.
AS_SUBJECT = f"""SELECT DISTINCT f.subject_entity, x.object_entity, f.id, f.predicate
    FROM fact f CROSS JOIN supports x ON x.fact = f.k {PLACED}
    WHERE f.subject_entity IN ({{}}) AND x.object_entity IS NOT NULL AND f.subject_entity <> x.object_entity AND"""
AS_OBJECT = f"""SELECT DISTINCT f.subject_entity, x.object_entity, f.id, f.predicate
    FROM supports x CROSS JOIN fact f ON f.k = x.fact {PLACED}
    WHERE x.object_entity IN ({{}}) AND f.subject_entity <> x.object_entity AND"""


class SqliteWalks(SqlitePart):
    """Nodes, and how far they are from others."""

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        with self._gate(tenant, filters) as gate:
            found = described(gate, keys_of_nodes(gate.connection, node_ids))
            hops = _hops(gate, set(found), keys_of_nodes(gate.connection, near)) if near else {}
            return {n.id: replace(n, hops=hops.get(key)) for key, n in found.items()}


# ---------------------------------------------------------------- nodes


def keys_of_nodes(connection: sqlite3.Connection, ids: Sequence[str]) -> set[Key]:
    """Return the keys of the ids that exist; of other tenants', too."""
    wanted = {kind: {raw(i) for i in ids if i.startswith(f"{kind}:")} for kind in KINDS}
    return {(kind, k) for kind, of_kind in wanted.items() for k in keys_of(connection, kind, of_kind).values()}


def by_kind(keys: Iterable[Key]) -> dict[str, set[int]]:
    """Return integer keys by kind, each kind there."""
    groups: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for kind, k in keys:
        groups[kind].add(k)
    return groups


def described(gate: Gate, keys: Iterable[Key]) -> dict[Key, GraphNode]:
    """Return what readers see of the nodes."""
    of = by_kind(keys)
    rows = entity_rows(gate, of["entity"])
    seen = seen_entities(gate, rows)
    found: dict[Key, GraphNode] = {
        ("entity", k): GraphNode(rows[k].id, "entity", rows[k].value, rows[k].class_) for k in sorted(seen)
    }
    queries: tuple[tuple[Kind, str], ...] = (("statement", _STATEMENTS), ("topic", _TOPICS))
    for kind, query in queries:
        sources: dict[int, Source] = {}
        first: dict[int, tuple[tuple[bytes, int], GraphNode]] = {}
        for k, id_, value, details, s, seq, source_id, *of_source in gate.select(f"{query} {gate.sql}", of[kind]):
            if k in first and first[k][0] <= (source_id, seq):
                continue
            if s not in sources:
                uri, namespace, title, metadata, live = of_source
                sources[s] = Source(public("source", source_id), uri, namespace, title, json.loads(metadata), live)
            first[k] = ((source_id, seq), GraphNode(public(kind, id_), kind, value, details, sources[s]))
        found |= {(kind, k): node for k, (_, node) in first.items()}
    return found


# ---------------------------------------------------------------- distances


def _hops(gate: Gate, targets: set[Key], near: set[Key]) -> dict[Key, int]:
    """Return how far the targets are, up to three hops: from both sides, so that the middle hop needs no walk of its own."""
    around = _steps(gate, near)
    reached = {b for _, b in around}
    beside: dict[Key, set[Key]] = defaultdict(set)
    for a, b in _steps(gate, targets - near - reached):
        beside[a].add(b)
    passed = _passed(gate.connection, reached.union(*beside.values()))
    hops: dict[Key, int] = {}
    far: dict[Key, set[Key]] = {}
    for target in targets:
        if target in near:
            hops[target] = 0
        elif target in reached or beside[target] & near:
            hops[target] = 1
        elif beside[target] & reached & passed:
            hops[target] = 2
        else:
            far[target] = beside[target] & passed
    joined = _joined(gate, reached & passed, set[Key]().union(*far.values()))
    hops.update({target: 3 for target, others in far.items() if others & joined})
    return hops


def _passed(connection: sqlite3.Connection, keys: set[Key]) -> set[Key]:
    """Return the nodes that a walk goes through: not those named so often that what they join need not be related."""
    of = by_kind(keys)
    of["entity"] = seldom(connection, "mentions", of["entity"], PASSED)
    of["topic"] = short(connection, of["topic"], RUNS_OVER)
    return {(kind, k) for kind, of_kind in of.items() for k in of_kind}


def short(connection: sqlite3.Connection, topics: set[int], most: int) -> set[int]:
    """Return the topics that run over at most so many chunks."""
    query = f"""SELECT t.k FROM topic t WHERE t.k IN ({{}})
        AND (SELECT 1 FROM topic_in i WHERE i.topic = t.k LIMIT 1 OFFSET {most}) IS NULL"""
    return {k for (k,) in select(connection, query, topics)}


def _steps(gate: Gate, keys: set[Key]) -> set[Hop]:
    """Return the hops out of the nodes that a walk goes through."""
    of = by_kind(_passed(gate.connection, keys))
    return (
        from_statements(gate, of["statement"])
        | pairs(gate, NAMED_IN, of["entity"], "entity", "statement")
        | pairs(gate, STATEMENTS_OF, of["topic"], "topic", "statement")
        | _by_facts(gate, of["entity"])
    )


def _joined(gate: Gate, reached: set[Key], others: set[Key]) -> set[Key]:
    """Return those of the others that are one hop from what was reached: asked of the side with few hops out of it."""
    a, b = by_kind(reached), by_kind(others)
    out = {y for _, y in from_statements(gate, a["statement"])}
    back = {x for x, y in from_statements(gate, b["statement"]) if y in reached}
    facts = {y for _, y in _by_facts(gate, a["entity"])} if b["entity"] else set()
    return (others & (out | facts)) | back


def from_statements(gate: Gate, keys: set[int]) -> set[Hop]:
    """Return the hops from statements to what they name and to their topics."""
    names = pairs(gate, _NAMES, keys, "statement", "entity")
    return names | pairs(gate, _TOPIC_OF, keys, "statement", "topic")


def _by_facts(gate: Gate, keys: set[int]) -> set[Hop]:
    hops: set[Hop] = set()
    for query in (AS_SUBJECT, AS_OBJECT):
        for subject, object_, *_ in gate.select(f"{query} {gate.sql}", keys):
            a, b = ("entity", subject), ("entity", object_)
            hops |= {(a, b)} if query is AS_SUBJECT else {(b, a)}
    return hops


def pairs(gate: Gate, query: str, keys: set[int], a: str, b: str) -> set[Hop]:
    """Return the hops that a query returns as pairs of keys, the first of kind ``a``, the second of kind ``b``."""
    return {((a, x), (b, y)) for x, y in gate.select(f"{query} {gate.sql}", keys)}
