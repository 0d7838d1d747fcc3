"""The searches that traversal-based retrieval is made of. Each is also a retriever of its own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.stages.composite import Search
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.retrieval.traversal.args import TraversalArgs

# likeness ranks whatever was found, by whichever search
_EVERYWHERE = ("bm25_weight", "chunk_weight")


class TraversalSearch(Search):
    """A way to find where to start. Give its type or an instance in ``retrievers`` of ``TraversalBasedRetriever``.

    Inside a composite an instance's own arguments replace those of the composite: the ``OWN`` ones, and ``weight``, which is
    short for ``WEIGHT``. Used alone, with stores, it takes every parameter of
    :class:`~lexigraph.retrieval.traversal.args.TraversalArgs` that has an effect on it, ``reranker`` by name or as a
    ``Reranker``.
    """

    WEIGHT: ClassVar[str]
    OWN: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.USES = tuple(name for name in (*cls.OWN, cls.WEIGHT) if name not in _EVERYWHERE)

    def _checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in args.items() if name != "weight"}
        if args.get("weight") is not None:
            if self.WEIGHT in given:
                raise InvalidInput(f"weight and {self.WEIGHT} say the same: give one of them")
            given[self.WEIGHT] = args["weight"]
        self.COMPOSITE.known([type(self)]).check(given)
        TraversalArgs.of({n: reranker_name(value) if n == "reranker" else value for n, value in given.items()})
        return given

    def inside(self) -> tuple[str, ...]:
        """Return the ``OWN`` parameters and the one that ``weight`` is."""
        return (*self.OWN, self.WEIGHT)


class ChunkBasedSearch(TraversalSearch):
    """Top down: chunks like the question, their topics, statements and facts. Narrow; needs no keywords (G-16, G-38)."""

    WEIGHT = "chunk_weight"
    OWN = ("vss_top_k", "vss_diversity_factor", "bm25_weight")


class EntityBasedSearch(TraversalSearch):
    """Bottom up: keywords of the question, their entities, and the statements that name them. Broad (G-15)."""

    WEIGHT = "entity_weight"
    OWN = ("max_keywords", "expand_entities", "max_statements_per_entity")


class TopicBeamSearch(TraversalSearch):
    """Topics like the question, by vector and by words, then a beam over the topics beside them; for long documents.

    Finds a section by what it is called though its text is unlike the question, all of it when it runs over several
    chunks, and where the text goes on in the next one.
    """

    WEIGHT = "topic_weight"
    OWN = ("topic_top_k", "topic_beam_width", "topic_beam_max_depth", "topic_statements")


SEARCHES = {s.__name__: s for s in (ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch)}
