"""Semantic-guided retrieval (G-07): find statements by vector and keyword, beam search along links, rank statements."""

from collections.abc import Iterable

from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.semantic.beam import Beam
from lexigraph.retrieval.semantic.searches import (
    SEMANTIC_SEARCHES,
    KeywordRankingSearch,
    RerankingBeamGraphSearch,
    SemanticBeamGraphSearch,
    StatementCosineSimilaritySearch,
)
from lexigraph.retrieval.semantic.statement_anchors import find_statements
from lexigraph.retrieval.stages.anchors import Goal, Inquiry
from lexigraph.retrieval.stages.args import Known
from lexigraph.retrieval.stages.composite import Composite, Search
from lexigraph.retrieval.stages.keywords import keywords
from lexigraph.retrieval.stages.trace import BoundStores


class SemanticGuidedRetriever(Composite[SemanticArgs]):
    """Searches the statement index, then the graph by beam search; at most 3 vector and 3 graph calls per question.

    ``retrievers`` are its searches: types, instances or names of ``StatementCosineSimilaritySearch``,
    ``KeywordRankingSearch`` and a beam, ``SemanticBeamGraphSearch`` (default: these three) or ``RerankingBeamGraphSearch``.
    ``args`` are those of :class:`~lexigraph.retrieval.semantic.args.SemanticArgs`; the other parameters are those of every
    :class:`~lexigraph.retrieval.stages.composite.Composite`.

    Examples:
        >>> diverse = [StatementDiversityPostProcessor()]
        >>> retriever = SemanticGuidedRetriever(graph_store, vector_store, post_processors=diverse)
        >>> retriever.retrieve(Tenant("default"), Question.of("Which query languages does Neptune support?"))
    """

    SEARCHES = SEMANTIC_SEARCHES
    DEFAULT = (StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch)
    ARGS = SemanticArgs

    @classmethod
    def known(cls, used: Iterable[type[Search]]) -> Known:
        """Return the parameters that have an effect; without a keyword search, a beam starts from the nearest statements."""
        kinds = list(used)
        if not any(issubclass(kind, KeywordRankingSearch) for kind in kinds):
            kinds.append(StatementCosineSimilaritySearch)
        return super().known(kinds)

    def _expand(self, stores: BoundStores, text: str) -> tuple[Inquiry, Beam]:
        args, by_keyword = self.args, self._has(KeywordRankingSearch)
        words = keywords(self.llm, text, args.max_keywords, stores.trace) if by_keyword else ()
        inquiry = Inquiry((Goal(text, self.models.vectors([text], stores.trace)[0]),), words)
        by_cosine = self._has(StatementCosineSimilaritySearch) or not by_keyword
        anchors = find_statements(stores, inquiry, args, cosine=by_cosine, keywords=by_keyword)
        judges = [s.reranker for s in self.searches if isinstance(s, RerankingBeamGraphSearch)]
        judge = self.models.reranker(judges[0]) if judges else None
        beam = Beam(stores, text, anchors, args, self.weights, judge)
        beam.start()
        beam.run(self._has(SemanticBeamGraphSearch))
        return inquiry, beam

    def _always(self) -> set[str]:
        # a beam's reranker scores as many chunks when there is no hop
        return {"beam_width"} if self._has(RerankingBeamGraphSearch) else set()
