"""Recall as one retriever among others: without a session, its nodes turned into the statements behind them."""

import time
from typing import Any

from lexigraph.inference.protocols import Embedder
from lexigraph.model.graph import StatementRow
from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.args import Known, TraversalArgs
from lexigraph.retrieval.models import Models
from lexigraph.retrieval.recall_candidates import gather
from lexigraph.retrieval.recall_strategies import fuse
from lexigraph.retrieval.results import assemble
from lexigraph.retrieval.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import EvidenceRequest, GraphNode, GraphStore, VectorStore

_PARAMETERS = ("max_search_results", "max_statements_per_topic", "include_facts")
_NODES = 50  # best nodes whose statements are taken
_BEHIND = 0.5  # what a statement counts that was not found itself but stands behind an entity or topic
_PER_NODE = 10


class RecallSearch:
    """Ranks the statements that the strategies of recall find, and those behind the entities and topics that they find.

    So ``/query`` can answer over what recall finds; sessions belong to :class:`RecallRetriever` alone. A statement has the
    score of its own node, or half of that of the best entity that it names or of its topic. At most four calls to the
    vector store and three to the graph. ``args`` are ``max_search_results``, ``max_statements_per_topic`` and
    ``include_facts`` of :class:`~lexigraph.retrieval.args.TraversalArgs`.
    """

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        self.graph_store, self.vector_store = graph_store, vector_store
        self.models = Models(embedder, settings)
        self.parameters().check(args)
        self.args = TraversalArgs.of({**args, "reranker": None})

    @staticmethod
    def parameters() -> Known:
        """Return the parameters that have an effect."""
        return Known(_PARAMETERS, {})

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements. Raise ``StoreUnavailable`` when a store is lost."""
        began, trace = time.perf_counter(), Trace()
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        candidates = gather(stores, self.models, question.text, force_regex=False)
        live: dict[str, GraphNode] = {}
        if candidates.ids:
            with trace.step("nodes", "graph"):
                live = stores.graph.nodes(tenant, candidates.ids, filters=question.filters)
        general = fuse(candidates.found(live).values())
        best = sorted(general, key=lambda i: (-round(general[i], 6), i))[:_NODES]
        rows = stores.evidence("evidence", _request(best, live, self.args.include_facts))
        scored = [(_scored(row, {i: general[i] for i in best}, live), row) for row in rows]
        ranked = sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))
        results = assemble(ranked, self.args)
        trace.timings["total"] = round((time.perf_counter() - began) * 1000, 3)
        return SearchResults(
            question.text,
            results,
            entities=tuple(live[i].value for i in best if live[i].kind == "entity"),
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )


def _request(best: list[str], live: dict[str, GraphNode], facts: bool) -> EvidenceRequest:
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


def _scored(row: StatementRow, scores: dict[str, float], live: dict[str, GraphNode]) -> ScoredStatement:
    """Return a statement with the best reason for it: found itself, by an entity it names, or by its topic."""
    own = round(scores.get(row.id, 0.0), 6)
    behind = max((i for i in (*row.entities, row.topic_id) if i in scores), key=lambda i: (scores[i], i), default="")
    reason, score = "statement", own
    path: tuple[str, ...] = ()
    if behind and _BEHIND * scores[behind] > own:
        reason, score, path = live[behind].kind, round(_BEHIND * scores[behind], 6), (live[behind].value,)
    place = (row.chunk_id, row.chunk_start + row.start, row.chunk_start + row.end)
    return ScoredStatement(row.id, row.value, score, reason, *place, path=path, parts={reason: score})
