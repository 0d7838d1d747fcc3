"""What a session of recalls says about a node: seen lately, near to what was seen lately, and how much either counts.

Pure. Formulas and numbers: M-11 to M-15 and section 3 of the semantics (half-life 1800 s; phases by recalls made before).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from lexigraph.model.errors import InvalidInput
from lexigraph.storage.protocols import Session

HALF_LIFE = 1800.0  # seconds
KEEP = 10 * HALF_LIFE  # seconds after which a node counts as never seen
HOT = 5  # nodes with the highest session scores
MID_FROM, DEEP_FROM = 3, 10  # recalls made before

Phase = Literal["early", "mid", "deep"]


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal counts; together 1. Raise ``InvalidInput`` otherwise."""

    general: float
    topical: float
    session: float

    def __post_init__(self) -> None:
        values = [getattr(self, f.name) for f in fields(self)]
        if min(values) < 0 or abs(sum(values) - 1) > 1e-6:
            raise InvalidInput(f"weights of recall must be 0 or more and together 1, got {values}")


PURE_RELEVANCE = Weights(1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PhaseWeights:
    """The weights of each phase (M-15): at first what is asked counts, later what the session was about, too."""

    early: Weights = Weights(0.70, 0.20, 0.10)
    mid: Weights = Weights(0.50, 0.30, 0.20)
    deep: Weights = Weights(0.40, 0.30, 0.30)

    def at(self, phase: Phase, hot: tuple[str, ...]) -> Weights:
        """Return the weights of a phase; with nothing hot there is relevance alone."""
        weights: Weights = getattr(self, phase)
        return weights if hot else PURE_RELEVANCE


def phase_of(recalls: int) -> Phase:
    """Return the phase of a session in which so many recalls were made before."""
    return "deep" if recalls >= DEEP_FROM else "mid" if recalls >= MID_FROM else "early"


def session_scores(session: Session, now: float) -> dict[str, float]:
    """Return the recency of each node seen: 1 just now, half of it after each half-life. Times are seconds."""
    ages = {node: max(0.0, now - at) for node, at in session.seen.items()}
    return {node: 0.5 ** (age / HALF_LIFE) for node, age in ages.items() if age <= KEEP}


def hot_nodes(scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return the nodes seen last: of one recall the best of it. Ties by id."""
    return tuple(sorted(scores, key=lambda node: (-scores[node], node))[:HOT])


def topical_score(hops: int | None) -> float:
    """Return how near the nearest hot node is: 1 for itself, 1/2 beside it; 0 when none is near."""
    return 0.0 if hops is None else 1 / (1 + hops)
