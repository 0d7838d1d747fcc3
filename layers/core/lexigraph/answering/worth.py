"""How much each statement is worth as an answer, beside its rank. Pure.

A chain of evidence has its answer at its end, which is often unlike the question: so a statement that was reached by a name
which another one introduces counts more, and likeness of the sentence itself counts against that of its chunk.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lexigraph.answering.asked import Asked
from lexigraph.answering.candidates import Candidate

_LOOKED_AT = 40  # of the best, as links of a chain
_HOPS = 3
_SPECIFIC = 3  # sources at most, among those looked at, that say a name which leads from one statement to another
_WHOLE = 0.8  # of the question's words: a statement that has so many needs no chain to answer


@dataclass(frozen=True, slots=True)
class WorthWeights:
    """What a statement is worth quoting for. A difference of 1 is a factor of e in how likely it is the one that answers.

    Fitted together on the visible halves of the example questions, `mixed`, MuSiQue, HotpotQA, 2Wiki and LiHua-World, then
    rounded (docs/decisions.md).
    """

    # its score as a share of the best
    rank: float = 5.0
    # what is asked for that it says itself, by rarity
    focus: float = 2.0
    # it has a new name, a number or a reason where that is asked for
    kind: float = 3.0
    # the identifiers of the question that it, or its source's title, has
    identifier: float = 2.0
    # it stands below the term or signature that the question names: it defines that
    defines: float = 1.0
    # it stands below the setting or function that the question names (StrictHostKeyChecking, which is no identifier), or is
    # what somebody says whose words are asked for
    belongs: float = 2.0
    # a statement about what is asked for introduces the name by which it was reached
    led: float = 1.5
    # how like the question the sentence is, as a share of the best, and how like its chunk is
    cosine: float = 1.5
    around: float = -1.5


WEIGHTS = WorthWeights()


def by_worth(asked: Asked, found: Sequence[Candidate]) -> list[tuple[float, Candidate]]:
    """Return the candidates with their worth, best first; ties in the order of their scores.

    Where what somebody says is asked for, the fields of messages are left out unless there is nothing else.
    """
    if asked.for_words:
        found = [c for c in found if not c.is_envelope] or found
    linked = chain(asked, found)
    nearest = [max((value or 0.0 for value in values), default=0.0) or 1.0 for values in _likeness(found)]
    weighed = []
    for c in found:
        w = WEIGHTS
        worth = w.rank * c.rank + w.focus * asked.share(c.words) + w.kind * asked.is_answered_by(c)
        worth += w.identifier * asked.identified(c) + w.defines * asked.is_defined_by(c) + w.led * (c.place in linked)
        worth += w.belongs * asked.belongs(c)
        if c.cosine is not None and c.around is not None:
            worth += w.cosine * max(c.cosine, 0.0) / nearest[0] + w.around * max(c.around, 0.0) / nearest[1]
        weighed.append((round(worth, 6), c))
    return sorted(weighed, key=lambda pair: (-pair[0], pair[1].place))


def chain(asked: Asked, found: Sequence[Candidate]) -> dict[int, list[Candidate]]:
    """Return, by the place of each statement that was reached by a name, the statements of other sources that introduce it.

    The first ones name what is asked for, each further one was reached itself. A name that many sources say leads nowhere.
    None where a statement that was not reached so has nearly all that is asked about.
    """
    whole = _WHOLE * asked.mass(asked.worth.keys())
    if any(asked.mass(c.about) >= whole for c in found[:_LOOKED_AT] if not c.led_by):
        return {}
    begin = [c for c in found[:_LOOKED_AT] if c.names & asked.names]
    said = Counter(name for name, _ in {(name, c.home) for c in found[:_LOOKED_AT] for name in c.says})
    linked: dict[int, list[Candidate]] = {}
    reached = begin
    for _ in range(_HOPS):
        new: dict[int, list[Candidate]] = {}
        for c in found[:_LOOKED_AT]:
            specific = c.led_by and said[c.led_by] <= _SPECIFIC
            leads = [r for r in reached if r.home != c.home and c.led_by in r.says] if specific else []
            if leads and c.led_by not in asked.names and c.place not in linked:
                new[c.place] = leads
        linked |= new
        reached = [c for c in found[:_LOOKED_AT] if c.place in new]
    return linked


def _likeness(found: Sequence[Candidate]) -> tuple[list[float | None], list[float | None]]:
    return [c.cosine for c in found], [c.around for c in found]
