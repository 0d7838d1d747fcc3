"""Excel files of 5.0 to 2003: records in a compound file, read one at a time."""

import codecs
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from lexigraph.ingestion.readers.html import read_html
from lexigraph.ingestion.readers.office import OLD_OFFICE
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, check_parts
from lexigraph.ingestion.readers.sheets import Numbers, read_xlsx
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_BEGINNING = 65_536  # bytes
_END = 0xFFFF_FFFA  # sectors from here on are marks: the end of a chain, one that is free
_ENTRY_BYTES = 128  # of the directory
_MINI_BYTES = 64  # of a sector of a small stream
_SMALL_STREAM = 4_096  # bytes
_MAX_COLUMNS = 256
_VERSION_5, _VERSION_8 = 0x0500, 0x0600
# codes of records, by the names of the specification
_BOF, _EOF, _CONTINUE, _FILEPASS, _CODEPAGE, _DATEMODE = 0x809, 0x0A, 0x3C, 0x2F, 0x42, 0x22
_BOUNDSHEET, _SST, _FORMAT, _XF = 0x85, 0xFC, 0x41E, 0xE0
_NUMBER, _RK, _MULRK, _LABEL, _RSTRING, _LABELSST, _BOOLERR = 0x203, 0x27E, 0xBD, 0x204, 0xD6, 0xFD, 0x205
_FORMULA, _STRING = 0x06, 0x207
_CELLS = frozenset({_NUMBER, _RK, _MULRK, _LABEL, _RSTRING, _LABELSST, _BOOLERR, _FORMULA})
_WORKSHEET = 0  # the kind of a sheet
_TRUTH, _ERROR = 1, 2  # kinds of a formula's value
_WIDE, _SPOKEN, _FONTS = 1, 4, 8  # of a string: two bytes a character, pronunciation and fonts behind it
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
_CODEPAGES = {1200: "utf-16-le", 10_000: "mac-roman", 32_768: "mac-roman", 32_769: "cp1252"}


def read_xls(data: bytes, settings: Settings) -> Parsed:
    """Read an old Excel file: a heading a sheet, a block a row; formulas as the values last computed."""
    if data.startswith(b"PK"):  # many a program that exports tables calls them so, whatever they are
        return read_xlsx(data, settings)
    if b"<table" in data[:_BEGINNING].lower():
        return read_html(data, settings)
    if not data.startswith(OLD_OFFICE):
        raise InvalidInput("is damaged, or not of type xls: save it as .xlsx, or name it .csv if it is one")
    book = _Book(_stream(data, ("Workbook", "Book")), settings)
    builder = TextBuilder(settings)
    for name, position in book.sheets:
        rows = book.rows(position)
        if first := next(filter(any, rows), None):
            builder.heading(1, name)
            add_rows(builder, chain([first], rows))
    return builder.parsed()


# ---------------------------------------------------------------- compound files


def _stream(data: bytes, names: Sequence[str]) -> bytes:
    """Return the first stream of one of these names in a compound file."""
    shift = struct.unpack_from("<H", data, 30)[0]
    if shift not in (9, 12):
        raise InvalidInput("is damaged: its sectors have no size")
    size, count = 1 << shift, len(data) >> shift
    directory = struct.unpack_from("<I", data, 48)[0]
    minis, _, more = struct.unpack_from("<III", data, 60)

    def sector(number: int) -> bytes:
        return data[(number + 1) << shift : (number + 2) << shift]

    tables = list(struct.unpack_from("<109I", data, 76))
    wanted = count * 4 // size + 1  # parts of the table of sectors; a chain of more leads back into itself
    while more < _END and len(tables) < wanted:
        *further, more = struct.unpack(f"<{size // 4}I", sector(more))
        tables += further
    table = _numbers(b"".join(sector(at) for at in tables[:wanted] if at < _END))

    def whole(start: int) -> bytes:
        return b"".join(map(sector, _chained(start, table, count)))

    entries = whole(directory)
    small = b""
    for at in range(0, len(entries) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
        start, length = struct.unpack_from("<II", entries, at + 116)
        named = struct.unpack_from("<H", entries, at + 64)[0]
        name = entries[at : at + max(0, min(named, 64) - 2)].decode("utf-16-le", "replace")
        if at == 0:
            small = whole(start)
        elif name in names and length >= _SMALL_STREAM:
            return whole(start)[:length]
        elif name in names:
            pieces = _chained(start, _numbers(whole(minis)), len(small) // _MINI_BYTES)
            return b"".join(small[n * _MINI_BYTES : (n + 1) * _MINI_BYTES] for n in pieces)[:length]
    raise InvalidInput("is damaged, encrypted or not of type xls (no workbook in it)")


def _numbers(raw: bytes) -> Sequence[int]:
    return struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4])


