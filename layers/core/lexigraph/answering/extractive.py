"""An answer without a language model: the statements that answer the question, quoted and cited, best first. Pure.

Quoted is what is worth nearly as much as the best. Behind it stands what leads to it: the statement that introduces the name
by which it was reached. Of things compared each is quoted, and what else a question names; of one that asks for all the
enumeration; of documents that answer in the words of the question each.
What says the same is quoted once, with all of its sources cited.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, groupby, islice
from textwrap import dedent

from lexigraph.answering import citations
from lexigraph.answering.asked import Asked
from lexigraph.answering.candidates import Candidate, words_of
from lexigraph.answering.compared import all_words
from lexigraph.answering.context import EXTERNAL, ExternalText, external_citation
from lexigraph.answering.identifiers import identifiers
from lexigraph.answering.worth import by_worth, chain
from lexigraph.model.results import Citation

# how much less than the best, in worth, a statement is quoted all the same
_NEAR = 1.5
_CHAINED = 2.5  # reached by a name: the answer is at the end of its chain, and unlike the question
_FOR_WORTH = 4  # statements at most that are quoted for that alone
_LISTED = 3.0  # of the best one's document, where all of something is asked for
_OTHER = 3.8  # about a name that nothing quoted has, or given with the question
_FURTHER = 2.0  # about a part of the question that nothing quoted has
_RESTATES = 0.9  # of the question's words: what has so many in another document answers too, perhaps otherwise
_PART = 0.35  # of the question's words that something has: so much more of them is a part of its own
_CARRIES = 0.4  # of the most likeness to the question that something found has: what has less carries nothing
_SAID = 0.5  # of the question's words that the best one has, by rarity: for what has less, one not in English is not quoted
_RANKED, _NAMED = 0.6, 0.4  # of the best score: what has less is not quoted for its worth, or for a name
_SAME = 0.75  # from this share of common words on, two statements say the same
_LINE = 4  # words of a line that leads to a list; a heading has fewer
_BEGINNING, _SENTENCE = 1_000, 8  # characters of a document, words of what says there what it is about
_SECTION = 3  # statements at most that are quoted for the heading that the question asks of
_REPLY = 100  # characters at most between what asks and what answers it
_NEAREST = 3  # quoted below an answer that says "not found"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATIONS = frozenset("not no nor never neither none nobody nothing without cannot t".split())
_WORD = re.compile(r"\w+")
_PRONOUN = re.compile(r"(?:It|They|He|She|This|These|That|Those|Its|Their|His|Her)\b")
_POSSESSIVE = frozenset(["Its", "Their", "His", "Her"])
_HEADING_END = re.compile(r"[:?!] ")
_LONGEST_HINT = 300  # characters
_TICKS = re.compile("`+")
_CELL = re.compile(r"[^:;]{1,80}: ")
# of what is described: a parameter, what is returned, since when there is; name <Type> ..., Returns: ..., Added in: ...
_DETAIL = re.compile(r"(?:(?:\.{3})?[\w.]+ )?<\w|\w+(?: \w+)?: ")
_LEFT_OUT = "\u2026"
# of sentences in any script, then what may stand behind them
_ENDS = tuple(".!?:\u2026\u3002\uff01\uff1f\uff1a\u061f\u06d4\u0964")
_BEHIND_END = ")]}\"'\u201d\u2019\u201c\u2018\u00ab\u00bb\u300d\u300f\uff09 \u00a0\u202f"  # „So.“ « Non. »

Quotation = tuple[Citation, ...]  # one statement, as each of its sources has it; the first is quoted


def select(
    asked: Asked, found: Sequence[Candidate], beyond: Sequence[Candidate] = (), *, limit: int = 8
) -> tuple[Quotation, ...]:
    """Return at most ``limit`` statements (passages of external texts count as such) that answer best, labelled S1 onwards.

    They come in the order of their worth, external texts at the end (E-40). A thing that is compared, of which nothing found
    tells, is quoted from ``beyond``: statements that limits cut off.
    """
    chosen = _Selection(asked, found, limit).choose(beyond)
    chosen.sort(key=lambda group: group[0].citation.reason == EXTERNAL)
    return labelled([c.citation for c in group] for group in chosen)


def nearest(asked: Asked, found: Sequence[Candidate], *, limit: int = 8) -> tuple[Quotation, ...]:
    """Return at most three statements, the nearest there are to a question that nothing found answers."""
    chosen = _Selection(asked, found, min(limit, _NEAREST)).first()
    return labelled([c.citation for c in group] for group in chosen)


def unchosen(external: Sequence[ExternalText], chosen: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return the external texts of which nothing was quoted, labelled from where the chosen ones end (E-40)."""

    def of(c: Citation) -> int:
        held = (at for at, text in enumerate(external) if text.id == c.statement_id and text.text[c.start : c.end] == c.text)
        return next(held, -1)

    quoted = {of(c) for c in chosen if c.reason == EXTERNAL}
    rest = (text for at, text in enumerate(external) if at not in quoted)
    return tuple(external_citation(at, text) for at, text in enumerate(rest, len(chosen) + 1))


