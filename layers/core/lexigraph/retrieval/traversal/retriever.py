"""Traversal-based retrieval (G-06): chunks from above, entities from below, links between, statements ranked at the end."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.anchors import POOL, Anchors, Goal, Inquiry, find_anchors
from lexigraph.retrieval.stages.args import Known
from lexigraph.retrieval.stages.keywords import keywords, subqueries
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.ranking import WEIGHTS, Weights
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.results import assemble
from lexigraph.retrieval.stages.statements import rank_statements
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.retrieval.traversal.expansion import TraversalExpansion
from lexigraph.retrieval.traversal.searches import (
    ChunkBasedSearch,
    EntityBasedSearch,
    TopicBeamSearch,
    TraversalSearch,
    traversal_parameters,
    traversal_searches,
)
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore


class TraversalBasedRetriever:
    """Finds statements for a question by search and by following the graph, within 3 vector and 4 graph calls.

    ``retrievers`` are the searches to start from: types, instances or names of ``ChunkBasedSearch`` and
    ``EntityBasedSearch`` (default both), and ``TopicBeamSearch``. ``args`` are those of
    :class:`~lexigraph.retrieval.traversal.args.TraversalArgs`. ``embedder`` defaults to the one of the settings; without
    ``llm`` keywords come from the question itself. ``reranker`` is a name or a ``Reranker``, ``weights`` are the constants
    of the ranking. Safe to share between threads. Raise ``InvalidInput`` for parameters that are not allowed.

    >>> retriever = TraversalBasedRetriever(graph_store, vector_store, max_search_results=10)
    >>> retriever.retrieve(Tenant("default"), Question.of("Which query languages does Neptune support?"))
    """

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        *,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        reranker: str | Reranker | None = "tfidf",
        retrievers: Sequence[TraversalSearch | type[TraversalSearch] | str] | None = None,
        settings: Settings | None = None,
        weights: Weights = WEIGHTS,
        **args: Any,
    ) -> None:
        self.graph_store, self.vector_store, self.llm = graph_store, vector_store, llm
        self._reranker, self.weights = reranker, weights
        self.models = Models(embedder, settings)
        self.searches = traversal_searches(retrievers)
        known = traversal_parameters(self.searches)
        known.check(args)
        own = {name: value for s in self.searches for name, value in s.given.items()}
        self.args = TraversalArgs.of({**args, "reranker": reranker_name(reranker), **own})
        known.check_partners(self.args, {**args, **own})

    @staticmethod
    def parameters(retrievers: Any = None) -> Known:
        """Return the parameters that have an effect with these searches."""
        return traversal_parameters(traversal_searches(retrievers))

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements with their reasons. A failing model is made up for, with a warning (``warnings``).

        Raise ``StoreUnavailable`` when a store is lost, ``InvalidInput`` when it holds vectors of another embedding.
        """
        began = time.perf_counter()
        trace, args = Trace(), self.args
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        by_chunk, by_entity = self._has(ChunkBasedSearch), self._has(EntityBasedSearch)
        inquiry = self._inquire(question, by_entity, trace)
        anchors = find_anchors(
            stores,
            inquiry,
            pool=max(POOL, args.vss_top_k * (args.vss_diversity_factor or 1)) if by_chunk else 0,
            max_entities=args.max_keywords if by_entity else 0,
            expand_entities=args.expand_entities,
            topics=max(POOL, args.topic_top_k) if self._has(TopicBeamSearch) else 0,
        )
        expansion = TraversalExpansion(stores, question.text, anchors, args, self.weights)
        expansion.run()
        with trace.step("rank"):
            reranker = self.models.reranker(self._reranker)
            ranked = rank_statements(expansion, _queries(inquiry, anchors), reranker, trace)
            results = assemble(ranked, args)
        trace.timings["total"] = round((time.perf_counter() - began) * 1000, 3)
        return SearchResults(
            question=question.text,
            results=results,
            entities=tuple(a.entity.value for a in anchors.entities),
            keywords=inquiry.keywords,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    def _has(self, kind: type[TraversalSearch]) -> bool:
        return any(isinstance(search, kind) for search in self.searches)

    def _inquire(self, question: Question, by_entity: bool, trace: Trace) -> Inquiry:
        text, args = question.text, self.args
        parts = subqueries(self.llm, text, args.max_subqueries, trace) if args.derive_subqueries else ()
        words = keywords(self.llm, text, args.max_keywords, trace) if by_entity else ()
        weights = [1.0, *(self.weights.subquery for _ in parts)]
        vectors = self.models.vectors([text, *parts], trace)
        goals = (Goal(t, v, w) for t, v, w in zip([text, *parts], vectors, weights, strict=True))
        return Inquiry(tuple(goals), words)


def _queries(inquiry: Inquiry, anchors: Anchors) -> list[str]:
    """Return what statements are reranked against: the question and the entity names looked up (G-35)."""
    return [inquiry.text, *(a.entity.value for a in anchors.entities if len(a.path) < 2)]
