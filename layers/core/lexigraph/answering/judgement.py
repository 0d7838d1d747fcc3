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
CALIBRATED = {"minilm": Calibration(-7.5, 11.0, 4.0, -2.5)}
# of a model that is not calibrated, and of a search without one, the words alone are judged
BY_WORDS = Calibration(-2.6, 0.0, 6.0, -3.0)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How sure it is that the statements found answer, 0 to 1, and the words of the question that none of them has."""

    confidence: float
    missing: tuple[str, ...] = ()


def judge(asked: Asked, found: Sequence[Candidate], nearest: float | None, embedding: str) -> Judgement:
    """Return how sure it is that ``found`` answers; ``nearest`` is the cosine of the chunk that is most like the question,
    None where none was compared, ``embedding`` the label of the model that tells it.
    """
    if not found:
        return Judgement(0.0)
    about: dict[str, frozenset[str]] = defaultdict(frozenset)
    for c in found:
        about[c.passage] |= c.about
    whole = min(math.fsum(asked.worth.values()), _ENOUGH)
    coverage = max(map(asked.mass, about.values())) / whole if whole else 1.0
    # a model of English finds all that is in another script alike
    told = nearest is not None and asked.in_latin
    weights = CALIBRATED.get(embedding.rpartition("-")[0]) if told else None
    weights = weights or BY_WORDS
    sum_ = weights.base + weights.cosine * (nearest or 0.0) + weights.coverage * min(coverage, 1.0)
    sum_ += weights.lacking * _lacking(asked, found)
    return Judgement(round(1 / (1 + math.exp(-sum_)), 3), asked.missing)


def _lacking(asked: Asked, found: Sequence[Candidate]) -> float:
    """Return the share of the question's identifiers that the statement with the most of them lacks; 1 where nothing found
    has an acronym of it.
    """
    if any(len(word) > 1 and word.isalpha() and word.isupper() for word in asked.missing):
        return 1.0
    return 1.0 - max(map(asked.identified, found)) if asked.identifiers else 0.0
