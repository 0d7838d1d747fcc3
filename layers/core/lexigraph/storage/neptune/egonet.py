"""What is around a node of the graph in Neptune, breadth first: a traversal or a query a step."""

from collections.abc import Collection, Sequence
from typing import Any

from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.derive import computed
from lexigraph.storage.neptune.excerpt import ask
from lexigraph.storage.neptune.gremlin.walks import WalkingPart, edges_at
from lexigraph.storage.neptune.read import MENTIONED
from lexigraph.storage.neptune.schema import LIVE_OTHER, SHOWN
from lexigraph.storage.sqlite.graph.egonet import MOST, Edge, net

# The name of a node of each kind in the patterns, and what it is shown as
_SHOWN = {
    "source": ("s", "CASE WHEN s.title = '' THEN s.uri ELSE s.title END"),
    "chunk": ("c", "s.uri + '#' + toString(p.seq)"),
    "other": ("d", "z.uri + '#' + toString(q.seq)"),  # a second chunk
    "topic": ("t", "t.value"),
    "statement": ("st", "st.value"),
    "fact": ("f", "f.subject + ' ' + f.predicate + ' ' + f.object"),
    "entity": ("e", "e.value"),
}
_PLACED = "(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)"
_SAID = f"(st:Statement)-[:MENTIONED_IN]->{_PLACED} WHERE SEEN"
_SUPPORTED = "(f:Fact)-[m:SUPPORTS]->(st:Statement)"
# Edges between nodes that readers see: type, kinds of both ends, and the pattern in which they stand
_EDGES = (
    ("EXTRACTED_FROM", "chunk", "source", f"{_PLACED} WHERE SEEN"),
    ("MENTIONED_IN", "topic", "chunk", f"(t:Topic)-[:MENTIONED_IN]->{_PLACED} WHERE SEEN"),
    ("MENTIONED_IN", "statement", "chunk", _SAID),
    ("BELONGS_TO", "statement", "topic", f"(t:Topic)<-[:BELONGS_TO]-{_SAID}"),
    ("SUPPORTS", "fact", "statement", f"{_SUPPORTED}{MENTIONED}"),
    ("SUBJECT", "entity", "fact", f"(e:Entity)-[:SUBJECT]->{_SUPPORTED}{MENTIONED}"),
    (
        "OBJECT",
        "entity",
        "fact",
        f"(e:Entity)-[m:OBJECT]->(f:Fact)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement",
    ),
    ("MENTIONS", "statement", "entity", f"(e:Entity)<-[m:MENTIONS]-(st:Statement){MENTIONED}"),
    (
        "REL",
        "chunk",
        "other",
        "(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk)-[:REL]->(d:Chunk)-[q:EXTRACTED_FROM]->(z:Source) "
        f"WHERE SEEN AND {LIVE_OTHER}",
    ),
    ("ABOUT", "source", "entity", f"(s:Source)-[:ABOUT]->(e:Entity) WHERE {SHOWN}"),
)


def _part(edge: tuple[str, str, str, str], asked: str) -> str:
    type_, *ends, pattern = edge
    (a, first), (b, second) = (_SHOWN[kind] for kind in ends)
    row = f"[id({a}), {first}, id({b}), {second}]"
    return f"MATCH {pattern} AND id({_SHOWN[asked][0]}) IN $ids RETURN DISTINCT '{type_}' AS kind, {row} AS row LIMIT {MOST}"


STEP = "\nUNION ALL ".join(_part(edge, end) for edge in _EDGES for end in edge[1:3])


class NeptuneEgonet(WalkingPart):
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
        shown: dict[str, str] = {}

        def by_opencypher(nodes: Sequence[str]) -> set[Edge]:
            edges: set[Edge] = set()
            for type_, (a, shown_a, b, shown_b) in ask(self._client, STEP, tenant, ids=list(nodes)):
                edges.add((type_, a, b))
                shown.update({a: shown_a, b: shown_b})
            return edges

        def step(nodes: Sequence[str]) -> set[Edge]:
            if isinstance(tenant, View):
                return by_opencypher(nodes)
            return self._walked(lambda gremlin: edges_at(gremlin, tenant, nodes, shown), lambda: by_opencypher(nodes))

        around = net(node_id, depth, limit, offset, kinds, step, shown.__getitem__)
        if isinstance(tenant, View):
            entities = [node["id"] for node in around["nodes"] if node["type"] == "entity"]
            names = {e.id: e.value for e in computed(self._client, tenant, entities)}
            around["nodes"] = [{**node, "label": names.get(node["id"], node["label"])} for node in around["nodes"]]
        return around
