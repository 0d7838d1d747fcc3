"""Which lines of a PDF are headings, and of which level: by outline, number, size and weight."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.readers.parsed import MAX_HEADING_CHARS, one_line
from lexigraph.ingestion.readers.pdf.lines import Line

if TYPE_CHECKING:
    from pypdf import PdfReader

_NUMBERED = re.compile(
    r"(?:(?:chapter|part|section|appendix|annex)\s+(\d{1,3}(?:\.\d{1,3})*|[A-Z]|[IVXL]{1,6})|(\d{1,3}(?:\.\d{1,3})*|[A-Z](?:\.\d{1,3})+))"
    r"[.:)]?\s+(?=\S)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+")
_LETTERS = 6
_NEAR = 1.6
_LARGER, _LARGE = 1.08, 1.15  # sizes of the running text
_MAX_CHARS = 160
_MAX_OUTLINE = 5_000
_ENDS = (".", "!", "?", ":", ",", ";")
_STOPS = (".", "!", "?", ":")
_CALLOUTS = re.compile(r"(?:fig(?:ure|\.)?|table|listing|note|warning|example)\b[^a-z]*", re.IGNORECASE)
# a line this much shorter than its column, above one that fills it, is a heading where fonts do not tell
_SHORT, _FULL = 0.5, 0.75

Style = tuple[float, bool]


class Headings:
    """The headings of one document."""

    def __init__(self, pages: Sequence[Sequence[Line]], outline: Mapping[str, int]) -> None:
        sizes: Counter[float] = Counter()
        bold: Counter[bool] = Counter()
        mono: Counter[bool] = Counter()
        for line in (line for page in pages for line in page):
            sizes[round(line.size * 2) / 2] += len(line.text)
            mono[line.mono] += len(line.text)
        self.body = max(sizes, key=lambda size: sizes[size]) if sizes else 0.0
        for line in (line for page in pages for line in page):
            if abs(line.size - self.body) < 1:
                bold[line.bold] += len(line.text)
        self.mono_is_code = mono[True] < mono[False] * 2
        self._weighs = bold[True] < bold[False]  # bold is no sign where all is
        self._outline = outline
        self._levels: dict[Style, int] = {}
        self._levels = self._ranks(pages)
        self.by_style = bool(self._levels)

    def level(self, line: Line) -> int:
        """Return the level of a heading from 1 (0 for no heading)."""
        text = line.text
        if line.mono or len(text) > _MAX_CHARS or not any(map(str.isalpha, text)):
            return 0
        level = self._outline.get(_key(text), 0)
        standing = self._standing(line)
        if level and (standing or len(line.cells) == 1):
            return level
        number = _NUMBERED.match(text)
        if not standing:
            return max(self._levels.values(), default=0) + 1 if number and text.isupper() and len(text) > _LETTERS else 0
        if number:
            return _depth(number)
        return self._levels.get(_style(line), 0)

    def goes_on(self, line: Line, below: Line) -> bool:
        """Tell whether a heading goes on in the line below it."""
        near = line.column == below.column and 0 < line.y - below.y < line.size * _NEAR
        return near and _style(line) == _style(below) and bool(self.level(below)) and not _NUMBERED.match(below.text)

    def _standing(self, line: Line) -> bool:
        """Tell whether a line stands out: larger than the text, or bold where the text is not."""
        text = line.text
        if _CALLOUTS.fullmatch(text):
            return False
        if line.size >= self.body * _LARGE or (line.bold and line.size >= self.body * _LARGER):
            return True
        if not (text[0].isupper() or text[0].isdigit() or not text[0].isascii()):
            return False
        numbered = bool(_NUMBERED.match(text))
        return line.bold and self._weighs and line.size >= self.body * 0.95 and (numbered or not text.endswith(_ENDS))

    def _ranks(self, pages: Sequence[Sequence[Line]]) -> dict[Style, int]:
        """Give each style that stands out a level: that of its numbers or of the outline, else by its size."""
        said: dict[Style, Counter[int]] = defaultdict(Counter)
        pages_of: dict[Style, set[int]] = defaultdict(set)
        first = next((page[0].page for page in pages if page), 0)
        for line in (line for page in pages for line in page):
            if line.mono or len(line.text) > _MAX_CHARS or not line.text or not self._standing(line):
                continue
            number = _NUMBERED.match(line.text)
            level = self._outline.get(_key(line.text), 0) or (_depth(number) if number else 0)
            said[_style(line)][level] += 1
            pages_of[_style(line)].add(line.page)
        levels: dict[Style, int] = {}
        above = 0
        for style in sorted(said, reverse=True):
            known = Counter({level: count for level, count in said[style].items() if level})
            usual = max(known, key=lambda level: known[level]) if known else 0
            levels[style] = max(usual, above + 1)
            if pages_of[style] != {first}:  # a title is above all
                above = levels[style]
        return levels


def _depth(number: re.Match[str]) -> int:
    return (number[1] or number[2]).count(".") + 1


def _style(line: Line) -> Style:
    return round(line.size * 2) / 2, line.bold


def stands_above(line: Line, below: Line | None) -> bool:
    """Tell a heading by its place alone: it ends where much of what is below would have found room."""
    text = line.text
    begins = text[:1].isupper() or text[:1].isdigit()
    if below is None or not begins or text.endswith((*_ENDS, "-")) or not any(map(str.isalpha, text)):
        return False
    return line.full < _SHORT and below.text[:1].isupper() and below.full >= _FULL and below.column == line.column


def outline(reader: "PdfReader") -> dict[str, int]:
    """Return the level of each bookmark by the words of its title; nothing where the outline is damaged."""
    found: dict[str, int] = {}

    def add(entries: Any, level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                add(entry, level + 1)
            elif len(found) < _MAX_OUTLINE and (key := _key(one_line(str(entry.title or ""))[:MAX_HEADING_CHARS])):
                found.setdefault(key, level)

    try:
        add(reader.outline, 1)
    except Exception:  # noqa: BLE001  # bookmarks are a help, not the text
        return {}
    return found


def _key(text: str) -> str:
    """Words without the number before them: bookmarks often have none."""
    words = _WORDS.findall(_NUMBERED.sub("", text).casefold())
    return " ".join(words)


def ends_sentence(text: str) -> bool:
    """Tell whether a text ends where a sentence may."""
    return text.rstrip("\"'”’»)]").endswith(_STOPS)
