"""The searches that traversal-based retrieval is made of. Each is also a retriever of its own."""

from collections.abc import Iterable
from typing import Any, ClassVar

from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.stages.args import Known
from lexigraph.retrieval.stages.parts import Search, as_searches, known_parameters
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore

# likeness ranks whatever was found, by whichever search
_EVERYWHERE = ("bm25_weight", "chunk_weight")


class TraversalSearch(Search):
    """A way to find where to start. Give its type or an instance in ``retrievers`` of ``TraversalBasedRetriever``.

    Inside a composite an instance's own arguments replace those of the composite: the ``OWN`` ones, and ``weight``. Used
    alone, with stores, it takes every parameter of :class:`~lexigraph.retrieval.traversal.args.TraversalArgs` that has an
    effect on it, ``reranker`` by name or as a ``Reranker``.
    """

    WEIGHT: ClassVar[str]
    OWN: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.USES = tuple(name for name in (*cls.OWN, cls.WEIGHT) if name not in _EVERYWHERE)

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        weight: float | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter, one without effect, or a value out of range."""
        alone = {"graph_store": graph_store, "vector_store": vector_store}
        super().__init__(args, {**alone, "embedder": embedder, "llm": llm, "settings": settings})
        if weight is not None:
            if self.WEIGHT in args:
                raise InvalidInput(f"weight and {self.WEIGHT} say the same: give one of them")
            self.given[self.WEIGHT] = weight
        traversal_parameters([self]).check(self.given)
        TraversalArgs.of({n: reranker_name(value) if n == "reranker" else value for n, value in self.given.items()})

    @staticmethod
    def composite() -> Any:
        from lexigraph.retrieval.traversal.retriever import TraversalBasedRetriever

        return TraversalBasedRetriever

    def inside(self) -> tuple[str, ...]:
        """Return the ``OWN`` parameters and the one that ``weight`` is."""
        return (*self.OWN, self.WEIGHT)


class ChunkBasedSearch(TraversalSearch):
    """Top down: chunks like the question, their topics, statements and facts. Narrow; needs no keywords (G-16, G-38)."""

    NAME = "ChunkBasedSearch"
    WEIGHT = "chunk_weight"
    OWN = ("vss_top_k", "vss_diversity_factor", "bm25_weight")


class EntityBasedSearch(TraversalSearch):
    """Bottom up: keywords of the question, their entities, and the statements that name them. Broad (G-15)."""

    NAME = "EntityBasedSearch"
    WEIGHT = "entity_weight"
    OWN = ("max_keywords", "expand_entities", "max_statements_per_entity")


class TopicBeamSearch(TraversalSearch):
    """Topics like the question, by vector and by words, then a beam over the topics beside them; for long documents.

    Finds a section by what it is called though its text is unlike the question, all of it when it runs over several
    chunks, and where the text goes on in the next one.
    """

    NAME = "TopicBeamSearch"
    WEIGHT = "topic_weight"
    OWN = ("topic_top_k", "topic_beam_width", "topic_beam_max_depth", "topic_statements")


SEARCHES: dict[str, type[TraversalSearch]] = {s.NAME: s for s in (ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch)}
_COMPOSITE = (ChunkBasedSearch, EntityBasedSearch)


def traversal_searches(given: Any) -> list[TraversalSearch]:
    """Return the searches given, by chunks and entities for None. Raise ``InvalidInput`` for what is none."""
    return as_searches(given, SEARCHES, _COMPOSITE)


def traversal_parameters(searches: Iterable[TraversalSearch]) -> Known:
    """Return the parameters that have an effect where these searches take part."""
    return known_parameters(TraversalArgs, SEARCHES.values(), map(type, searches))
