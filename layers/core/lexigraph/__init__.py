"""Lexigraph: GraphRAG that builds a lexical graph from documents and answers questions with citations.

Names are imported on first use (PEP 562), which keeps ``import lexigraph`` fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.answering.query_engine import LexicalGraphQueryEngine
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

__version__ = "0.1.0"
__all__ = ["LexicalGraphIndex", "LexicalGraphQueryEngine"]

_HOME = {
    "LexicalGraphIndex": "lexigraph.ingestion.pipeline",
    "LexicalGraphQueryEngine": "lexigraph.answering.query_engine",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
