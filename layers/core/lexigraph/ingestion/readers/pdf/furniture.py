"""What of the pages of a PDF is furniture: lines that return at their heads and feet, page numbers, tables of contents."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from lexigraph.ingestion.readers.pdf.lines import Line

_EDGE = 2  # lines at the top and at the bottom that may be furniture
_SHARE = 0.25  # of the pages on which a line returns
_FEWEST = 3
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_NUMBER = re.compile(r"^\D{0,12}?(\d{1,4})\b|\b(\d{1,4})$")
_ALONE = re.compile(
    r"[-–—\s(\[]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|von|de)\s*\d{1,4})?[-–—\s)\].]*", re.IGNORECASE
)
_LEADERS = re.compile(r"(?:\s?[.·…_]){4,}\s*[\divxlcA-Z.,\s-]*$|…{2,}")
_LONGEST = 300  # characters of a line of a table of contents
_ENTRY = re.compile(r"[\d.]+|[ivxlc]+")
_CONTENTS = re.compile(
    r"(?:table of )?contents|list of (?:figures|tables|listings)|index|inhalt(?:sverzeichnis)?|sommaire", re.IGNORECASE
)


def edges(pages: Sequence[Sequence[Line]]) -> set[int]:
    """Return the ids of lines that are page heads, page feet or page numbers.

    Those are lines that return, and outermost lines whose number grows with the pages.
    """
    outer = [edge for page in pages for edge in _edges(page)]
    returning = Counter((place > 0, _DIGITS.sub("#", line.text)) for place, line in outer)
    steps = Counter((place, number - line.page) for place, line in outer for number in _numbers(line))
    least = max(_FEWEST, len(pages) * _SHARE)
    found: set[int] = set()
    for place, line in outer:
        often = returning[place > 0, _DIGITS.sub("#", line.text)] >= least
        outermost = abs(place) == 1
        counts = any(steps[place, number - line.page] >= max(_FEWEST, len(pages) / 2) for number in _numbers(line))
        if often or (outermost and (counts or _ALONE.fullmatch(line.text))):
            found.add(id(line))
    return found


def _edges(page: Sequence[Line]) -> Iterable[tuple[int, Line]]:
    """Yield the outermost lines of a page, numbered from its top (1, 2) and from its bottom (-1, -2)."""
    by_height = sorted(page, key=lambda line: -line.y)
    count = min(_EDGE, max(len(by_height) // 3, 1))
    yield from enumerate(by_height[:count], 1)
    if len(by_height) > 1:
        yield from ((number - count, line) for number, line in enumerate(by_height[-count:]))


def _numbers(line: Line) -> set[int]:
    """Return the numbers at the beginning and the end of a short line."""
    text = line.text
    return {int(first or last) for first, last in _NUMBER.findall(text)} if len(text) < 100 else set()


def is_contents(text: str) -> bool:
    """Tell the heading of a table of contents."""
    return bool(_CONTENTS.fullmatch(text.strip(" .:")))


def is_entry(line: Line, in_contents: bool) -> bool:
    """Tell a line of a table of contents: dots that lead to a page, or in one, a number in a column of its own."""
    text = line.text
    if len(text) <= _LONGEST and _LEADERS.search(text):
        return True
    return in_contents and (len(line.cells) > 1 and bool(_ENTRY.fullmatch(line.cells[-1].text)))
