"""Whether an answer says what the statements say that it cites: sentence by sentence, with no model. Pure.

A sentence is borne out when the statements that it cites have its names and numbers and most of its other words, and deny
nothing that it affirms. What stands in the heading above a statement, and in the question, is known: it need not be in the
statement, and is no evidence either. This tells what is made up, swapped, or taken from another statement; it does not tell
who did what to whom where all the words are there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple

from lexigraph.answering.citations import NOT_ANSWERED, label
from lexigraph.answering.polarity import contradicts
from lexigraph.answering.segments import LABEL, labels, lines, units, without
from lexigraph.model import numbers
from lexigraph.model.grounding import Said
from lexigraph.model.results import Citation
from lexigraph.model.scripts import ENGLISH, OTHER_SCRIPT, told_language
from lexigraph.model.sentences import Span
from lexigraph.retrieval.stages.text import STOP_WORDS, stems, words

_ENOUGH = 0.5  # share of a sentence's words that the statements it cites must have
_SAYS = 0.7  # share from which another statement is named as the one that says it
_CONTRIBUTES = 0.2  # share of them that each of several statements must have
_ALIKE = 5  # letters by which words are alike: surgery, surgical
_MOST_NAMED = 3
_LOOKED_AT = 3  # statements that may say what those cited do not

_MARKS = re.compile(r"[*`|]+")
# what a program understands: a flag, a path, a name with dots or underscores in it, a call
_CODE = re.compile(
    r"(?<![\w./)\]-])(?:--?[A-Za-z][\w-]*|/\w[\w./-]+|_*[^\W_]+(?:(?:\.|::|_+)[^\W_]+)+_*|_+[^\W_]+_*|\w+(?=\(\)))"
)
_ACRONYM = re.compile(r"([A-Z]{3,6})s?\Z")
_FEW = "(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_COUNT = re.compile(rf"\b{_FEW}\b", re.IGNORECASE)
_MEANT = re.compile(rf"\b(?:the|these|those|all) {_FEW}\b", re.IGNORECASE)
# what a sentence about the sources themselves names, and of what else it is made
_SOURCES = "sources statements documents texts passages information details"
_OF_SOURCES = (
    "answers question says state mention describe specify provide contain include available found according based missing "
    "unclear nothing yes no"
)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A sentence of an answer that the statements it cites do not bear out, or a citation in it that bears out nothing.

    ``type`` is ``name``, ``number``, ``negation``, ``content`` or ``citation``; ``citations`` are the labels concerned, none
    when the sentence cites nothing; ``reason`` is for a reader.
    """

    sentence: str
    type: str
    citations: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Support:
    """What of an answer is not borne out, and the answer without it."""

    unsupported: tuple[Unsupported, ...]
    rest: str


def check_support(answer: str, sources: Sequence[Citation], headings: Sequence[str] = (), question: str = "") -> Support:
    """Hold each sentence of an answer against the sources that it cites; its labels are single ones, S1 the first source.

    ``headings`` are what stands above each source. A sentence without a citation is held against what its line cites, or
    else the whole answer; the names of the question are known to it. Takes milliseconds.
    """
    if not sources:
        return Support((), answer)
    given = _statements(sources, headings)
    asked = _Question(_stems(question, told_language(question)), Said(question, "", _may_begin_a_name))
    cited = labels(answer, len(given))
    found: list[Unsupported] = []
    out: list[Span] = []
    for line in lines(answer):
        near = labels(answer[slice(*line)], len(given)) or cited
        for start, end in units(answer, *line):
            sentence = _Sentence(answer[start:end], len(given), asked)
            if not sentence.claims:
                continue
            if wrong := _wrong(sentence, given, near):
                found.append(wrong)
                out.append((start, end))
                continue
            idle = _idle(sentence, given)
            found += [Unsupported(sentence.text, "citation", (label(n),), f"{label(n)} does not mention this") for n in idle]
            out += [m.span() for m in LABEL.finditer(answer, start, end) if int(m[1]) in idle]
    return Support(tuple(found), without(answer, out))


class _Question(NamedTuple):
    """The stems of a question's words, and what it names."""

    words: frozenset[str]
    named: Said


