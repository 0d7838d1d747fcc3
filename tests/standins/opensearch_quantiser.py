"""Binary quantisation as OpenSearch has it (k-NN plugin: MultiBitScalarQuantizer and OneBitScalarQuantizer).

Each of the bits of a dimension tells whether the number is over a threshold: the mean of the dimension, or for several bits
the mean with so many steps from -1 to 1 standard deviations. Vectors are near each other when few bits differ.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BITS = {"8x": 4, "16x": 2, "32x": 1}  # of a dimension, by compression level

Floats = NDArray[np.float32] | NDArray[np.float64]
Codes = NDArray[np.uint8]


def thresholds(vectors: Floats, bits: int) -> Floats:
    """Return what each bit compares each dimension with, bits x dimensions."""
    steps = [-1 + 2 * (n + 1) / (bits + 1) for n in range(bits)]
    return np.stack([vectors.mean(0) + step * vectors.std(0) for step in steps])


def quantised(vectors: Floats, over: Floats) -> Codes:
    """Return the bits of vectors, rows x bytes."""
    return np.packbits(np.concatenate([vectors > row for row in over], axis=1), axis=1)


def distances(codes: Codes, asked: Sequence[int] | Codes) -> NDArray[np.int64]:
    """Return in how many bits each row differs from one."""
    return np.bitwise_count(codes ^ np.asarray(asked, np.uint8)).sum(axis=1, dtype=np.int64)
