"""The last stages of a recall: three signals become one order, and the best nodes get what lies around them. Pure."""

from collections.abc import Mapping, Sequence

from lexigraph.retrieval.recall.results import RecallEdge, RecallNode, described
from lexigraph.retrieval.recall.sessions import Weights, topical_score
from lexigraph.retrieval.recall.strategies import STRATEGIES, Scores
from lexigraph.storage.protocols import GraphEdge, GraphNode, Surroundings

EXPANDED = 5  # best nodes whose surroundings are added (M-16)
MAX_CONTEXT = 25  # nodes added at most
_SHARE = 0.5  # of its parent's score
CONTEXT = "context"

Ranked = list[tuple[GraphNode, float, dict[str, float]]]


def rank(
    live: Mapping[str, GraphNode],
    general: Scores,
    agreement: Scores,
    recency: Mapping[str, float],
    weights: Weights,
    most: int,
) -> Ranked:
    """Return the best nodes with their score and its three parts, before weighting (M-12 to M-15).

    Ties go by how well the strategies agree, then by id.
    """
    scored: Ranked = []
    for node_id, relevance in general.items():
        near = topical_score(live[node_id].hops)
        seen = recency.get(node_id, 0.0)
        parts = {"general": relevance, "topical": round(near, 6), "session": round(seen, 6)}
        scored.append((live[node_id], weights.score(relevance, near, seen), parts))
    return sorted(scored, key=lambda found: (-found[1], -agreement[found[0].id], found[0].id))[:most]


def as_results(best: Ranked, around: Surroundings, found: Mapping[str, Scores]) -> tuple[RecallNode, ...]:
    """Return the ranked nodes as results, each with the strategies that found it."""
    return tuple(
        described(node, around, score, parts, tuple(name for name in STRATEGIES if node.id in found.get(name, ())))
        for node, score, parts in best
    )


def expand(best: Ranked, around: Surroundings) -> tuple[tuple[RecallNode, ...], tuple[RecallEdge, ...]]:
    """Return what lies around the best nodes, and all edges that then have both ends (M-16, M-18).

    Each added node has half the score of the best node that it is connected to; it does not count as a result.
    """
    returned = {node.id for node, _, _ in best}
    parents: dict[str, tuple[float, str]] = {}
    for node, score, _ in best[:EXPANDED]:
        for edge in around.edges:
            other = _other(edge, node.id)
            if other and other not in returned and other not in parents:
                parents[other] = (round(_SHARE * score, 6), node.id)
    kept = sorted(parents, key=lambda i: (-parents[i][0], i))[:MAX_CONTEXT]
    context = tuple(
        described(
            around.nodes[i],
            around,
            parents[i][0],
            {"general": 0.0, "topical": 0.0, "session": 0.0},
            (CONTEXT,),
            parents[i][1],
        )
        for i in kept
    )
    shown = returned.union(kept)
    return context, tuple(_result(e) for e in around.edges if {e.from_id, e.to_id} <= shown)


def tiers(nodes: Sequence[RecallNode], context: Sequence[RecallNode]) -> dict[str, int]:
    """Return how many of the nodes each strategy found (M-19), and how many were added as context."""
    return {**{name: sum(name in node.sources for node in nodes) for name in STRATEGIES}, CONTEXT: len(context)}


def _other(edge: GraphEdge, node: str) -> str:
    return edge.to_id if edge.from_id == node else edge.from_id if edge.to_id == node else ""


def _result(edge: GraphEdge) -> RecallEdge:
    edge_id = edge.id or f"{edge.from_id}>{edge.kind}>{edge.to_id}"
    return RecallEdge(edge_id, edge.from_id, edge.label, edge.to_id, edge.kind)
