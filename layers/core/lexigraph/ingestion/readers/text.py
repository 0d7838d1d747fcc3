"""Plain text: decoding bytes whose encoding nobody declared, paragraphs, list items, a title."""

import codecs
import re

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, clean, one_line
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536
_CONTROL = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_BULLET = re.compile(r"[^\S\n]*(?:[-*•‣▪◦·]|\d{1,2}[.)])[^\S\n]+(?=\S)")
# a line at least this long that is followed by another was broken by an editor, not by its author
_WRAPPED = 40
_MAX_TITLE = 100


def read_text(data: bytes, settings: Settings) -> Parsed:
    """Read plain text: paragraphs between blank lines; a short first line without a full stop is the title."""
    text, encoding = decode(data)
    check_length(len(text), settings.max_text_chars)
    builder = TextBuilder(settings)
    title, body = _title(clean(text).strip())
    if title:
        builder.heading(1, title)
    add_plain(builder, body)
    return builder.parsed(title, encoding_note(encoding))


def encoding_note(encoding: str) -> dict[str, str]:
    """Return metadata that tells an encoding which had to be detected; nothing for UTF-8."""
    return {} if encoding.startswith("utf-8") else {"encoding": encoding}


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
    """Return text and the name of its encoding.

    In this order: byte order mark, UTF-16 by its pattern of zeros, the ``declared`` encoding, UTF-8, Windows-1252,
    Latin-1. Raise ``InvalidInput`` for what is no text: zero bytes, or more than 2 % control characters.
    """
    text, encoding = _decode(data, declared)
    sample = text[:_SAMPLE]
    if "\x00" in sample or len(_CONTROL.findall(sample)) * 50 > len(sample):
        raise InvalidInput("is binary, not text")
    return text, encoding


def _decode(data: bytes, declared: str) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    if encoding := _utf16(data[:_SAMPLE]):
        return data.decode(encoding, "replace"), encoding
    for encoding in (declared, "utf-8", "cp1252"):
        try:
            if encoding:
                return data.decode(encoding), encoding.lower()
        except (LookupError, UnicodeError):
            continue
    return data.decode("latin-1"), "latin-1"


def _utf16(sample: bytes) -> str:
    """Tell UTF-16 without a mark: Latin letters leave every other byte zero."""
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > half * 0.4 and even < half * 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.4 and odd < half * 0.05 else ""


def _title(text: str) -> tuple[str, str]:
    """Split a first line that looks like a title from the text below it."""
    parts = _BLANK_LINES.split(text, maxsplit=1)
    first = one_line(parts[0])
    looks = len(parts) == 2 and "\n" not in parts[0] and len(first) <= _MAX_TITLE and not _BULLET.match(parts[0])
    if looks and first[-1:] not in ".,;:" and any(c.isalpha() for c in first):
        return first, parts[1]
    return "", text


def add_plain(builder: TextBuilder, text: str) -> None:
    """Add plain text: a block a paragraph, a block a list item; lines that an editor wrapped are joined."""
    for part in _BLANK_LINES.split(clean(text)):
        lines = part.split("\n")
        if not any(_BULLET.match(line) for line in lines):
            builder.add(unwrap(lines))
            continue
        above: list[str] = []
        items: list[list[str]] = []
        for line in lines:
            if _BULLET.match(line):
                items.append([line])
            else:
                (items[-1] if items else above).append(line)
        builder.add(unwrap(above))
        for item in items:
            builder.add(" ".join(item), "list")


def unwrap(lines: list[str]) -> str:
    """Join lines: with a space after a long one, with a line break after a short one."""
    if len(lines) == 1:
        return lines[0]
    parts: list[str] = []
    for line in lines:
        bare = line.strip()
        parts += (bare, " " if len(bare) >= _WRAPPED else "\n")
    return "".join(parts[:-1])
