"""Parameters of hybrid search, and the constants of its explained scores: two frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.traversal.args import NO_RERANKER, RERANKERS, Needs, TraversalArgs, check_names, check_number

GRAPH_RANKS = ("none", "degree", "pagerank")
_TRAVERSAL = TraversalArgs()  # what both kinds of search know has one default


@dataclass(frozen=True, slots=True)
class HybridArgs:
    """Parameters of ``HybridRetriever`` (E-55, E-66, E-70). A weight or a flag that is off leaves its part out.

    What ``NEEDS`` names can be given only where that is on; flags always can.

    | parameter | meaning | default |
    |---|---|---|
    | ``max_search_results`` | results at most, each the statements of one topic of one source. None: all | 20 |
    | ``max_statements_per_topic`` | statements in one result at most. None: all that were found | 10 |
    | ``include_facts`` | put the facts that support a statement into the result, and so into the LLM's context | False |
    | ``top_k`` | chunks that each search starts from | 8 |
    | ``vector`` | search by vector; without it and without ``bm25`` nothing could be found | True |
    | ``bm25`` | search by words, and count them | True |
    | ``bm25_weight`` | how much the words of a chunk count beside its vector | 0.4 |
    | ``expand_hops`` | 0: no expansion; 1: chunks with an entity in common; 2: also relations of every kind | 2 |
    | ``subgraph_depth`` | steps of the subgraph around what the searches found: 0, 1 or 2 | 2 |
    | ``relation_bonus`` | count by which relation a chunk was reached | True |
    | ``path_weight`` | how much the steps that lead to a chunk count together at most | 0.32 |
    | ``graph_rank`` | centrality in the part of the graph that was fetched: ``none``, ``degree`` or ``pagerank`` | none |
    | ``graph_rank_weight`` | how much that counts | 0.1 |
    | ``max_entities`` | entities followed in one step at most | 20 |
    | ``max_links_per_entity`` | chunks reached through one entity in one step at most | 10 |
    | ``max_link_df`` | entities are followed when at most so many sources name them | 15 |
    | ``min_rel_confidence`` | relations with less confidence lead nowhere | 0.4 |
    | ``entity_min_length`` | entities with shorter names lead nowhere | 2 |
    | ``cooccur_min_count`` | chunks in which two entities stand together, at least, for one to lead to the other | 2 |
    | ``max_contexts`` | chunks that stay; up to 60 % more do before any is dropped | 24 |
    | ``reranker`` | ``tfidf``, ``bedrock``, ``model`` (a cross-encoder), or ``none`` / None | tfidf |
    | ``rerank_alpha`` | share of the score before reranking in the score after it | 0.5 |
    | ``rerank_timeout`` | seconds until the order without a reranker is kept | 15 |
    """

    max_search_results: int | None = _TRAVERSAL.max_search_results
    max_statements_per_topic: int | None = _TRAVERSAL.max_statements_per_topic
    include_facts: bool = _TRAVERSAL.include_facts
    top_k: int = 8
    vector: bool = True
    bm25: bool = True
    bm25_weight: float = 0.4
    expand_hops: int = 2
    subgraph_depth: int = 2
    relation_bonus: bool = True
    path_weight: float = 0.32
    graph_rank: str = "none"
    graph_rank_weight: float = 0.1
    max_entities: int = 20
    max_links_per_entity: int = 10
    max_link_df: int = _TRAVERSAL.max_link_df
    min_rel_confidence: float = 0.4
    entity_min_length: int = 2
    cooccur_min_count: int = 2
    max_contexts: int = 24
    reranker: str | None = _TRAVERSAL.reranker
    rerank_alpha: float = 0.5
    rerank_timeout: float = 15.0

    NEEDS: ClassVar[Needs] = (
        (("bm25_weight",), {"bm25": (False,)}),
        (("graph_rank_weight",), {"graph_rank": ("none",)}),
        (("rerank_alpha", "rerank_timeout"), {"reranker": NO_RERANKER}),
        (
            ("path_weight", "max_entities", "max_links_per_entity", "max_link_df", "entity_min_length"),
            {"expand_hops": (0,), "subgraph_depth": (0,)},
        ),
        (("min_rel_confidence", "cooccur_min_count"), {"expand_hops": (0, 1), "subgraph_depth": (0,)}),
    )

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            check_number(name, getattr(self, name), low, high, False)
        for name in ("vector", "bm25", "relation_bonus"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be true or false, got {getattr(self, name)!r}")
        if not (self.vector or self.bm25):
            raise InvalidInput("vector and bm25 are both false: leave one of them on")
        if self.graph_rank not in GRAPH_RANKS:
            raise InvalidInput(f"graph_rank must be one of {', '.join(GRAPH_RANKS)}, got {self.graph_rank!r}")
        if self.reranker is not None and self.reranker not in RERANKERS:
            raise InvalidInput(f"reranker must be one of {', '.join(RERANKERS)} or None, got {self.reranker!r}")
        _ = self.results

    @property
    def results(self) -> TraversalArgs:
        """The parameters of the cut into results. Checks them."""
        return TraversalArgs(reranker=None, **{name: getattr(self, name) for name in _RESULTS})

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the parameters with these given. Raise ``InvalidInput`` for an unknown name or a value out of range."""
        check_names(given, [f.name for f in fields(cls)])
        return replace(cls(), **given)


_RESULTS = ("max_search_results", "max_statements_per_topic", "include_facts", "max_links_per_entity", "max_link_df")
# name: least, most
_LIMITS: dict[str, tuple[float, float]] = {
    "top_k": (1, 100),
    "bm25_weight": (0.0, 10.0),
    "expand_hops": (0, 2),
    "subgraph_depth": (0, 2),
    "path_weight": (0.0, 10.0),
    "graph_rank_weight": (0.0, 10.0),
    "max_entities": (1, 200),
    "min_rel_confidence": (0.0, 1.0),
    "entity_min_length": (1, 50),
    "cooccur_min_count": (1, 50),
    "max_contexts": (1, 200),
    "rerank_alpha": (0.0, 1.0),
    "rerank_timeout": (0.01, 120.0),
}

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
    """The constants of the explained scores, as the reference has them (E-53, E-62, E-70)."""

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
    # Pruning: nothing is cut up to so many times the target; then what lies beyond a gap, but for a part of the target.
    slack: float = 1.6
    gap: float = 0.55
    kept: float = 0.6
    per_reason: int = 2
    # The share of the subgraph's places that are kept for its second level.
    reserve: float = 0.25
    # What a statement loses for fitting less than the best of its chunk, and for each before it.
    within: float = 0.5
    repeat: float = 0.9

    def of_type(self, type_: str) -> float:
        """Return the weight of a relation type."""
        return self.relation_types.get(type_, self.other_type)


HYBRID_WEIGHTS = HybridWeights()
