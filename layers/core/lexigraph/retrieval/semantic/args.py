"""Parameters of semantic-guided search: one frozen dataclass, checked in one place."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from lexigraph.retrieval.traversal.args import Needs, TraversalArgs, check_names, check_number

_TRAVERSAL = TraversalArgs()  # what both kinds of search know has one default
_LINKS = ("link_seeds", "max_links_per_entity", "max_link_df")


@dataclass(frozen=True, slots=True)
class SemanticArgs:
    """Parameters of ``SemanticGuidedRetriever``.

    What belongs to one search can be given only where that search takes part: ``entity_weight`` with the keywords,
    ``link_seeds`` and all of links with the beam. What ``NEEDS`` names can be given only where that is on.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_search_results`` | results at most, each the statements of one topic of one source. None: all | 20 |
    | ``max_statements_per_topic`` | statements in one result at most. None: all that were found | 10 |
    | ``include_facts`` | put the facts that support a statement into the result, and so into the LLM's context | False |
    | ``cosine_top_k`` | StatementCosineSimilaritySearch: statements to start from, by vector | 50 |
    | ``max_keywords`` | KeywordRankingSearch: keywords looked up at most, synonyms and abbreviations included, and \
entities followed | 10 |
    | ``keyword_top_k`` | KeywordRankingSearch: statements to start from, by the words of the question and by its entities \
| 50 |
    | ``max_depth`` | the beam: hops from where the other searches started | 2 |
    | ``beam_width`` | the beam: chunks that it adds at most to what the other searches found | 100 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | statements in all results together at most; only with a reranker. None: all | 100 |
    | ``entity_weight`` | how much a chunk counts for naming the entities of the question | 0.1 |
    | ``bm25_weight`` | BM25's share of likeness, the rest is cosine; chat logs may want more | 0.3 |
    | ``link_seeds`` | chunks that the beam expands first; at each further depth half as many | 5 |
    | ``max_links_per_entity`` | chunks reached through one entity at each depth at most | 10 |
    | ``max_link_df`` | chunks that share an entity are linked when at most so many sources name it | 15 |
    | ``diversity`` | what repeats the words already found is worth less by up to this share, 0 to 0.9 | 0.3 |
    """

    max_search_results: int | None = _TRAVERSAL.max_search_results
    max_statements_per_topic: int | None = _TRAVERSAL.max_statements_per_topic
    include_facts: bool = _TRAVERSAL.include_facts
    cosine_top_k: int = 50
    max_keywords: int = _TRAVERSAL.max_keywords
    keyword_top_k: int = 50
    max_depth: int = 2
    beam_width: int = 100
    reranker: str | None = _TRAVERSAL.reranker
    max_statements: int | None = _TRAVERSAL.max_statements
    entity_weight: float = _TRAVERSAL.entity_weight
    bm25_weight: float = _TRAVERSAL.bm25_weight
    link_seeds: int = _TRAVERSAL.link_seeds
    max_links_per_entity: int = 10
    max_link_df: int = _TRAVERSAL.max_link_df
    diversity: float = _TRAVERSAL.diversity

    NEEDS: ClassVar[Needs] = (
        (("beam_width", *_LINKS), {"max_depth": (0,)}),
        (("max_depth", *_LINKS), {"beam_width": (0,)}),
    )

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            check_number(name, getattr(self, name), low, high, False)
        _ = self.ranking

    @property
    def ranking(self) -> TraversalArgs:
        """The parameters that ranking and results share with traversal-based search. Checks them."""
        return TraversalArgs(**{name: getattr(self, name) for name in _SHARED})

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the parameters with these given. Raise ``InvalidInput`` for an unknown name or a value out of range."""
        return cls().changed(given)

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return these parameters with some given otherwise. Raises like :meth:`of`."""
        check_names(given, [f.name for f in fields(self)])
        return replace(self, **given)


# name: least, most
_LIMITS: dict[str, tuple[int, int]] = {
    "cosine_top_k": (1, 1_000),
    "keyword_top_k": (1, 1_000),
    "max_depth": (0, 8),
    "beam_width": (0, 1_000),
}
_SHARED = tuple({f.name for f in fields(SemanticArgs)} & {f.name for f in fields(TraversalArgs)})
