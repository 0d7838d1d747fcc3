"""Raw model output as the vectors the product uses."""

from typing import Any

import numpy as np

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import ModelUnavailable


def unit_rows(rows: Any, dimension: int, model: str) -> FloatArray:
    """Return ``rows`` as float32 of shape (n, dimension), each row of length 1 (a zero row stays zero).

    Raise ``ModelUnavailable`` when the model gave another size, or numbers that are not finite.
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError):
        raise ModelUnavailable(f"{model} returned no vectors of equal length") from None
    if not vectors.size:
        return np.empty((0, dimension), np.float32)
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
