"""Parameters of semantic-guided search."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lexigraph.retrieval.stages.args import Needs, Range, RankingArgs, RerankerName, Share, Weight

_LINKS = ("link_seeds", "max_links_per_entity", "max_link_df")


@dataclass(frozen=True, slots=True)
class SemanticArgs(RankingArgs):
    """Parameters of ``SemanticGuidedRetriever``.

    A parameter of a search needs that search in ``retrievers``: ``entity_weight`` needs KeywordRankingSearch, the link
    parameters a beam. Some parameters need another one (``NEEDS``).

    | parameter | meaning | default |
    |---|---|---|
    | ``max_context_tokens`` | maximum words and punctuation marks in all statements, best first; the first statement is \
never cut. None: no limit | 2000 |
    | ``max_search_results`` | maximum results, each the statements of one topic of one source. None: no limit | None |
    | ``max_statements_per_topic`` | maximum statements per result. None: no limit | None |
    | ``include_facts`` | add the facts that support a statement to the results and to the LLM's context | False |
    | ``cosine_top_k`` | StatementCosineSimilaritySearch: statements to start from, by vector | 50 |
    | ``max_keywords`` | KeywordRankingSearch: maximum keywords looked up, including synonyms and abbreviations, and \
entities followed | 10 |
    | ``keyword_top_k`` | KeywordRankingSearch: statements to start from, by the words and by the entities of the question \
| 50 |
    | ``max_depth`` | beam: maximum hops from the statements that the other searches found | 2 |
    | ``beam_width`` | beam: maximum chunks added to those that the other searches found | 100 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | maximum statements in all results; only with a reranker. None: no limit | None |
    | ``entity_weight`` | weight of naming the entities of the question | 0.1 |
    | ``bm25_weight`` | share of BM25 in similarity, the rest is cosine; chat logs may need more | 0.3 |
    | ``link_seeds`` | chunks that the beam expands first; halved at each further depth | 5 |
    | ``max_links_per_entity`` | maximum chunks reached through one entity per depth | 10 |
    | ``max_link_df`` | an entity links the chunks that share it if at most this many sources name it | 15 |
    | ``diversity`` | penalty for repeating better results, as a share of the score, 0 to 0.9 | 0.3 |
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