def _chained(start: int, table: Sequence[int], count: int) -> Iterator[int]:
    """Yield the numbers of a chain of sectors, of which there are ``count``; it ends where there is none."""
    for _ in range(count + 1):
        if start >= len(table):
            return
        yield start
        start = table[start]
    raise InvalidInput("is damaged: a chain of sectors leads back into itself")


# ---------------------------------------------------------------- records


class _Book:
    """What cells refer to: strings, formats, the epoch. ``sheets`` are the names and positions of the worksheets."""

    def __init__(self, stream: bytes, settings: Settings) -> None:
        self._stream, self._settings = stream, settings
        self._count = 0
        self._encoding = "cp1252"
        self._strings: list[str] = []
        self.sheets: list[tuple[str, int]] = []
        formats, styles, since_1904 = dict[int, str](), list[int](), False
        for code, parts in self._records(0):
            body = parts[0]
            if code == _BOF:
                version = struct.unpack_from("<H", body)[0]
                if version not in (_VERSION_5, _VERSION_8):
                    raise InvalidInput("is damaged, or older than Excel 5.0: save it as .xlsx")
                self._unicode = version == _VERSION_8
            elif code == _FILEPASS:
                raise InvalidInput("is encrypted: save it again without a password")
            elif code == _CODEPAGE:
                self._encoding = _encoding(struct.unpack_from("<H", body)[0])
            elif code == _DATEMODE:
                since_1904 = body[0] == 1
            elif code == _FORMAT:
                formats[struct.unpack_from("<H", body)[0]] = self._text(parts, 2, "H" if self._unicode else "B")
            elif code == _XF:
                styles.append(struct.unpack_from("<H", body, 2)[0])
            elif code == _SST:
                self._strings = self._shared(parts)
            elif code == _BOUNDSHEET:
                position, _, kind = struct.unpack_from("<IBB", body)
                if kind == _WORKSHEET:
                    self.sheets.append((self._text(parts, 6, "B"), position))
        self._numbers = Numbers(formats, styles, since_1904=since_1904)

    def rows(self, position: int) -> Iterator[list[str]]:
        """Yield the rows of a sheet that have cells; a cell that is not there is empty."""
        row = formula = -1
        cells: dict[int, str] = {}
        for code, parts in self._records(position):
            body = parts[0]
            if code == _STRING and formula >= 0:
                cells[formula] = self._text(parts, 0, "H")
            elif code in _CELLS:
                at, column, style = struct.unpack_from("<HHH", body)
                if at != row:
                    yield _row(cells)
                    row, cells = at, {}
                formula = column if code == _FORMULA else -1
                if code == _MULRK:
                    self._tell(len(body) // 6)
                    found = struct.iter_unpack("<HI", body[4 : 4 + (len(body) - 6) // 6 * 6])
                    cells |= {n: self._numbers.text(_rk(value), style) for n, (style, value) in enumerate(found, column)}
                else:
                    cells[column] = self._value(code, parts, style)
        yield _row(cells)

    def _records(self, position: int) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the records of what begins at a position: the code, and the body in the parts that it was cut into.

        What is put in between, as the charts of a sheet are, is passed over.
        """
        depth = 0
        code, body = self._record(position)
        if code != _BOF:
            raise InvalidInput("is damaged: there is no sheet where one should be")
        while code != _EOF or depth > 1:
            depth += (code == _BOF) - (code == _EOF)
            position += 4 + len(body)
            of, parts = code, [body]
            code, body = self._record(position)
            while code == _CONTINUE:
                parts += [body] if body else []
                position += 4 + len(body)
                code, body = self._record(position)
            if depth == 1:
                yield of, parts

    def _record(self, position: int) -> tuple[int, bytes]:
        self._tell(1)
        if position + 4 > len(self._stream):  # the end is cut off, or some programs do not write it
            return _EOF, b""
        code, length = struct.unpack_from("<HH", self._stream, position)
        return code, self._stream[position + 4 : position + 4 + length]

    def _tell(self, cells: int) -> None:
        """Count what was read: a record is a cell, or takes no less time."""
        self._count += cells
        check_parts(self._count, "cells", self._settings)

    def _value(self, code: int, parts: list[bytes], style: int) -> str:
        body = parts[0]
        if code == _LABELSST:
            at: int = struct.unpack_from("<I", body, 6)[0]
            return self._strings[at]
        if code in (_LABEL, _RSTRING):
            return self._text(parts, 6, "H")
        if code == _RK:
            return self._numbers.text(_rk(struct.unpack_from("<I", body, 6)[0]), style)
        if code == _BOOLERR:
            return _known(body[6], error=bool(body[7]))
        if code == _FORMULA and body[12:14] == b"\xff\xff":  # no number; a text follows in a record of its own
            return _known(body[8], error=body[6] == _ERROR) if body[6] in (_TRUTH, _ERROR) else ""
        return self._numbers.text(repr(struct.unpack_from("<d", body, 6)[0]), style)

    def _text(self, parts: list[bytes], at: int, length: str) -> str:
        """Return a text with its length before it, in one byte (``B``) or two (``H``)."""
        reader = _Reader(parts, at)
        count = reader.number(length)
        if self._unicode:
            return reader.characters(count, wide=bool(reader.number("B") & _WIDE))
        return reader.take(count).decode(self._encoding, "replace")

    def _shared(self, parts: list[bytes]) -> list[str]:
        """Return the strings that cells refer to, without their fonts and how their signs are spoken."""
        found, length = list[str](), 0
        reader = _Reader(parts, 4)
        for number in range(reader.number("I")):
            check_parts(number + 1, "strings", self._settings)
            count, how = reader.number("H"), reader.number("B")
            fonts = reader.number("H") * 4 if how & _FONTS else 0
            spoken = reader.number("I") if how & _SPOKEN else 0
            found.append(reader.characters(count, wide=bool(how & _WIDE)))
            reader.skip(fonts + spoken)
            length += count
            check_length(length, self._settings.max_text_chars)
        return found


class _Reader:
    """Reads on where a record was cut. Raise ``InvalidInput`` when it ends too early."""

    def __init__(self, parts: list[bytes], at: int) -> None:
        self._parts = iter(parts)
        self._part, self._at = next(self._parts), at

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0])

    def take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            taken += self._piece(count - len(taken))
        return taken

    def skip(self, count: int) -> None:
        while count:
            count -= len(self._piece(count))

    def characters(self, count: int, *, wide: bool) -> str:
        """Return so many characters; each part says anew whether they take two bytes."""
        pieces = []
        while True:
            piece = self._part[self._at : self._at + (count << wide)]
            pieces.append(piece.decode("utf-16-le" if wide else "latin-1", "replace"))
            self._at += len(piece)
            count -= len(piece) + wide >> wide
            if not count:
                return "".join(pieces)
            self._next()
            wide = bool(self.number("B") & _WIDE)

    def _piece(self, most: int) -> bytes:
        if self._at >= len(self._part):
            self._next()
        piece = self._part[self._at : self._at + most]
        self._at += len(piece)
        return piece

    def _next(self) -> None:
        self._part, self._at = next(self._parts, b""), 0
        if not self._part:
            raise InvalidInput("is damaged: a text ends too early")


def _row(cells: Mapping[int, str]) -> list[str]:
    width = max(cells, default=-1) + 1
    if width > _MAX_COLUMNS:
        raise InvalidInput(f"is damaged: it has more than {_MAX_COLUMNS} columns")
    return [cells.get(column, "") for column in range(width)]


def _rk(value: int) -> str:
    """Return a number of 30 bits: whole or the beginning of a float, as one bit says, and times 100 if another does."""
    if value & 2:
        number = ((value ^ 1 << 31) - (1 << 31)) >> 2
    else:
        number = struct.unpack("<d", struct.pack("<Q", (value & ~3) << 32))[0]
    return repr(number / 100 if value & 1 else number)


def _known(value: int, *, error: bool) -> str:
    return _ERRORS.get(value, "#ERROR!") if error else "true" if value else "false"


def _encoding(page: int) -> str:
    name = _CODEPAGES.get(page, f"cp{page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
