"""Rerankers, ours or a user's: what is taken for one, and scores that can be relied on."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from lexigraph.inference.protocols import Reranker
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.retrieval.stages.trace import Trace


def reranker_name(given: Any) -> str | None:
    """Return the name of a reranker given by name, ``model`` for an object. Raise ``InvalidInput`` for what is neither."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, type) or not isinstance(given, Reranker):
        raise InvalidInput(
            f"reranker: {given!r:.80} is not a reranker; use tfidf, bedrock, model, none or an object with a name and score("
            "queries, texts)"
        )
    return "model"


def scored(
    reranker: Reranker, queries: Sequence[str], texts: Sequence[str], trace: Trace, *, instead: str, step: str = "rerank"
) -> list[float] | None:
    """Return one finite score a text; None when the reranker fails or gives anything else.

    Then there is a warning (``rerank_failed``, after ``step``) which ends in what is done ``instead``.
    """
    if not texts:
        return []
    try:
        with trace.step(step):
            scores = [float(score) for score in reranker.score(queries, texts)]
        fault = _fault(scores, len(texts))
    except ModelUnavailable as error:
        fault = str(error)
    except Exception as error:  # noqa: BLE001  # a user's own; its text may hold that of documents
        fault = type(error).__name__
    if not fault:
        return scores
    trace.warn(f"{step}_failed", f"the reranker {reranker.name} failed ({fault}); {instead}")
    return None


def _fault(scores: Sequence[float], wanted: int) -> str:
    if len(scores) != wanted:
        return f"{len(scores)} scores for {wanted} texts"
    # shares of the best are taken of the difference
    return "" if all(map(isfinite, (*scores, max(scores) - min(scores)))) else "a score is not a finite number"


def min_max(scores: Sequence[float], *, equal: float = 0.0) -> list[float]:
    """Scale to 0..1, the lowest to 0 and the highest to 1; all ``equal`` ones to that."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else equal for score in scores]
