"""How retrievers compare over the same questions: each with its best rival, question by question."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lexigraph.evaluation.metrics import Array, Estimate, estimates

BASELINES = ("vector", "bm25", "fused")


@dataclass(frozen=True, slots=True)
class Compared:
    """A retriever by one figure: its mean, its best rival (empty: none measured), the paired differences to all rivals, and
    means by type of question with their number.
    """

    mean: Estimate
    rival: str
    differences: Mapping[str, Estimate]
    by_type: Mapping[str, tuple[float, int]]

    @property
    def difference(self) -> Estimate | None:
        """The difference to the best rival."""
        return self.differences.get(self.rival)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "by_type": {t: {"mean": mean, "questions": n} for t, (mean, n) in self.by_type.items()}}


def rivals(name: str) -> tuple[str, ...]:
    """Return what a retriever must not be worse than: the baselines, and of traversal semantic-guided search too."""
    return tuple(r for r in (*BASELINES, *(["semantic-guided"] if name == "traversal" else [])) if r != name)


def compare(values: Mapping[str, Sequence[float]], types: Sequence[str] = ()) -> dict[str, Compared]:
    """Compare retrievers by one figure: ``values`` has one a question, in the same order for all, as have ``types``.

    Intervals are those of :func:`~lexigraph.evaluation.metrics.estimates`; that of a difference is over the differences
    question by question. Raise ``InvalidInput`` without questions.
    """
    columns = {name: np.asarray(column, dtype=np.float64).reshape(-1, 1) for name, column in values.items()}
    return {
        name: Compared(estimates(column)[0], *_to_rivals(name, columns), _by_type(column[:, 0], types))
        for name, column in columns.items()
    }


def _to_rivals(name: str, columns: Mapping[str, Array]) -> tuple[str, dict[str, Estimate]]:
    measured = [r for r in rivals(name) if r in columns]
    best = max(measured, key=lambda r: float(columns[r].mean()), default="")
    return best, {rival: estimates(columns[name] - columns[rival])[0] for rival in measured}


def _by_type(values: Array, types: Sequence[str]) -> dict[str, tuple[float, int]]:
    found = defaultdict[str, list[float]](list)
    for kind, value in zip(types, values, strict=bool(types)):
        found[kind].append(float(value))
    return {kind: (float(np.mean(found[kind])), len(found[kind])) for kind in sorted(found)}
