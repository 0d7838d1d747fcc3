"""Retrievers: compositions of anchors, expansion, ranking and results. Names are loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.retrieval.retrievers.baseline import BaselineRetriever
    from lexigraph.retrieval.retrievers.searches import ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch
    from lexigraph.retrieval.retrievers.semantic_guided import SemanticGuidedRetriever
    from lexigraph.retrieval.retrievers.semantic_searches import (
        KeywordRankingSearch,
        RerankingBeamGraphSearch,
        SemanticBeamGraphSearch,
        StatementCosineSimilaritySearch,
    )
    from lexigraph.retrieval.retrievers.traversal import TraversalBasedRetriever

__all__ = [
    "BaselineRetriever",
    "ChunkBasedSearch",
    "EntityBasedSearch",
    "KeywordRankingSearch",
    "RerankingBeamGraphSearch",
    "SemanticBeamGraphSearch",
    "SemanticGuidedRetriever",
    "StatementCosineSimilaritySearch",
    "TopicBeamSearch",
    "TraversalBasedRetriever",
]

_HOME = {
    "BaselineRetriever": "baseline",
    "ChunkBasedSearch": "searches",
    "EntityBasedSearch": "searches",
    "KeywordRankingSearch": "semantic_searches",
    "RerankingBeamGraphSearch": "semantic_searches",
    "SemanticBeamGraphSearch": "semantic_searches",
    "SemanticGuidedRetriever": "semantic_guided",
    "StatementCosineSimilaritySearch": "semantic_searches",
    "TopicBeamSearch": "searches",
    "TraversalBasedRetriever": "traversal",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
