"""What a question compares, told by how it asks: "the difference between A and B", "compare A with B", "A or B". Pure."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from lexigraph.answering.candidates import EDGES, Candidate, words_of
from lexigraph.answering.identifiers import identifiers, share_held
from lexigraph.retrieval.stages.text import STOP_WORDS

_MOST = 4  # things compared
_WORDS = 6  # that one of them is called by
_TELLS = 0.5  # of a thing's own words: what has more tells of it
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|should|would|will)"
_NAMES = r".{1,150}?"  # a question that goes back and forth between all of its words would take seconds
_COMPARES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:differences?|distinctions?|similarit(?:y|ies)|comparison|distinguish|choose|choice)(?: is| are| there)*"
        r" (?:between|among|of) (.+)",
        r"\b(?:compare|compared|comparing|contrast) (.+)",
        rf"\b(?:how|where|in what|in which) (?:ways? )?{_AUXILIARY} ({_NAMES}) (?:differ|compare|different)\b(.*)",
        rf"\bwhat (?:distinguishes|separates|sets) ({_NAMES} from .+)",
        rf"\bwhat (?:do|does|have|has) ({_NAMES} and {_NAMES})(?: have)? in common\b",
        rf"\bboth ({_NAMES} and .+)",
    )
)
_VERSUS = re.compile(rf"({_NAMES}) (?:versus|vs\.?) (.+)", re.IGNORECASE)
# a choice only between what documents are called by: "is it lost or damaged" compares nothing
_CHOICE = (
    re.compile(r"(.+?) or (.+)", re.IGNORECASE),
    re.compile(rf"{_AUXILIARY} (.+?) (?:(?:more|less) \w+|\w+er|worse)\b.{{0,150}}? than (.+)", re.IGNORECASE),
)
# what is said only to compare: no document need have it
RELATION = re.compile(
    r"\b(?:differences?|distinctions?|similarit(?:y|ies)|compar(?:ed?|es|ing|ison)|contrast|differ|different|versus|vs"
    r"|distinguish(?:es)?|in common)\b",
    re.IGNORECASE,
)
_JOINTS = frozenset("and or with to from against versus vs vs. & apart".split())
_ARTICLES = frozenset("the a an".split())
_PLURAL = re.compile(r"\w{2,}(?<![sui])s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Side:
    """A thing that is compared: its name as written, its identifiers, and the stems that the other names lack: each with how
    much it tells, the less the more documents have it.
    """

    name: str
    identifiers: frozenset[str]
    words: Mapping[str, float]

    def is_told(self, c: Candidate) -> bool:
        """Tell whether a statement, with its headings, is about it."""
        return self._share(c.whole, c.about) > _TELLS

    def calls(self, c: Candidate) -> float:
        """Return how far the source of a statement is called by it: 0 to 1 for its title, as much again for its file."""
        return math.fsum(self._share(name, words_of(name)) for name in c.called.split("\n"))

    def heads(self, c: Candidate) -> float:
        """Return how far the heading above a statement is it, 0 to 1."""
        return self._share(c.heading, words_of(c.heading))

    def _share(self, text: str, words: AbstractSet[str]) -> float:
        if self.identifiers:
            return share_held(self.identifiers, text)
        return math.fsum(self.words[word] for word in self.words.keys() & words) / math.fsum(self.words.values())


def compared(question: str, found: Sequence[Candidate]) -> tuple[Side, ...]:
    """Return what a question compares, two to four things; none where it compares nothing, or nothing that was found."""
    sides = _sides(_things(" ".join(question.split()), found), found)
    return sides if any(side.is_told(c) for side in sides for c in found) else ()


def all_words(sides: Iterable[Side]) -> frozenset[str]:
    """Return the stems of what some things are called."""
    return frozenset(word for side in sides for word in words_of(side.name))


def _things(question: str, found: Sequence[Candidate]) -> list[str]:
    """Return the names of what a question seems to compare."""
    for asks in _COMPARES:
        if compares := asks.search(question):
            return _names(" ".join(compares.groups()))
    if versus := _VERSUS.search(question):
        return [_ending(versus[1]), *_names(versus[2])[:1]]
    choices = [choice for choice in (asks.match(question) for asks in _CHOICE) if choice]
    return _chosen(choices[0][1], choices[0][2], {c.called for c in found}) if choices else []


def _names(text: str) -> list[str]:
    """Return the names at the start of a text, between which stand "and", "with" and the like, up to what is no name."""
    names: list[list[str]] = [[]]
    for token in text.split():
        word = token.strip(EDGES)
        plain = word.casefold()
        if plain in _JOINTS:
            names.append([])
        elif plain in STOP_WORDS and plain not in _ARTICLES | {"of"}:
            break
        elif word and plain not in _ARTICLES:
            names[-1].append(word)
        if token[-1] in "?!;:":
            break
        if token[-1] == ",":
            names.append([])
    return [" ".join(name) for name in names if name]


def _ending(text: str) -> str:
    """Return the name at the end of a text: what stands behind its last function word."""
    name: list[str] = []
    for token in reversed(text.split()):
        if token[-1] in "?!;:," or token.casefold() in STOP_WORDS:
            break
        name.insert(0, token.strip(EDGES))
    return " ".join(name)


def _chosen(before: str, behind: str, called: Collection[str]) -> list[str]:
    """Return the longest names at both sides of a choice that documents are called by; none when one has none."""
    first, second = _ending(before).split(), " ".join(_names(behind)[:1]).split()
    ends = (" ".join(first[at:]) for at in range(len(first)))
    starts = (" ".join(second[:at]) for at in range(len(second), 0, -1))
    return [next((name for name in names if _is_called(name, called)), "") for names in (ends, starts)]


def _is_called(name: str, called: Iterable[str]) -> bool:
    sought, words = identifiers(name), words_of(name)
    return any(share_held(sought, title) == 1.0 if sought else words <= words_of(title) for title in called) and bool(words)


def _sides(names: Sequence[str], found: Sequence[Candidate]) -> tuple[Side, ...]:
    """Return the things of these names; none when they are not two to four names of a few words each."""
    if not 2 <= len(names) <= _MOST or not all(0 < len(name.split()) <= _WORDS for name in names):
        return ()
    *others, last = (name.split() for name in names)
    if len(last) > 1 and [bool(_PLURAL.fullmatch(name[-1])) for name in (*others, last)] == [False] * len(others) + [True]:
        names = [*names[:-1], " ".join(last[:-1])]  # the heapq and graphlib modules
    words = [words_of(name) for name in names]
    if not all(words):
        return ()
    homes: dict[str, frozenset[str]] = defaultdict(frozenset)
    for c in found:
        homes[c.home] |= c.about
    tells = {word: 1 / max(1, sum(word in said for said in homes.values())) for word in sorted(frozenset().union(*words))}
    own = [said.difference(*words[:at], *words[at + 1 :]) or said for at, said in enumerate(words)]
    weighed = [{word: tells[word] for word in sorted(mine)} for mine in own]
    return tuple(Side(name, identifiers(name), mine) for name, mine in zip(names, weighed, strict=True))
