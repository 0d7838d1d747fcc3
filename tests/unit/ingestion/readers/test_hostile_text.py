"""Text that repeats one sign without end is read, or refused, in no time by every reader of lines."""

import contextlib
from collections.abc import Callable

import pytest

from lexigraph.ingestion.readers.asciidoc import read_asciidoc
from lexigraph.ingestion.readers.log import read_log
from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.ingestion.readers.plain.reader import read_text
from lexigraph.ingestion.readers.rst import read_rst
from lexigraph.ingestion.readers.source import read_source
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings, load_settings
from tests.processor import soon

SIGNS = (
    "a",
    ". ",
    "..",
    "`",
    "<",
    "*a\n",
    "/* a\n",
    "A\n=\n",
    "- a\n",
    "a-\n",
    "::\n",
    "|a\n",
    "{a",
    "class A {\n",
    ".. x::\n",
    "A: b\nC: d\nE: f\n\n",
    "A: b\n c\n",
    "a:",
    "http://a",
)


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_text, read_rst, read_asciidoc, read_source, read_log])
def test_one_sign_again_and_again(read: Callable[[bytes, Settings], Parsed]) -> None:
    settings = load_settings()
    for sign in SIGNS:
        text = (sign * 40_000)[:40_000].encode()

        def tried(text: bytes = text) -> None:
            with contextlib.suppress(InvalidInput):
                read(text, settings)

        assert soon(tried, seconds=4), repr(sign)


def test_white_space_within_a_link() -> None:
    settings = load_settings()
    assert soon(lambda: read_rst(b"See `" + b" " * 40_000 + b"x<", settings), seconds=4)
