"""The searches of traversal-based retrieval. Each can also be used as a retriever."""

from collections.abc import Mapping
from typing import Any, ClassVar

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.stages.composite import Search
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.traversal.args import TraversalArgs

# likeness ranks whatever was found, by whichever search
_EVERYWHERE = ("bm25_weight", "chunk_weight")


class TraversalSearch(Search):
    """Base class of searches. Pass the type or an instance in ``retrievers`` of ``TraversalBasedRetriever``.

    In a composite, the arguments of an instance override those of the composite: those in ``OWN``, and ``weight``, which is
    short for ``WEIGHT``. Used alone, with stores, a search accepts every parameter of
    :class:`~lexigraph.retrieval.traversal.args.TraversalArgs` that affects it; ``reranker`` is a name or a ``Reranker``.
    """

    WEIGHT: ClassVar[str]
    OWN: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.USES = tuple(name for name in (*cls.OWN, cls.WEIGHT) if name not in _EVERYWHERE)

    def _checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in args.items() if name != "weight"}
        if args.get("weight") is not None:
            if self.WEIGHT in given:
                raise InvalidInput(f"weight and {self.WEIGHT} are the same parameter: pass only one")
            given[self.WEIGHT] = args["weight"]
        self.COMPOSITE.known([type(self)]).check(given)
        TraversalArgs.of({n: reranker_name(value) if n == "reranker" else value for n, value in given.items()})
        return given

    def inside(self) -> tuple[str, ...]:
        """Return the names in ``OWN`` and the one that ``weight`` is short for."""
        return (*self.OWN, self.WEIGHT)


class ChunkBasedSearch(TraversalSearch):
    """Top-down search: chunks similar to the question, then their topics, statements and facts (G-16, G-38)."""

    WEIGHT = "chunk_weight"
    OWN = ("vss_top_k", "vss_diversity_factor", "bm25_weight")


class EntityBasedSearch(TraversalSearch):
    """Bottom-up search: keywords of the question, then matching entities and the statements that name them (G-15)."""

    WEIGHT = "entity_weight"
    OWN = ("max_keywords", "expand_entities", "max_statements_per_entity")


class TopicBeamSearch(TraversalSearch):
    """Topics similar to the question, by vector and BM25, then a beam search over adjacent topics; for long documents.

    Finds a section by its title even if its text is not similar to the question, and follows it across chunks.
    """

    WEIGHT = "topic_weight"
    OWN = ("topic_top_k", "topic_beam_width", "topic_beam_max_depth", "topic_statements")


SEARCHES = {s.__name__: s for s in (ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch)}
