"""The searches of semantic-guided retrieval. Each can also be used as a retriever."""

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
    """Base class of searches. Pass the type, an instance or the name in ``retrievers`` of ``SemanticGuidedRetriever``.

    The arguments of an instance override those of the retriever.
    """

    PARAMETERS: ClassVar[dict[str, str]]  # own name: name in SemanticArgs

    def _checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        check_names(args, list(self.PARAMETERS))
        given = {self.PARAMETERS[name]: value for name, value in args.items()}
        SemanticArgs.of(given)
        return given


class StatementCosineSimilaritySearch(SemanticSearch):
    """The ``top_k`` (50) statements with the highest cosine similarity to the question."""

    PARAMETERS: ClassVar = {"top_k": "cosine_top_k"}
    USES = ("cosine_top_k",)


class KeywordRankingSearch(SemanticSearch):
    """The ``top_k`` (50) statements with the rarest words of the question, and as many that name the most of its entities.

    Entities come from up to ``max_keywords`` (10) keywords, extracted by the language model or from the question itself.
    """

    PARAMETERS: ClassVar = {"max_keywords": "max_keywords", "top_k": "keyword_top_k"}
    USES = ("max_keywords", "keyword_top_k", "entity_weight")


class SemanticBeamGraphSearch(SemanticSearch):
    """Beam search along links from the statements of the other searches, or from the nearest statements if used alone.

    Goes ``max_depth`` hops, best first, and adds at most ``beam_width`` chunks, not counting those found before.
    """

    PARAMETERS: ClassVar = {"max_depth": "max_depth", "beam_width": "beam_width"}
    USES = ("max_depth", "beam_width", "link_seeds", "max_links_per_entity", "max_link_df")


class RerankingBeamGraphSearch(SemanticBeamGraphSearch):
    """The same beam search, guided by a reranker: it scores the ``beam_width`` most similar chunks at every depth.

    ``reranker`` is a name (default ``model``, a cross-encoder) or a ``Reranker``.
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
            raise InvalidInput(f"{type(self).__name__} needs a reranker: pass one, or use SemanticBeamGraphSearch")
        self.reranker = reranker


SEMANTIC_SEARCHES: dict[str, type[SemanticSearch]] = {
    s.__name__: s
    for s in (StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch, RerankingBeamGraphSearch)
}
