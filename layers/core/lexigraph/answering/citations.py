"""Citations in an answer: labels such as ``[S1]`` are read, checked against what was offered, and mapped to sources.

Pure. Labels count from 1 and have no gaps, so the number of offered sources says which labels exist. What a reader takes for
a label is one: in brackets or braces, also as entities of HTML, letters and digits that look alike (NFKC, and more), with
characters inside that nobody sees.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

from lexigraph.answering.segments import labels, lines, units
from lexigraph.model.graph import Source
from lexigraph.model.results import Citation, Notice, ScoredStatement
from lexigraph.model.scripts import UNSPACED

# what a model says instead of an answer; the answer prompt asks for exactly this sentence
NOT_ANSWERED = "The sources do not answer this question."

# square brackets, those that look like them, and braces
_OPENS = "[{\uff3b\ufe47\u2045\u2772\u27e6\u27ec\u298b\u298d\u298f\u3010\u3014\u3016\u3018\u301a\ufe39\ufe3b\ufe5d"
_CLOSES = "]}\uff3d\ufe48\u2046\u2773\u27e7\u27ed\u298c\u298e\u2990\u3011\u3015\u3017\u3019\u301b\ufe3a\ufe3c\ufe5e"
_LONGEST = 1_000  # characters inside brackets; what is longer no reader takes for a label
_GROUP = re.compile(rf"[{re.escape(_OPENS)}]([^{re.escape(_OPENS + _CLOSES)}]{{1,{_LONGEST}}})[{re.escape(_CLOSES)}]")
_LIKE_S = frozenset("\u0405\u0455\u054f\u13da\uabaa\ua4e2\ua731\u01bd")
_BRACKETS = frozenset(_OPENS + _CLOSES)
_IN_LABEL = frozenset("s0123456789-")
_UNSEEN = frozenset(
    "\u115f\u1160\u3164\uffa0\u2800*_~`\\^"
)  # fillers, and the marks of Markdown, also that of its footnotes
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});")
_BEGUN_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]{0,7}|[A-Za-z]{0,10})$")
_LONGEST_ENTITY = 12
_TAKEN = "\0"  # stands where a label was taken out of brackets, which then go, too
_INNER = frozenset("s0123456789 ,;&-and")
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2212")
_DASH = re.compile(r" *- *")
_BETWEEN = re.compile(r"[ ,;&]+")
_APART = re.compile(r"s +(?=[0-9])")
_ITEM = re.compile(r"s([0-9]+)(?:-s?([0-9]+))?")
# letters without blanks between words stand beside a number as blanks do: 自2024年起
_BESIDE = rf"(?![^\W{UNSPACED}])"
_EXTERNAL = "external"  # the reason of a text that came with the question
_NUMBER = re.compile(rf"(?<![.,])(?<![^\W{UNSPACED}])(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{4,}}){_BESIDE}")


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer whose labels are all real: ``cited`` are their numbers, ascending; ``unknown`` the labels taken out."""

    text: str
    cited: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


