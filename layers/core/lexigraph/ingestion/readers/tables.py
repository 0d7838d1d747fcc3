"""Rows as statements: ``Header: value; Header: value``. The rendering of every table, and the csv reader."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 20
_SAMPLE_CHARS = 65_536
_MAX_HEADER = 80
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(r"[-+]?[\d.,:/%€$£ -]+|true|false|yes|no|n/?a|null|none", re.IGNORECASE)


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


def add_rows(builder: TextBuilder, rows: Iterable[Sequence[str]], role: str = "row", *, headed: bool = False) -> None:
    """Add a table, a block a row; empty rows go, lone cells above the table are paragraphs.

    The first row is the header when it is known to be (``headed``) or reads as one: at least two columns, no cell empty,
    none twice, none a number except several years.
    """
    filled = (cells for cells in map(builder.cells, rows) if any(cells))
    head = list(islice(filled, _SAMPLE_ROWS))
    wide = any(_cells(row) > 1 for row in head)
    while wide and _cells(head[0]) == 1:
        builder.add("".join(head.pop(0)))
    header = head.pop(0) if len(head) > 1 and (headed or _is_header(head[0])) else []
    for row in chain(head, filled):
        builder.add(statement(header, row), role)


def _cells(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _is_header(row: Sequence[str]) -> bool:
    names = list(row)
    while not names[-1]:
        names.pop()
    short = all(name and len(name) <= _MAX_HEADER and name[-1] not in ".?!" for name in names)
    distinct = len({name.casefold() for name in names}) == len(names)
    years = sum(bool(_YEAR.fullmatch(name)) for name in names)
    values = sum(bool(_VALUE.fullmatch(name)) for name in names)
    return len(names) > 1 and short and distinct and values in (0, years) and years != 1 and years < len(names)


def statement(header: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as one line; empty cells are left out, one without a header stands alone, or behind a ":"."""
    # the row first: a short one costs no look at a long header
    named = zip(row, chain((name.rstrip(":") for name in header), repeat("")), strict=False)
    parts = (f"{name}: {value}" if name else value for value, name in named if value)
    return "; ".join(parts).replace(":; ", ": ")
