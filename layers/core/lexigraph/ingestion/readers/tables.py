"""Rows as statements: ``Header: value; Header: value``. The rendering of every table, and the csv reader."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby, islice, repeat, zip_longest

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 65_536
_MAX_HEADER = 80
_HALF = 0.5
_FEW = 3  # different names from which one may be there twice
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(r"[-+]?[\d.,:/%€$£ -]+|true|false|yes|no|n/?a|null|none", re.IGNORECASE)
_MARKED = re.compile(r"[\d@]|://")
_DIGITS, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"#?[^\W\d_][^\W_]*(?:[ /'.-]+[^\W\d_][^\W_]*)*[ :~]*")


def read_csv(data: bytes, settings: Settings) -> Parsed:
    """Read csv or tsv: a block a row. The delimiter (comma, semicolon, tab, bar) is found in the first rows."""
    text, encoding = decode(data)
    check_length(len(text), settings.max_text_chars)
    builder = TextBuilder(settings)
    text, delimiter = _dialect(text)
    try:
        add_rows(builder, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        limit = csv.field_size_limit()
        raise InvalidInput(f"is not well-formed csv: a field over {limit:,} characters, perhaps an open quote") from None
    return builder.parsed(metadata=encoding_note(encoding))


def _dialect(text: str) -> tuple[str, str]:
    """Return the text without Excel's ``sep=`` line, and the delimiter that gives the most rows of one width."""
    if given := re.match(r"sep=([,;\t|])\r?\n", text):
        return text[given.end() :], given[1]
    sample = text[:_SAMPLE_CHARS]

    def agreement(delimiter: str) -> int:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = [len(row) for row in islice(reader, _SAMPLE_ROWS) if row]
        return max((widths.count(width) * (width > 1) for width in widths), default=0)

    return text, max(_DELIMITERS, key=agreement)


def add_rows(
    builder: TextBuilder, rows: Iterable[Sequence[str]], role: str = "row", *, headed: bool = False, strict: bool = False
) -> None:
    """Add a table, a block a row; empty rows go, lone cells above the table are paragraphs.

    The first row is the header when it is known to be (``headed``) or reads as one: at least two columns, no cell empty,
    none twice but side by side (``Label, Label``), none a number except several years, none with digits or an address that
    is written as most below it are. Two rows are, too, when the upper one names groups of columns.
    ``strict`` asks for names of which one at least is written otherwise than what is below it: for rows that may well have
    no header.
    """
    filled = (cells for cells in map(builder.cells, rows) if any(cells))
    head = list(islice(filled, _SAMPLE_ROWS))
    wide = any(_cells(row) > 1 for row in head)
    while wide and _cells(head[0]) == 1:
        builder.add("".join(head.pop(0)))
    header: Sequence[str] = []
    if len(head) > 1 and (headed or _is_header(head[0], head[1:], strict)):
        header = head.pop(0)
    elif not strict and len(head) > 2 and (header := _two_rows(head[0], head[1], head[2:])):
        head = head[2:]
    for row in chain(head, filled):
        builder.add(statement(header, row), role)


def _cells(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _is_header(row: Sequence[str], below: Sequence[Sequence[str]], strict: bool) -> bool:
    names = list(row)
    while not names[-1]:
        names.pop()
    short = all(name and len(name) <= _MAX_HEADER and name[-1] not in ".?!" for name in names)
    years = sum(bool(_YEAR.fullmatch(name)) for name in names)
    values = sum(bool(_VALUE.fullmatch(name)) for name in names)
    named = len(names) > 1 and short and values in (0, years) and years != 1 and years < len(names)
    return named and _are_distinct(names, below) and not _is_row(names, below) and (not strict or _stands_out(names, below))


def _two_rows(upper: Sequence[str], lower: Sequence[str], below: Sequence[Sequence[str]]) -> list[str]:
    """Return the header that two rows are, the upper one over several columns: ``Q3 Plan``, ``Q3 Actual``; empty for others.

    Numbers have to stand below a cell of the lower one that the upper one leaves open, as in no row of values.
    """
    names, over = list[str](), ""
    numbers = False
    for at, (group, name) in enumerate(zip_longest(upper, lower, fillvalue="")):
        over = group or over
        if not group and name:
            numbers = numbers or _share(lambda cell: bool(_VALUE.fullmatch(cell)), "0", below, at) > _HALF
        names.append(f"{over} {name}".strip() if name else group)
    return names if numbers and _is_header(names, below, strict=False) else []


def _are_distinct(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether no name is there twice but side by side, as of fields with several values, and none is a value below."""
    runs = [name for name, _ in groupby(map(str.casefold, names))]
    once = len(runs) == len(names)
    values = (cell.casefold() == names[at].casefold() for row in below for at, cell in enumerate(row[: len(names)]))
    return len(set(runs)) == len(runs) and (once or (len(runs) >= _FEW and not any(values)))


def _is_row(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether a cell with digits or an address is written as most below it: ``1/tcp`` above ``7/udp``."""
    marked = (at for at, name in enumerate(names) if _MARKED.search(name) and not _VALUE.fullmatch(name))
    return any(_share(_shape, names[at], below, at) > _HALF for at in marked)


def _stands_out(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether cells are words, and those of one column are written otherwise than most below: in capitals, say."""
    words = all(map(_kind, names))
    return words and any(_share(_kind, name, below, at) < _HALF for at, name in enumerate(names))


def _share(written: Callable[[str], object], name: str, below: Sequence[Sequence[str]], at: int) -> float:
    """Return which share of the cells of a column is written as a name is."""
    column = [row[at] for row in below if at < len(row) and row[at]]
    return sum(written(cell) == written(name) for cell in column) / len(column) if column else _HALF


def _shape(cell: str) -> str:
    return _LETTERS.sub("a", _DIGITS.sub("0", cell))


def _kind(cell: str) -> str:
    """Return how words are written, empty for what is not of words alone."""
    if not _NAME.fullmatch(cell):
        return ""
    return "capitals" if cell.isupper() and len(cell) > 1 else "capital" if cell[0].isupper() else "small"


def statement(header: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as one line; empty cells are left out, one without a header stands alone, or behind a ":"."""
    # the row first: a short one costs no look at a long header
    named = zip(row, chain((name.rstrip(":") for name in header), repeat("")), strict=False)
    parts = (f"{name}: {value}" if name else value for value, name in named if value)
    return "; ".join(parts).replace(":; ", ": ")