def quotation(asked: Asked, quoted: Quotation) -> str:
    """Return what an answer quotes, and its labels: a sentence, or code and tables, fenced, below what leads there; of a
    table, where some rows have what is asked for, those.
    """
    first, labels = quoted[0], "".join(f"[{c.label}]" for c in quoted)
    if first.kind == "prose":
        return f"{_with_subject(asked, first)} {labels}"
    lead = first.resolved.removesuffix(first.text).strip().removeprefix("- ")
    head = f"{sentence(lead) if lead and lead != first.resolved else _named(first)} {labels}".lstrip()
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(first.text)), default=0))
    shown = _rows(asked, first.text) if first.kind == "table" else dedent(first.text)
    return f"\n{head}\n{fence}\n{citations.defused_lines(shown)}\n{fence}"


def _rows(asked: Asked, table: str) -> str:
    """Return the rows of a table that have what is asked for, an ellipsis for each run of others; all if none has."""
    rows = table.splitlines()
    runs = [(told, list(run)) for told, run in groupby(rows, key=asked.is_told_by_row)]
    if asked.for_all or not any(told for told, _ in runs) or not all(map(_CELL.match, rows)):
        return table
    return "\n".join("\n".join(run) if told else _LEFT_OUT for told, run in runs)


def _with_subject(asked: Asked, cited: Citation) -> str:
    """Return a quoted sentence with what it hangs on in brackets, which no reader sees here: what its pronoun stands for,
    or what leads to it. Without a pronoun what leads there is told where it has what is asked for.
    """
    quoted = sentence(cited.text)
    said, found = citations.defused(cited.resolved).rstrip("."), _PRONOUN.match(quoted)
    if not said:
        return quoted
    if not found:
        lead = said.removesuffix(quoted.rstrip(".")).rstrip(" :") if said.endswith(quoted.rstrip(".")) else ""
        told = len(lead) <= _LONGEST_HINT and lead != cited.title and asked.is_told_by(lead, quoted)
        return citations.defused(f"[{lead}] {quoted}") if told else quoted
    whole, rest = quoted.rstrip("."), quoted[found.end() :].rstrip(".")
    if said.endswith(whole):
        hint, put = said.removesuffix(whole).rstrip(" :"), "[{}] {}{}"
    else:
        hint, put = said.removesuffix(rest) if said.endswith(rest) else "", "{1} [{0}]{2}"
        hint = _HEADING_END.split(hint)[-1]
        hint = hint.removesuffix("'s") if found[0] in _POSSESSIVE else hint
    if not 0 < len(hint) <= _LONGEST_HINT:
        return quoted
    return citations.defused(put.format(hint, found[0], quoted[found.end() :]))


