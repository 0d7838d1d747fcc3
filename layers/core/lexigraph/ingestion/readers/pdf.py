"""PDF by pypdf: the text of each page, in paragraphs as far as the lines tell."""

import io
import logging
import re
from typing import TYPE_CHECKING

from lexigraph.ingestion.readers.parsed import MAX_HEADING_CHARS, Parsed, TextBuilder, clean, one_line
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from pypdf import PdfReader

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
# a line this much shorter than the longest of its page, ending in a full stop, ends a paragraph
_SHORT_LINE = 0.75


def read_pdf(data: bytes, settings: Settings) -> Parsed:
    """Read the text layer of a PDF; pages are parted by form feeds, ``page_count`` is in the metadata.

    An empty password is tried on an encrypted file. A page whose text cannot be read is left out and counted in the
    metadata (``unreadable_pages``). Raise ``InvalidInput`` without the password, with too many pages, without text.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports each repaired flaw
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise InvalidInput("is encrypted: save it without a password")
    pages = len(reader.pages)
    if pages > settings.max_pages:
        raise InvalidInput(
            f"has {pages:,} pages, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
        )
    builder = TextBuilder(settings)
    unreadable = 0
    for number in range(pages):
        if number:
            builder.page_break()
        try:
            text = reader.pages[number].extract_text()
        except Exception:  # noqa: BLE001  # whatever one page does, the others are read
            unreadable += 1
            continue
        for paragraph in _paragraphs(text):
            builder.add(paragraph)
    if unreadable == pages:
        raise InvalidInput("is damaged: no page can be read")
    metadata = {"page_count": pages, "author": _entry(reader, "/Author"), "unreadable_pages": unreadable}
    kept = {key: value for key, value in metadata.items() if value}
    try:
        return builder.parsed(_entry(reader, "/Title"), kept)
    except InvalidInput:
        raise InvalidInput("holds no text, only images perhaps: run text recognition (OCR) on it first") from None


def _entry(reader: "PdfReader", key: str) -> str:
    value = reader.metadata.get(key) if reader.metadata else None
    return one_line(value)[:MAX_HEADING_CHARS] if isinstance(value, str) else ""


def _paragraphs(page: str) -> list[str]:
    """Part a page at blank lines and after lines that end short with a full stop; join the lines and broken words."""
    page = _HYPHEN.sub("", clean(page.translate(_LIGATURES)))
    full = max((len(line) for line in page.split("\n")), default=0) * _SHORT_LINE
    found: list[str] = []
    for part in _BLANK_LINES.split(page):
        lines: list[str] = []
        for line in part.split("\n"):
            lines.append(line.strip())
            if len(lines[-1]) < full and lines[-1].endswith((".", "!", "?", ":")):
                found.append(" ".join(lines))
                lines = []
        found.append(" ".join(lines))
    return found
