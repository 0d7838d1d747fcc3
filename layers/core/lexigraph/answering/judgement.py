"""Whether what was found can answer the question: told before anything is quoted or a model is asked. Pure.

Three signals make the confidence. The *cosine* of question and nearest chunk tells foreign questions. What one statement
has *said*, the question's words in it and its headings, the rare ones counted most, times how like the question it is,
tells what is near but not said; two or three rare words are enough, however many a long question has. An *identifier* of
the question (``CVE-2023-25652``, ``--partscan``) or an acronym (``AES``) that nothing found has tells that it is not there,
and so does a word that is only said of others than what is asked about.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from lexigraph.answering.asked import Asked
from lexigraph.answering.candidates import Candidate, names_in, words_of
from lexigraph.answering.compared import Side, all_words
from lexigraph.answering.context import EXTERNAL
from lexigraph.answering.identifiers import identifiers, share_held

ANSWERABLE = 0.5  # from this confidence on; calibrated so that one answerable question in twenty lies below
SURE = 0.75  # from this confidence on a reader need not be told of doubt; the explorer's is the same
# likeness, at least, of what stands below the setting that is asked about, whatever it says of it, of what somebody says
# whose words are asked for, and of the row of a table that has all that is asked: a name is like nothing that is written
# under it, a row like no question
_BELONGS = 0.7
_FEW = 2  # words asked of a name: with more, a part of them may be another name
_ENOUGH = 2.5  # rare words of the question in one statement that are all that can be asked of it


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the signals; their sum, from ``base``, is the logit of the confidence."""

    base: float
    cosine: float
    said: float
    lacking: float


# by name of the embedding model: cosines mean something else to each. How they were fitted: docs/decisions.md
CALIBRATED = {"minilm": Calibration(-4.5, 7.0, 7.0, -4.5)}
# of a model that is not calibrated, and of a search without one, the words alone are judged
BY_WORDS = Calibration(-2.1, 0.0, 6.0, -4.5)


@dataclass(frozen=True, slots=True)
class Judgement:
    """How sure it is that the statements found answer, 0 to 1, and the words of the question that none of them has.

    ``untold`` are the things that the question compares which none of them tells of, while they tell of another.
    ``of_documents`` is how sure it is without the texts given with the question.
    """

    confidence: float
    missing: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    of_documents: float = 0.0


def judge(asked: Asked, found: Sequence[Candidate], nearest: float | None, embedding: str) -> Judgement:
    """Return how sure it is that ``found`` answers; ``nearest`` is the cosine of the chunk that is most like the question,
    None where none was compared, ``embedding`` the label of the model that tells it.
    """
    if not found:
        return Judgement(0.0)
    given = [c for c in found if c.citation.reason == EXTERNAL]
    untold = tuple(side.name for side in asked.sides if not any(map(side.is_told, found)))
    of_documents = _confidence(asked, [c for c in found if c.citation.reason != EXTERNAL], nearest, embedding)
    # no cosine is known of a text that came with the question: its words are judged
    confidence = max(of_documents, _confidence(asked, given, None, embedding))
    return Judgement(confidence, asked.missing, untold, of_documents)


def _confidence(asked: Asked, found: Sequence[Candidate], nearest: float | None, embedding: str) -> float:
    if not found:
        return 0.0
    told = [side for side in asked.sides if any(map(side.is_told, found))]
    untold = [side for side in asked.sides if side not in told]
    # a model of English finds all that is in another script alike, what documents are called by is not foreign to them, and
    # nothing that is said of a name is like the name alone
    known = asked.is_a_name or (bool(told) and all(any(side.calls(c) >= 1.0 for c in found) for side in told))
    by_likeness = nearest is not None and asked.in_latin and not known
    weights = CALIBRATED.get(embedding.rpartition("-")[0], BY_WORDS) if by_likeness else BY_WORDS
    said = _said(asked, found, told, untold, by_likeness=weights is not BY_WORDS)
    sum_ = weights.base + weights.cosine * (nearest or 0.0) + weights.said * said
    sum_ += weights.lacking * _lacking(asked, found)
    return round(1 / (1 + math.exp(-sum_)), 3)


def _said(
    asked: Asked, found: Sequence[Candidate], told: Sequence[Side], untold: Sequence[Side], *, by_likeness: bool
) -> float:
    """Return how much of what can be asked of one statement the best one has, 0 to 1, times its likeness to the question.

    What tells of one of the things compared need not tell of the others, and of what nothing tells nothing is asked. A
    question without any word to look for ("Why?") is answered by nothing.
    """
    if not asked.worth:
        return 0.0
    of_told = all_words(told)
    words = asked.worth.keys() - (all_words(untold) - of_told)
    if not (whole := min(asked.mass(words), _ENOUGH)):
        return 1.0
    shares = [min(1.0, asked.mass(words & (c.about | of_told)) / whole) for c in found]
    return max(share * (_likeness(asked, c) if by_likeness else 1.0) for share, c in zip(shares, found, strict=True))


def _likeness(asked: Asked, c: Candidate) -> float:
    """Return how like the question a statement is, or its chunk where the search compared only that."""
    return max(_BELONGS * (asked.belongs(c) or asked.is_held_by(c)), (c.around if c.cosine is None else c.cosine) or 0.0)


def _lacking(asked: Asked, found: Sequence[Candidate]) -> float:
    """Return the share of the question's identifiers that the statement with the most of them lacks; 1 where nothing found
    has a word of a name of it, or only of others says what is asked. Of things compared it is enough that one is told of.
    """
    compared = " ".join(side.name for side in asked.sides)
    if any(name not in compared for name in asked.unknown):
        return 1.0
    subject = _subject(asked, found)
    if not asked.sides and _is_told_of_others(asked, found, subject):
        return 1.0
    sought = asked.identifiers - identifiers(compared)
    if not sought:
        return 0.0
    told = [c for c in found if subject <= c.about] or found
    return 1.0 - max(share_held(sought, c.whole) for c in told)


def _is_told_of_others(asked: Asked, found: Sequence[Candidate], subject: AbstractSet[str]) -> bool:
    """Tell whether one or two words are asked of what a source is called by, no names, and statements that say them are all
    about something else: "Who wrote picomatch?", where an author is told of another package.
    """
    wanted = asked.worth.keys() - subject
    named = words_of(" ".join(names_in(asked.text)), asked.language)
    if not subject or not 0 < len(wanted) <= _FEW or not wanted <= asked.found - named:
        return False
    return not any(subject <= c.about and wanted & c.about for c in found)


def _subject(asked: Asked, found: Sequence[Candidate]) -> AbstractSet[str]:
    """Return the words of the question that are most of what a source is called by; empty where no source is named."""
    names = sorted({name for c in found for name in c.names_of_source})
    called = (words_of(name, asked.language) for name in names)
    held = [asked.worth.keys() & words for words in called if 2 * len(asked.worth.keys() & words) > len(words)]
    return max(held, key=len, default=set[str]())
