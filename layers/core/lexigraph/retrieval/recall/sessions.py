"""What a session of recalls says about a node: seen lately, near to what was seen lately, and how much either counts.

Pure. Formulas and numbers: M-11 to M-15 and section 3 of the semantics (half-life 1800 s; phases by recalls made before).
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from lexigraph.model.errors import InvalidInput
from lexigraph.storage.protocols import Session

HALF_LIFE = 1800.0  # seconds
KEEP = 10 * HALF_LIFE  # seconds after which a node counts as never seen
IDLE = 3600.0  # seconds without a recall after which a session begins again at early
HOT = 5  # nodes with the highest session scores
COOL = 0.05  # session score below which a node is not hot any more
LITTLE, ENOUGH = 0.65, 0.78  # relevance of the best, up to which a session counts in full, and from which on not at all
DOCUMENT = 1  # hops between what stands in one document
MID_FROM, DEEP_FROM = 3, 10  # recalls made before

DEFAULT = "default"
_PROCESS = secrets.token_hex(8)

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
            raise InvalidInput(f"the weights of recall must be 0 or greater and sum to 1, got {values}")

    def score(self, general: float, topical: float, session: float) -> float:
        """Return the relevance of a node, lifted by what the session says of it: what fits badly stays below what fits."""
        return round(general * (self.general + self.topical * topical + self.session * session), 6)


PURE_RELEVANCE = Weights(1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PhaseWeights:
    """The weights of each phase (M-15): at first what is asked counts, later what the session was about, too."""

    early: Weights = Weights(0.70, 0.20, 0.10)
    mid: Weights = Weights(0.50, 0.30, 0.20)
    deep: Weights = Weights(0.40, 0.30, 0.30)

    def at(self, phase: Phase, need: float) -> Weights:
        """Return the weights of a phase, as far as a query needs its session (:func:`need_of`)."""
        weights: Weights = getattr(self, phase)
        topical, session = round(need * weights.topical, 6), round(need * weights.session, 6)
        return Weights(round(1 - topical - session, 6), topical, session)


def session_key(session_id: str, caller: str) -> str:
    """Return under what a session is kept: the default one is the caller's own, or of this process where nobody is named.

    No name that a client may give (without line ends) is the same.
    """
    return f"{DEFAULT}\n{caller or f'{_PROCESS} {os.getpid()}'}" if session_id == DEFAULT else session_id


def phase_of(recalls: int) -> Phase:
    """Return the phase of a session in which so many recalls were made before."""
    return "deep" if recalls >= DEEP_FROM else "mid" if recalls >= MID_FROM else "early"


def session_scores(session: Session, now: float) -> dict[str, float]:
    """Return the recency of each node seen: 1 just now, half of it after each half-life. Times are seconds."""
    ages = {node: max(0.0, now - at) for node, at in session.seen.items()}
    return {node: 0.5 ** (age / HALF_LIFE) for node, age in ages.items() if age <= KEEP}


def hot_nodes(scores: Mapping[str, float]) -> tuple[str, ...]:
    """Return the nodes seen last, unless that is too long ago: of one recall the best of it. Ties by id."""
    warm = [node for node, score in scores.items() if score >= COOL]
    return tuple(sorted(warm, key=lambda node: (-scores[node], node))[:HOT])


def need_of(hot: tuple[str, ...], best: float) -> float:
    """Return how much a query needs its session, 0 to 1, by the relevance of the best that it finds by itself.

    What says what it is about finds something that fits; "its default port?" does not, and means what went before.
    """
    return min(1.0, max(0.0, (ENOUGH - best) / (ENOUGH - LITTLE))) if hot else 0.0


def topical_score(hops: int | None) -> float:
    """Return how near the nearest hot node is: 1 for itself, 1/2 beside it; 0 when none is near."""
    return 0.0 if hops is None else 1 / (1 + hops)
