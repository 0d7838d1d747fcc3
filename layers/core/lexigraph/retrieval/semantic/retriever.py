"""Semantic-guided retrieval (G-07): statements by vector and keyword, a beam along links, statements ranked at the end."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.semantic.beam import Beam
from lexigraph.retrieval.semantic.searches import (
    KeywordRankingSearch,
    RerankingBeamGraphSearch,
    SemanticBeamGraphSearch,
    SemanticSearch,
    StatementCosineSimilaritySearch,
    semantic_parameters,
    semantic_searches,
)
from lexigraph.retrieval.semantic.statement_anchors import StatementAnchors, find_statements
from lexigraph.retrieval.stages.anchors import Goal, Inquiry
from lexigraph.retrieval.stages.args import Known
from lexigraph.retrieval.stages.keywords import keywords
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.postprocess import PostProcessor, as_post_processors, processed
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.results import assemble
from lexigraph.retrieval.stages.statements import rank_statements
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore


class SemanticGuidedRetriever:
    """Finds statements for a question by the statement index and a beam over the graph, within 3 vector and 3 graph calls.

    ``retrievers`` are its searches: types, instances or names of ``StatementCosineSimilaritySearch``,
    ``KeywordRankingSearch`` and a beam, ``SemanticBeamGraphSearch`` (default: these three) or ``RerankingBeamGraphSearch``.
    ``post_processors`` change the results, one after the other (:mod:`lexigraph.retrieval.stages.postprocess`). ``args`` are
    those of :class:`~lexigraph.retrieval.semantic.args.SemanticArgs`. ``embedder`` defaults to the one of the settings;
    without ``llm`` keywords come from the question itself. ``reranker``, a name or a ``Reranker``, takes part in ordering
    statements. Safe to share between threads. Raise ``InvalidInput`` for parameters that are not allowed.

    >>> retriever = SemanticGuidedRetriever(graph_store, vector_store, post_processors=[StatementDiversityPostProcessor()])
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
        retrievers: Sequence[SemanticSearch | type[SemanticSearch] | str] | None = None,
        post_processors: Sequence[PostProcessor | type[PostProcessor]] | None = None,
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        self.graph_store, self.vector_store, self.llm = graph_store, vector_store, llm
        self.models = Models(embedder, settings)
        self._reranker = reranker
        self.searches = semantic_searches(retrievers)
        self.post_processors = as_post_processors(post_processors)
        known = semantic_parameters(self.searches)
        known.check(args)
        own = {name: value for s in self.searches for name, value in s.given.items()}
        self.args = SemanticArgs.of({**args, "reranker": reranker_name(reranker), **own})
        # a beam's reranker scores as many chunks when there is no hop
        free = {"beam_width"} if self._has(RerankingBeamGraphSearch) else set()
        known.check_partners(self.args, {*args, *own} - free)

    @staticmethod
    def parameters(retrievers: Any = None) -> Known:
        """Return the parameters that have an effect with these searches."""
        return semantic_parameters(semantic_searches(retrievers))

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements with their reasons. A failing model is made up for, with a warning (``warnings``).

        Raise ``StoreUnavailable`` when a store is lost, ``InvalidInput`` when it holds vectors of another embedding.
        """
        began, trace, args = time.perf_counter(), Trace(), self.args
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        by_keyword = self._has(KeywordRankingSearch)
        inquiry = self._inquire(question, by_keyword, trace)
        by_cosine = self._has(StatementCosineSimilaritySearch) or not by_keyword
        anchors = find_statements(stores, inquiry, args, cosine=by_cosine, keywords=by_keyword)
        beam = self._expand(stores, question.text, anchors)
        with trace.step("rank"):
            reranker = self.models.reranker(self._reranker)
            queries = [question.text, *(a.entity.value for a in anchors.entities)]
            results = assemble(rank_statements(beam, queries, reranker, trace), args)
        found = SearchResults(
            question=question.text,
            results=results,
            entities=tuple(a.entity.value for a in anchors.entities),
            keywords=inquiry.keywords,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )
        for processor in self.post_processors:
            with trace.step("post_processing"):
                found = processed(found, processor)
        trace.timings["total"] = round((time.perf_counter() - began) * 1000, 3)
        return found

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    def _has(self, kind: type[SemanticSearch]) -> bool:
        return any(isinstance(search, kind) for search in self.searches)

    def _inquire(self, question: Question, by_keyword: bool, trace: Trace) -> Inquiry:
        text = question.text
        words = keywords(self.llm, text, self.args.max_keywords, trace) if by_keyword else ()
        return Inquiry((Goal(text, self.models.vectors([text], trace)[0]),), words)

    def _expand(self, stores: BoundStores, text: str, anchors: StatementAnchors) -> Beam:
        judges = [s.reranker for s in self.searches if isinstance(s, RerankingBeamGraphSearch)]
        judge = self.models.reranker(judges[0]) if judges else None
        beam = Beam(stores, text, anchors, self.args, judge)
        beam.start()
        beam.run(self._has(SemanticBeamGraphSearch))
        return beam
