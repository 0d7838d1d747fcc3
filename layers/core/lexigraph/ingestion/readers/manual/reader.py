"""Manual pages: their source, in macros of ``man(7)`` or ``mdoc(7)``, or the text that ``man`` prints."""

import re

from lexigraph.ingestion.readers.manual.man import ManPage
from lexigraph.ingestion.readers.manual.mdoc import MdocPage
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text
from lexigraph.ingestion.readers.plain.reader import read_text
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_MARKED_UP = re.compile(r"\s*[.'](?:[^\S\n]*(?:\w|\n)|\\[\"#])")  # its first line is a comment, a request or empty
_FIRST = re.compile(r"^[.'][^\S\n]*(TH|Dd|Dt|so)\s", re.MULTILINE)
_OVERSTRUCK = re.compile(b".\b")  # bold and underlined in what man prints


def read_manual(data: bytes, settings: Settings) -> Parsed:
    """Read a manual page, its source or its text; any other text is read as plain text.

    Pages that only name another page raise ``InvalidInput``.
    """
    printed = _OVERSTRUCK.sub(b"", data) if b"\b" in data else data
    text, encoding = decode(printed)
    found = _FIRST.search(text) if _MARKED_UP.match(text) else None
    if not found:
        return read_text(printed, settings)
    if found[1] == "so":
        raise InvalidInput("only refers to another page")
    check_text(text, settings)
    page = (ManPage if found[1] == "TH" else MdocPage)(TextBuilder(settings))
    page.read(text)
    return page.parsed(encoding_note(encoding))
