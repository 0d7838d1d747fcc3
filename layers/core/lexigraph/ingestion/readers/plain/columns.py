"""Tables of plain text: drawn with signs, or columns with blank space between them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lexigraph.ingestion.readers.plain.lines import Line, is_prose

_FRAME = re.compile(r"[-+|=:\s─━═│┃║┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝╒╤╕╞╪╡╘╧╛╭╮╯╰]+")
_BARS = re.compile(r"[|│┃║]")
_EDGE = frozenset("|+│┃║┌├└╔╠╚╒╞╘╭╰")
_GAP = 2  # blank columns that part two columns of text
_WIDE = 3  # those that do in two lines only, or behind a full stop
_RULED = 4  # rules from which each row stands between two
_NEAR = 12  # columns in which something that stands in a column of text begins
_CELLS = 0.5  # share of rows that have something in a column


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a table. ``headed``: a line parts its first row from the others. ``left`` is the column it begins in."""

    rows: list[list[str]]
    headed: bool
    left: int = 0


def drawn(lines: Sequence[Line]) -> Table | None:
    """Return a table whose lines all begin with a bar or a corner; None for other lines."""
    if len(lines) < 2 or any(line.text[0] not in _EDGE for line in lines):
        return None
    groups: list[list[list[str]]] = [[]]
    rules = 0
    for line in lines:
        if _FRAME.fullmatch(line.text):
            rules += 1
            groups.append([])
        else:
            groups[-1].append([cell.strip() for cell in _BARS.split(line.text.strip("|│┃║"))])
    groups = [group for group in groups if group]
    if not groups or max(len(row) for group in groups for row in group) < 2:
        return None
    each = rules >= _RULED and rules > len(groups)
    rows = [row for group in groups for row in _merged(group, whole=each)]
    return Table(rows, headed=len(groups) > 1 and (each or len(groups[0]) == 1))


def _merged(group: Sequence[list[str]], *, whole: bool) -> list[list[str]]:
    """Join lines of one row: all of a group, or those whose first cell is empty with the line above."""
    rows: list[list[str]] = []
    for cells in group:
        if rows and (whole or not cells[0]) and len(cells) == len(rows[-1]):
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows


def aligned(lines: Sequence[Line], width: int = 0) -> Table | None:
    """Return a table whose columns are parted by blank space; None for other lines, as for justified prose.

    A line that begins in a later column goes on with the row above it.
    """
    rules = [bool(_FRAME.fullmatch(line.text)) for line in lines]
    body = [line for line, rule in zip(lines, rules, strict=True) if not rule]
    left = min((line.indent for line in body), default=0)
    rows = [line for line in body if line.indent - left < _GAP]
    if len(rows) < 2 or _justified(rows, width):
        return None
    gaps = _gaps(rows, _GAP if len(rows) > 2 else _WIDE)
    if not gaps:
        return None
    cells: list[list[str]] = []
    for line in body:
        if line.indent - left < _GAP:
            cells.append(_split(line.raw, gaps))
        elif not cells or line.indent < gaps[0][1]:
            return None
        else:
            cells[-1] = [f"{a} {b}".strip() for a, b in zip(cells[-1], _split(line.raw, gaps), strict=True)]
    if sum(sum(map(bool, row)) > 1 for row in cells) < max(2, 0.8 * len(cells)):
        return None
    return Table(cells, headed=any(rules[1:3]) and not rules[0], left=left)


def _justified(rows: Sequence[Line], width: int) -> bool:
    """Tell whether lines are prose that was stretched to one width."""
    full = sum(line.end >= width - 1 for line in rows[:-1])
    return bool(width) and full * 2 >= len(rows) - 1 and any(is_prose(line.text) for line in rows)


def _gaps(rows: Sequence[Line], gap: int) -> list[tuple[int, int]]:
    """Return where columns are parted: the ``gap`` columns or more that are blank in nine of ten rows, begin and end."""
    raws = [line.raw for line in rows]
    left = min(line.indent for line in rows)
    few = len(raws) // 10
    used = [0] * (max(map(len, raws)) + 1)
    for raw in raws:
        for column, sign in enumerate(raw):
            used[column] += sign != " "
    gaps: list[tuple[int, int]] = []
    begin = left
    for column in range(left, len(used)):
        if used[column] <= few:
            continue
        blank = column - begin
        parted = blank >= gap and not (blank < _WIDE and _all_sentences(raws, column))
        if parted and begin > left and sum(bool(raw[column : column + _NEAR].strip()) for raw in raws) >= _CELLS * len(raws):
            gaps.append((begin, column))
        begin = column + 1
    return gaps


def _all_sentences(raws: Sequence[str], column: int) -> bool:
    """Tell whether a full stop stands before a column wherever something stands behind it."""
    before = [raw[:column].rstrip() for raw in raws if len(raw) > column]
    return all(text[-1:] in ".!?" for text in before)


def _split(raw: str, gaps: Sequence[tuple[int, int]]) -> list[str]:
    """Part a line at the last blank of each gap; a cell that runs through a gap leaves the next one empty."""
    cells: list[str] = []
    at = 0
    for begin, end in gaps:
        place = raw.rfind(" ", begin, end) if len(raw) > begin else begin
        if place < 0:
            cells.append("")
            continue
        cells.append(raw[at:place].strip())
        at = place
    return [*cells, raw[at:].strip()]
