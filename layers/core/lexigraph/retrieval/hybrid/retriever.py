"""Hybrid retrieval (E-43, E-59 to E-70): vectors and words, relations of every kind, a small subgraph, explained scores."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from lexigraph.inference.protocols import Embedder, FloatArray, Reranker
from lexigraph.model.errors import StoreUnavailable
from lexigraph.retrieval.hybrid.args import HYBRID_WEIGHTS, HybridArgs, HybridWeights
from lexigraph.retrieval.hybrid.relation_scores import prune, score_contexts
from lexigraph.retrieval.hybrid.reranking import RerankGuard, reranked
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.hybrid.statements import context_statements, contexts_with_sources
from lexigraph.retrieval.hybrid.subgraph import Context, Subgraph
from lexigraph.retrieval.stages.args import Known, names_of
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.results import assemble, by_chunk
from lexigraph.retrieval.stages.retriever import StatementRetriever
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings, load_settings
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, SearchRequest, VectorStore

logger = logging.getLogger(__name__)
POOL = 50  # chunks that each search looks at; what the graph leads to is preferred when it is among them


class HybridRetriever(StatementRetriever[HybridResults]):
    """Ranks chunks by their likeness to the question and by how the graph leads to them, within 2 vector and 3 graph calls.

    ``retrieve`` gives statements like every retriever, and ``items``: the chunks with each part of their scores. What fails
    is made up for, with a warning, and ``degraded``; when the graph is lost it raises ``StoreUnavailable``. ``args``
    are those of :class:`~lexigraph.retrieval.hybrid.args.HybridArgs`; ``entity_min_length`` and ``cooccur_min_count``
    default to the settings. ``embedder`` defaults to the one of the settings, ``reranker`` is a name or a ``Reranker``,
    ``weights`` are the constants of the scores. Safe to share between threads. Raise ``InvalidInput`` for parameters that
    are not allowed.

    >>> retriever = HybridRetriever(graph_store, vector_store, graph_rank="degree")
    >>> retriever.retrieve(Tenant("default"), Question.of("How does the approval flow progress?")).preview()
    """

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        *,
        embedder: Embedder | None = None,
        reranker: str | Reranker | None = "tfidf",
        settings: Settings | None = None,
        weights: HybridWeights = HYBRID_WEIGHTS,
        **args: Any,
    ) -> None:
        super().__init__(graph_store, vector_store, embedder, settings)
        self._reranker, self.weights = reranker, weights
        known = settings or load_settings()
        noise = {"entity_min_length": known.entity_min_length, "cooccur_min_count": known.cooccur_min_count}
        self.args = HybridArgs.of({**noise, **args, "reranker": reranker_name(reranker)})
        self.parameters().check_partners(self.args, args)
        self._guard = RerankGuard(self.args.rerank_timeout)

    @staticmethod
    def parameters() -> Known:
        """Return the parameters that have an effect."""
        return Known(names_of(HybridArgs), {})

    def _find(self, stores: BoundStores, text: str) -> HybridResults:
        trace, args = stores.trace, self.args
        vector = self.models.vectors([text], trace)[0] if args.vector else None
        subgraph = Subgraph(stores, text, args, self.weights)
        self._explore(stores, subgraph, text, vector)
        degraded = bool(trace.warnings)
        with trace.step("rank"):
            items = self._rank(subgraph, text, trace)
        rows = stores.evidence("evidence", self._statements_of(items))
        statements = context_statements(text, items, rows, args, self.weights)
        return HybridResults(
            text,
            assemble(statements, args, by_chunk(rows)),
            entities=tuple(dict.fromkeys(name for item in items for name in item.path)),
            items=tuple(contexts_with_sources(items, rows)),
            degraded=degraded,
        )

    def _explore(self, stores: BoundStores, subgraph: Subgraph, text: str, vector: FloatArray | None) -> None:
        """Search, follow the graph from what was found, and learn how like the question the rest is."""
        try:
            requests = self._requests(text, vector)
            found = dict(zip(requests, stores.search("search", list(requests.values())), strict=True))
            subgraph.start(found)
            subgraph.grow(lambda contexts: self._scores(list(contexts), subgraph))
            ids = tuple(sorted(subgraph.contexts))
            exact = {} if not ids else self._requests(text, vector, ids)
            subgraph.compare(dict(zip(exact, stores.search("scores", list(exact.values())), strict=True)))
        except StoreUnavailable as error:
            logger.warning("hybrid: search failed: %s", error)
            stores.trace.warn("search_failed", "the vector store failed; the first documents were taken")
        if not subgraph.contexts and stores.trace.warnings:
            subgraph.first_chunks()

    def _requests(
        self, text: str, vector: FloatArray | None, ids: tuple[str, ...] | None = None
    ) -> dict[str, SearchRequest]:
        k = max(POOL, self.args.top_k)
        requests = {}
        if vector is not None:
            requests["vector"] = SearchRequest("chunk", vector=vector, k=k, ids=ids)
        if self.args.bm25 or vector is None:
            requests["bm25"] = SearchRequest("chunk", text=text, k=k, ids=ids)
        return requests

    def _scores(self, contexts: Sequence[Context], subgraph: Subgraph) -> dict[str, float]:
        items = score_contexts(contexts, subgraph.steps, self.args, self.weights)
        return {item.id: item.composite_score for item in items}

    def _rank(self, subgraph: Subgraph, text: str, trace: Trace) -> list[HybridItem]:
        args, weights = self.args, self.weights
        chosen = subgraph.choose(self._scores(list(subgraph.contexts.values()), subgraph))
        kept = {item.id for item in prune(score_contexts(chosen, subgraph.steps, args, weights), args.max_contexts, weights)}
        # scaled again, so that what is shown spans the scale
        items = score_contexts([c for c in chosen if c.id in kept], subgraph.steps, args, weights)
        reranker = self.models.reranker(self._reranker)
        if reranker is None:
            return items
        texts = [subgraph.contexts[item.id].text for item in items]
        return reranked(items, texts, text, reranker, self._guard, args.rerank_alpha, trace)

    def _statements_of(self, items: Iterable[HybridItem]) -> EvidenceRequest:
        chunks = tuple(item.id for item in items)
        return EvidenceRequest(chunks=chunks, neighbours=False, facts=self.args.include_facts)
