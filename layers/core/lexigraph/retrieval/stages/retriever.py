"""What retrievers have in common: stores, models, parameters, and the frame around a question."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar

from lexigraph import telemetry
from lexigraph.inference.protocols import Embedder
from lexigraph.model.graph import StatementRow
from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.args import Known, ResultArgs, names_of
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.results import assemble, by_chunk, looking
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, VectorStore

Ranked = Sequence[tuple[ScoredStatement, StatementRow]]  # best first
_READ = 1_000  # chunks of a source that is read whole
R = TypeVar("R", bound=SearchResults)
T = TypeVar("T")


class StatementRetriever(ABC, Generic[R]):
    """Base class of retrievers that return statements. Thread-safe."""

    def __init__(
        self, graph_store: GraphStore, vector_store: VectorStore, embedder: Embedder | None, settings: Settings | None
    ) -> None:
        self.graph_store, self.vector_store = graph_store, vector_store
        self.models = Models(embedder, settings)

    def retrieve(self, tenant: Tenant | str, question: Question | str | None = None) -> R:
        """Return ranked statements with their reasons. If a model fails, the results carry a warning.

        ``retrieve("Who signs?")`` uses the tenant of the settings. Raise ``StoreUnavailable`` if a store fails,
        ``InvalidInput`` for an empty question or a store with vectors of another embedding model.
        """
        owner, asked = self.models.asked(tenant, question)
        with telemetry.span(f"retrieval {type(self).__name__}") as span:
            found = self._retrieved(owner, asked)
            if span:
                span.set({"gen_ai.operation.name": "retrieval", "gen_ai.provider.name": "lexigraph"})
                span.set({"lexigraph.retriever": type(self).__name__, "lexigraph.statements": len(found.statements)})
                span.set({"gen_ai.retrieval.query.text": asked.text} if telemetry.content() else {})
                telemetry.owned(span, owner)
        return found

    def _retrieved(self, owner: Tenant, asked: Question) -> R:
        trace = Trace()
        stores = BoundStores(self.graph_store, self.vector_store, owner, asked.filters, trace)
        found = self._find(stores, asked.text)
        if not found.results:
            stores.tell_of_filter()
        told = replace(
            found,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
            cosines=_of_found(found, trace.cosines),
            ranks=_of_found(found, trace.ranks),
            nearest=trace.nearest,
            embedding=self.vector_store.label,
        )
        done = self._finished(told, trace)
        trace.finish()
        return done

    def said_by(self, tenant: Tenant, source_id: str) -> list[StatementRow]:
        """Return the statements of a source's first 1,000 chunks, in two graph calls; empty for an unknown source."""
        chunks = self.graph_store.chunk_ids(tenant, source_id)
        first = sorted(chunks, key=lambda chunk: chunks[chunk].seq)[:_READ]
        request = EvidenceRequest(chunks=tuple(first), neighbours=False, facts=False)
        return self.graph_store.evidence(tenant, request) if first else []

    async def aretrieve(self, tenant: Tenant | str, question: Question | str | None = None) -> R:
        """Run :meth:`retrieve` in a thread."""
        return await asyncio.to_thread(self.retrieve, tenant, question)

    @abstractmethod
    def _find(self, stores: BoundStores, text: str) -> R:
        """Return what is found for a question; warnings, timings and calls are those of the trace."""

    def _finished(self, found: R, trace: Trace) -> R:  # noqa: ARG002  # is for those that take time
        """Return what is made of the results before they are given back."""
        return found


def _of_found(found: SearchResults, known: Mapping[str, T]) -> dict[str, T]:
    """Return what is known of the statements found and looked at, and of their chunks: limits hide none from a judgement."""
    every = chain(found.statements, (s for r in found.looked_at for s in r.statements))
    ids = dict.fromkeys(i for s in every for i in (s.chunk_id, s.id))
    return {i: known[i] for i in ids if i in known}


class RankedRetriever(StatementRetriever[SearchResults]):
    """Base class of retrievers that rank statements. ``embedder`` defaults to the one in the ``settings``.

    ``args`` are those in ``OWN`` and in :class:`~lexigraph.retrieval.stages.args.ResultArgs`. Raise ``InvalidInput`` for an
    unknown parameter or a value out of range.
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
        super().__init__(graph_store, vector_store, embedder, settings)
        self.parameters().check(args)
        self.shape = ResultArgs.of({name: value for name, value in args.items() if name not in self.OWN})
        self._configure({name: value for name, value in args.items() if name in self.OWN})

    @classmethod
    def parameters(cls) -> Known:
        """Return the parameters that can be set."""
        return Known((*cls.OWN, *names_of(ResultArgs)), {})

    def _find(self, stores: BoundStores, text: str) -> SearchResults:
        ranked, entities = self._rank(stores, text)
        looked_at, every = looking(ranked)
        results = assemble(every, self.shape, by_chunk(row for _, row in ranked))
        return SearchResults(text, results, entities=tuple(entities), looked_at=looked_at)

    def _configure(self, own: Mapping[str, Any]) -> None:  # most have none
        """Take those of the parameters in ``OWN`` that were given."""

    @abstractmethod
    def _rank(self, stores: BoundStores, text: str) -> tuple[Ranked, Sequence[str]]:
        """Return the statements for a question, and the names of the entities that led to them."""
