"""Multi-document search as a retriever: the statements of the best sections of the best articles."""

import asyncio
import time
from typing import Any

from lexigraph.inference.protocols import Embedder
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.args import Known
from lexigraph.retrieval.chunk_statements import SHAPING, read_on, shape
from lexigraph.retrieval.models import Models
from lexigraph.retrieval.results import assemble
from lexigraph.retrieval.sections import MultidocArgs, find_articles
from lexigraph.retrieval.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, VectorStore

_CHOOSING = ("num_docs", "max_sections", "min_relevance", "preset")


class MultidocRetriever:
    """Finds sections by one search, ranks articles by the sum of their sections' relevance (1 + cosine) / 2, and returns the
    statements of the best ``max_sections`` sections of the best ``num_docs`` articles (W-07).

    :class:`~lexigraph.retrieval.retrievers.synthesizer.MultiDocSynthesizer` returns the same sections as such. One vector
    call and two graph calls. When the embedding model fails the search goes by words, with a warning. ``args`` are those of
    :meth:`~lexigraph.retrieval.sections.MultidocArgs.of`, except that ``min_relevance`` is 0 unless it or a ``preset`` is
    given, so that the best there is comes back as from any retriever; and ``max_search_results``,
    ``max_statements_per_topic`` and ``include_facts`` of :class:`~lexigraph.retrieval.args.TraversalArgs`. Raise
    ``InvalidInput`` for one that is unknown or out of range.
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
        chosen = {name: value for name, value in args.items() if name in _CHOOSING}
        self.args = MultidocArgs.of(**chosen if "preset" in chosen else {"min_relevance": 0.0, **chosen})
        self.shape = shape(args)

    @staticmethod
    def parameters() -> Known:
        """Return the parameters that can be set."""
        return Known((*_CHOOSING, *SHAPING), {})

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the statements of the sections. Raise ``StoreUnavailable`` when a store is lost."""
        began, trace = time.perf_counter(), Trace()
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        vector = self.models.vectors([question.text], trace)[0]
        articles = find_articles(stores, question.text, vector, self.args)
        parts = {s["section_id"]: {"relevance": s["score"]} for article in articles for s in article.sections}
        request = EvidenceRequest(chunks=tuple(parts), neighbours=False, facts=self.shape.include_facts)
        rows = stores.evidence("evidence", request)
        results = assemble(read_on(rows, parts), self.shape)
        trace.timings["total"] = round((time.perf_counter() - began) * 1000, 3)
        return SearchResults(
            question.text, results, warnings=tuple(trace.warnings), timings=trace.timings, calls=trace.calls
        )

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)