def _named(cited: Citation) -> str:
    """Return what stands above code and tables that nothing leads to: where they are from."""
    name = cited.title or cited.uri.rstrip("/").rpartition("/")[2]
    return citations.defused(f"{name}:") if name else ""


def sentence(text: str) -> str:
    """Return a statement as a sentence of the answer: on one line, without anything that looks like a label, with an end."""
    line = citations.defused(text)
    return line if line.rstrip(_BEHIND_END).endswith(_ENDS) else f"{line}."


class _Selection:
    """The choice for one question: groups of candidates that say the same."""

    def __init__(self, asked: Asked, found: Sequence[Candidate], limit: int) -> None:
        self.asked, self.limit = asked, limit
        quotable = [c for c in found if not _only_announces(c, found)]
        self.weighed, self.linked = by_worth(asked, quotable), chain(asked, quotable)
        self.order = [c for _, c in self.weighed]
        self.rank = max((c.rank for c in quotable), default=0.0)
        self.likeness = max((c.cosine for c in quotable if c.cosine is not None), default=0.0)
        self.row_identified = any(c.is_row and asked.identified(c) for c in quotable)
        self.chosen: list[list[Candidate]] = []

    def choose(self, beyond: Sequence[Candidate] = ()) -> list[list[Candidate]]:
        """Return what is quoted: what tells of each thing compared, then what is worth most, then what that hangs on."""
        if not self.weighed:
            return []
        for _, c in sorted(self._of_sides(beyond), key=lambda pair: -pair[0]):
            self._take(c)
        self._define()
        best, first = self.weighed[0]
        for worth, c in self.weighed:
            listed, linked = self.asked.for_all and c.home == first.home, c.place in self.linked
            behind = _LISTED if listed else _CHAINED if linked else _NEAR
            if best - worth <= behind and (listed or ((linked or self._stands(c)) and len(self.chosen) < _FOR_WORTH)):
                self._take(c)
        self._restate()
        for group in list(self.chosen):
            self._reply(group[0])
        for group in list(self.chosen):
            self._section(group[0])
        for group in list(self.chosen) if self.asked.for_several else ():
            self._enumerate(group[0])
        self._name(best)
        self._complete(best)
        for group in self.chosen:  # grows by what leads to what leads there
            self._take_first(sorted(self.linked.get(group[0].place, ()), key=self.order.index))
        return self.chosen

    def _define(self) -> None:
        """Quote first what says what the name in code is that alone is asked for: what is begun with below that name."""
        below = [c for c in self.order if self.asked.is_heading(c) and _tells(c)]
        if below:
            section = below[0].home, below[0].heading
            self._take(min((c for c in below if (c.home, c.heading) == section), key=_in_text))

    def _of_sides(self, beyond: Sequence[Candidate]) -> Iterator[tuple[float, Candidate]]:
        """Yield for each thing that is compared a statement about it, with its worth: best from a source that is called so,
        else below a heading that is, and from its beginning, where nothing else is asked.
        """
        bare = all_words(self.asked.sides).issuperset(self.asked.worth)
        for side in self.asked.sides:
            for weighed in (self.weighed, by_worth(self.asked, beyond)):
                told = [(worth, c) for worth, c in weighed if side.is_told(c)]
                telling = [(side.calls(c) or side.heads(c), bare and _begins(c), worth, c) for worth, c in told]
                if telling:
                    yield max(telling, key=lambda one: one[:-1])[-2:]
                    break

    def _carries(self, c: Candidate) -> bool:
        """Tell whether a statement is like the question at all, and about one of the things compared; a row, about what is
        identified, where one is.
        """
        if self.asked.sides and not any(side.is_told(c) for side in self.asked.sides):
            return False
        if self.row_identified and c.is_row and not self.asked.identified(c):
            return False
        if self.asked.is_foreign and self.asked.mass(c.about) < _SAID * self.asked.mass(self.order[0].about):
            return False  # to a model of English all of another language is alike
        return c.cosine is None or c.cosine >= _CARRIES * self.likeness

    def _stands(self, c: Candidate) -> bool:
        """Tell whether a statement may be quoted for its worth alone: found well, or below what is asked for."""
        meant = self.asked.is_defined_by(c) or self.asked.is_set_by(c)
        return self._carries(c) and (meant or self._ranks(c, _RANKED))

    def _ranks(self, c: Candidate, share: float) -> bool:
        """Tell whether a statement has such a share of the best score; a text given with the question has none to have."""
        return c.citation.reason == EXTERNAL or c.rank >= share * self.rank

    def first(self) -> list[list[Candidate]]:
        """Return those of the most worth, whatever they are worth beside the best."""
        for c in self.order:
            self._take(c)
        return self.chosen

    def _restate(self) -> None:
        """Quote of each other document what answers in the words of the question, however it ranks: it may say otherwise."""
        least = _RESTATES * self.asked.mass(self.asked.worth.keys())
        for c in self.order:
            if len(self.chosen) >= _FOR_WORTH:
                return
            told = self.asked.mass(c.words) >= least and self.asked.is_answered_by(c) and self._carries(c)
            if told and all(c.home != quoted.home for group in self.chosen for quoted in group):
                self._take(c)

    def _reply(self, question: Candidate) -> None:
        """Quote behind a statement that asks something what follows it: in talks that is the answer."""
        if question.citation.text.rstrip(_BEHIND_END).endswith("?"):
            behind = ((c.citation.start - question.citation.end, c) for c in self.order if c.home == question.home)
            near = [(gap, c.place, c) for gap, c in behind if 0 <= gap <= _REPLY]
            self._take_first(c for *_, c in sorted(near, key=lambda one: one[:2]))

    def _section(self, told: Candidate) -> None:
        """Quote what stands below a heading or term that is what the question asks of, in the order of the document."""
        if not (name := _heading(told)) or not self.asked.is_of(name):
            return
        below = [c for c in self.order if c.home == told.home and _heading(c) == name]
        if asked := self.asked.beyond(name) & told.words:  # of fs.rm one parameter: what else stands there is not asked for
            below = [c for c in below if asked <= c.words]
        if self.asked.is_heading(told):
            below = [c for c in below if _tells(c)] or below
        first, passages = min(map(_in_text, below)), {c.passage for c in below}
        # code knows the sentence that leads to it, and not the heading: it stands beside what does
        below += [c for c in self.order if c.citation.kind != "prose" and c.passage in passages and _in_text(c) > first]
        for c in sorted(below, key=_in_text)[:_SECTION]:
            self._take(c)
        places = [at for at, group in enumerate(self.chosen) if group[0] in below]
        groups = sorted((self.chosen[at] for at in places), key=lambda group: _in_text(group[0]))
        for at, group in zip(places, groups, strict=True):
            self.chosen[at] = group

    def _enumerate(self, item: Candidate) -> None:
        """Quote what else is listed below the line that an item stands under; of rows, those that have all that is asked."""
        if item.is_row and self.asked.is_held_by(item):
            for c in sorted(self.order, key=_in_text):
                if c.home == item.home and c.is_row and self.asked.is_held_by(c):
                    self._take(c)
        for lead in sorted({lead for c in self.order if c.home == item.home and (lead := _lead(c)) and _under(lead, item)}):
            for c in sorted(self.order, key=_in_text):
                if c.home == item.home and _under(lead, c):
                    self._take(c)

    def _name(self, best: float) -> None:
        """Quote what is about each name of the question that nothing quoted so far has, or says in lower case, or inflected;
        of things compared that is done.
        """
        behind = _OTHER if len(self.asked.names) > 1 else _FURTHER
        for name in () if self.asked.sides else sorted(self.asked.names):
            words = words_of(name, self.asked.language)
            if not any(name in c.names or (words and words <= c.about) for group in self.chosen for c in group):
                near = (c for worth, c in self.weighed if best - worth <= behind and self._ranks(c, _NAMED))
                self._take_first(c for c in near if name in c.names)

    def _complete(self, best: float) -> None:
        """Quote what answers a part of the question that nothing quoted so far does."""
        mass, quoted = self.asked.mass, frozenset[str]().union(*(c.about for group in self.chosen for c in group))
        whole = mass(frozenset(self.asked.found))
        least = {True: best - _OTHER, False: best - _FURTHER}
        near = [
            c
            for worth, c in self.weighed
            if worth >= least[c.citation.reason == EXTERNAL]
            and (worth == best or (self._carries(c) and self._ranks(c, _RANKED)))
        ]
        while near:
            adds, new = max(((mass(c.words - quoted), c) for c in near), key=lambda pair: pair[0])
            if adds <= _PART * whole or len(self.chosen) == self.limit:
                return
            self._take(new)
            quoted |= new.about

    def _take_first(self, offered: Iterable[Candidate]) -> None:
        for c in islice(offered, 1):
            self._take(c)

    def _take(self, new: Candidate) -> None:
        """Quote a statement, unless what it says is quoted already: then its source, if it is another, is cited there."""
        for group in self.chosen:
            if any(c.quotation == new.quotation for c in group):
                return
            if _say_the_same(group[0], new):
                if all(c.home != new.home for c in group):
                    group.append(new)
                return
        if len(self.chosen) < self.limit:
            self.chosen.append([new])


