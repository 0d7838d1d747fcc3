"""The searches that semantic-guided retrieval is made of. Each is also a retriever of its own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from lexigraph.inference.protocols import Reranker
from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.stages.args import check_names
from lexigraph.retrieval.stages.composite import Search
from lexigraph.retrieval.stages.reranking import reranker_name
from lexigraph.storage.protocols import GraphStore, VectorStore


class SemanticSearch(Search):
    """A part of semantic-guided search. Give its type, an instance or its name in ``retrievers``.

    An instance's own parameters replace those of the retriever around it.
    """

    PARAMETERS: ClassVar[dict[str, str]]  # own name: name in SemanticArgs

    def _checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        check_names(args, list(self.PARAMETERS))
        given = {self.PARAMETERS[name]: value for name, value in args.items()}
        SemanticArgs.of(given)
        return given


class StatementCosineSimilaritySearch(SemanticSearch):
    """The ``top_k`` (50) statements nearest to the question by vector."""

    PARAMETERS: ClassVar = {"top_k": "cosine_top_k"}
    USES = ("cosine_top_k",)


class KeywordRankingSearch(SemanticSearch):
    """The ``top_k`` (50) statements that hold the question's rarest words, and as many that name its entities: those of up
    to ``max_keywords`` (10) keywords, from the language model or from the question itself. Naming more of them counts more.
    """

    PARAMETERS: ClassVar = {"max_keywords": "max_keywords", "top_k": "keyword_top_k"}
    USES = ("max_keywords", "keyword_top_k", "entity_weight")


class SemanticBeamGraphSearch(SemanticSearch):
    """From what the other searches found (alone: from the nearest statements) along links, best first, ``max_depth`` hops,
    adding ``beam_width`` chunks at most. What was found before does not count, so that the beam can always add.
    """

    PARAMETERS: ClassVar = {"max_depth": "max_depth", "beam_width": "beam_width"}
    USES = ("max_depth", "beam_width", "link_seeds", "max_links_per_entity", "max_link_df")


class RerankingBeamGraphSearch(SemanticBeamGraphSearch):
    """The same beam, guided by a reranker instead of cosine and BM25: the ``beam_width`` chunks most like the question are
    scored at every depth. ``reranker`` is a name (``model``, a cross-encoder, by default) or a ``Reranker``.
    """

    def __init__(
        self,
        graph_store: GraphStore | None = None,
        vector_store: VectorStore | None = None,
        *,
        reranker: str | Reranker = "model",
        **parameters: Any,
    ) -> None:
        """Raise ``InvalidInput`` for an unknown parameter, a value out of range, or no reranker."""
        super().__init__(graph_store, vector_store, **parameters)
        SemanticArgs.of({"reranker": reranker_name(reranker)})
        if reranker in (None, "none"):
            raise InvalidInput(f"{type(self).__name__} goes by a reranker: give one, or use SemanticBeamGraphSearch")
        self.reranker = reranker


SEMANTIC_SEARCHES: dict[str, type[SemanticSearch]] = {
    s.__name__: s
    for s in (StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch, RerankingBeamGraphSearch)
}
