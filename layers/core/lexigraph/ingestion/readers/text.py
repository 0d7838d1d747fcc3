"""Text: decoding bytes whose encoding nobody declared."""

import codecs
import re

from lexigraph.model.errors import InvalidInput

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 65_536
# encodings of host names and of Python, of which some take the square of the length
_OF_NO_TEXT = frozenset("idna punycode raw-unicode-escape undefined unicode-escape".split())
_CONTROL = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")


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
    strange = _CONTROL.findall(sample)
    if "\x00" in sample or len(strange) * 50 > len(sample):
        other = all(sign >= "\x7f" for sign in strange)  # as Windows-1252 would have them
        raise InvalidInput("is in an encoding that is not known: save it as UTF-8" if other else "is binary, not text")
    return text, encoding


def _decode(data: bytes, declared: str) -> tuple[str, str]:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    if encoding := _utf16(data[:_SAMPLE]):
        return data.decode(encoding, "replace"), encoding
    for encoding in (declared, "utf-8", "cp1252"):
        try:
            if encoding and codecs.lookup(encoding).name not in _OF_NO_TEXT:
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
