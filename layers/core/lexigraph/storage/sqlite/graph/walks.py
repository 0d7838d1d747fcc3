"""Walks in the embedded graph: which nodes are live, how far they are from others, and the edges around them."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphEdge, GraphNode, Matches, Surroundings, TextPattern
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, SqlitePart, keys_of, public, raw, select
from lexigraph.storage.sqlite.graph.read import HUB, entity_rows, seen_entities, seldom
from lexigraph.storage.sqlite.graph.texts import matching_keys

KINDS: tuple[Kind, ...] = ("entity", "statement", "topic")
PASSED = 100  # mentions of an entity that a walk still goes through
RUNS_OVER = 20  # chunks of a topic that a walk still goes through
TOLD_OVER = 100  # chunks of a topic whose statements are told as its edges

Key = tuple[str, int]  # kind, integer key
Hop = tuple[Key, Key]
_Edge = tuple[Key, Key, str, bytes]  # from, to, label, id of the fact

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
_NAMED_IN = f"SELECT DISTINCT x.entity, x.statement FROM mentions x {PLACED} WHERE x.entity IN ({{}}) AND"
_STATEMENTS_OF = f"""SELECT DISTINCT t.topic, x.statement FROM topic_in t CROSS JOIN said_in x ON x.chunk = t.chunk
    CROSS JOIN statement st ON st.k = x.statement AND st.topic = t.topic {PLACED} WHERE t.topic IN ({{}}) AND"""
# One row for each fact that joins an entity asked for, as its subject or its object, to another.
_AS_SUBJECT = f"""SELECT DISTINCT f.subject_entity, x.object_entity, f.id, f.predicate
    FROM fact f CROSS JOIN supports x ON x.fact = f.k {PLACED}
    WHERE f.subject_entity IN ({{}}) AND x.object_entity IS NOT NULL AND f.subject_entity <> x.object_entity AND"""
_AS_OBJECT = f"""SELECT DISTINCT f.subject_entity, x.object_entity, f.id, f.predicate
    FROM supports x CROSS JOIN fact f ON f.k = x.fact {PLACED}
    WHERE x.object_entity IN ({{}}) AND f.subject_entity <> x.object_entity AND"""


class SqliteWalks(SqlitePart):
    """Nodes: how far they are from others, and what is around them."""

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        with self._gate(tenant, filters) as gate:
            return _with_hops(gate, _keys_of_nodes(gate.connection, node_ids), near)

    def matching(
        self,
        tenant: Tenant,
        pattern: TextPattern,
        node_ids: Sequence[str] = (),
        *,
        near: Sequence[str] = (),
        most: int = 1_000,
        filters: Filter | None = None,
    ) -> Matches:
        with self._gate(tenant, filters) as gate:
            keys, complete = matching_keys(gate, pattern, most)
            return Matches(_with_hops(gate, keys | _keys_of_nodes(gate.connection, node_ids), near), complete)

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        with self._gate(tenant, filters) as gate:
            key_of = {node.id: key for key, node in _described(gate, _keys_of_nodes(gate.connection, node_ids)).items()}
            asked = set(key_of.values())
            told = _by_kind(asked)
            told["entity"] = seldom(gate.connection, "mentions", told["entity"], HUB)
            told["topic"] = _short(gate.connection, told["topic"], TOLD_OVER)
            around: dict[Key, list[_Edge]] = defaultdict(list)
            for edge in _edges_around(gate, told):
                for end in asked.intersection(edge[:2]):
                    around[end].append(edge)
            order = _Order(gate, asked, told["topic"], {end for edges in around.values() for e in edges for end in e[:2]})
            kept: dict[_Edge, None] = {}
            for node in dict.fromkeys(key_of[i] for i in node_ids if i in key_of):
                kept |= dict.fromkeys(sorted(around[node], key=order.of(node))[:per_node])
            ends = _described(gate, {end for edge in kept for end in edge[:2]})
            edges = [_edge(ends, *edge) for edge in kept if ends.keys() >= set(edge[:2])]
            at_ends = {i for edge in edges for i in (edge.from_id, edge.to_id)}
            return Surroundings(tuple(edges), {n.id: n for n in ends.values() if n.id in at_ends})


# ---------------------------------------------------------------- nodes


def _keys_of_nodes(connection: sqlite3.Connection, ids: Sequence[str]) -> set[Key]:
    """Return the keys of the ids that exist; of other tenants', too."""
    wanted = {kind: {raw(i) for i in ids if i.startswith(f"{kind}:")} for kind in KINDS}
    return {(kind, k) for kind, of_kind in wanted.items() for k in keys_of(connection, kind, of_kind).values()}


def _by_kind(keys: Iterable[Key]) -> dict[str, set[int]]:
    groups: dict[str, set[int]] = {kind: set() for kind in KINDS}
    for kind, k in keys:
        groups[kind].add(k)
    return groups


def _with_hops(gate: Gate, keys: set[Key], near: Sequence[str]) -> dict[str, GraphNode]:
    """Return what readers see of the nodes, with their hops from the nearest of ``near``, if any."""
    found = _described(gate, keys)
    hops = _hops(gate, set(found), _keys_of_nodes(gate.connection, near)) if near else {}
    return {n.id: replace(n, hops=hops.get(key)) for key, n in found.items()}


