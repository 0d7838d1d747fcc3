"""Lines of cells that stand below each other are the rows of a table."""

from collections.abc import Sequence
from statistics import median

from lexigraph.ingestion.readers.pdf.lines import Line

_APART = 2.6  # steps between two rows at most
_WRAPPED = 1.1  # steps to what goes on in a cell
_MARKS = 3  # signs of a first cell that is the mark of a list
_LONG = 60  # characters of a cell: more is prose
_ROWS = 3


def table_end(body: Sequence[Line], at: int, step: float) -> int:
    """Return where the table that begins at a line ends; ``at`` when none does."""
    if not _is_row(body[at]):
        return at
    end = at + 1
    while end < len(body) and _follows(body[end - 1], body[end], step):
        end += 1
    while not _is_row(body[end - 1]):
        end -= 1
    rows = [line for line in body[at:end] if _is_row(line)]
    columns = _columns(rows)
    enough = len(rows) >= _ROWS or (len(rows) == _ROWS - 1 and len(columns) >= _ROWS)
    short = median(len(cell.text) for line in rows for cell in line.cells) <= _LONG
    return end if enough and short and len(columns) > 1 else at


def table_rows(found: Sequence[Line], step: float) -> list[list[str]]:
    """Return the cells of a table; what goes on below a cell is in it."""
    columns = _columns([line for line in found if _is_row(line)])
    rows: list[list[str]] = []
    for number, line in enumerate(found):
        cells = [""] * len(columns)
        for cell in line.cells:
            at = min(range(len(columns)), key=lambda i: abs(sum(columns[i]) - cell.x0 - cell.x1))
            cells[at] = f"{cells[at]} {cell.text}".strip()
        if number and not cells[0] and found[number - 1].y - line.y <= step * _WRAPPED:
            rows[-1] = [f"{above} {below}".strip() for above, below in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def _is_row(line: Line) -> bool:
    return len(line.cells) > 1 and len(line.cells[0].text) >= 1 and not _is_marked(line)


def _is_marked(line: Line) -> bool:
    """Tell an item of a list, whose mark stands apart, from a row that begins with a short cell."""
    first = line.cells[0].text
    return len(line.cells) == 2 and len(first) <= _MARKS and not (first.isdecimal() or first.isalpha())


def _follows(line: Line, below: Line, step: float) -> bool:
    """Tell a further row, or what goes on in a cell of the row above."""
    down = line.y - below.y
    if line.column != below.column or not 0 < down <= step * _APART or abs(line.size - below.size) > 1:
        return False
    aligned = any(abs(cell.x0 - below.x0) < below.size / 2 for cell in line.cells[1:])
    return _is_row(below) or (down <= step * _WRAPPED and len(below.cells) == 1 and aligned)


def _columns(rows: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the stretches across the page that cells cover, apart from each other."""
    columns: list[tuple[float, float]] = []
    for x0, x1 in sorted((cell.x0, cell.x1) for line in rows for cell in line.cells):
        if columns and x0 <= columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], x1)
        else:
            columns.append((x0, x1))
    return columns
