"""Retrievers: compositions of anchors, expansion, ranking and results. Names are loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.retrieval.retrievers.baseline import BaselineRetriever
    from lexigraph.retrieval.retrievers.cached_synthesizer import CachedSynthesizer, ContextCache
    from lexigraph.retrieval.retrievers.hybrid import HybridRetriever
    from lexigraph.retrieval.retrievers.multidoc import MultidocRetriever
    from lexigraph.retrieval.retrievers.multihop import MultihopRetriever
    from lexigraph.retrieval.retrievers.recall import RecallRetriever
    from lexigraph.retrieval.retrievers.recall_search import RecallSearch
    from lexigraph.retrieval.retrievers.searches import ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch
    from lexigraph.retrieval.retrievers.semantic_guided import SemanticGuidedRetriever
    from lexigraph.retrieval.retrievers.semantic_searches import (
        KeywordRankingSearch,
        RerankingBeamGraphSearch,
        SemanticBeamGraphSearch,
        StatementCosineSimilaritySearch,
    )
    from lexigraph.retrieval.retrievers.synthesizer import MultiDocSynthesizer
    from lexigraph.retrieval.retrievers.traversal import TraversalBasedRetriever

__all__ = [
    "BaselineRetriever",
    "CachedSynthesizer",
    "ChunkBasedSearch",
    "ContextCache",
    "EntityBasedSearch",
    "HybridRetriever",
    "KeywordRankingSearch",
    "MultiDocSynthesizer",
    "MultidocRetriever",
    "MultihopRetriever",
    "RecallRetriever",
    "RecallSearch",
    "RerankingBeamGraphSearch",
    "SemanticBeamGraphSearch",
    "SemanticGuidedRetriever",
    "StatementCosineSimilaritySearch",
    "TopicBeamSearch",
    "TraversalBasedRetriever",
]

_HOME = {
    "BaselineRetriever": "baseline",
    "CachedSynthesizer": "cached_synthesizer",
    "ChunkBasedSearch": "searches",
    "ContextCache": "cached_synthesizer",
    "EntityBasedSearch": "searches",
    "HybridRetriever": "hybrid",
    "KeywordRankingSearch": "semantic_searches",
    "MultiDocSynthesizer": "synthesizer",
    "MultidocRetriever": "multidoc",
    "MultihopRetriever": "multihop",
    "RecallRetriever": "recall",
    "RecallSearch": "recall_search",
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
