"""Parameters of traversal-based search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from lexigraph.retrieval.stages.args import Needs, Range, RankingArgs, RerankerName, Share, Weight

_START_CHUNKS = 10


@dataclass(frozen=True, slots=True)
class TraversalArgs(RankingArgs):
    """Parameters of ``TraversalBasedRetriever``, and of its searches used alone.

    What belongs to one search can be given only where that search takes part, what ``NEEDS`` names only where that is on.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_context_tokens`` | words and punctuation marks in all statements together, the best first; the best statement \
comes whole. None: all | 2000 |
    | ``max_search_results`` | results at most, each the statements of one topic of one source. None: all | None |
    | ``max_statements_per_topic`` | statements in one result at most. None: all that were found | None |
    | ``include_facts`` | put the facts that support a statement into the result, and so into the LLM's context | False |
    | ``expand_entities`` | EntityBasedSearch: also start from entities joined by a fact to those looked up | True |
    | ``max_keywords`` | EntityBasedSearch: keywords looked up at most, synonyms and abbreviations included, and entities \
followed | 10 |
    | ``vss_top_k`` | ChunkBasedSearch: chunks to start from and to read. None: start from 10, read the best 30 | None |
    | ``vss_diversity_factor`` | ChunkBasedSearch: look at ``vss_top_k`` times this many chunks and take the next best of a \
source not seen yet. 0 or None: plain ``vss_top_k`` | 5 |
    | ``derive_subqueries`` | break a question of over 25 characters that needs more than one entity into simpler ones \
(needs an LLM) | False |
    | ``max_subqueries`` | subqueries at most; only with ``derive_subqueries`` | 2 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | statements in all results together at most; only with a reranker. None: all | None |
    | ``chunk_weight`` | how much a chunk counts for being like the question (ChunkBasedSearch) | 1.0 |
    | ``entity_weight`` | how much it counts for naming the entities of the question (EntityBasedSearch) | 0.1 |
    | ``bm25_weight`` | BM25's share of likeness, the rest is cosine; chat logs may want more | 0.3 |
    | ``link_rounds`` | hops along links (mentions to what is about them) from the best chunks: 0, 1 or 2 | 2 |
    | ``link_seeds`` | best chunks whose links the first hop follows; each further hop half as many | 5 |
    | ``max_links_per_entity`` | chunks reached through one entity in one hop at most | 7 |
    | ``max_link_df`` | chunks that share an entity are linked when at most so many sources name it | 15 |
    | ``max_statements_per_entity`` | EntityBasedSearch: statements collected for one entity at most | 10 |
    | ``topic_weight`` | how much a chunk counts for its topic being like the question (TopicBeamSearch) | 0.6 |
    | ``topic_top_k`` | TopicBeamSearch: topics to start from, those most like the question | 10 |
    | ``topic_beam_width`` | TopicBeamSearch: further topics reached from these at most | 20 |
    | ``topic_beam_max_depth`` | TopicBeamSearch: steps to further topics (of the same chunk, of the chunk before or after, \
with an entity in common) at most: 0 to 5 | 2 |
    | ``topic_statements`` | TopicBeamSearch: statements collected for one topic at most | 25 |
    | ``diversity`` | what repeats what was said already loses about this share of its worth, 0 to 0.9 | 0.3 |
    """

    expand_entities: bool = True
    max_keywords: Annotated[int, Range(1, 50)] = 10
    vss_top_k: Annotated[int | None, Range(1, 200)] = None
    vss_diversity_factor: Annotated[int | None, Range(0, 50)] = 5
    derive_subqueries: bool = False
    max_subqueries: Annotated[int, Range(1, 5)] = 2
    reranker: RerankerName = RankingArgs.reranker
    max_statements: Annotated[int | None, Range(1, 10_000)] = RankingArgs.max_statements
    chunk_weight: Weight = RankingArgs.chunk_weight
    entity_weight: Weight = RankingArgs.entity_weight
    bm25_weight: Share = RankingArgs.bm25_weight
    link_rounds: Annotated[int, Range(0, 2)] = 2
    link_seeds: Annotated[int, Range(1, 50)] = RankingArgs.link_seeds
    max_links_per_entity: Annotated[int, Range(1, 100)] = 7
    max_link_df: Annotated[int, Range(0, 1_000)] = RankingArgs.max_link_df
    max_statements_per_entity: Annotated[int, Range(1, 1_000)] = 10
    topic_weight: Weight = 0.6
    topic_top_k: Annotated[int, Range(1, 200)] = 10
    topic_beam_width: Annotated[int, Range(0, 200)] = 20
    topic_beam_max_depth: Annotated[int, Range(0, 5)] = 2
    topic_statements: Annotated[int, Range(1, 1_000)] = 25
    diversity: Annotated[float, Range(0.0, 0.9)] = RankingArgs.diversity

    NEEDS: ClassVar[Needs] = (
        (("max_subqueries",), {"derive_subqueries": (False,)}),
        (("link_seeds", "max_link_df"), {"link_rounds": (0,)}),
        (("max_links_per_entity",), {"link_rounds": (0,), "topic_beam_max_depth": (0,)}),
        (("topic_beam_width",), {"topic_beam_max_depth": (0,)}),
        (("topic_beam_max_depth",), {"topic_beam_width": (0,)}),
    )

    OF_PAGE: ClassVar[Mapping[str, Any]] = {
        "max_search_results": 20,
        "max_statements_per_topic": 10,
        "vss_top_k": 10,
        "max_statements": 100,
    }

    @property
    def start_chunks(self) -> int:
        """How many chunks the search starts from."""
        return self.vss_top_k or _START_CHUNKS
