"""Parameters of hybrid search, and the constants of its explained scores: two frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.stages.args import (
    NO_RERANKER,
    Args,
    Needs,
    Range,
    RankingArgs,
    RerankerName,
    ResultArgs,
    Share,
    Weight,
)

START, READ = 8, 40  # best chunks of each search that the graph is followed from, and that are read


@dataclass(frozen=True, slots=True)
class HybridArgs(ResultArgs):
    """Parameters of ``HybridRetriever`` (E-55, E-66, E-70). A weight of 0 or a flag that is off disables its part.

    Some parameters need another one (``NEEDS``). Those of :class:`~lexigraph.retrieval.stages.args.ResultArgs` apply, too.

    | parameter | meaning | default |
    |---|---|---|
    | ``top_k`` | chunks that each search returns and the expansion starts from. None: return 40, start from 8 | None |
    | ``vector`` | search by vector; at least one of ``vector`` and ``bm25`` must be on | True |
    | ``bm25`` | search by BM25, and score with it | True |
    | ``bm25_weight`` | weight of BM25, next to the vector score | 0.4 |
    | ``expand_hops`` | 0: no expansion; 1: chunks with an entity in common; 2: also relations of all kinds | 2 |
    | ``subgraph_depth`` | depth of the subgraph around the chunks found: 0, 1 or 2 | 2 |
    | ``relation_bonus`` | score a chunk by the type of relation through which it was reached | True |
    | ``path_weight`` | maximum score of all paths to a chunk together | 0.32 |
    | ``link_weight`` | weight of what a chunk adds to the chunk it was reached from | 1.0 |
    | ``graph_rank`` | centrality within the fetched subgraph: ``none``, ``degree`` or ``pagerank`` | none |
    | ``graph_rank_weight`` | weight of the centrality | 0.1 |
    | ``max_entities`` | maximum entities followed per step | 40 |
    | ``max_links_per_entity`` | maximum chunks reached through one entity per step | 10 |
    | ``max_link_df`` | an entity is followed if at most this many sources name it | 15 |
    | ``min_rel_confidence`` | minimum confidence of relations that are followed | 0.4 |
    | ``entity_min_length`` | minimum name length of entities that are followed, in characters | 2 |
    | ``cooccur_min_count`` | chunks in which two entities must occur together for one to lead to the other | 2 |
    | ``max_contexts`` | chunks kept; pruning begins at 60 % more | 40 |
    | ``diversity`` | penalty for repeating better results, as a share of the score, 0 to 0.9 | 0.3 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``rerank_alpha`` | share of the original score in the reranked score | 0.5 |
    | ``rerank_timeout`` | seconds after which the results stay in their original order | 15 |
    """

    top_k: Annotated[int | None, Range(1, 100)] = None
    vector: bool = True
    bm25: bool = True
    bm25_weight: Weight = 0.4
    expand_hops: Annotated[int, Range(0, 2)] = 2
    subgraph_depth: Annotated[int, Range(0, 2)] = 2
    relation_bonus: bool = True
    path_weight: Weight = 0.32
    link_weight: Weight = 1.0
    graph_rank: Annotated[str, ("none", "degree", "pagerank")] = "none"
    graph_rank_weight: Weight = 0.1
    max_entities: Annotated[int, Range(1, 200)] = 40
    max_links_per_entity: Annotated[int, Range(1, 100)] = 10
    max_link_df: Annotated[int, Range(0, 1_000)] = RankingArgs.max_link_df
    min_rel_confidence: Share = 0.4
    entity_min_length: Annotated[int, Range(1, 50)] = 2
    cooccur_min_count: Annotated[int, Range(1, 50)] = 2
    max_contexts: Annotated[int, Range(1, 200)] = 40
    diversity: Annotated[float, Range(0.0, 0.9)] = RankingArgs.diversity
    reranker: RerankerName = RankingArgs.reranker
    rerank_alpha: Share = 0.5
    rerank_timeout: Annotated[float, Range(0.01, 120.0)] = 15.0

    NEEDS: ClassVar[Needs] = (
        (("bm25_weight",), {"bm25": (False,)}),
        (("graph_rank_weight",), {"graph_rank": ("none",)}),
        (("rerank_alpha", "rerank_timeout"), {"reranker": NO_RERANKER}),
        (
            ("path_weight", "link_weight", "max_entities", "max_links_per_entity", "max_link_df", "entity_min_length"),
            {"expand_hops": (0,), "subgraph_depth": (0,)},
        ),
        (("min_rel_confidence", "cooccur_min_count"), {"expand_hops": (0, 1), "subgraph_depth": (0,)}),
    )

    @property
    def start_chunks(self) -> int:
        """Number of chunks of each search that the expansion starts from."""
        return START if self.top_k is None else self.top_k

    def __post_init__(self) -> None:
        Args.__post_init__(self)
        if not (self.vector or self.bm25):
            raise InvalidInput("vector and bm25 must not both be false")


RELATION_WEIGHTS: Mapping[str, float] = {
    "STEP_NEXT": 0.12,
    "REFERENCES": 0.18,
    "FOLLOWS": 0.16,
    "CAUSES": 0.22,
    "SUPPORTS": 0.20,
    "PART_OF": 0.15,
    "SUBSTEP_OF": 0.17,
    "CONTRASTS": 0.14,
}


@dataclass(frozen=True, slots=True)
class HybridWeights:
    """Constants of the explained scores; those the reference system defines have its values (E-53, E-62, E-70)."""

    relation_types: Mapping[str, float] = field(default_factory=lambda: RELATION_WEIGHTS)
    other_type: float = 0.15
    # What a chunk gets for the way it was reached.
    entity: float = 0.12
    relates: float = 0.15
    cooccur: float = 0.10
    subgraph: float = 0.12
    # Of a chunk of the subgraph, its relations count besides: each further one less, and less where there are very many.
    subgraph_relation: float = 0.35
    relation_decay: float = 0.7
    most_relations: int = 5
    dense: int = 6
    density: float = 0.15
    # The steps of the paths that lead to a chunk.
    entity_step: float = 0.5
    entity_decay: float = 0.65
    relation_step: float = 0.6
    most_paths: int = 8
    # A source titled by a name in the question; shared among sources of one title.
    title: float = 0.3
    # What a chunk that a link leads to gets for being titled by the name that led there, and for what it answers of the rest
    # of the question where it only shares that name. It counts by the chunk that the link leaves, of which most fit about
    # half as well as the best: these lead nowhere.
    titled: float = 0.5
    shared: float = 0.52
    start_power: float = 3.0
    # Pruning: nothing is cut up to so many times the target; then what lies beyond a gap, but for a part of the target.
    slack: float = 1.6
    gap: float = 0.55
    kept: float = 0.6
    per_reason: int = 2
    # The share of the subgraph's places that are kept for its second level.
    reserve: float = 0.25

    @property
    def best_link(self) -> float:
        """The most that a link can bring."""
        return self.titled + 1.0

    def of_type(self, type_: str) -> float:
        """Return the weight of a relation type."""
        return self.relation_types.get(type_, self.other_type)


HYBRID_WEIGHTS = HybridWeights()
