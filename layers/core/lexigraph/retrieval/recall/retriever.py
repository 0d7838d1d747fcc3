"""Recall: retrieval within a session (M), with four search strategies, three signals and the surroundings of the best."""

import asyncio
import time
from collections.abc import Callable

from lexigraph.inference.protocols import Embedder
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.recall.args import RecallArgs, recall_query
from lexigraph.retrieval.recall.candidates import gather
from lexigraph.retrieval.recall.context import as_results, expand, rank, tiers
from lexigraph.retrieval.recall.results import RecallResults
from lexigraph.retrieval.recall.sessions import (
    DEFAULT,
    IDLE,
    KEEP,
    PURE_RELEVANCE,
    PhaseWeights,
    hot_nodes,
    need_of,
    phase_of,
    session_key,
    session_scores,
)
from lexigraph.retrieval.recall.strategies import agreement, general
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, Registry, VectorStore

EDGES_PER_NODE = 10  # M-16


class RecallRetriever:
    """Finds entities, statements and topics for a query, and prefers those close to the session so far.

    At most 4 vector, 3 graph and 2 registry calls per query. ``weights`` are those of the three signals by phase of the
    session; ``clock`` returns seconds since the epoch. The results report strategies that failed.
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
        tenant: Tenant | str,
        question: Question | str | None = None,
        *,
        session_id: str = DEFAULT,
        max_results: int = 10,
        force_regex: bool = False,
        caller: str = "",
    ) -> RecallResults:
        """Return ranked nodes with context and edges, and record them as seen in the session.

        ``retrieve("Tidewater")`` uses the tenant of the settings. The default session is private to the ``caller`` (an API
        key, for instance), or to this process if no caller is given.

        Raise ``InvalidInput`` for a parameter out of range or an invalid regular expression, ``StoreUnavailable`` if a
        store fails.
        """
        args = RecallArgs(session_id, max_results, force_regex)
        kept = session_key(session_id, caller)
        tenant, question = self.models.asked(tenant, question)
        text = recall_query(question.text, force_regex=force_regex)
        now = self.clock()
        trace = Trace(calls={"vector": 0, "graph": 0, "registry": 0})
        stores = BoundStores(self.graph_store, self.vector_store, tenant, question.filters, trace)
        with trace.step("session", "registry"):
            session = self.registry.session(tenant, kept, since=now - KEEP, awake_since=now - IDLE)
        recency = session_scores(session, now)
        hot, phase = hot_nodes(recency), phase_of(session.recalls)

        found = gather(stores, self.models, text, force_regex=args.force_regex, near=hot)
        relevance, agreed = general(found.scores.values()), agreement(found.scores.values())
        weights = self.weights.at(phase, need_of(hot, max(relevance.values(), default=0.0)))
        best = rank(found.near(hot), relevance, agreed, recency, weights, args.max_results)
        around = stores.surroundings("edges", [node.id for node, _, _ in best], EDGES_PER_NODE)
        nodes = as_results(best, around, found.scores)
        if not nodes:
            stores.tell_of_filter()
        context, edges = expand(best, around)

        # a node that is here only since the session lifted it would keep itself warm
        unaided = rank(found.nodes, relevance, agreed, {}, PURE_RELEVANCE, args.max_results)
        earned = {node.id for node, _, _ in unaided}
        seen = [node.key for node in nodes if node.key in earned]
        try:
            with trace.step("touch", "registry"):
                self.registry.touch(tenant, kept, seen, now, keep_seconds=KEEP, idle_seconds=IDLE)
        except StoreUnavailable:
            trace.warn("session_not_kept", "the session cannot be saved: the next recall will not know these results")
        trace.finish()
        return RecallResults(
            query=text,
            nodes=nodes,
            context=context,
            edges=edges,
            phase=phase,
            weights=weights,
            tiers=tiers(nodes, context),
            strategies=found.reports(),
            session_id=args.session_id,
            recalls=session.recalls,
            hot=hot,
            warnings=tuple(trace.warnings),
            timings=trace.timings,
            calls=trace.calls,
        )

    async def aretrieve(self, tenant: Tenant, question: Question, **args: object) -> RecallResults:
        """Run :meth:`retrieve` in a thread."""
        return await asyncio.to_thread(self.retrieve, tenant, question, **args)  # type: ignore[arg-type]  # checked there
