"""The searches that semantic-guided retrieval is made of. Each is also a retriever of its own."""

import asyncio
from typing import Any, ClassVar

from lexigraph.inference.protocols import Reranker
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.args import check_names
from lexigraph.retrieval.semantic_args import SemanticArgs
from lexigraph.storage.protocols import GraphStore, VectorStore


class SemanticSearch:
    """A part of semantic-guided search. Give its type, an instance or its name in ``retrievers``.

    An instance's own parameters replace those of the retriever around it. With stores it can be used alone, with the
    ``embedder``, ``llm`` and ``settings`` of ``SemanticGuidedRetriever``.
    """

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[dict[str, str]]  # own name: name in SemanticArgs

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        embedder: Any = None,
        llm: Any = None,
        settings: Any = None,
        **parameters: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter or a value out of range."""
        check_names(parameters, list(self.PARAMETERS))
        self.given = {self.PARAMETERS[name]: value for name, value in parameters.items()}
        SemanticArgs.of(self.given)
        self._stores = (graph_store, vector_store)
        self._models = {"embedder": embedder, "llm": llm, "settings": settings}

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return ranked statements found by this search alone. Raise ``InvalidInput`` when it was made without stores."""
        from lexigraph.retrieval.retrievers.semantic_guided import SemanticGuidedRetriever

        graph, vector = self._stores
        if graph is None or vector is None:
            raise InvalidInput(f"{self.NAME} was made without stores: give graph_store and vector_store to use it alone")
        return SemanticGuidedRetriever(graph, vector, retrievers=[self], **self._models).retrieve(tenant, question)

    async def aretrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        """Return the same without blocking the event loop."""
        return await asyncio.to_thread(self.retrieve, tenant, question)


class StatementCosineSimilaritySearch(SemanticSearch):
    """The ``top_k`` (50) statements nearest to the question by vector."""

    NAME = "StatementCosineSimilaritySearch"
    PARAMETERS: ClassVar = {"top_k": "cosine_top_k"}


class KeywordRankingSearch(SemanticSearch):
    """The ``top_k`` (50) statements that hold the question's rarest words, and as many that name its entities: those of up
    to ``max_keywords`` (10) keywords, from the language model or from the question itself. Naming more of them counts more.
    """

    NAME = "KeywordRankingSearch"
    PARAMETERS: ClassVar = {"max_keywords": "max_keywords", "top_k": "keyword_top_k"}


class SemanticBeamGraphSearch(SemanticSearch):
    """From what the other searches found (alone: from the nearest statements) along links, best first, ``max_depth`` hops,
    adding ``beam_width`` chunks at most. What was found before does not count, so that the beam can always add.
    """

    NAME = "SemanticBeamGraphSearch"
    PARAMETERS: ClassVar = {"max_depth": "max_depth", "beam_width": "beam_width"}


class RerankingBeamGraphSearch(SemanticBeamGraphSearch):
    """The same beam, guided by a reranker instead of cosine and BM25: the ``beam_width`` chunks most like the question are
    scored at every depth. ``reranker`` is a name (``model``, a cross-encoder, by default) or a ``Reranker``.
    """

    NAME = "RerankingBeamGraphSearch"

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        reranker: str | Reranker = "model",
        **parameters: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter or a value out of range."""
        super().__init__(graph_store, vector_store, **parameters)
        self.reranker = reranker


SEMANTIC_SEARCHES: dict[str, type[SemanticSearch]] = {
    s.NAME: s
    for s in (StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch, RerankingBeamGraphSearch)
}
_COMPOSITE = (StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch)


def as_semantic_searches(given: Any) -> list[SemanticSearch]:
    """Return instances for the types, instances or names in ``given``; cosine, keywords and beam for None.

    Raise ``InvalidInput`` for anything else, an empty list, one search given twice, or two beams.
    """
    wanted = list(_COMPOSITE) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    searches: list[SemanticSearch] = []
    for one in wanted:
        known = SEMANTIC_SEARCHES.get(one) if isinstance(one, str) else one
        search = known() if isinstance(known, type) and issubclass(known, SemanticSearch) else known
        if not isinstance(search, SemanticSearch):
            raise InvalidInput(f"retrievers: {one!r} is no search; use types or instances of {', '.join(SEMANTIC_SEARCHES)}")
        searches.append(search)
    kinds = {"beam" if isinstance(s, SemanticBeamGraphSearch) else s.NAME for s in searches}
    if len(kinds) != len(searches) or not searches:
        raise InvalidInput(f"retrievers: give each search and one beam once, of {', '.join(SEMANTIC_SEARCHES)}")
    return searches
