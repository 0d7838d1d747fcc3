"""Zip archives of XML, checked before any library opens them; Excel files."""

import io
import zipfile
from datetime import date, datetime, time
from itertools import chain
from typing import Any

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SMALL = 1_000_000  # unpacked bytes below which any ratio is harmless
_PIECE = 1 << 20


def check_archive(data: bytes, settings: Settings, *, plain: bool = True) -> None:
    """Raise ``InvalidInput`` for what is no sound zip archive of XML, or unpacks to too much.

    The directory is believed only when it is bad news: every part is unpacked once, counting. ``plain`` refuses document
    types in XML, which books may have.
    """
    if data.startswith(_OLD_OFFICE):
        raise InvalidInput("is encrypted, or of an Office before 2007: save it anew without a password")
    limit = settings.max_archive_bytes
    sparse = max(_SMALL, len(data) * settings.max_archive_ratio)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_unpacked(sum(part.file_size for part in archive.infolist()), limit, sparse)
        total = 0
        for part in archive.infolist():
            with archive.open(part) as stream:
                first = piece = stream.read(_PIECE)
                while piece:
                    total += len(piece)
                    _check_unpacked(total, limit, sparse)
                    piece = stream.read(_PIECE)
            if plain and part.filename.lower().endswith((".xml", ".rels")):
                _check_xml(first)


def _check_unpacked(unpacked: int, limit: int, sparse: int) -> None:
    if unpacked > limit:
        raise InvalidInput(f"unpacks to more than {limit:,} bytes (max_archive_bytes): it may be a zip bomb")
    if unpacked > sparse:
        raise InvalidInput("unpacks to too many times its size (max_archive_ratio): it may be a zip bomb")


def _check_xml(beginning: bytes) -> None:
    """Refuse a document type: Office writes none, and entities are how XML explodes or reads other files."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import XMLParser

    parser = XMLParser(forbid_dtd=True)
    try:
        parser.feed(beginning)
    except DefusedXmlException:
        raise InvalidInput("declares XML entities, which Office files never do: it may be an attack") from None


# ---------------------------------------------------------------- xlsx


def read_xlsx(data: bytes, settings: Settings) -> Parsed:
    """Read an Excel file: a heading a sheet, a block a row; formulas as the values last computed."""
    from openpyxl import load_workbook

    check_archive(data, settings)
    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    try:
        builder = TextBuilder(settings)
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # files lie about them
            rows = ([_cell(value) for value in row] for row in sheet.iter_rows(values_only=True))
            if first := next(filter(any, rows), None):
                builder.heading(1, sheet.title)
                add_rows(builder, chain([first], rows))
        return builder.parsed(book.properties.title or "", {"author": book.properties.creator})
    finally:
        book.close()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, (date, time)) else str(value)
