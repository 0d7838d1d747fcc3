"""What is around a node of the graph in Neptune, breadth first: by openCypher, a query a step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import ask
from lexigraph.storage.neptune.read import MENTIONED

Edge = tuple[str, str, str]  # type, from, to
MOST = 2_000  # edges of one kind, one way, in a step
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
_SUPPORTED = "(f:Fact)-[m:SUPPORTS]->(st:Statement)"
# Edges between nodes that readers see: type, kinds of both ends, and the pattern in which they stand
_EDGES = (
    ("EXTRACTED_FROM", "chunk", "source", f"{_PLACED} WHERE SEEN"),
    ("MENTIONED_IN", "topic", "chunk", f"(t:Topic)-[:MENTIONED_IN]->{_PLACED} WHERE SEEN"),
    ("MENTIONED_IN", "statement", "chunk", f"(st:Statement)-[:MENTIONED_IN]->{_PLACED} WHERE SEEN"),
    (
        "BELONGS_TO",
        "statement",
        "topic",
        f"(t:Topic)<-[:BELONGS_TO]-(st:Statement)-[:MENTIONED_IN]->{_PLACED} WHERE SEEN",
    ),
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
        "WHERE SEEN AND z.tenant = $tenant AND q.since <= z.live AND z.live < q.until",
    ),
    ("ABOUT", "source", "entity", "(s:Source)-[:ABOUT]->(e:Entity) WHERE s.tenant = $tenant AND s.live > 0"),
)


def _part(edge: tuple[str, str, str, str], asked: str) -> str:
    type_, *ends, pattern = edge
    (a, first), (b, second) = (_SHOWN[kind] for kind in ends)
    row = f"[id({a}), {first}, id({b}), {second}]"
    return f"MATCH {pattern} AND id({_SHOWN[asked][0]}) IN $ids RETURN DISTINCT '{type_}' AS kind, {row} AS row LIMIT {MOST}"


STEP = "\nUNION ALL ".join(_part(edge, end) for edge in _EDGES for end in edge[1:3])


def egonet(client: NeptuneClient, tenant: str, node_id: str, depth: int, limit: int) -> dict[str, list[dict[str, Any]]]:
    """Walk outwards from a node, breadth first, until ``depth`` steps or ``limit`` nodes. Raise ``NotFound``."""
    checked_kind(node_id)
    shown: dict[str, str] = {}

    def step(frontier: Sequence[str]) -> set[Edge]:
        edges: set[Edge] = set()
        for type_, (a, shown_a, b, shown_b) in ask(client, STEP, tenant, ids=list(frontier)):
            edges.add((type_, a, b))
            shown.update({a: shown_a, b: shown_b})
        return edges

    return net(node_id, depth, limit, step, shown)


def checked_kind(node_id: str) -> None:
    """Raise ``InvalidInput`` unless the id is that of some kind of node."""
    kinds = _SHOWN.keys() - {"other"}
    if node_id.partition(":")[0] not in kinds:
        raise InvalidInput(f"node id {node_id[:60]!r}: it begins with one of {', '.join(sorted(kinds))} and ':'")


def net(
    node_id: str, depth: int, limit: int, step: Callable[[Sequence[str]], set[Edge]], shown: Mapping[str, str]
) -> dict[str, list[dict[str, Any]]]:
    """Draw the nodes within ``depth`` steps, at most ``limit``: of a step's new nodes those with the smallest ids.

    ``step`` returns the edges at some nodes, after which ``shown`` says what their ends are shown as. Raise ``NotFound``.
    """
    nodes = {node_id: None}
    edges: set[Edge] = set()
    frontier = [node_id]
    for _ in range(depth):
        found = step(frontier) if frontier else set()
        frontier = sorted({end for edge in found for end in edge[1:]} - nodes.keys())[: max(0, limit - len(nodes))]
        nodes |= dict.fromkeys(frontier)
        edges |= {edge for edge in found if nodes.keys() >= set(edge[1:])}
    if not edges:
        raise NotFound(f"no live node {node_id[:60]!r}")
    return {
        "nodes": [{"id": node, "label": shown[node], "type": node.partition(":")[0]} for node in nodes],
        "edges": [{"source": a, "target": b, "type": type_} for type_, a, b in sorted(edges, key=lambda e: (e[1:], e[0]))],
    }