class _Sentence:
    """A sentence of an answer: what it claims, without markup and labels, and the labels."""

    def __init__(self, text: str, count: int, question: _Question) -> None:
        self.text = " ".join(text.split())
        self.labels = labels(text, count)
        self.said = " ".join(_MARKS.sub(" ", LABEL.sub("", text)).split())
        self.language = _language(self.said)
        self._words = numbers.without(self.said)
        self._question = question
        self._sources = _stems(_SOURCES, "")
        self._empty = self._sources | _stems(_OF_SOURCES, "")
        self._known = question.words | self._empty

    @property
    def claims(self) -> bool:
        """Whether it says anything that could be wrong: it does not when it leads to a list, or speaks of the sources."""
        if self.said == NOT_ANSWERED or (self.said.endswith(":") and not self.labels):
            return False
        repeats = not self.labels or bool(self.telling & self._sources)
        return bool(self.telling - (self._known if repeats else self._empty)) or self._words != self.said

    @cached_property
    def telling(self) -> frozenset[str]:
        """The stems of its words; numbers may be written otherwise."""
        return _stems(self._words, self.language)

    def share(self, statements: Sequence["_Statement"], *, own: bool = False) -> float:
        """Return the share of its words that statements have; 1 when none is left that is not known anyway.

        What stands above them counts where they say it; never, if only what is their ``own`` is to count.
        """
        language = self.language or next((s.language for s in statements if s.language), "")
        telling = _stems(self._words, language) if language != self.language else self.telling
        held = frozenset[str]().union(*(s.stems(language) for s in statements))
        alike = {stem[:_ALIKE] for stem in held if len(stem) >= _ALIKE}
        above = frozenset[str]().union(*(s.above for s in statements))
        here = {stem for stem in telling if stem in held or stem[:_ALIKE] in alike}
        if own:
            here -= above
        # when it only repeats the question, the statements have to say that
        wanted = here | (telling - above - self._known) or telling - above - self._empty
        return len(here) / len(wanted) if wanted else 1.0

    def missing(self, statements: Sequence["_Statement"]) -> tuple[list[str], list[str]]:
        """Return its names and its numbers that statements do not have, in text or heading.

        A name of the question may be missing where their document says it; if the sentence cites nothing, anyhow.
        """
        whole = "\n".join(s.all for s in statements)
        languages = [one for one in (self.language, *(s.language for s in statements)) if one not in ("", "en")]
        language = languages[0] if languages else ""
        said = Said(whole, language, _may_begin_a_name)
        # two may be counted, over several statements, without being said
        text = (_COUNT if len(statements) > 1 else _MEANT).sub(" ", self.said)
        figures = said.missing_numbers(text, few=not language)
        counted, folded = frozenset(figures), whole.casefold()
        names = [m for m in said.missing(text) if m not in counted and not _stands_for(m, whole)]
        names += [code for code in _CODE.findall(self.said) if code.casefold() not in folded and code not in counted]
        asked = {name for name in names if self._question.named.knows(name)}
        if asked and self.labels:
            there = Said("\n".join({s.document for s in statements}), language, _may_begin_a_name)
            asked = {name for name in asked if there.knows(name)}
        names = [name for name in names if name not in asked]
        return list(dict.fromkeys(names)), figures


class _Statement:
    """A source as the model was shown it; ``document`` is all that was shown of the document it is from."""

    def __init__(self, citation: Citation, heading: str, document: str) -> None:
        self.document = document
        self.text = f"{citation.text}\n{citation.resolved}".strip()
        self.all = f"{heading}\n{citation.title}\n{self.text}"
        self._heading = f"{heading}\n{citation.title}"
        self._stems: dict[str, frozenset[str]] = {}

    @cached_property
    def language(self) -> str:
        return _language(self.text)

    @cached_property
    def above(self) -> frozenset[str]:
        """The stems of what stands above it."""
        return _stems(self._heading, self.language)

    def stems(self, language: str) -> frozenset[str]:
        """Return the stems of its words."""
        if language not in self._stems:
            self._stems[language] = _stems(self.text, language)
        return self._stems[language]