def _tells(c: Candidate) -> bool:
    """Tell whether a statement says something of what it stands below, or leads to code that does; no row, no detail."""
    if c.citation.kind == "code":
        return bool(c.citation.resolved) and not c.citation.resolved.removesuffix(c.citation.text).rstrip().endswith(":")
    return c.citation.kind == "prose" and not _DETAIL.match(c.citation.text)


def _begins(c: Candidate) -> bool:
    """Tell whether a statement is a sentence at the beginning of its document, which says what that is about."""
    return c.citation.kind == "prose" and c.citation.start < _BEGINNING and len(_WORD.findall(c.citation.text)) >= _SENTENCE


def _lead(c: Candidate) -> str:
    """Return the line that an item of a list stands under; empty for a heading, or where there is none."""
    said, text = c.citation.resolved, c.citation.text
    lead = said.removesuffix(text).strip() if said.endswith(text) else ""
    return lead if lead.endswith(":") and len(_WORD.findall(lead)) >= _LINE else ""


def _in_text(c: Candidate) -> tuple[int, int]:
    return c.citation.start, c.place


def _heading(c: Candidate) -> str:
    """Return the heading or term that a statement stands under."""
    said, text = c.citation.resolved, c.citation.text
    return said.removesuffix(text).rstrip(" :") if said.endswith(text) else ""


def _under(lead: str, c: Candidate) -> bool:
    return (c.citation.resolved or c.citation.text).startswith(lead)


def _only_announces(c: Candidate, found: Sequence[Candidate]) -> bool:
    """Tell whether a statement is the line above code or a table, or asks for that, which is a statement with that line."""
    text = c.citation.text
    return text.endswith((":", "?")) and any(other.citation.resolved.startswith(text) for other in found)


def _say_the_same(a: Candidate, b: Candidate) -> bool:
    """Tell whether two statements say the same: most of their words, all numbers and identifiers, and as much denied."""
    return _overlap(a.words, b.words) >= _SAME and _told(a) == _told(b)


def _told(c: Candidate) -> tuple[frozenset[str], bool]:
    text = c.citation.resolved or c.citation.text
    denies = bool(_NEGATIONS.intersection(_WORD.findall(text.casefold())))
    return frozenset(_NUMBER.findall(text)) | identifiers(text), denies


def labelled(groups: Iterable[Iterable[Citation]], before: int = 0) -> tuple[Quotation, ...]:
    """Return quotations with labels that go on behind those ``before``."""
    at = count(before + 1)
    return tuple(tuple(replace(cited, label=citations.label(next(at))) for cited in group) for group in groups)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0
