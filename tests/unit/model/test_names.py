"""The one rule for every name that a client gives."""

import json
import re
import sys
import unicodedata

import pytest

from lexigraph.api.access.keys import new_key
from lexigraph.model.errors import InvalidInput
from lexigraph.model.names import PATTERN, RULE, checked_name

GOOD = [
    "default",
    "court 2024",
    "a",
    "Größe",
    "審判",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d🚀",
    "a\u00a0b",
    "x" * 128,
    "a/b",
    "%00",
    ".",
]
UNSEEN = [
    "\x00",
    "\n",
    "\r",
    "\t",
    "\x1b",
    "\x7f",
    "\x85",
    "\xad",
    "\u061c",
    "\u200b",
    "\u200e",
    "\u200f",
    "\u2028",
    "\u2029",
]
UNSEEN += ["\u034f", "\u115f", "\u17b4", "\u3164", "\uffa0", "\U0001d173"]
UNSEEN += ["\u2029", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\ufff9", "\ud800", "\U000e0041"]
BLANK = [" ", "   ", "\u00a0", "\u3000", "\u200d", "\u200c\u200c", "\u180b", "\u2800", "\ufe0f"]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_may_be_anything_that_can_be_seen(name: str) -> None:
    assert checked_name("namespace", name) == name


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("around", ["{}", "a{}b", "{}ab", "ab{}"])
def test_what_cannot_be_seen_is_refused_wherever_it_stands(unseen: str, around: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_name("namespace", around.format(unseen))
    assert str(refused.value) == f"namespace: {RULE}"


@pytest.mark.parametrize("name", BLANK)
def test_a_name_that_is_blank_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="a visible character"):
        checked_name("namespace", name)


def test_a_name_that_is_a_key_is_refused_since_names_are_shown() -> None:
    secret, _ = new_key("default", ["admin"])
    with pytest.raises(InvalidInput, match="namespace: must not contain an API key") as refused:
        checked_name("namespace", f"of {secret}")
    assert secret not in str(refused.value)


@pytest.mark.parametrize("name", ["", "x" * 129, None, 7])
def test_a_name_has_its_length(name: object) -> None:
    with pytest.raises(InvalidInput, match="namespace must have 1 to 128 characters"):
        checked_name("namespace", name)


def test_every_control_and_direction_character_that_unicode_knows_is_refused() -> None:
    kept = []
    for code in range(sys.maxunicode + 1):
        direction = unicodedata.bidirectional(chr(code)) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        if direction or unicodedata.category(chr(code)) in ("Cc", "Zl", "Zp", "Cs"):
            try:
                checked_name("namespace", f"a{chr(code)}b")
                kept.append(f"{code:x}")
            except InvalidInput:
                pass
    assert kept == []


def test_the_pattern_of_the_document_is_plain_ascii_that_any_reader_of_schemas_knows() -> None:
    assert json.loads(json.dumps(PATTERN)).isascii()
    assert not re.search(r"\\(?!x[0-9a-f]{2}|u[0-9a-f]{4})", PATTERN)