def _statements(sources: Sequence[Citation], headings: Sequence[str]) -> list[_Statement]:
    shown: dict[str, list[str]] = {}
    for citation in sources:
        shown.setdefault(citation.source_id, []).append(f"{citation.text}\n{citation.resolved}")
    documents = {source: "\n".join(texts) for source, texts in shown.items()}
    above = [*headings, *[""] * len(sources)]
    return [_Statement(c, heading, documents[c.source_id]) for c, heading in zip(sources, above, strict=False)]


def _wrong(sentence: _Sentence, given: Sequence[_Statement], near: Sequence[int]) -> Unsupported | None:
    """Return what is wrong with a sentence, None when its statements bear it out."""
    held = sentence.labels or near or range(1, len(given) + 1)
    why = _objection(sentence, [given[n - 1] for n in held])
    if why is None:
        return None
    where = ", ".join(map(label, sentence.labels)) or ("the cited sources" if near else "the sources shown to the model")
    reason = why.reason.format(where) if sentence.labels else f"no citation; {why.reason.format(where)}"
    shares = {n: sentence.share([given[n - 1]], own=True) for n in range(1, len(given) + 1) if n not in held}
    likely = [n for n in nlargest(_LOOKED_AT, shares, key=lambda n: shares[n]) if shares[n] >= _SAYS]
    if elsewhere := next((n for n in likely if _objection(sentence, [given[n - 1]]) is None), None):
        reason = f"{reason}; {label(elsewhere)} supports it"
    return Unsupported(sentence.text, why.type, tuple(map(label, sentence.labels)), reason)


class _Objection(NamedTuple):
    """Why statements do not bear a sentence out; the reason with a place for which statements."""

    type: str
    reason: str


def _objection(sentence: _Sentence, statements: Sequence[_Statement]) -> _Objection | None:
    """Return why statements do not bear a sentence out."""
    names, figures = sentence.missing(statements)
    for type_, missing in (("number", figures), ("name", names)):
        if missing:
            named = ", ".join(missing[:_MOST_NAMED]).replace("{", "{{").replace("}", "}}")
            return _Objection(type_, f"not in {{}}: {named}")
    if not any(_comparable(sentence.language, s.language) for s in statements):
        return None
    share = sentence.share(statements)
    if share < _ENOUGH:
        return _Objection("content", f"{share:.0%} of its words are in {{}}")
    nearest = sorted(statements, key=lambda s: -sentence.share([s]))
    if sentence.labels and sentence.language in ("", "en") and contradicts(sentence.said, [s.text for s in nearest]):
        return _Objection("negation", "it contradicts {}")
    return None


def _idle(sentence: _Sentence, given: Sequence[_Statement]) -> list[int]:
    """Return the labels of a sentence that say nothing of it: the others bear it out without them."""
    cited = {n: given[n - 1] for n in sentence.labels}
    found: list[int] = []
    for n, one in cited.items():
        others = [other for m, other in cited.items() if m not in (n, *found)]
        if not others or not _comparable(sentence.language, one.language):
            continue
        if sentence.share([one], own=True) < _CONTRIBUTES and not _objection(sentence, others):
            found.append(n)
    return found


def _stems(text: str, language: str) -> frozenset[str]:
    return frozenset(stems(text, "" if language in ("en", "?") else language))


def _language(text: str) -> str:
    """Return the language of a text as far as it tells: a code, ``?`` for another script, empty where nothing tells."""
    letters = sum(map(str.isalpha, text))
    if letters and 2 * len(OTHER_SCRIPT.findall(text)) > letters:
        return "?"
    return told_language(text) or ("en" if ENGLISH & set(words(text)) else "")


def _comparable(one: str, other: str) -> bool:
    return not (one and other) or one == other


def _stands_for(name: str, text: str) -> bool:
    """Tell whether a name is made of the first letters of words in a row, of which it may pass over one: BCC, CVEs."""
    letters = _ACRONYM.match(name)
    initials = "".join(word[0] for word in words(text)) if letters else ""
    return bool(letters and re.search(".?".join(letters[1].lower()), initials))


def _may_begin_a_name(word: str) -> bool:
    return word.casefold() not in STOP_WORDS
