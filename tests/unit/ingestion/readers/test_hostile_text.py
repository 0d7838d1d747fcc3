"""Text that repeats one sign without end is read, or refused, in no time by every reader of lines."""

import contextlib
from collections.abc import Callable

import pytest

from lexigraph.ingestion.readers.asciidoc import read_asciidoc
from lexigraph.ingestion.readers.html import check_tags, read_html
from lexigraph.ingestion.readers.log import read_log
from lexigraph.ingestion.readers.mail import read_mail
from lexigraph.ingestion.readers.markdown import read_markdown
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


BLANKS = " " * 40_000
LINES = {  # that nearly are what a pattern is for
    "options that no text follows": (read_text, "-a, " * 24 + "-"),
    "a heading with a gap": (read_text, f"# a{BLANKS}b"),
    "a signature without an address": (read_text, f"-- {'<a@' * 13_000}"),
    "a section of AsciiDoc with a gap": (read_asciidoc, f"== a{BLANKS}b"),
    "a rule of AsciiDoc that goes on": (read_asciidoc, f"{'_' * 40_000} a"),
    "an anchor of AsciiDoc without an end": (read_asciidoc, "anchor:a-[" * 4_000),
    "an inclusion of AsciiDoc without an end": (read_asciidoc, f"include::{'[' * 40_000}"),
    "a comment with a gap": (read_source, f"# a{BLANKS}b\nx = 1"),
    "a sender without an end": (read_mail, f"Subject: a\n\nFrom: {'a' * 60_000}\n"),
    "front matter with a gap": (read_markdown, f"---\na: b{BLANKS}c\n---\n\nText."),
    "a page that leads on after blanks": (read_html, f'<meta http-equiv="refresh" content="{BLANKS}x"><p>a'),
}


@pytest.mark.parametrize("what", LINES)
def test_a_line_that_nearly_fits_is_read_at_once(what: str) -> None:
    read, text = LINES[what]
    settings = load_settings()
    assert soon(lambda: read(text.encode(), settings), seconds=1)


def test_blanks_between_attributes_are_counted_at_once() -> None:
    few = load_settings(max_parts=10_000)
    assert soon(lambda: check_tags(f"<a{BLANKS}=>", few), seconds=1)


@pytest.mark.parametrize("declared", ["idna", "punycode", "unicode_escape", "raw-unicode-escape"])
def test_an_encoding_of_no_text_is_not_taken_for_that_of_a_message(declared: str) -> None:
    settings, body = load_settings(), "a\\u0041-" + "b9" * 200_000
    message = f"Subject: Pots\nContent-Type: text/plain; charset={declared}\n\n{body}\n".encode()
    assert soon(lambda: read_mail(message, settings), seconds=2)
    assert body in read_mail(message, settings).text
