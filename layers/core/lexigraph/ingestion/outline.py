"""Where a parsed document has its headings, pages, code and tables, in characters of its text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from lexigraph.model.document import Block


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; ``level`` counts from 1 downwards. One that the text does not have starts where what is below it does."""

    text: str
    level: int
    start: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page; ``number`` counts from 1."""

    number: int
    start: int


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Code or a table, ``kind``: text whose line breaks and spaces have a meaning."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings, pages, code and tables in order; no pages where the text has no page breaks."""

    characters: int
    headings: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    verbatim: tuple[Verbatim, ...] = ()

    def section(self, offset: int) -> list[str]:
        """Return the headings under which a place stands, outermost first."""
        above: list[Heading] = []
        for heading in takewhile(lambda h: h.start <= offset, self.headings):
            above = [*(h for h in above if h.level < heading.level), heading]
        return [heading.text for heading in above]


def outline_of(text: str, blocks: Sequence[Block]) -> Outline:
    """Return the outline of a parsed text."""
    return Outline(len(text), tuple(_headings(text, blocks)), tuple(_pages(text)), tuple(_verbatim(blocks)))


def _headings(text: str, blocks: Sequence[Block]) -> Iterator[Heading]:
    above: tuple[str, ...] = ()
    end = 0  # of what was looked at
    for block in blocks:
        same = next((at for at, (a, b) in enumerate(zip(above, block.headings, strict=False)) if a != b), len(above))
        for level, title in enumerate(block.headings[same:], same + 1):
            # it stands between the block before and this one; one that was given with the file stands nowhere
            found = text.find(title, end, block.start)
            yield Heading(title, level, block.start if found < 0 else found)
            end = max(end, found + len(title))
        if block.role == "heading":  # with nothing below it
            yield Heading(text[block.start : block.end], len(block.headings) + 1, block.start)
        above, end = block.headings, max(end, block.end)


def _verbatim(blocks: Sequence[Block]) -> Iterator[Verbatim]:
    for role, same in groupby(blocks, key=lambda block: block.role):
        if role == "code":
            yield from (Verbatim(role, block.start, block.end) for block in same)
        elif role == "table":  # each block is a row of it
            rows = list(same)
            yield Verbatim(role, rows[0].start, rows[-1].end)


def _pages(text: str) -> Iterator[Page]:
    at = text.find("\f")
    if at < 0:
        return
    yield Page(1, 0)
    number = 1
    while at >= 0:
        number += 1
        yield Page(number, at + 1)
        at = text.find("\f", at + 1)
