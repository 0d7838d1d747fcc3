"""The edges around nodes in the embedded graph, the best of each."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphEdge, GraphNode, Surroundings
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, SqlitePart, select
from lexigraph.storage.sqlite.graph.keys import public
from lexigraph.storage.sqlite.graph.read import HUB, seldom
from lexigraph.storage.sqlite.graph.walks import (
    AS_OBJECT,
    AS_SUBJECT,
    KINDS,
    NAMED_IN,
    STATEMENTS_OF,
    Key,
    by_kind,
    described,
    from_statements,
    keys_of_nodes,
    pairs,
    short,
)

TOLD_OVER = 100  # chunks of a topic whose statements are told as its edges

_Edge = tuple[Key, Key, str, bytes]  # from, to, label, id of the fact


class SqliteEdges(SqlitePart):
    """What is around nodes."""

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        with self._gate(tenant, filters) as gate:
            key_of = {node.id: key for key, node in described(gate, keys_of_nodes(gate.connection, node_ids)).items()}
            asked = set(key_of.values())
            told = by_kind(asked)
            told["entity"] = seldom(gate.connection, "mentions", told["entity"], HUB)
            told["topic"] = short(gate.connection, told["topic"], TOLD_OVER)
            around: dict[Key, list[_Edge]] = defaultdict(list)
            for edge in _edges_around(gate, told):
                for end in asked.intersection(edge[:2]):
                    around[end].append(edge)
            order = _Order(gate, asked, told["topic"], {end for edges in around.values() for e in edges for end in e[:2]})
            kept: dict[_Edge, None] = {}
            for node in dict.fromkeys(key_of[i] for i in node_ids if i in key_of):
                kept |= dict.fromkeys(sorted(around[node], key=order.of(node))[:per_node])
            ends = described(gate, {end for edge in kept for end in edge[:2]})
            edges = [_edge(ends, *edge) for edge in kept if ends.keys() >= set(edge[:2])]
            at_ends = {i for edge in edges for i in (edge.from_id, edge.to_id)}
            return Surroundings(tuple(edges), {n.id: n for n in ends.values() if n.id in at_ends})


def _edges_around(gate: Gate, of: Mapping[str, set[int]]) -> set[_Edge]:
    """Return the facts between entities, and the edges out of and into statements."""
    edges: set[_Edge] = set()
    for query in (AS_SUBJECT, AS_OBJECT):
        for subject, object_, id_, predicate in gate.select(f"{query} {gate.sql}", of["entity"]):
            edges.add((("entity", subject), ("entity", object_), predicate, id_))
    out = from_statements(gate, of["statement"])
    into = pairs(gate, NAMED_IN, of["entity"], "entity", "statement")
    into |= pairs(gate, STATEMENTS_OF, of["topic"], "topic", "statement")
    return edges | {(a, b, "", b"") for a, b in out | {(s, e) for e, s in into}}


class _Order:
    """The order of the edges around a node."""

    def __init__(self, gate: Gate, asked: set[Key], topics: set[int], ends: set[Key]) -> None:
        self._asked, of = asked, by_kind(ends)
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
