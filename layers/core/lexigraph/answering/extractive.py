"""An answer without a language model: the statements that together answer the question, quoted and cited. Pure.

Likeness to the question alone picks variations of one statement and misses the next hop. So statements are chosen one by
one: each for its own rank, for the words of the question that nothing chosen so far holds, for a rare name that it shares
with what was chosen (the next link of a chain does), and for a source not heard yet.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import dedent

from lexigraph.answering import citations
from lexigraph.answering.context import EXTERNAL, ExternalText, external_citation
from lexigraph.model.normalise import entity_key, without_brackets
from lexigraph.model.results import Citation, ScoredStatement, SearchResult, SearchResults
from lexigraph.retrieval.stages.text import STOP_WORDS, stems

_MOST_CANDIDATES = 300
_ASKS_FOR_A_NAME = re.compile(r"\b(?:who|whom|whose|where|person|place)\b", re.IGNORECASE)
_OPENING, _CLOSING = "([{\"'\u201c\u2018\u00ab", ".,;:!?)]}\"'\u201d\u2019\u00bb"
_TICKS = re.compile("`+")
# of sentences in any script, then what may stand behind them
_ENDS = tuple(".!?:\u2026\u3002\uff01\uff1f\uff1a\u061f\u06d4\u0964")
_BEHIND_END = ")]}\"'\u201d\u2019\u00bb\u300d\u300f\uff09"


@dataclass(frozen=True, slots=True)
class SelectionWeights:
    """What a statement is chosen for, beside its rank (its score as a share of the best).

    The values were chosen together on the example questions and on questions of MuSiQue and HotpotQA; all of them lie on a
    plateau, where half or double of one changes little.
    """

    # words of the question that only it answers, by rarity; in full when it is about something asked for or chosen
    coverage: float = 1.0
    # a name that it shares with a chosen statement, by rarity
    link: float = 0.3
    # it says the name through which the graph led to its chunk: of all statements there, the one that carries on the chain
    via: float = 0.5
    # its source is not heard yet
    source: float = 0.2
    # the question asks for a person or a place, and it names one that is new
    name: float = 0.3
    # from this share of common words on, two statements say the same
    same: float = 0.75


WEIGHTS = SelectionWeights()


def select(
    question: str, results: SearchResults, external: Sequence[ExternalText] = (), *, limit: int = 8
) -> tuple[Citation, ...]:
    """Return at most ``limit`` statements (external texts count as such) that together answer best, labelled S1 onwards.

    Statements come in the order in which they were chosen, which is hop by hop; those of one source stand together, external
    texts at the end (E-40).
    """
    selection = _Selection(question, results.entities, _candidates(results, external))
    chosen = selection.choose(limit)
    order = {c.home: at for at, c in reversed(list(enumerate(chosen)))}
    chosen.sort(key=lambda c: (c.citation.reason == EXTERNAL, order[c.home]))
    return tuple(replace(c.citation, label=citations.label(at)) for at, c in enumerate(chosen, 1))


def unchosen(external: Sequence[ExternalText], chosen: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return the external texts that were not quoted, labelled from where the chosen ones end (E-40)."""
    quoted = {(c.statement_id, c.text) for c in chosen if c.reason == EXTERNAL}
    rest = [text for text in external if (text.id, text.text) not in quoted]
    return tuple(external_citation(at, text) for at, text in enumerate(rest, len(chosen) + 1))


def is_weak(question: str, chosen: Sequence[Citation]) -> bool:
    """Tell whether none of the statements, nor a title of theirs, holds a content word of the question."""
    asked = set(stems(question))
    return bool(asked and chosen) and not any(asked & set(stems(f"{c.title} {c.text} {c.resolved}")) for c in chosen)


def quotation(quoted: Citation) -> str:
    """Return what an answer quotes, and its label: a sentence, or code and tables whole, fenced, below what leads there."""
    label = f"[{quoted.label}]"
    if quoted.kind == "prose":
        return f"{sentence(quoted.text)} {label}"
    lead = quoted.resolved.removesuffix(quoted.text).strip()
    head = f"{sentence(lead)} {label}" if lead and lead != quoted.resolved else label
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(quoted.text)), default=0))
    return f"\n{head}\n{fence}\n{citations.defused_lines(dedent(quoted.text))}\n{fence}"