class CitationReader:
    """Normalises labels while an answer arrives in pieces, whatever the pieces are.

    ``[s1]``, ``[S1, S3]``, ``[S1 and S2]`` and ``[S1-S3]`` become ``[S1]``, ``[S1][S3]`` and so on; a label beyond
    ``count`` is taken out of the text. Only what may still become a label, and trailing white space, is held back.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._held = ""
        self._space = ""
        self._begun = False
        self._cited: set[int] = set()
        self._unknown: dict[str, None] = {}

    def feed(self, piece: str) -> str:
        """Take a piece of the answer and return the text that is now certain, perhaps none."""
        text, out, at = _decoded(self._held + piece), list[str](), 0
        while found := _next_label(text, at):
            start, end, spans = found
            if labels := self._known(spans):
                out += [self._plain(text[:start].rstrip("\\")), self._space, labels]
                self._begun, self._space = True, ""
                text, at = text[end:], 0
                continue
            before = text[:start].rstrip("\\").rstrip(" \t")  # "text [S9]." becomes "text.", not "text ."
            if not before:
                self._space = self._space.rstrip(" \t")
            taken = _TAKEN if before[-1:] in tuple(_OPENS) else ""
            text = _decoded(before + taken + text[end:])  # an entity may have been around it
            at = _open_from(before)  # what was around it may be a label now
        cut = _open_from(text)
        self._held = text[cut:]
        out.append(self._plain(text[:cut]))
        return "".join(out)

    def finish(self) -> str:
        """Return what was held back; white space at the end is dropped."""
        held, self._held = self._held, ""
        return self._plain(held)

    def checked(self, text: str) -> CheckedAnswer:
        """Return the outcome for ``text``, which is everything that :meth:`feed` and :meth:`finish` returned."""
        return CheckedAnswer(text, tuple(sorted(self._cited)), tuple(self._unknown))

    def _plain(self, text: str) -> str:
        text = text.replace(_TAKEN, "")
        body = text.rstrip()
        if not body:
            self._space += text if self._begun else ""
            return ""
        out = self._space + (body if self._begun else body.lstrip())
        self._begun, self._space = True, text[len(body) :]
        return out

    def _known(self, spans: Sequence[tuple[int, int]]) -> str:
        """Note the labels of a group and return those that were offered."""
        known: dict[int, None] = {}
        for low, high in spans:
            known.update(dict.fromkeys(range(max(low, 1), min(high, self._count) + 1)))
            self._unknown.update({label(n): None for n in (low, high) if not 1 <= n <= self._count})
        self._cited.update(known)
        return "".join(f"[{label(n)}]" for n in known)


def check(text: str, count: int) -> CheckedAnswer:
    """Normalise and check the labels of a whole answer, ``count`` sources having been offered."""
    reader = CitationReader(count)
    return reader.checked(reader.feed(text) + reader.finish())


def notices(answer: CheckedAnswer, sources: Sequence[Citation]) -> tuple[Notice, ...]:
    """Return what a reader should know about the citations of a model's answer.

    ``unknown_citation``: labels that were never offered, taken out. ``uncited_answer``: no label at all although the
    answer claims something. ``unreferenced_numeric`` (E-46), one a number: of four digits or more, and not in what its
    sentence cites. ``unused_sources`` (E-46): texts given with the question, and what is ranked before all that is cited.
    """
    count = len(sources)
    found = []
    if answer.unknown:
        found.append(
            Notice("unknown_citation", f"removed from the answer because no such source exists: {', '.join(answer.unknown)}")
        )
    if count and not answer.cited and NOT_ANSWERED not in answer.text:
        found.append(Notice("uncited_answer", "the answer does not cite any source"))
    found += [Notice("unreferenced_numeric", told) for told in _unreferenced(answer.text, sources)]
    passed_over = range(1, min(answer.cited, default=1))
    given = [n for n, source in enumerate(sources, 1) if source.reason == _EXTERNAL and n not in answer.cited]
    return (*found, *unused(sorted({*passed_over, *given})))


def _unreferenced(text: str, sources: Sequence[Citation]) -> list[str]:
    """Return what is wrong with each number that is in none of the sources that its sentence, or else its line, cites."""
    told: dict[str, str] = {}
    for line in lines(text):
        near = labels(text[slice(*line)], len(sources))
        for start, end in units(text, *line):
            cited = labels(text[start:end], len(sources)) or near
            said = {number for n in cited for number in _numbers_in(sources[n - 1])}
            for found in _NUMBER.finditer(text, start, end):
                if found[0].replace(",", "") not in said:
                    where = f"is not in {_listed(cited)}" if cited else "has no citation"
                    told.setdefault(found[0], f"{found[0]} {where}")
    return list(told.values())


def _numbers_in(source: Citation) -> set[str]:
    text = f"{source.text}\n{source.resolved}\n{source.title}"
    return {found[0].replace(",", "") for found in _NUMBER.finditer(text)}


def unused(numbers: Sequence[int]) -> tuple[Notice, ...]:
    """Return the notice that these sources were not cited, none when there are none (E-46)."""
    return (Notice("unused_sources", f"offered but not cited: {_listed(numbers)}"),) if numbers else ()


def cited(sources: Sequence[Citation], answer: CheckedAnswer) -> tuple[Citation, ...]:
    """Return the offered sources that the answer cites, in the order of their labels."""
    return tuple(sources[n - 1] for n in answer.cited)


def label(number: int) -> str:
    """Return the label of the n-th source, counted from 1."""
    return f"S{number}"


def defused(text: str) -> str:
    """Return document text on one line, in which nothing looks like one of our labels: ``[S1]`` becomes ``(S1)``."""
    return defused_lines(" ".join(text.split()))


def defused_lines(text: str) -> str:
    """Return document text with its lines, in which nothing looks like one of our labels; braces are of code."""
    text = decoded if _next_label(decoded := _decoded(text), 0) else text
    return _GROUP.sub(lambda m: f"({m[1]})" if m[0][0] != "{" and _spans(m[1]) else m[0], text)


def without_labels(text: str) -> str:
    """Return an earlier answer without its labels, which mean nothing beside the sources of another question."""
    return check(text, 0).text


def statement_citation(number: int, statement: ScoredStatement, source: Source) -> Citation:
    """Return the citation that stands for a statement."""
    return Citation(
        label=label(number),
        statement_id=statement.id,
        text=statement.quoted,
        source_id=source.id,
        uri=source.uri,
        title=source.title,
        chunk_id=statement.chunk_id,
        start=statement.start,
        end=statement.end,
        score=statement.score,
        reason=statement.reason,
        metadata=dict(source.metadata),
        kind=statement.kind,
        resolved=statement.text if statement.original else "",
    )


def _listed(numbers: Sequence[int]) -> str:
    """Return labels with runs of three or more joined: ``S1, S4-S9``."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    parts = [[f"{label(run[0])}-{label(run[-1])}"] if len(run) > 2 else map(label, run) for run in runs]
    return ", ".join(part for parts_of_run in parts for part in parts_of_run)


