"""Citations in an answer: labels such as ``[S1]`` are read, checked against what was offered, and mapped to sources.

Pure. Labels count from 1 and have no gaps, so the number of offered sources says which labels exist.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lexigraph.answering.segments import labels, lines, units
from lexigraph.model.graph import Source
from lexigraph.model.results import Citation, Notice, ScoredStatement
from lexigraph.model.scripts import UNSPACED

# what a model says instead of an answer; the answer prompt asks for exactly this sentence
NOT_ANSWERED = "The sources do not answer this question."

_INNER = r"[sS0-9 \t,;&\-–—anNdAD]"  # also the letters of "and"
_GROUP = re.compile(rf"\[({_INNER}{{2,200}})\]")
_OPEN = re.compile(rf"\[{_INNER}{{0,200}}$")
_DASH = re.compile(r"[ \t]*[-–—][ \t]*")
_BETWEEN = re.compile(r"[ \t,;&]+")
_ITEM = re.compile(r"[sS]([0-9]{1,6})(?:-[sS]?([0-9]{1,6}))?")
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
        text = self._held + piece
        opening = _OPEN.search(text)
        cut = opening.start() if opening else len(text)
        self._held = text[cut:]
        out, at = [], 0
        for group in _GROUP.finditer(text, 0, cut):
            numbers = _numbers(group[1])
            if numbers is None:
                continue
            out += [self._plain(text[at : group.start()]), self._labels(numbers)]
            at = group.end()
        out.append(self._plain(text[at:cut]))
        return "".join(out)

    def finish(self) -> str:
        """Return what was held back; white space at the end is dropped."""
        held, self._held = self._held, ""
        return self._plain(held)

    def checked(self, text: str) -> CheckedAnswer:
        """Return the outcome for ``text``, which is everything that :meth:`feed` and :meth:`finish` returned."""
        return CheckedAnswer(text, tuple(sorted(self._cited)), tuple(self._unknown))

    def _plain(self, text: str) -> str:
        body = text.rstrip()
        if not body:
            self._space += text if self._begun else ""
            return ""
        out = self._space + (body if self._begun else body.lstrip())
        self._begun, self._space = True, text[len(body) :]
        return out

    def _labels(self, spans: list[tuple[int, int]]) -> str:
        known: dict[int, None] = {}
        for low, high in spans:
            known.update(dict.fromkeys(range(max(low, 1), min(high, self._count) + 1)))
            self._unknown.update({label(n): None for n in (low, high) if not 1 <= n <= self._count})
        self._cited.update(known)
        if not known:
            self._space = self._space.rstrip(" \t")  # "text [S9]." becomes "text.", not "text ."
            return ""
        out, self._space, self._begun = self._space, "", True
        return out + "".join(f"[{label(n)}]" for n in known)


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
        found.append(Notice("unknown_citation", f"taken out of the answer, no such source: {', '.join(answer.unknown)}"))
    if count and not answer.cited and NOT_ANSWERED not in answer.text:
        found.append(Notice("uncited_answer", "the answer cites none of its sources"))
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
                    where = f"is not in {_listed(cited)}" if cited else "stands without a citation"
                    told.setdefault(found[0], f"{found[0]} {where}")
    return list(told.values())


def _numbers_in(source: Citation) -> set[str]:
    text = f"{source.text}\n{source.resolved}\n{source.title}"
    return {found[0].replace(",", "") for found in _NUMBER.finditer(text)}


def unused(numbers: Sequence[int]) -> tuple[Notice, ...]:
    """Return the notice that these sources were not cited, none when there are none (E-46)."""
    return (Notice("unused_sources", f"offered and not cited: {_listed(numbers)}"),) if numbers else ()


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
    """Return document text with its lines, in which nothing looks like one of our labels."""
    return _GROUP.sub(lambda m: f"({m[1]})" if _numbers(m[1]) else m[0], text)


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


def _numbers(inner: str) -> list[tuple[int, int]] | None:
    """Return the (low, high) spans of a label group's inside, or None when it is something else in brackets."""
    items = [part for part in _BETWEEN.split(_DASH.sub("-", inner)) if part and part.casefold() != "and"]
    spans = []
    for item in items:
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        low = int(match[1])
        spans.append((min(low, int(match[2] or low)), max(low, int(match[2] or low))))
    return spans or None
