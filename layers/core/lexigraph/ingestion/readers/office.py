"""Word and Excel files: zip archives of XML, checked before any library opens them."""

import io
import zipfile
from collections.abc import Iterator
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
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SPACING = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}p": "\n"}


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


# ---------------------------------------------------------------- docx


def read_docx(data: bytes, settings: Settings) -> Parsed:
    """Read a Word file: headings by style, paragraphs, lists and tables in document order; inserted text counts as text.

    Headers, footers, footnotes and comments are left out.
    """
    from docx import Document

    check_archive(data, settings)
    document = Document(io.BytesIO(data))
    body = document.element.body
    for twice in list(body.iter(_FALLBACK)):  # a text box is there once for old readers, once for new ones
        twice.getparent().remove(twice)
    styles = {style.style_id: style.name or "" for style in document.styles}
    builder = TextBuilder(settings)
    title = ""
    for element in _flow(body):
        if element.tag == f"{_W}tbl":
            _add_table(builder, element)
            continue
        style = styles.get(_style_id(element), "").casefold()
        text = _text(element)
        if style == "title":
            title = title or text
            builder.heading(0, text)
        elif style.startswith("heading ") and style[8:].isdecimal():
            builder.heading(int(style[8:]), text)
        else:
            listed = style.startswith("list") or element.find(f"{_W}pPr/{_W}numPr") is not None
            builder.add(text, "list" if listed else "paragraph")
    core = document.core_properties
    return builder.parsed(core.title or title or builder.first_heading(), {"author": core.author})


def _flow(parent: Any) -> Iterator[Any]:
    """Yield paragraphs and tables, also those inside content controls and other wrappers."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
            yield from _flow(child)


def _style_id(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else style.get(f"{_W}val", "")


def _text(element: Any) -> str:
    """Return the words of a paragraph or cell; deleted text has a tag of its own and is not among them."""
    parts = (node.text or "" if node.tag == f"{_W}t" else _SPACING[node.tag] for node in element.iter(f"{_W}t", *_SPACING))
    return "".join(parts).strip()


def _add_table(builder: TextBuilder, table: Any) -> None:
    rows = []
    for row in table.iterchildren(f"{_W}tr"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_W}tc"):
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            width = "1" if span is None else span.get(f"{_W}val", "1")
            cells += [_text(cell), *[""] * (min(int(width), 64) - 1 if width.isdecimal() else 0)]
        rows.append(cells)
    if len(rows) == 1 or all(len(cells) == 1 for cells in rows):  # a frame around text
        for cells in rows:
            for text in cells:
                builder.add(text)
    else:
        add_rows(builder, rows, "table")


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
