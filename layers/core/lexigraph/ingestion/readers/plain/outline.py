"""Headings of plain text: underlined, numbered, in capitals, centred, labelled, in series, or left of the text below them.

What is a heading is judged by the whole document: one numbered line may be anything, ten of them with text in between are
an outline.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from lexigraph.ingestion.readers.plain.lines import (
    Line,
    Run,
    bullet_end,
    ends_sentence,
    in_columns,
    is_marked,
    is_prose,
    wrapped,
)

_RULE = re.compile(r"([=\-~^\"'`*+#_])\1{2,}+")
_MARKED = re.compile(r"(={2,6}|#{1,6})\s+(\S.*?)(?:(?<!\s)\s*+\1)?")
_NUMBERED = re.compile(r"(?:§\s*)?((?:\d{1,3}|[A-Z])(?:\.\d{1,3})*)(\.?)\s+(\S.*)")
_LABELLED = re.compile(
    r"(?:section|article|chapter|part|appendix|annex|exhibit|schedule)\s+(?:\d+|[ivxlc]+|[a-z])\b(?:\s*[-–—:.]+\s*\S.*)?",
    re.IGNORECASE,
)
_APPENDED = re.compile(r"(?:APPENDIX|ANNEX|ADDENDUM|Appendix|Annex|Addendum): \S.*")
# a title at the head of its paragraph: "2. Waiver. To the greatest extent ..."
_RUN_IN = re.compile(
    r"(\d{1,3}\.\s+[A-Z][\w’'-]*(?:,?\s+(?:(?:of|and|or|the|to|for|in|on|from|with|by|an?)\s+){0,3}[A-Z][\w’'-]*){0,9}\.)"
    r"\s+([A-Z\"“].*)"
)
_CAPITAL = re.compile(r"[A-Z0-9]|(?:of|and|or|the|to|for|in|on|from|with|by|an?)\b")
_ADDRESS = re.compile(r"^Copyright\b|\S@\S|://|^\d+[/.-]\d+[/.-]\d|[={}\\|]|\s{3}")
# ``version 1.34``, ``Changes in kettle 2.1-rc1``, ``2026-03-12  Ada Cook``
_RELEASE = re.compile(r"(?:\S+\s+){0,3}[(\[]?v?(?:\d+(?:[.-]\w+)*[.-]\d\w*|\d{8}\b)")
_NO_RELEASE = re.compile(r"^Copyright\b|\(c\)|©|://|[={}\\|]", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_MOST = 80  # characters of a heading
_WORDS = 10
_NUMBERED_LINES, _LONGEST = 4, 240  # lines and characters of a numbered heading
_MIDDLE_LINES = 3  # of a centred heading, the longest of them in capitals
_CENTRED = 8  # columns by which a centred line is further right than the text
# levels by style; numbered lines and those further left count on from theirs
_TITLE, _UNDERLINED, _CENTRE, _OUTER, _PLAIN = 0, {"=": 2, "#": 2, "*": 2, "-": 3}, 5, 7, 12
_OTHER_RULE = 4
_MARKS = 1
_EVERY, _SHORT = 100, 30  # lines among which one of this length has another below it, where the text begins
_FEW = 2  # titles at the heads of paragraphs, from which they are no chance
_VOTE = 0.6  # share of lines numbered alike that read as headings, from which those are
_DEEP_VOTE = 0.3  # the same for numbers of several parts, which few lists have


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: the first ``lines`` lines of a run. ``level`` counts downwards, ``style`` tells which look alike."""

    level: int
    text: str
    lines: int
    style: str


