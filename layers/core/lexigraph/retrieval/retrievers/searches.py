"""The searches that traversal-based retrieval is made of. Each is also a retriever of its own."""

import asyncio
from dataclasses import fields
from typing import Any, ClassVar

from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.args import TraversalArgs, check_names
from lexigraph.settings import Settings
from lexigraph.storage.protocols import GraphStore, VectorStore


class TraversalSearch:
    """A way to find where to start. Give its type or an instance in ``retrievers`` of ``TraversalBasedRetriever``.

    Inside a composite an instance's own arguments replace those of the composite for this search: the ``OWN`` ones, and
    ``weight``. Used alone, with stores, it takes every parameter of :class:`~lexigraph.retrieval.args.TraversalArgs`.
    """

    NAME: ClassVar[str]
    WEIGHT: ClassVar[str]
    OWN: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        weight: float | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        reranker: str | Reranker | None = "tfidf",
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter or a value out of range."""
        self.given = dict(args) if weight is None else {**args, self.WEIGHT: weight}
        check_names(self.given, [f.name for f in fields(TraversalArgs)])
        TraversalArgs.of(self.given)
        self._stores = (graph_store, vector_store)
        self._models: dict[str, Any] = {"embedder": embedder, "llm": llm, "reranker": reranker, "settings": settings}

    def check_inside(self) -> None:
        """Raise ``InvalidInput`` for a parameter that would have no effect inside a composite."""
        for name in self.given:
            if name not in (*self.OWN, self.WEIGHT):
                raise InvalidInput(
                    f"{self.NAME}: {name} belongs to the retriever around it; inside one, {', '.join(self.OWN)} and weight "
                    "can be given"
                )

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements found by this search alone. Raise ``InvalidInput`` when it was made without stores."""
        from lexigraph.retrieval.retrievers.traversal import TraversalBasedRetriever

        graph, vector = self._stores
        if graph is None or vector is None:
            raise InvalidInput(f"{self.NAME} was made without stores: give graph_store and vector_store to use it alone")
        alone = TraversalBasedRetriever(graph, vector, retrievers=[type(self)], **self._models, **self.given)
        return alone.retrieve(tenant, question)

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)


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


def as_searches(given: Any) -> list[TraversalSearch]:
    """Return instances for the types, instances or names in ``given``, by chunks and entities for None (G-14, G-18).

    Raise ``InvalidInput`` for anything else, an empty list, or one search given twice.
    """
    wanted = list(_COMPOSITE) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    searches: list[TraversalSearch] = []
    for one in wanted:
        known = SEARCHES.get(one) if isinstance(one, str) else one
        search = known() if isinstance(known, type) and issubclass(known, TraversalSearch) else known
        if not isinstance(search, TraversalSearch):
            raise InvalidInput(f"retrievers: {one!r} is no search; use types or instances of {', '.join(SEARCHES)}")
        search.check_inside()
        searches.append(search)
    if len({s.NAME for s in searches}) != len(searches) or not searches:
        raise InvalidInput(f"retrievers: give each search once, and at least one of {', '.join(SEARCHES)}")
    return searches
