"""Parameters of semantic-guided search."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lexigraph.retrieval.stages.args import Needs, Range, RankingArgs, RerankerName, Share, Weight

_LINKS = ("link_seeds", "max_links_per_entity", "max_link_df")


@dataclass(frozen=True, slots=True)
class SemanticArgs(RankingArgs):
    """Parameters of ``SemanticGuidedRetriever``.

    What belongs to one search can be given only where that search takes part: ``entity_weight`` with the keywords,
    ``link_seeds`` and all of links with the beam. What ``NEEDS`` names can be given only where that is on.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_context_tokens`` | words and punctuation marks in all statements together, the best first; the best statement \
comes whole. None: all | 2000 |
    | ``max_search_results`` | results at most, each the statements of one topic of one source. None: all | None |
    | ``max_statements_per_topic`` | statements in one result at most. None: all that were found | None |
    | ``include_facts`` | put the facts that support a statement into the result, and so into the LLM's context | False |
    | ``cosine_top_k`` | StatementCosineSimilaritySearch: statements to start from, by vector | 50 |
    | ``max_keywords`` | KeywordRankingSearch: keywords looked up at most, synonyms and abbreviations included, and \
entities followed | 10 |
    | ``keyword_top_k`` | KeywordRankingSearch: statements to start from, by the words of the question and by its entities \
| 50 |
    | ``max_depth`` | the beam: hops from where the other searches started | 2 |
    | ``beam_width`` | the beam: chunks that it adds at most to what the other searches found | 100 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | statements in all results together at most; only with a reranker. None: all | None |
    | ``entity_weight`` | how much a chunk counts for naming the entities of the question | 0.1 |
    | ``bm25_weight`` | BM25's share of likeness, the rest is cosine; chat logs may want more | 0.3 |
    | ``link_seeds`` | chunks that the beam expands first; at each further depth half as many | 5 |
    | ``max_links_per_entity`` | chunks reached through one entity at each depth at most | 10 |
    | ``max_link_df`` | chunks that share an entity are linked when at most so many sources name it | 15 |
    | ``diversity`` | what repeats what was said already loses about this share of its worth, 0 to 0.9 | 0.3 |
    """

    cosine_top_k: Annotated[int, Range(1, 1_000)] = 50
    max_keywords: Annotated[int, Range(1, 50)] = 10
    keyword_top_k: Annotated[int, Range(1, 1_000)] = 50
    max_depth: Annotated[int, Range(0, 8)] = 2
    beam_width: Annotated[int, Range(0, 1_000)] = 100
    reranker: RerankerName = RankingArgs.reranker
    max_statements: Annotated[int | None, Range(1, 10_000)] = RankingArgs.max_statements
    entity_weight: Weight = RankingArgs.entity_weight
    bm25_weight: Share = RankingArgs.bm25_weight
    link_seeds: Annotated[int, Range(1, 50)] = RankingArgs.link_seeds
    max_links_per_entity: Annotated[int, Range(1, 100)] = 10
    max_link_df: Annotated[int, Range(0, 1_000)] = RankingArgs.max_link_df
    diversity: Annotated[float, Range(0.0, 0.9)] = RankingArgs.diversity

    NEEDS: ClassVar[Needs] = (
        (("beam_width", *_LINKS), {"max_depth": (0,)}),
        (("max_depth", *_LINKS), {"beam_width": (0,)}),
    )
