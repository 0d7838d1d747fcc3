"""Spans become lines in the order in which they are read: column by column, the cells of a line apart."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from lexigraph.ingestion.readers.pdf.spans import Span

# in sizes of the font
_SAME_LINE = 0.3
_SCRIPT = 0.55  # how far a smaller sign may stand above or below its line
_SMALLER = 0.85
_SPACE = 0.16
_CELL = 0.9  # a gap that few justified lines have
_MONO_WIDTH = 0.6
MAX_SPACES = 100
_PERMALINK = "¶"  # behind the headings of a page that was printed
_MIDDLE = (0.2, 0.8)  # where a gutter may be
_FEWEST = 4  # lines beside a gutter
_CROSSING = 0.35  # lines across a gutter, of those beside it
_ALIKE = 0.6  # of columns: how wide the narrower one is at least
_FULL = 0.55  # lines of a column fill it; cells of a table do not
_ACROSS = 0.12
_MAX_COLUMNS = 3
_LARGER = 1.08
_NEAR = 10.0  # points
_OFTEN = 0.3  # of the pages


@dataclass(slots=True)
class Cell:
    """A stretch of a line without a wide gap."""

    x0: float
    x1: float
    text: str


@dataclass(slots=True)
class Line:
    """A line of a page (from 0) in a column; ``left`` and ``right`` are the edges of that column."""

    page: int
    y: float
    size: float
    bold: bool
    mono: bool
    cells: list[Cell]
    column: int = 0
    left: float = 0.0
    right: float = 0.0

    @property
    def x0(self) -> float:
        return self.cells[0].x0

    @property
    def x1(self) -> float:
        return self.cells[-1].x1

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def full(self) -> float:
        """The share of its column up to where it ends."""
        return (self.x1 - self.left) / max(self.right - self.left, 1.0)


Row = list[list[Span]]  # spans that share a base line, parted where gaps are wide


def lines(found: Sequence[Span], page: int, gutter: float | None = None) -> tuple[list[Line], list[str]]:
    """Return the lines of a page in reading order, and what is written sideways in its margin.

    ``gutter`` is where two columns part on the other pages.
    """
    sideways = [span.text.strip() for span in found if not span.upright and span.text.strip()]
    ordered: list[Line] = []
    for column, part in enumerate(_columns(_page_rows(found), 0, gutter)):
        made = [_line(row, page, column) for row in part]
        usual = median(line.size for line in made) * _LARGER
        body = [line for line in made if line.size <= usual]
        left, right = min(line.x0 for line in body), max(line.x1 for line in body)
        for line in made:
            line.left, line.right = left, right
        ordered += made
    return ordered, sideways


def common_gutter(pages: Sequence[Sequence[Span]]) -> float | None:
    """Return where most pages of a document part into two columns; None when they do not."""
    found = [gutter for gutter in (_gutter(_page_rows(page)) for page in pages) if gutter is not None]
    usual = median(found) if found else 0.0
    near = sum(abs(gutter - usual) < _NEAR for gutter in found)
    return usual if near and near >= sum(map(bool, pages)) * _OFTEN else None


def _page_rows(found: Sequence[Span]) -> list[Row]:
    return [_parted(row) for row in _rows(_trimmed(span) for span in found if span.upright and span.text.strip())]


def _trimmed(span: Span) -> Span:
    """Begin a span where its first sign stands."""
    text = span.text.strip()
    wide = (span.x1 - span.x0) / len(span.text)
    before = len(span.text) - len(span.text.lstrip())
    return span._replace(text=text, x0=span.x0 + before * wide, x1=span.x0 + (before + len(text)) * wide)


def _rows(found: Iterable[Span]) -> list[list[Span]]:
    """Return spans that share a base line, from the top of the page down; signs above or below it are on it."""
    rows: list[tuple[float, float, list[Span]]] = []  # base line, size, spans
    for span in sorted(found, key=lambda s: (-s.y, s.x0)):
        for at in range(len(rows) - 1, max(len(rows) - 3, -1), -1):
            y, size, row = rows[at]
            largest = max(size, span.size)
            script = min(size, span.size) < largest * _SMALLER and _beside(row, span)
            if y - span.y <= largest * (_SCRIPT if script else _SAME_LINE):
                row.append(span)
                if span.size > size:
                    rows[at] = (span.y, span.size, row)
                break
        else:
            rows.append((span.y, span.size, [span]))
    return [row for _, _, row in rows]


def _beside(row: Sequence[Span], span: Span) -> bool:
    """Tell whether a span stands close to one of a row, as an index does."""
    return any(abs(other.x1 - span.x0) < span.size or abs(span.x1 - other.x0) < span.size for other in row)


def _parted(row: list[Span]) -> Row:
    parts: Row = []
    for span in sorted(row, key=lambda span: span.x0):
        if parts and span.x0 - parts[-1][-1].x1 <= span.size * _CELL:
            parts[-1].append(span)
        else:
            parts.append([span])
    return parts


def _line(row: Row, page: int, column: int) -> Line:
    """Make a line of what of a row stands in one column."""
    all_spans = [span for part in row for span in part]
    letters = {id(span): len(span.text.strip()) for span in all_spans}
    main = max(all_spans, key=lambda span: letters[id(span)])
    worded = [span for span in all_spans if any(map(str.isalnum, span.text))] or all_spans
    mono = all(span.mono for span in worded)
    bold = sum(letters[id(span)] for span in all_spans if span.bold) > sum(letters.values()) * 0.6
    cells = [_cell(part, mono) for part in row]
    if mono:
        cells = [_cell(all_spans, mono)]
    cells[-1].text = cells[-1].text.removesuffix(_PERMALINK).rstrip() or cells[-1].text
    return Line(page, main.y, main.size, bold, mono, cells, column)


def _cell(part: Sequence[Span], mono: bool) -> Cell:
    """Join spans; a gap is a space, in code as many as it is wide."""
    text = part[0].text
    for last, span in pairwise(part):
        gap = span.x0 - last.x1
        if mono:
            spaces = max(round(gap / (span.size * _MONO_WIDTH)), int(gap > span.size * _SPACE))
            text += " " * min(spaces, MAX_SPACES)
        elif gap > span.size * _SPACE:
            text += " "
        text += span.text
    return Cell(part[0].x0, max(span.x1 for span in part), text.rstrip() if mono else " ".join(text.split()))


# ---------------------------------------------------------------- columns


def _columns(rows: list[Row], depth: int, usual: float | None = None) -> Iterator[list[Row]]:
    """Yield the parts of a page in reading order; what reaches over a gutter ends the columns above it."""
    gutter = _gutter(rows) if depth < _MAX_COLUMNS - 1 else None
    if gutter is None and usual is not None and _is_free(rows, usual):
        gutter = usual
    if gutter is None:
        if rows:
            yield rows
        return
    sides: tuple[list[Row], list[Row]] = [], []
    across: list[Row] = []
    edges = [_edges(part) for row in rows for part in row]
    reach = (max(x1 for _, x1 in edges) - min(x0 for x0, _ in edges)) * _ACROSS
    for row in rows:
        if any(min(gutter - x0, x1 - gutter) > reach for x0, x1 in map(_edges, row)):
            for side in sides:
                yield from _columns(side, depth + 1)
            sides = [], []
            across.append(row)
            continue
        if across:
            yield across
            across = []
        for right, side in enumerate(sides):
            if parts := [part for part in row if (sum(_edges(part)) >= 2 * gutter) == right]:
                side.append(parts)
    for side in sides:
        yield from _columns(side, depth + 1)
    if across:
        yield across


def _edges(part: Sequence[Span]) -> tuple[float, float]:
    return part[0].x0, max(span.x1 for span in part)


def _is_free(rows: Sequence[Row], gutter: float) -> bool:
    """Tell whether lines stand on both sides of a gutter, and few across."""
    edges = [_edges(part) for row in rows for part in row]
    left, right = sum(x1 <= gutter for _, x1 in edges), sum(x0 >= gutter for x0, _ in edges)
    return min(left, right) > 0 and len(edges) - left - right <= _CROSSING * (left + right)


def _gutter(rows: Sequence[Row]) -> float | None:
    """Return where two columns of running text part, None when the page has one, or a table."""
    cells = [_edges(part) for row in rows for part in row]
    if len(cells) < 2 * _FEWEST:
        return None
    left, right = min(x0 for x0, _ in cells), max(x1 for _, x1 in cells)
    width = right - left
    steps = [0] * (int(width) + 2)
    for x0, x1 in cells:
        steps[int(x0 - left)] += 1
        steps[int(x1 - left) + 1] -= 1
    cover = list(accumulate(steps))
    first, last = int(width * _MIDDLE[0]), int(width * _MIDDLE[1])
    if last <= first:
        return None
    fewest = min(cover[first:last])
    gaps = [x for x in range(first, last) if cover[x] == fewest]
    middle = left + min(gaps, key=lambda x: abs(x - median(gaps)))
    sides = [[c for c in cells if c[1] <= middle + 1], [c for c in cells if c[0] >= middle - 1]]
    if min(map(len, sides)) < _FEWEST or fewest > _CROSSING * sum(map(len, sides)):
        return None
    rooms = [max(x1 for _, x1 in side) - min(x0 for x0, _ in side) for side in sides]
    filled = all(_is_filled(side, room) for side, room in zip(sides, rooms, strict=True))
    return middle if filled and min(rooms) > max(rooms) * _ALIKE else None


def _is_filled(side: Sequence[tuple[float, float]], room: float) -> bool:
    """Tell a column of text, whose lines reach from edge to edge, from one of a table."""
    widths = [x1 - x0 for x0, x1 in side]
    return sum(width for width in widths if width > room * _FULL) > sum(widths) / 2
