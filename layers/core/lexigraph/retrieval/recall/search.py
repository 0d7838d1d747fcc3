"""Recall as one retriever among others: without a session, its nodes turned into the statements behind them."""

from collections.abc import Mapping, Sequence

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement, Stop
from lexigraph.retrieval.recall.candidates import gather
from lexigraph.retrieval.recall.strategies import agreement, general
from lexigraph.retrieval.stages.results import scored_statement
from lexigraph.retrieval.stages.retriever import Ranked, RankedRetriever
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import EvidenceRequest, GraphNode

_NODES = 50  # best nodes whose statements are taken
_BEHIND = 0.5  # what a statement counts that was not found itself but stands behind an entity or topic
_PER_NODE = 10


class RecallSearch(RankedRetriever):
    """Ranks the statements that the strategies of recall find, and those behind the entities and topics that they find.

    So ``/query`` can answer over what recall finds; sessions belong to :class:`RecallRetriever` alone. A statement has the
    score of its own node, or half of that of the best entity that it names or of its topic. At most four calls to the
    vector store and three to the graph.
    """

    def _rank(self, stores: BoundStores, text: str) -> tuple[Ranked, Sequence[str]]:
        found = gather(stores, self.models, text)
        live, scores = found.nodes, general(found.scores.values())
        agreed = agreement(found.scores.values())
        best = sorted(scores, key=lambda i: (-scores[i], -agreed[i], i))[:_NODES]
        rows = stores.evidence("evidence", _request(best, live, self.shape.include_facts))
        scored = [(_scored(row, {i: scores[i] for i in best}, live), row) for row in rows]
        ranked = sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))
        return ranked, [live[i].value for i in best if live[i].kind == "entity"]


def _request(best: list[str], live: Mapping[str, GraphNode], facts: bool) -> EvidenceRequest:
    of = {kind: tuple(i for i in best if live[i].kind == kind) for kind in ("statement", "entity", "topic")}
    return EvidenceRequest(
        statements=of["statement"],
        entities=of["entity"],
        per_entity=_PER_NODE,
        topics=of["topic"],
        per_topic=_PER_NODE,
        neighbours=False,
        facts=facts,
    )


def _scored(row: StatementRow, scores: dict[str, float], live: Mapping[str, GraphNode]) -> ScoredStatement:
    """Return a statement with the best reason for it: found itself, by an entity it names, or by its topic."""
    own = round(scores.get(row.id, 0.0), 6)
    behind = max((i for i in (*row.entities, row.topic_id) if i in scores), key=lambda i: (scores[i], i), default="")
    reason, score = "statement", own
    path: tuple[Stop, ...] = ()
    if behind and _BEHIND * scores[behind] > own:
        reason, score, path = live[behind].kind, round(_BEHIND * scores[behind], 6), (Stop(live[behind].value, behind),)
    return scored_statement(row, score, reason, {reason: score}, path)