class Outline:
    """The headings of a document, by the number of the run that each begins.

    ``margin`` is the indent of its text: what is further left is a heading. ``width`` is the column where lines wrap.
    """

    def __init__(self, runs: Sequence[Run], width: int) -> None:
        self.margin = margin_of(runs)
        self._runs = runs
        self._width = width
        self._outlined = self._numbered_styles()
        self._series = self._in_series()
        self._hashed = any((found := _marked(run)) and found.style[0] == "#" for run in runs)
        self._number = ("", 0)  # of the last run numbered as headings are: what stands before its last part, and that
        self.headings: dict[int, Heading] = {}
        for number, run in enumerate(runs):
            if not run.furniture and (found := self._heading(number, run)):
                self.headings[number] = found
            if _style(run) in self._outlined:
                self._number = _number(run.text)

    def _heading(self, number: int, run: Run) -> Heading | None:
        if found := _underlined(run) or _marked(run, one=self._hashed):
            return found
        if len(run.text) > _MOST or not any(map(str.isalpha, run.text)):
            return None
        alone = len(run.lines) == 1
        follows = self._runs[number + 1] if number + 1 < len(self._runs) else None
        if not alone:
            if follows and (found := self._wrapped_title(run, follows)):
                return found
            return self._outer(run, above=run.lines[1].indent) or self._centred(run, first=number == 0)
        if follows is None:
            return None
        if numbered := _NUMBERED.fullmatch(run.text):
            style = _style(run)
            listed = _style(follows) == style
            if style in self._outlined and not numbered[3][0].islower() and numbered[3][-1] not in ",;:" and not listed:
                return Heading(_OUTER + numbered[1].count("."), run.text, 1, style)
            if style in self._styled:
                return None
        if _LABELLED.fullmatch(run.text) and not ends_sentence(run.text):
            return Heading(_OUTER, run.text, 1, "label")
        if _APPENDED.fullmatch(run.text) and len(run.text.split()) <= _WORDS:
            return Heading(_OUTER - 1, run.text, 1, "capitals")
        return (
            self._outer(run, above=follows.indent)
            or self._capitals(run)
            or self._centred(run)
            or self._serial(number)
            or self._plain(number)
        )

    def below(self, rest: Run) -> Heading | None:
        """Return the heading that follows right below another one, as that of a subsection does in manual pages."""
        inner = len(rest.lines) > 1 and rest.indent > 0
        return self._outer(rest, above=rest.lines[1].indent) if inner else None

    # ------------------------------------------------------------ numbered

    def _numbered_styles(self) -> frozenset[str]:
        """Return the styles of numbering (indent and depth) whose lines are headings for the most part."""
        counts: Counter[str] = Counter()
        heads: Counter[str] = Counter()
        for number, run in enumerate(self._runs):
            if style := _style(run):
                counts[style] += 1
                follows = self._runs[number + 1] if number + 1 < len(self._runs) else None
                heads[style] += bool(_is_numbered_title(run) and follows and _style(follows) != style)
        self._styled = frozenset(style for style, count in counts.items() if count > 1)
        deep = {style for style in counts if "." in style}
        return frozenset(
            s for s in counts if heads[s] >= (_DEEP_VOTE if s in deep else _VOTE) * counts[s] and (heads[s] > 1 or s in deep)
        )

    # ------------------------------------------------------------ in series

    def _in_series(self) -> frozenset[int]:
        """Return the lone lines, left of all others, that begin alike and have other text between them."""
        alike: defaultdict[str, list[int]] = defaultdict(list)
        left = min((run.indent for run in self._runs), default=0)
        for number, run in enumerate(self._runs[:-1]):
            if run.indent == left and (begins := _release(run)):
                alike[begins].append(number)
        return frozenset(
            number
            for numbers in alike.values()
            if all(b - a > 1 for a, b in pairwise(numbers))
            and sum(not ends_sentence(self._runs[number].text) for number in numbers) > max(1, len(numbers) // 2)
            for number in numbers
        )

    def _serial(self, number: int) -> Heading | None:
        run = self._runs[number]
        return Heading(_OUTER, run.text, 1, f"outer{run.indent}") if number in self._series else None

    def _wrapped_title(self, run: Run, below: Run) -> Heading | None:
        """Return a numbered title or question of several lines, hanging under its first word, above text further in."""
        style, found = _style(run), _NUMBERED.match(run.text)
        if style not in self._outlined or found is None or len(run.lines) > _NUMBERED_LINES or below.indent <= run.indent:
            return None
        text = " ".join(line.text for line in run.lines)
        before, last = self._number
        hangs = all(line.indent == run.indent + found.start(3) for line in run.lines[1:])
        title = text.endswith("?") or _reads_as_title(text[found.start(3) :])
        if not (hangs and title and _number(text) == (before, last + 1)) or len(text) > _LONGEST:
            return None
        return Heading(_OUTER + found[1].count("."), text, len(run.lines), style)

    # ------------------------------------------------------------ by place

    def _outer(self, run: Run, above: int) -> Heading | None:
        """Return a line further left than the text, and than what is below it."""
        text = run.text
        outer = run.indent < self.margin and above > run.indent and all(x.indent > run.indent for x in run.lines[1:])
        if not outer or text[0] in "-+[<" or bullet_end(text) or text[-1] in ",;:" or in_columns(text):
            return None
        if len(run.lines) > 1 and wrapped(run.lines[0], run.lines[1], self._width):
            return None
        return Heading(_OUTER + (run.indent > 0), text, 1, f"outer{run.indent}")

    def _capitals(self, run: Run) -> Heading | None:
        text = run.text
        capitals = text.isupper() and sum(map(str.isalpha, text)) > 2 and len(text.split()) <= _WORDS
        if run.indent > self.margin or not capitals or text[-1] in ".,;:" or _ADDRESS.search(text):
            return None
        return Heading(_OUTER - 1, text, 1, "capitals")

    def _centred(self, run: Run, *, first: bool = False) -> Heading | None:
        """Return a line in the middle; at the head of a document several."""
        width = max(self._width, 60)
        capitals = all(line.text.isupper() for line in run.lines)
        far = self.margin + (1 if capitals else _CENTRED)
        middle = all(line.indent >= far and abs(line.indent - (width - line.end)) <= width // 5 for line in run.lines)
        most = 4 if first else _MIDDLE_LINES if capitals else 1
        if not middle or len(run.lines) > most or run.text[-1] in ".,;:" or in_columns(run.text):
            return None
        lines = list(takewhile(lambda line: "://" not in line.text, run.lines))
        text = " ".join(line.text for line in lines)
        if not text or (not first and not (text[0].isupper() or text[0] in "\"“‘'")):
            return None
        return Heading(_TITLE if first else _CENTRE, text, len(lines), "title" if first else "centre")

    def _plain(self, number: int) -> Heading | None:
        """Return a short line that begins like a title and stands above a paragraph or a list."""
        run, below = self._runs[number], self._runs[number + 1]
        text = run.text
        above = self._runs[number - 1].lines[-1].text if number else ""
        begins = text[0].isupper() or text[0].isdigit()
        if run.indent != self.margin or not begins or bullet_end(text) or above.endswith((":", ",")):
            return None
        if text[-1] in ".,;:!?…|" or len(text.split()) > _WORDS or _ADDRESS.search(text):
            return None
        prose = is_prose(below.text) and (len(below.lines) > 1 or len(below.text) > _MOST)
        stands = below.indent >= run.indent and (prose or bullet_end(below.text) > 0)
        return Heading(_PLAIN, text, 1, "plain") if stands else None


def parted(runs: Sequence[Run]) -> list[Run]:
    """Part numbered titles from the paragraphs that they begin, where most numbered paragraphs have one."""
    found = {number: title for number, run in enumerate(runs) if (title := _RUN_IN.fullmatch(run.text))}
    styles = Counter(_style(runs[number]) for number in found)
    alike = Counter(_style(run) for number, run in enumerate(runs) if number in found or not _is_numbered_title(run))
    parts: list[Run] = []
    for number, run in enumerate(runs):
        style = _style(run)
        if number not in found or styles[style] < _FEW or styles[style] < _VOTE * alike[style]:
            parts.append(run)
            continue
        indent = run.lines[1].indent if len(run.lines) > 1 else run.indent
        parts.append(Run([Line(run.indent, found[number][1])], run.gap))
        parts.append(Run([Line(indent, found[number][2]), *run.lines[1:]]))
    return parts


def margin_of(runs: Sequence[Run]) -> int:
    """Return the smallest indent at which there are paragraphs: two lines on end, or a long one, in a hundred."""
    paired: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for run in runs:
        if run.furniture or _underlined(run):
            continue
        total.update(line.indent for line in run.lines)
        below = [*run.lines[1:], None]
        for line, after in zip(run.lines, below, strict=True):
            same = (
                after is not None and after.indent == line.indent and len(line.text) >= _SHORT and not in_columns(line.text)
            )
            paired[line.indent] += same or len(line.text) > _MOST
    lines = sum(total.values())
    for indent in sorted(total):
        if paired[indent] * _EVERY >= lines:
            return indent
        lines -= total[indent]
    return min(total, default=0)


def _underlined(run: Run) -> Heading | None:
    """Return a line above a rule that is about as long, perhaps with another rule above it."""
    lines = run.lines
    over = len(lines) > 2 and bool(_RULE.fullmatch(lines[0].text)) and lines[2].text == lines[0].text
    at = int(over)
    if len(lines) < at + 2 or not (rule := _RULE.fullmatch(lines[at + 1].text)):
        return None
    title = lines[at]
    short = len(rule[0]) < 0.6 * len(title.text) or len(title.text) > 2 * _MOST or _RULE.fullmatch(title.text)
    if short or abs(title.indent - lines[at + 1].indent) > (_CENTRED if over else 2) or in_columns(title.text):
        return None
    level = _MARKS if over else _UNDERLINED.get(rule[1], _OTHER_RULE)
    return Heading(level, title.text, at + 2, f"over{rule[1]}" if over else rule[1])


def _marked(run: Run, *, one: bool = False) -> Heading | None:
    """Return ``== Title ==`` and ``## Title``; ``one`` mark is as often a comment where there are no more."""
    found = _MARKED.fullmatch(run.text)
    if not found or (found[1] == "#" and not one) or (found[1][0] == "=" and not run.text.endswith(found[1])):
        return None
    return Heading(_MARKS + len(found[1]), found[2], 1, found[1])


def _style(run: Run) -> str:
    """Return how a run is numbered: by how many numbers, and how far in; empty for one that is not."""
    found = _NUMBERED.match(run.text)
    if not found or (found[1].isalpha() and not found[2]):
        return ""
    return f"{run.indent}{'.' * found[1].count('.')}{'' if found[1][0].isdigit() else 'A'}{'' if found[2] else '-'}"


def _release(run: Run) -> str:
    """Return the first word, each number in it as 0, of a lone line with a version or date; empty for any other run."""
    text = run.text
    if len(run.lines) > 1 or len(text) > _MOST or not text[0].isalnum() or text[-1] in ",;:" or _style(run):
        return ""
    other = bullet_end(text) or _NO_RELEASE.search(text) or is_marked(run.lines)
    return "" if other or not _RELEASE.match(text) else _DIGITS.sub("0", text.split(maxsplit=1)[0].casefold())


def _number(text: str) -> tuple[str, int]:
    """Return what stands before the last part of the number of a numbered text, and that part."""
    found = _NUMBERED.match(text)
    before, _, last = found[1].rpartition(".") if found else ("", "", "")
    return before, int(last) if last.isdigit() else 0


def _is_numbered_title(run: Run) -> bool:
    found = _NUMBERED.fullmatch(run.text)
    return bool(found and len(run.lines) == 1 and len(run.text) <= _MOST and _reads_as_title(found[3]))


def _reads_as_title(text: str) -> bool:
    words = text.split()
    stop = text[-1] in ",;:!" or (text[-1] == "." and len(words) > 6 and not all(map(_CAPITAL.match, words)))
    return not (text[0].islower() or stop or len(words) > _WORDS + 2 or _ADDRESS.search(text))


def sole(headings: Sequence[Heading]) -> bool:
    """Tell whether the first heading is above all others, or alone of its style: the title of its document."""
    first, rest = headings[0], headings[1:]
    above: defaultdict[bool, int] = defaultdict(int)
    for heading in rest:
        above[heading.style == first.style] += 1
    return not above[True] or first.style == "plain" or any(h.level < first.level and h.style != "plain" for h in rest)