def _described(gate: Gate, keys: Iterable[Key]) -> dict[Key, GraphNode]:
    """Return what readers see of the nodes."""
    of = _by_kind(keys)
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
    of = _by_kind(keys)
    of["entity"] = seldom(connection, "mentions", of["entity"], PASSED)
    of["topic"] = _short(connection, of["topic"], RUNS_OVER)
    return {(kind, k) for kind, of_kind in of.items() for k in of_kind}


def _short(connection: sqlite3.Connection, topics: set[int], most: int) -> set[int]:
    """Return the topics that run over at most so many chunks."""
    query = f"""SELECT t.k FROM topic t WHERE t.k IN ({{}})
        AND (SELECT 1 FROM topic_in i WHERE i.topic = t.k LIMIT 1 OFFSET {most}) IS NULL"""
    return {k for (k,) in select(connection, query, topics)}


def _steps(gate: Gate, keys: set[Key]) -> set[Hop]:
    """Return the hops out of the nodes that a walk goes through."""
    of = _by_kind(_passed(gate.connection, keys))
    return (
        _from_statements(gate, of["statement"])
        | _pairs(gate, _NAMED_IN, of["entity"], "entity", "statement")
        | _pairs(gate, _STATEMENTS_OF, of["topic"], "topic", "statement")
        | _by_facts(gate, of["entity"])
    )


def _joined(gate: Gate, reached: set[Key], others: set[Key]) -> set[Key]:
    """Return those of the others that are one hop from what was reached: asked of the side with few hops out of it."""
    a, b = _by_kind(reached), _by_kind(others)
    out = {y for _, y in _from_statements(gate, a["statement"])}
    back = {x for x, y in _from_statements(gate, b["statement"]) if y in reached}
    facts = {y for _, y in _by_facts(gate, a["entity"])} if b["entity"] else set()
    return (others & (out | facts)) | back


def _from_statements(gate: Gate, keys: set[int]) -> set[Hop]:
    names = _pairs(gate, _NAMES, keys, "statement", "entity")
    return names | _pairs(gate, _TOPIC_OF, keys, "statement", "topic")


def _by_facts(gate: Gate, keys: set[int]) -> set[Hop]:
    hops: set[Hop] = set()
    for query in (_AS_SUBJECT, _AS_OBJECT):
        for subject, object_, *_ in gate.select(f"{query} {gate.sql}", keys):
            a, b = ("entity", subject), ("entity", object_)
            hops |= {(a, b)} if query is _AS_SUBJECT else {(b, a)}
    return hops


def _pairs(gate: Gate, query: str, keys: set[int], a: str, b: str) -> set[Hop]:
    """Return the hops that a query returns as _pairs of keys, the first of kind ``a``, the second of kind ``b``."""
    return {((a, x), (b, y)) for x, y in gate.select(f"{query} {gate.sql}", keys)}


# ---------------------------------------------------------------- edges


def _edges_around(gate: Gate, of: Mapping[str, set[int]]) -> set[_Edge]:
    """Return the facts between entities, and the edges out of and into statements."""
    edges: set[_Edge] = set()
    for query in (_AS_SUBJECT, _AS_OBJECT):
        for subject, object_, id_, predicate in gate.select(f"{query} {gate.sql}", of["entity"]):
            edges.add((("entity", subject), ("entity", object_), predicate, id_))
    out = _from_statements(gate, of["statement"])
    into = _pairs(gate, _NAMED_IN, of["entity"], "entity", "statement")
    into |= _pairs(gate, _STATEMENTS_OF, of["topic"], "topic", "statement")
    return edges | {(a, b, "", b"") for a, b in out | {(s, e) for e, s in into}}


class _Order:
    """The order of the edges around a node."""

    def __init__(self, gate: Gate, asked: set[Key], topics: set[int], ends: set[Key]) -> None:
        self._asked, of = asked, _by_kind(ends)
        query = "SELECT k, id FROM {kind} WHERE k IN ({{}})"
        self._id: dict[Key, bytes] = {
            (kind, k): id_ for kind in KINDS for k, id_ in select(gate.connection, query.format(kind=kind), of[kind])
        }
        self._df = dict(select(gate.connection, "SELECT k, df FROM entity WHERE k IN ({})", of["entity"]))
        # the first place of each statement in the source of its topic
        places = f"""SELECT x.statement, min(p.seq), x.position FROM topic_in t CROSS JOIN said_in x ON x.chunk = t.chunk
            {PLACED} WHERE t.topic IN ({{}}) AND {gate.sql} GROUP BY x.statement"""
        self._place = {k: place for k, *place in gate.select(places, topics)}

    def of(self, node: Key) -> Callable[[_Edge], tuple[Any, ...]]:
        """Return what to sort the edges of a node by."""

        def rank(edge: _Edge) -> tuple[Any, ...]:
            a, b, label, fact = edge
            other = b if a == node else a
            place = [self._df.get(other[1], 0)] if other[0] == "entity" else self._place.get(other[1], [])
            return other not in self._asked, not fact, other[0], place, self._id[other], label, fact

        return rank


def _edge(ends: Mapping[Key, GraphNode], a: Key, b: Key, label: str, fact: bytes) -> GraphEdge:
    if fact:
        return GraphEdge(ends[a].id, ends[b].id, "RELATION", label, public("fact", fact))
    kind, label = ("MENTIONS", "mentions") if b[0] == "entity" else ("BELONGS_TO", "belongs to")
    return GraphEdge(ends[a].id, ends[b].id, kind, label)
