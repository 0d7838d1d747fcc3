"""Recall: a memory asked within a session (M). Four strategies at once, three signals, and what lies around the best."""

import asyncio
import time
from collections.abc import Callable

from lexigraph.inference.protocols import Embedder
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.recall.args import RecallArgs, recall_query
from lexigraph.retrieval.recall.candidates import gather
from lexigraph.retrieval.recall.context import as_results, expand, rank, tiers
from lexigraph.retrieval.recall.results import RecallResults
from lexigraph.retrieval.recall.sessions import KEEP, PhaseWeights, hot_nodes, phase_of, session_scores
from lexigraph.retrieval.recall.strategies import fuse
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, Registry, VectorStore

EDGES_PER_NODE = 10  # M-16


class RecallRetriever:
    """Finds entities, statements and topics for a query, those near to what the session was about before others.

    At most four calls to the vector store, three to the graph and two to the registry. ``weights`` of the three signals by
    phase of the session; ``clock`` gives seconds since the epoch. A strategy that fails is told in the results.
    """

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        registry: Registry,
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
        weights: PhaseWeights | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.graph_store, self.vector_store, self.registry = graph_store, vector_store, registry
        self.models = Models(embedder, settings)
        self.weights = weights or PhaseWeights()
        self.clock = clock

    def retrieve(
        self,
        tenant: Tenant,
        question: Question,
        *,
        session_id: str = "default",
        max_results: int = 10,
        force_regex: bool = False,
    ) -> RecallResults:
        """Return ranked nodes with context and edges, and note them as seen in the session.

        Raise ``InvalidInput`` for a parameter out of range or a forced pattern that is none, ``StoreUnavailable`` when a
        store is lost.
        """
        args = RecallArgs(session_id, max_results, force_regex)
        text = recall_query(question.text, force_regex=force_regex)
        now = self.clock()
        trace = Trace(calls={"vector": 0, "graph": 0, "registry": 0})
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        with trace.step("session", "registry"):
            session = self.registry.session(tenant, args.session_id, since=now - KEEP)
        recency = session_scores(session, now)
        hot, phase = hot_nodes(recency), phase_of(session.recalls)
        weights = self.weights.at(phase, hot)

        candidates = gather(stores, self.models, text, force_regex=args.force_regex)
        live = stores.nodes("nodes", candidates.ids, hot)
        found = candidates.found(live)
        best = rank(live, fuse(found.values()), recency, weights, args.max_results)
        around = stores.surroundings("edges", [node.id for node, _, _ in best], EDGES_PER_NODE)
        nodes = as_results(best, around, found)
        context, edges = expand(best, around)

        with trace.step("touch", "registry"):
            self.registry.touch(tenant, args.session_id, [node.key for node in nodes], now, keep_seconds=KEEP)
        trace.finish()
        return RecallResults(
            query=text,
            nodes=nodes,
            context=context,
            edges=edges,
            phase=phase,
            weights=weights,
            tiers=tiers(nodes, context),
            strategies=candidates.reports(found),
            session_id=args.session_id,
            recalls=session.recalls,
            hot=hot,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    async def aretrieve(self, tenant: Tenant, question: Question, **args: object) -> RecallResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question, **args)  # type: ignore[arg-type]  # checked there
