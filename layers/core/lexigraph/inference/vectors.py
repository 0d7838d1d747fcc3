"""Raw model output as the vectors the product uses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import ModelUnavailable


def embed_distinct(texts: Sequence[str], dimension: int, embed: Callable[[list[str]], FloatArray]) -> FloatArray:
    """Return the vectors of texts in their order; ``embed`` is asked for each text once, and not at all for none."""
    place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    return embed(list(place))[[place[text] for text in texts]] if place else np.empty((0, dimension), np.float32)


def unit_rows(rows: Any, count: int, dimension: int, model: str) -> FloatArray:
    """Return ``rows`` as float32 of shape (count, dimension), each row of length 1 (a zero row stays zero).

    Raise ``ModelUnavailable`` when the model gave another number or size, or numbers that are not finite.
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
        found = len(vectors)
    except (TypeError, ValueError):
        raise ModelUnavailable(f"{model} returned no vectors of equal length") from None
    if found != count:
        raise ModelUnavailable(f"{model} returned {found} vectors for {count} texts")
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise ModelUnavailable(
            f"{model} returned vectors of {vectors.shape[-1]} numbers, {dimension} were expected: "
            "set LEXIGRAPH_EMBEDDING_DIMENSION to the size that the model gives"
        )
    if not np.isfinite(vectors).all():
        raise ModelUnavailable(f"{model} returned a vector with numbers that are not finite")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: FloatArray = (vectors / lengths).astype(np.float32, copy=False)
    return unit
