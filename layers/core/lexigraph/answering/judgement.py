"""Whether what was found can answer the question: told before anything is quoted or a model is asked. Pure.

Three signals make the confidence. The *cosine* of question and nearest chunk tells foreign questions. *Coverage*, the
question's words in one passage with its headings, the rare ones counted most, tells what is near but not said; two rare
words in one place are enough, however many a long question has. An *identifier* of the question (``CVE-2023-25652``,
``--partscan``) or an acronym (``AES``) that nothing found has tells that it is not there.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lexigraph.answering.asked import Asked
from lexigraph.answering.candidates import Candidate
from lexigraph.answering.compared import Side, all_words
from lexigraph.answering.identifiers import identifiers, share_held

ANSWERABLE = 0.5  # from this confidence on; calibrated so that one answerable question in twenty lies below
_ENOUGH = 2.0  # rare words of the question in one passage that are all that can be asked of it


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the signals; their sum, from ``base``, is the logit of the confidence."""

    base: float
    cosine: float
    coverage: float
    lacking: float


# by name of the embedding model: cosines mean something else to each. How they were fitted: docs/decisions.md
CALIBRATED = {"minilm": Calibration(-7.5, 11.0, 4.0, -4.5)}
# of a model that is not calibrated, and of a search without one, the words alone are judged
BY_WORDS = Calibration(-2.6, 0.0, 6.0, -4.5)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How sure it is that the statements found answer, 0 to 1, and the words of the question that none of them has.

    ``untold`` are the things that the question compares which none of them tells of, while they tell of another.
    """

    confidence: float
    missing: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


def judge(asked: Asked, found: Sequence[Candidate], nearest: float | None, embedding: str) -> Judgement:
    """Return how sure it is that ``found`` answers; ``nearest`` is the cosine of the chunk that is most like the question,
    None where none was compared, ``embedding`` the label of the model that tells it.
    """
    if not found:
        return Judgement(0.0)
    told = [side for side in asked.sides if any(map(side.is_told, found))]
    untold = [side for side in asked.sides if side not in told]
    # a model of English finds all that is in another script alike; what documents are called by is not foreign to them
    known = bool(told) and all(any(side.calls(c) >= 1.0 for c in found) for side in told)
    by_likeness = nearest is not None and asked.in_latin and not known
    weights = CALIBRATED.get(embedding.rpartition("-")[0], BY_WORDS) if by_likeness else BY_WORDS
    sum_ = weights.base + weights.cosine * (nearest or 0.0) + weights.coverage * _coverage(asked, found, told, untold)
    sum_ += weights.lacking * _lacking(asked, found)
    return Judgement(round(1 / (1 + math.exp(-sum_)), 3), asked.missing, tuple(side.name for side in untold))


def _coverage(asked: Asked, found: Sequence[Candidate], told: Sequence[Side], untold: Sequence[Side]) -> float:
    """Return how much of what can be asked of one passage the best one has, 0 to 1.

    What tells of one of the things compared need not tell of the others, and of what nothing tells nothing is asked.
    """
    of_told = all_words(told)
    words = asked.worth.keys() - (all_words(untold) - of_told)
    about: dict[str, frozenset[str]] = defaultdict(lambda: of_told)
    for c in found:
        about[c.passage] |= c.about
    whole = min(asked.mass(words), _ENOUGH)
    return min(1.0, max(asked.mass(words & has) for has in about.values()) / whole) if whole else 1.0


def _lacking(asked: Asked, found: Sequence[Candidate]) -> float:
    """Return the share of the question's identifiers that the statement with the most of them lacks; 1 where nothing found
    has a word of a name of it. Of things compared it is enough that one is told of.
    """
    compared = " ".join(side.name for side in asked.sides)
    if any(name not in compared for name in asked.unknown):
        return 1.0
    sought = asked.identifiers - identifiers(compared)
    return 1.0 - max(share_held(sought, c.whole) for c in found) if sought else 0.0
