"""Traversal-based retrieval (G-06): start from chunks and entities, follow links between documents, rank statements."""

from lexigraph import telemetry
from lexigraph.retrieval.stages.anchors import POOL, Goal, Inquiry, find_anchors
from lexigraph.retrieval.stages.composite import Composite
from lexigraph.retrieval.stages.keywords import keywords, subqueries
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.retrieval.traversal.expansion import TraversalExpansion
from lexigraph.retrieval.traversal.searches import SEARCHES, ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch


class TraversalBasedRetriever(Composite[TraversalArgs]):
    """Searches for starting points, then traverses the graph from them; at most 3 vector and 4 graph calls per question.

    ``retrievers`` are the searches to start from: types, instances or names of ``ChunkBasedSearch`` and
    ``EntityBasedSearch`` (default: both), and ``TopicBeamSearch``. ``args`` are those of
    :class:`~lexigraph.retrieval.traversal.args.TraversalArgs`; the other parameters are those of every
    :class:`~lexigraph.retrieval.stages.composite.Composite`.

    Examples:
        >>> retriever = TraversalBasedRetriever(graph_store, vector_store, max_search_results=10)
        >>> retriever.retrieve(Tenant("default"), Question.of("Which query languages does Neptune support?"))
    """

    SEARCHES = SEARCHES
    DEFAULT = (ChunkBasedSearch, EntityBasedSearch)
    ARGS = TraversalArgs

    def _expand(self, stores: BoundStores, text: str) -> tuple[Inquiry, TraversalExpansion]:
        args = self.args
        by_chunk, by_entity = self._has(ChunkBasedSearch), self._has(EntityBasedSearch)
        inquiry = self._inquire(text, by_entity, stores.trace)
        with telemetry.span("find_anchors"):
            anchors = find_anchors(
                stores,
                inquiry,
                pool=max(POOL, args.start_chunks * (args.vss_diversity_factor or 1)) if by_chunk else 0,
                max_entities=args.max_keywords if by_entity else 0,
                expand_entities=args.expand_entities,
                topics=max(POOL, args.topic_top_k) if self._has(TopicBeamSearch) else 0,
            )
        expansion = TraversalExpansion(stores, text, anchors, args, self.weights)
        with telemetry.span("expansion"):
            expansion.run()
        return inquiry, expansion

    def _inquire(self, text: str, by_entity: bool, trace: Trace) -> Inquiry:
        args = self.args
        parts = subqueries(self.llm, text, args.max_subqueries, trace) if args.derive_subqueries else ()
        words = keywords(self.llm, text, args.max_keywords, trace) if by_entity else ()
        weights = [1.0, *(self.weights.subquery for _ in parts)]
        vectors = self.models.vectors([text, *parts], trace)
        goals = (Goal(t, v, w) for t, v, w in zip([text, *parts], vectors, weights, strict=True))
        return Inquiry(tuple(goals), words)
