"""What retrievers that rank statements have in common: stores, models, parameters, and the frame around a question."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from lexigraph.inference.protocols import Embedder
from lexigraph.model.graph import StatementRow
from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.args import Known, ResultArgs, names_of
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.results import assemble
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore

Ranked = Sequence[tuple[ScoredStatement, StatementRow]]  # best first


class StatementRetriever(ABC):
    """Finds statements for a question in two stores. ``embedder`` defaults to the one of the ``settings``.

    ``args`` are those in ``OWN`` and what shapes every retriever's results,
    :class:`~lexigraph.retrieval.stages.args.ResultArgs`. Raise ``InvalidInput`` for one that is unknown or out of range.
    Safe to share between threads.
    """

    OWN: ClassVar[tuple[str, ...]] = ()

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
        self._configure(args)

    @classmethod
    def parameters(cls) -> Known:
        """Return the parameters that can be set."""
        return Known((*cls.OWN, *names_of(ResultArgs)), {})

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements. Raise ``StoreUnavailable`` when a store is lost."""
        began, trace = time.perf_counter(), Trace()
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        ranked, entities = self._rank(stores, question.text)
        results = assemble(ranked, self.shape)
        trace.timings["total"] = round((time.perf_counter() - began) * 1000, 3)
        return SearchResults(
            question.text,
            results,
            entities=tuple(entities),
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    def _configure(self, args: Mapping[str, Any]) -> None:
        """Take the parameters that were given, all of known names."""
        self.shape = ResultArgs.of({name: value for name, value in args.items() if name not in self.OWN})

    @abstractmethod
    def _rank(self, stores: BoundStores, text: str) -> tuple[Ranked, Sequence[str]]:
        """Return the statements for a question, and the names of the entities that led to them."""
