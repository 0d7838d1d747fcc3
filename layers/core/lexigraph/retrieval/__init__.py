"""From a question to ranked statements: a folder a way of retrieving, composed of ``stages``. Names load when first used.

``catalogue`` lists the retrievers by the names that users know. ``traversal/retriever.py`` shows the stages in order; what a
link or a title counts is set in ``Weights`` of ``stages/ranking.py``, for hybrid in ``hybrid/args.py``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.retrieval.baseline import BaselineRetriever as BaselineRetriever
    from lexigraph.retrieval.hybrid.retriever import HybridRetriever as HybridRetriever
    from lexigraph.retrieval.multidoc.cached_synthesizer import CachedSynthesizer as CachedSynthesizer
    from lexigraph.retrieval.multidoc.cached_synthesizer import ContextCache as ContextCache
    from lexigraph.retrieval.multidoc.retriever import MultidocRetriever as MultidocRetriever
    from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer as MultiDocSynthesizer
    from lexigraph.retrieval.multihop.retriever import MultihopRetriever as MultihopRetriever
    from lexigraph.retrieval.recall.retriever import RecallRetriever as RecallRetriever
    from lexigraph.retrieval.recall.search import RecallSearch as RecallSearch
    from lexigraph.retrieval.semantic.retriever import SemanticGuidedRetriever as SemanticGuidedRetriever
    from lexigraph.retrieval.semantic.searches import KeywordRankingSearch as KeywordRankingSearch
    from lexigraph.retrieval.semantic.searches import RerankingBeamGraphSearch as RerankingBeamGraphSearch
    from lexigraph.retrieval.semantic.searches import SemanticBeamGraphSearch as SemanticBeamGraphSearch
    from lexigraph.retrieval.semantic.searches import StatementCosineSimilaritySearch as StatementCosineSimilaritySearch
    from lexigraph.retrieval.traversal.retriever import TraversalBasedRetriever as TraversalBasedRetriever
    from lexigraph.retrieval.traversal.searches import ChunkBasedSearch as ChunkBasedSearch
    from lexigraph.retrieval.traversal.searches import EntityBasedSearch as EntityBasedSearch
    from lexigraph.retrieval.traversal.searches import TopicBeamSearch as TopicBeamSearch

_NAMES = {
    "baseline": ["BaselineRetriever"],
    "hybrid.retriever": ["HybridRetriever"],
    "multidoc.cached_synthesizer": ["CachedSynthesizer", "ContextCache"],
    "multidoc.retriever": ["MultidocRetriever"],
    "multidoc.synthesizer": ["MultiDocSynthesizer"],
    "multihop.retriever": ["MultihopRetriever"],
    "recall.retriever": ["RecallRetriever"],
    "recall.search": ["RecallSearch"],
    # a search alone needs the retriever that it is a part of
    "semantic.retriever": [
        "SemanticGuidedRetriever",
        "KeywordRankingSearch",
        "RerankingBeamGraphSearch",
        "SemanticBeamGraphSearch",
        "StatementCosineSimilaritySearch",
    ],
    "traversal.retriever": ["TraversalBasedRetriever", "ChunkBasedSearch", "EntityBasedSearch", "TopicBeamSearch"],
}
_HOME = {name: f"lexigraph.retrieval.{module}" for module, names in _NAMES.items() for name in names}
if not TYPE_CHECKING:  # type checkers take the names from the imports above
    __all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
