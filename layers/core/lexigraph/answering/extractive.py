"""An answer without a language model: the statements that together cover the question, quoted and cited. Pure.

Likeness to the question alone picks copies of one statement and misses the next hop. So statements are chosen one by one:
each for its own rank, for the words of the question that nothing chosen so far holds (more so when it shares a name with
what was chosen, as the next link of a chain does), and for a source not heard yet.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lexigraph.answering import citations
from lexigraph.answering.context import ExternalText, external_citation
from lexigraph.model.results import Citation, SearchResults
from lexigraph.retrieval.text import names, stems


@dataclass(frozen=True, slots=True)
class SelectionWeights:
    """What counts in the choice of a statement, beside its rank (1 for the best score).

    ``coverage``: share of the question's words, by rarity, that it alone answers. ``link``: the same share again when it
    shares a rare name with a chosen statement. ``source``: its source is not chosen yet. ``same`` is the share of common
    words from which two statements say the same.
    """

    coverage: float = 1.0
    link: float = 1.0
    source: float = 0.15
    same: float = 0.75


DEFAULT_WEIGHTS = SelectionWeights()


@dataclass(frozen=True)
class _Candidate:
    """A statement that could be quoted; ``rank`` is its score as a share of the best."""

    citation: Citation
    rank: float
    place: int
    subject: str

    @property
    def home(self) -> str:
        """The source it is from; a text given with the question is its own."""
        return self.citation.source_id or self.citation.statement_id

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems of what it says."""
        return frozenset(stems(self.citation.text))

    @cached_property
    def answers(self) -> frozenset[str]:
        """Stems of what it says and of what it is about."""
        return self.words | frozenset(stems(self.subject))

    @cached_property
    def names(self) -> frozenset[str]:
        """Keys of what may be names in it, and of its source's title."""
        return frozenset(name.key for name in names(f"{self.citation.title}\n{self.citation.text}"))


def select(
    question: str,
    results: SearchResults,
    external: Sequence[ExternalText] = (),
    *,
    limit: int = 6,
    weights: SelectionWeights = DEFAULT_WEIGHTS,
) -> tuple[Citation, ...]:
    """Return at most ``limit`` statements (external texts count as such) that together answer best, labelled S1 onwards.

    Statements of one source stand together in reading order, sources in the order in which they were chosen.
    """
    candidates = _candidates(results, external)
    chosen = _choose(frozenset(stems(question)), frozenset(n.key for n in names(question)), candidates, limit, weights)
    order = {c.home: at for at, c in reversed(list(enumerate(chosen)))}
    chosen.sort(key=lambda c: (order[c.home], c.citation.start, c.place))
    return tuple(replace(c.citation, label=citations.label(at)) for at, c in enumerate(chosen, 1))


def sentence(text: str) -> str:
    """Return a statement as a sentence of the answer: on one line, without anything that looks like a label, with an end."""
    line = citations.defused(text)
    return line if line.endswith((".", "!", "?", "\u2026", ":", "\u3002")) else f"{line}."


def _candidates(results: SearchResults, external: Sequence[ExternalText]) -> list[_Candidate]:
    best = max((s.score for s in results.statements), default=0.0)
    scale = 1.0 / best if best > 0 else 0.0
    found = [
        _Candidate(citations.statement_citation(0, s, r.source), max(s.score, 0.0) * scale, 0, f"{r.source.title} {r.topic}")
        for r in results.results
        for s in r.statements
    ]
    found += [_Candidate(external_citation(0, text), 0.0, 0, "") for text in external]
    return [replace(c, place=at) for at, c in enumerate(found)]


def _choose(
    asked: frozenset[str], asked_names: frozenset[str], candidates: list[_Candidate], limit: int, weights: SelectionWeights
) -> list[_Candidate]:
    worth = _rarity([c.answers for c in candidates])
    name_worth = _rarity([c.names for c in candidates])
    whole = sum(worth.get(word, 0.0) for word in asked) or 1.0
    open_words, known_names = set(asked), set[str]()
    chosen: list[_Candidate] = []
    left = list(candidates)

    def gain(candidate: _Candidate) -> float:
        new = sum(worth[word] for word in candidate.answers & open_words) / whole
        shared = max((name_worth[name] for name in candidate.names & known_names), default=0.0)
        unheard = all(candidate.home != c.home for c in chosen)
        return candidate.rank + new * (weights.coverage + weights.link * shared) + weights.source * unheard

    while left and len(chosen) < limit:
        best = max(left, key=lambda c: (gain(c), -c.place))
        chosen.append(best)
        open_words -= best.answers
        known_names |= best.names - asked_names
        left = [c for c in left if c is not best and _overlap(c.words, best.words) < weights.same]
    return chosen


def _rarity(sets: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return, for each member of the sets, how rare it is: 1 in one set only, towards 0 in all of them."""
    counts = Counter(member for members in sets for member in members)
    scale = math.log(1 + len(sets))
    return {member: math.log((1 + len(sets)) / count) / scale for member, count in counts.items()}


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0