def sentence(text: str) -> str:
    """Return a statement as a sentence of the answer: on one line, without anything that looks like a label, with an end."""
    line = citations.defused(text)
    return line if line.rstrip(_BEHIND_END).endswith(_ENDS) else f"{line}."


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A statement that could be quoted.

    ``words`` are the stems of what it says, ``answers`` those, of its quotation and of what it is about; ``says`` are the
    names in it, ``names`` those and its source's title; ``led_by`` is the name that led to it, if it says that name.
    """

    citation: Citation
    rank: float
    place: int
    words: frozenset[str]
    answers: frozenset[str]
    says: frozenset[str]
    names: frozenset[str]
    led_by: str = ""

    @property
    def home(self) -> str:
        """The source it is from; a text given with the question is its own."""
        return self.citation.source_id or self.citation.statement_id

    @property
    def quotation(self) -> tuple[str, int, str]:
        """What would be quoted, and where it stands: several statements may come of one sentence."""
        return self.home, self.citation.start, self.citation.text


class _Selection:
    """The choice for one question: what is still open, and what was named so far."""

    def __init__(self, question: str, entities: Sequence[str], candidates: list[_Candidate]) -> None:
        self.left = candidates
        self.wants_name = bool(_ASKS_FOR_A_NAME.search(question))
        asked = names_in(question) | {key for name in entities if _within(key := entity_key(name), question)}
        # a question that names nothing found here is about anything found here
        self.asked = asked if any(c.names & asked for c in candidates) else set[str]()
        self.rarity = _rarity([c.names for c in candidates])
        worth = _rarity([c.answers for c in candidates])
        wanted = {word: worth[word] for word in set(stems(question)) if word in worth}
        whole = sum(wanted.values())
        self.open = {word: value / whole for word, value in sorted(wanted.items())}
        self.named: set[str] = set()
        self.heard: set[str] = set()

    def choose(self, limit: int) -> list[_Candidate]:
        """Choose at most ``limit`` candidates, each for what it adds to those before it."""
        chosen: list[_Candidate] = []
        while self.left and len(chosen) < limit:
            best = max(self.left, key=lambda c: (round(self.gain(c), 9), -c.place))
            chosen.append(best)
            self._take(best)
        return chosen

    def gain(self, c: _Candidate) -> float:
        """Return what the candidate would add to the statements chosen so far."""
        w = WEIGHTS
        support = self._support(c)
        new = sum(self.open[word] for word in c.answers if word in self.open)
        carries = bool(c.led_by) and c.led_by not in self.asked
        names_somebody = self.wants_name and bool(c.says - self.asked - self.named)
        return (
            c.rank * (1 + w.via * carries)
            + w.coverage * new * support
            + w.link * self._shared(c)
            + w.source * (c.home not in self.heard)
            + w.name * support * names_somebody
        )

    def _support(self, c: _Candidate) -> float:
        """Return how sure it is that the candidate is about what is asked: 1, or the rarity of a name that leads to it."""
        given = c.citation.reason == EXTERNAL
        return 1.0 if given or not self.asked or c.names & self.asked else self._shared(c)

    def _shared(self, c: _Candidate) -> float:
        return max((self.rarity[name] for name in c.names & self.named), default=0.0)

    def _take(self, best: _Candidate) -> None:
        support = self._support(best)
        for word in best.answers & self.open.keys():
            self.open[word] *= 1 - support
        self.named |= best.names - self.asked
        self.heard.add(best.home)
        self.left = [c for c in self.left if c.quotation != best.quotation and _overlap(c.words, best.words) < WEIGHTS.same]


def names_in(text: str) -> set[str]:
    """Return the keys of the names in a text: runs of capitalised words, without function words at the start."""
    found, run = set(), list[str]()

    def end() -> None:
        while run and run[0].casefold() in STOP_WORDS:
            run.pop(0)
        if key := entity_key(" ".join(run)).removesuffix("'s"):
            found.add(key)
        run.clear()

    for token in text.split():
        word = token.strip(_OPENING + _CLOSING)
        if not word[:1].isupper() or token[0] in _OPENING:
            end()
        if word[:1].isupper():
            run.append(word)
            if token[-1] in _CLOSING:
                end()
    end()
    return found


def _candidates(results: SearchResults, external: Sequence[ExternalText]) -> list[_Candidate]:
    pairs = [(s, r) for r in results.results for s in r.statements]
    pairs = heapq.nlargest(_MOST_CANDIDATES, pairs, key=lambda pair: pair[0].score)
    best = max((s.score for s, _ in pairs), default=0.0)
    found = [_of_statement(s, r, at, s.score / best if best > 0 else 0.0) for at, (s, r) in enumerate(pairs)]
    for text in external:
        words, says = frozenset(stems(text.text)), frozenset(names_in(text.text))
        found.append(_Candidate(external_citation(0, text), 0.0, len(found), words, words, says, says))
    return found


def _of_statement(s: ScoredStatement, r: SearchResult, place: int, rank: float) -> _Candidate:
    words, says = frozenset(stems(s.text)), frozenset(names_in(s.text))
    led_by = entity_key(s.path[-1]) if s.path else ""
    return _Candidate(
        citation=citations.statement_citation(0, s, r.source),
        rank=rank,
        place=place,
        words=words,
        answers=words | frozenset(stems(f"{s.original} {r.source.title} {r.topic}")),
        says=says,
        names=says | ({entity_key(without_brackets(r.source.title))} - {""}),
        led_by=led_by if _within(led_by, s.text) else "",
    )


def _within(key: str, text: str) -> bool:
    """Tell whether a text holds a name, given by its key, as whole words."""
    return bool(key) and f" {key} " in f" {entity_key(text)} "


def _rarity(sets: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return, for each member of the sets, how rare it is: 1 in one set only, towards 0 in all of them."""
    counts = Counter(member for members in sets for member in members)
    scale = math.log(1 + len(sets))
    return {member: math.log((1 + len(sets)) / count) / scale for member, count in counts.items()}


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0
