"""Excel files: a heading a sheet, a block a row. Rows are read one at a time: half a million take seconds and no memory."""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import lru_cache
from itertools import chain
from typing import Any

from lexigraph.ingestion.readers.office import Parts, check_archive, reference
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, check_parts
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_BOOK = "xl/workbook.xml"
_COLUMN = re.compile(r"[A-Z]+")
MAX_COLUMNS = 16_384


def read_xlsx(data: bytes, settings: Settings) -> Parsed:
    """Read an Excel file: a heading a sheet, a block a row; formulas as the values last computed."""
    check_archive(data, settings)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = Parts(archive, settings)
        book = parts.root(_BOOK)
        if book is None:
            raise InvalidInput("is damaged, or not of type xlsx (no workbook in it)")
        related = parts.related(_BOOK)
        cells = _Cells(parts, book, settings)
        builder = TextBuilder(settings)
        for sheet in book.iter("{*}sheet"):
            kind, path = related.get(reference(sheet), ("", ""))
            rows = cells.rows(path) if kind == "worksheet" else iter(())
            if first := next(filter(any, rows), None):
                builder.heading(1, sheet.get("name", ""))
                add_rows(builder, chain([first], rows))
        core = parts.core()
    return builder.parsed(core["title"], {"author": core["creator"]})


class _Cells:
    """Reads cells as text, by the strings, formats and epoch of the workbook."""

    def __init__(self, parts: Parts, book: Any, settings: Settings) -> None:
        self._parts, self._settings = parts, settings
        self._count = 0
        properties = book.find("{*}workbookPr")
        since_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        self._numbers = Numbers(*_formats(parts), since_1904=since_1904)
        self._strings = self._read_strings()

    def rows(self, path: str) -> Iterator[list[str]]:
        """Yield the rows of a sheet; a row that is not there is no row, a cell that is not there is empty."""
        for row in self._parts.stream(path, "row"):
            cells: list[str] = []
            for cell in row:
                if place := _COLUMN.match(cell.get("r", "")):
                    cells += [""] * (_column(place[0]) - len(cells))
                cells.append(self._text(cell))
            self._count += len(cells) + 1  # a row that holds nothing is read, too
            check_parts(self._count, "cells", self._settings)
            yield cells

    def _read_strings(self) -> list[str]:
        found, length = list[str](), 0
        for item in self._parts.stream("xl/sharedStrings.xml", "si"):
            found.append(_string(item))
            length += len(found[-1])
            check_length(length, self._settings.max_text_chars)
            check_parts(len(found), "strings", self._settings)
        return found

    def _text(self, cell: Any) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return _string(cell)
        value = cell.findtext("{*}v") or ""
        match kind:
            case "s":
                return self._strings[int(value)] if value else ""
            case "b":
                return {"1": "true", "0": "false"}.get(value, value)
            case "n" if value:
                return self._numbers.text(value, int(cell.get("s", "0")))
            case "d" if value:
                return shown(datetime.fromisoformat(value))
            case _:
                return value


class Numbers:
    """Writes numbers as text: dates, times and durations where the style of the cell has such a format.

    ``formats`` are those of the workbook by their ids, beside those that Excel always has, ``styles`` the id of each style.
    """

    def __init__(self, formats: Mapping[int, str], styles: Sequence[int], *, since_1904: bool) -> None:
        from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH

        codes = {**BUILTIN_FORMATS, **formats}
        used = [codes.get(id_, "") for id_ in styles]
        self._dates = {number for number, code in enumerate(used) if is_date_format(code)}
        self._durations = {number for number in self._dates if is_timedelta_format(used[number])}
        self._epoch = MAC_EPOCH if since_1904 else WINDOWS_EPOCH

    def text(self, value: str, style: int) -> str:
        """Return a number, given as it is written in the file, as it is read."""
        if style in self._dates:
            from openpyxl.utils.datetime import from_excel

            try:
                return shown(from_excel(float(value), self._epoch, timedelta=style in self._durations))
            except (OverflowError, ValueError):  # no date at all
                return value
        return number_text(value)


def number_text(value: str) -> str:
    """Return a number, given as it is written in a file, as it is read: a whole one without a point."""
    if value.isdecimal():
        return value
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def shown(value: Any) -> str:
    """Return a date, time or duration as text."""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def _string(item: Any) -> str:
    """Return the words of a string, without how its signs are spoken."""
    texts = item.iter("{*}t")
    return "".join(text.text or "" for text in texts if not text.getparent().tag.endswith("}rPh"))


@lru_cache(maxsize=1_024)
def _column(letters: str) -> int:
    """Return the number of a column from 0. Raise ``InvalidInput`` for one that Excel does not have."""
    number = 0
    for letter in letters[:8]:
        number = number * 26 + ord(letter) - 64
    if number > MAX_COLUMNS:
        raise InvalidInput(f"is damaged: it has more than {MAX_COLUMNS:,} columns")
    return number - 1


def _formats(parts: Parts) -> tuple[dict[int, str], list[int]]:
    """Return the formats of the workbook by their ids, and the id of each style of cells."""
    root = parts.root("xl/styles.xml")
    if root is None:
        return {}, []
    formats = {int(f.get("numFmtId", "0")): f.get("formatCode", "") for f in root.iterfind("{*}numFmts/{*}numFmt")}
    return formats, [int(style.get("numFmtId", "0")) for style in root.iterfind("{*}cellXfs/{*}xf")]