def _next_label(text: str, at: int) -> tuple[int, int, list[tuple[int, int]]] | None:
    """Return where the next group of labels begins and ends, and its (low, high) spans; None when there is none."""
    for group in _GROUP.finditer(text, at):
        if group[0][0] == "{" and "s" in group[1]:  # a variable of code
            continue
        if (spans := _spans(group[1])) or group[1] == _TAKEN:
            return group.start(), group.end(), spans
    return None


def _decoded(text: str) -> str:
    """Return text in which entities of HTML are what they show, as far as they can be part of a label."""
    return _ENTITY.sub(_shown, text) if "&" in text else text


def _shown(entity: re.Match[str]) -> str:
    seen = unescape(entity[0])
    return seen if seen in _BRACKETS or (len(seen) == 1 and _plain(seen) in _IN_LABEL) else entity[0]


def _open_from(text: str) -> int:
    """Return where what may still become a label begins: the outermost of the brackets open at the end, else the end."""
    begun = _entity_from(text)
    while True:
        start = at = begun
        while at > 0 and len(text) - at <= _LONGEST:
            at -= 1
            if text[at] in _OPENS:
                start = at
            elif not _INNER.issuperset(_plain(text[at])):
                break
        # backslashes hide a bracket from Markdown; and what stands before a label that is taken out meets what follows it
        before = text[:start].rstrip("\\ \t")
        begun = _entity_from(before)
        if begun == len(before) or len(text) - begun > _LONGEST:
            return begun


def _entity_from(text: str) -> int:
    """Return where an entity begins that may be going on, else the end."""
    begun = _BEGUN_ENTITY.search(text, max(0, len(text) - _LONGEST_ENTITY))
    return begun.start() if begun else len(text)


def _spans(inner: str) -> list[tuple[int, int]]:
    """Return the (low, high) spans of a label group's inside, none when it is something else in brackets."""
    plain = _APART.sub("s", _DASH.sub("-", "".join(map(_plain, inner))))
    items = [part for part in _BETWEEN.split(plain) if part and part != "and"]
    found = [_ITEM.fullmatch(item) for item in items]
    ends = [(int(match[1]), int(match[2] or match[1])) for match in found if match]
    return [(min(pair), max(pair)) for pair in ends] if len(ends) == len(items) else []


@lru_cache(maxsize=4_096)
def _plain(character: str) -> str:
    """Return what a reader sees in a character between brackets, in lower case; nothing when that is nothing."""
    if character in _LIKE_S:
        return "s"
    if character in _UNSEEN:
        return ""
    if character in _DASHES or character == "\u3001":
        return "," if character == "\u3001" else "-"
    seen = []
    for part in unicodedata.normalize("NFKD", character):
        if part.isspace():
            seen.append(" ")
        elif part.isdecimal():
            seen.append(str(unicodedata.decimal(part)))
        elif unicodedata.category(part)[0] not in "CM":  # control, format and combining characters
            seen.append(part.casefold())
    return "".join(seen)
