"""PDF by pypdf: the text of each page, in headings and paragraphs as far as the lines tell."""

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
_ENDS = (".", "!", "?", ":")
# a line this much shorter than the longest, with no full stop and above a long one, is a heading
_HEADING_LINE = 0.5
_BELOW_TITLE = 2


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
        for is_heading, block in _blocks(text):
            if is_heading:
                builder.heading(_BELOW_TITLE, block)
            else:
                builder.add(block)
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


def _blocks(page: str) -> list[tuple[bool, str]]:
    """Return headings (True) and paragraphs of a page, lines and broken words joined.

    A paragraph ends at a blank line, before a heading, and after a line that ends short with a full stop.
    """
    page = _HYPHEN.sub("", clean(page.translate(_LIGATURES)))
    full = max((len(line) for line in page.split("\n")), default=0)
    found: list[tuple[bool, str]] = []
    for part in _BLANK_LINES.split(page):
        lines: list[str] = []
        every = [line.strip() for line in part.split("\n")]
        for line, below in zip(every, [*every[1:], ""], strict=True):
            if (not lines or lines[-1].endswith(_ENDS)) and _heads(line, below, full):
                found += [(False, " ".join(lines)), (True, line)]
                lines = []
                continue
            lines.append(line)
            if len(line) < full * _SHORT_LINE and line.endswith(_ENDS):
                found.append((False, " ".join(lines)))
                lines = []
        found.append((False, " ".join(lines)))
    return found


def _heads(line: str, below: str, full: int) -> bool:
    """Tell a heading from the first line of a paragraph: it ends where much of what is below would have found room."""
    begins = line[:1].isupper() or line[:1].isdigit()
    short = len(line) < full * _HEADING_LINE and not line.endswith((*_ENDS, ",", ";", "-"))
    return begins and short and any(c.isalpha() for c in line) and below[:1].isupper() and len(below) >= full * _SHORT_LINE
