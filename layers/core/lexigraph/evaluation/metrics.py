"""How well a ranking of documents fits the gold ones, and how sure one can be of a mean over questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.errors import InvalidInput

DEPTHS = (2, 5, 10)
MEASURES = (*(f"recall@{k}" for k in DEPTHS), "all-gold@5", "MRR")
_RESAMPLES = 1_000
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, 0 to 1, with its 95 % interval."""

    mean: float
    low: float
    high: float


def measure(ranked: Sequence[str], gold: Sequence[str]) -> tuple[float, ...]:
    """Return the ``MEASURES`` of one question.

    Recall@k is the share of the gold documents among the first k ranked, all-gold@5 is 1 when none is missing among the
    first five, MRR is 1 over the place of the first gold one (0 when there is none). A document counts at its best place.
    """
    wanted, places = set(gold), list(dict.fromkeys(ranked))
    recall = [len(wanted.intersection(places[:k])) / len(wanted) for k in DEPTHS]
    first = next((place for place, document in enumerate(places, 1) if document in wanted), 0)
    return (*recall, float(wanted.issubset(places[:5])), 1 / first if first else 0.0)


def estimates(rows: Sequence[Sequence[float]] | Array) -> list[Estimate]:
    """Return mean and interval of each column of ``rows``, one row a question.

    The interval is from the 2.5th to the 97.5th percentile of the means of 1,000 samples of the questions, drawn with
    replacement (percentile bootstrap, Efron 1979), the same each time. Raise ``InvalidInput`` without rows.
    """
    values: Array = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2 or not len(values):
        raise InvalidInput("no questions to average")
    random = np.random.default_rng(0)
    means = np.stack([values[random.integers(len(values), size=len(values))].mean(axis=0) for _ in range(_RESAMPLES)])
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    return [Estimate(*map(float, column)) for column in zip(values.mean(axis=0), low, high, strict=True)]
