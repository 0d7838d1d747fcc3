"""Parameters of traversal-based search."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from lexigraph.retrieval.stages.args import Needs, Range, RankingArgs, RerankerName, Share, Weight

_START_CHUNKS = 10


@dataclass(frozen=True, slots=True)
class TraversalArgs(RankingArgs):
    """Parameters of ``TraversalBasedRetriever`` and of its searches used alone.

    A parameter of a search needs that search in ``retrievers``; some parameters need another one (``NEEDS``).

    | parameter | meaning | default |
    |---|---|---|
    | ``max_context_tokens`` | maximum words and punctuation marks in all statements, best first; the first statement is \
never cut. None: no limit | 2000 |
    | ``max_search_results`` | maximum results, each the statements of one topic of one source. None: no limit | None |
    | ``max_statements_per_topic`` | maximum statements per result. None: no limit | None |
    | ``include_facts`` | add the facts that support a statement to the results and to the LLM's context | False |
    | ``expand_entities`` | EntityBasedSearch: also start from entities joined by a fact to those looked up | True |
    | ``max_keywords`` | EntityBasedSearch: maximum keywords looked up, including synonyms and abbreviations, and entities \
followed | 10 |
    | ``vss_top_k`` | ChunkBasedSearch: chunks to start from and to read. None: start from 10, read the best 30 | None |
    | ``vss_diversity_factor`` | ChunkBasedSearch: choose from ``vss_top_k`` times this many chunks, preferring sources not \
yet chosen. 0 or None: the best ``vss_top_k`` | 5 |
    | ``derive_subqueries`` | split a question of over 25 characters that needs more than one entity into simpler ones \
(needs an LLM) | False |
    | ``max_subqueries`` | maximum subqueries; only with ``derive_subqueries`` | 2 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``max_statements`` | maximum statements in all results; only with a reranker. None: no limit | None |
    | ``chunk_weight`` | weight of a chunk's similarity to the question (ChunkBasedSearch) | 1.0 |
    | ``entity_weight`` | weight of naming the entities of the question (EntityBasedSearch) | 0.1 |
    | ``bm25_weight`` | share of BM25 in similarity, the rest is cosine; chat logs may need more | 0.3 |
    | ``link_rounds`` | hops from the best chunks along links, from mentions to documents about them: 0, 1 or 2 | 2 |
    | ``link_seeds`` | best chunks whose links the first hop follows; halved at each further hop | 5 |
    | ``max_links_per_entity`` | maximum chunks reached through one entity per hop | 7 |
    | ``max_link_df`` | an entity links the chunks that share it if at most this many sources name it | 15 |
    | ``max_statements_per_entity`` | EntityBasedSearch: maximum statements per entity | 10 |
    | ``topic_weight`` | weight of a topic's similarity to the question (TopicBeamSearch) | 0.6 |
    | ``topic_top_k`` | TopicBeamSearch: topics to start from, the most similar to the question | 10 |
    | ``topic_beam_width`` | TopicBeamSearch: maximum further topics reached from these | 20 |
    | ``topic_beam_max_depth`` | TopicBeamSearch: maximum steps to further topics (same chunk, adjacent chunk, or an \
entity in common), 0 to 5 | 2 |
    | ``topic_statements`` | TopicBeamSearch: maximum statements per topic | 25 |
    | ``diversity`` | penalty for repeating better results, as a share of the score, 0 to 0.9 | 0.3 |
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
        """Number of chunks the search starts from."""
        return self.vss_top_k or _START_CHUNKS
