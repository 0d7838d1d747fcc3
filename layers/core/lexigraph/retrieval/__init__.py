"""From a question to ranked statements: a folder a way of retrieving, composed of ``stages``. Names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.retrieval.baseline import BaselineRetriever
    from lexigraph.retrieval.hybrid.retriever import HybridRetriever
    from lexigraph.retrieval.multidoc.cached_synthesizer import CachedSynthesizer, ContextCache
    from lexigraph.retrieval.multidoc.retriever import MultidocRetriever
    from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer
    from lexigraph.retrieval.multihop.retriever import MultihopRetriever
    from lexigraph.retrieval.recall.retriever import RecallRetriever
    from lexigraph.retrieval.recall.search import RecallSearch
    from lexigraph.retrieval.semantic.retriever import SemanticGuidedRetriever
    from lexigraph.retrieval.semantic.searches import (
        KeywordRankingSearch,
        RerankingBeamGraphSearch,
        SemanticBeamGraphSearch,
        StatementCosineSimilaritySearch,
    )
    from lexigraph.retrieval.traversal.retriever import TraversalBasedRetriever
    from lexigraph.retrieval.traversal.searches import ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch

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
    "BaselineRetriever": "lexigraph.retrieval.baseline",
    "CachedSynthesizer": "lexigraph.retrieval.multidoc.cached_synthesizer",
    "ChunkBasedSearch": "lexigraph.retrieval.traversal.searches",
    "ContextCache": "lexigraph.retrieval.multidoc.cached_synthesizer",
    "EntityBasedSearch": "lexigraph.retrieval.traversal.searches",
    "HybridRetriever": "lexigraph.retrieval.hybrid.retriever",
    "KeywordRankingSearch": "lexigraph.retrieval.semantic.searches",
    "MultiDocSynthesizer": "lexigraph.retrieval.multidoc.synthesizer",
    "MultidocRetriever": "lexigraph.retrieval.multidoc.retriever",
    "MultihopRetriever": "lexigraph.retrieval.multihop.retriever",
    "RecallRetriever": "lexigraph.retrieval.recall.retriever",
    "RecallSearch": "lexigraph.retrieval.recall.search",
    "RerankingBeamGraphSearch": "lexigraph.retrieval.semantic.searches",
    "SemanticBeamGraphSearch": "lexigraph.retrieval.semantic.searches",
    "SemanticGuidedRetriever": "lexigraph.retrieval.semantic.retriever",
    "StatementCosineSimilaritySearch": "lexigraph.retrieval.semantic.searches",
    "TopicBeamSearch": "lexigraph.retrieval.traversal.searches",
    "TraversalBasedRetriever": "lexigraph.retrieval.traversal.retriever",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
