"""Hybrid retrieval (E-43, E-59 to E-70): vectors and words, relations of every kind, a small subgraph, explained scores."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lexigraph.inference.protocols import Embedder, FloatArray, Reranker
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.graph import StatementRow
from lexigraph.model.ids import node_id
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.hybrid.args import HYBRID_WEIGHTS, READ, HybridArgs, HybridWeights
from lexigraph.retrieval.hybrid.links import added_by_links
from lexigraph.retrieval.hybrid.relation_scores import composites, prune, score_contexts
from lexigraph.retrieval.hybrid.reranking import RerankGuard, reranked
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.hybrid.statements import contexts_with_sources, ranked_statements
from lexigraph.retrieval.hybrid.subgraph import Context, Subgraph
from lexigraph.retrieval.stages.args import Known, names_of
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.stages.results import assemble, by_chunk, looking
from lexigraph.retrieval.stages.retriever import StatementRetriever
from lexigraph.retrieval.stages.text import unframed
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings, load_settings
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, SearchRequest, VectorStore

logger = logging.getLogger(__name__)


class HybridRetriever(StatementRetriever[HybridResults]):
    """Ranks chunks by vector, BM25 and the graph paths that lead to them; at most 2 vector and 3 graph calls per question.

    ``retrieve`` returns statements as every retriever does, and ``items``: the chunks with all parts of their scores. If
    the vector store or the embedding model fails, the results are ``degraded`` and carry a warning; if the graph store
    fails, it raises ``StoreUnavailable``. ``args`` are those of :class:`~lexigraph.retrieval.hybrid.args.HybridArgs`;
    ``entity_min_length``, ``cooccur_min_count`` and ``embedder`` default to the settings. ``reranker`` is a name or a
    ``Reranker``, ``weights`` are the constants of the scores. Thread-safe. Raise ``InvalidInput`` for invalid parameters.

    Examples:
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
        trace, args, weights = stores.trace, self.args, self.weights
        vector = self.models.vectors([text], trace)[0] if args.vector else None
        subgraph = Subgraph(stores, text, args, weights)
        self._explore(stores, subgraph, text, vector)
        chosen = subgraph.choose(self._scores(list(subgraph.contexts.values()), subgraph))
        chunks = tuple(context.id for context in chosen)
        rows = stores.evidence("evidence", EvidenceRequest(chunks=chunks, neighbours=False, facts=args.include_facts))
        like = self._compare(stores, subgraph, chosen, rows, text, vector)
        degraded = bool(trace.warnings)
        with trace.step("rank"):
            items = [_with_ids(stores.tenant, item) for item in self._rank(chosen, subgraph, rows, text, trace)]
            looked_at, ranked = looking(ranked_statements(text, items, rows, like, args, weights))
            results = assemble(ranked, args, by_chunk(rows))
        return HybridResults(
            text,
            results,
            entities=tuple(dict.fromkeys(name for item in items for name in item.path)),
            items=tuple(contexts_with_sources(items, rows)),
            degraded=degraded,
            looked_at=looked_at,
        )

    def _explore(self, stores: BoundStores, subgraph: Subgraph, text: str, vector: FloatArray | None) -> None:
        """Search, and follow the graph from what was found."""
        requests = self._requests(text, vector)
        with _going_on(stores.trace, "the first documents were used instead"):
            subgraph.start(dict(zip(requests, stores.search("search", list(requests.values())), strict=True)))
            subgraph.grow(lambda contexts: self._scores(list(contexts), subgraph))
        if not subgraph.contexts and stores.trace.warnings:
            subgraph.first_chunks()

    def _compare(
        self,
        stores: BoundStores,
        subgraph: Subgraph,
        chosen: Sequence[Context],
        rows: Sequence[StatementRow],
        text: str,
        vector: FloatArray | None,
    ) -> dict[str, float]:
        """Learn how like the question the chosen chunks are, and return how like it their statements are."""
        requests = self._requests(text, vector, tuple(sorted(c.id for c in chosen))) if chosen else {}
        of_statements = SearchRequest("statement", vector=vector, ids=tuple(sorted({row.id for row in rows})), texts=False)
        asked = [*requests.values(), *([of_statements] if vector is not None and rows else [])]
        like: dict[str, float] = {}
        with _going_on(stores.trace, "documents were ranked without it"):
            answers = stores.search("scores", asked)
            subgraph.compare(dict(zip(requests, answers, strict=False)))
            like.update((hit.id, hit.score) for hits in answers[len(requests) :] for hit in hits)
        return like

    def _requests(
        self, text: str, vector: FloatArray | None, ids: tuple[str, ...] | None = None
    ) -> dict[str, SearchRequest]:
        k = max(READ, self.args.start_chunks)
        requests = {}
        if vector is not None:
            requests["vector"] = SearchRequest("chunk", vector=vector, k=k, ids=ids)
        if self.args.bm25 or vector is None:
            requests["bm25"] = SearchRequest("chunk", text=unframed(text), k=k, ids=ids)
        return requests

    def _scores(self, contexts: Sequence[Context], subgraph: Subgraph) -> dict[str, float]:
        scored = composites(contexts, subgraph.steps, self.args, self.weights)
        return {one.id: one.composite_score for one in scored}

    def _rank(
        self, chosen: Sequence[Context], subgraph: Subgraph, rows: Sequence[StatementRow], text: str, trace: Trace
    ) -> list[HybridItem]:
        args, weights, steps = self.args, self.weights, subgraph.steps
        subgraph.compare_titles(rows)
        added = added_by_links(text, chosen, rows, self._scores(chosen, subgraph), weights)
        scored = sorted(composites(chosen, steps, args, weights, added), key=lambda one: (-one.composite_score, one.id))
        kept = {one.id for one in prune(scored, args.max_contexts, weights)}
        # scaled again, so that what is shown spans the scale
        items = score_contexts([c for c in chosen if c.id in kept], steps, args, weights, added)
        reranker = self.models.reranker(self._reranker)
        if reranker is None:
            return items
        texts = [subgraph.contexts[item.id].text for item in items]
        best = args.link_weight * weights.best_link
        return reranked(items, texts, text, reranker, self._guard, args.rerank_alpha, trace, best_link=best)


@contextmanager
def _going_on(trace: Trace, instead: str) -> Iterator[None]:
    """Go on without the vector store where it fails, with a warning that ends in what is done ``instead``."""
    try:
        yield
    except StoreUnavailable as error:
        logger.warning("hybrid: search failed: %s", error)
        trace.warn("search_failed", f"the vector store failed; {instead}")


def _with_ids(tenant: Tenant, item: HybridItem) -> HybridItem:
    """Return an item with the ids of the entities passed, which follow from their names."""
    ids = tuple(node_id("entity", tenant, entity_key(name)) for name in item.path)
    return replace(item, path_ids=ids) if ids else item
