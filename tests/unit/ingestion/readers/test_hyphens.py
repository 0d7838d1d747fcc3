"""Words cut at the end of a line: the document itself says how they are written."""

import pytest

from lexigraph.ingestion.readers.hyphens import Hyphenation, rejoin
from tests.processor import soon

WRAPPED = "The lines of this made-up text are long enough to be "


def cut(first: str, second: str, elsewhere: str = "") -> str:
    """The word that ``first`` at the end of a line and ``second`` below it make."""
    text = rejoin(f"{WRAPPED}{first}\n{second} ends here.\n\n{elsewhere}\n")
    return text[len(WRAPPED) :].split()[0]


@pytest.mark.parametrize("hyphen", ["\u2010", "\u00ad"])
@pytest.mark.parametrize(
    ("first", "second", "word"), [("ino", "tify", "inotify"), ("F_GET", "PIPE_SZ", "F_GETPIPE_SZ"), ("Al", "pha,", "Alpha,")]
)
def test_typesetters_hyphens_go(hyphen: str, first: str, second: str, word: str) -> None:
    assert cut(first + hyphen, second) == word


def test_a_typesetters_hyphen_stays_where_the_document_writes_the_word_with_it() -> None:
    assert cut("light\u2010", "weight", "A light-weight call.") == "light-weight"


def test_the_word_as_it_stands_elsewhere_decides() -> None:
    assert cut("re-", "sign", "They resign.") == "resign"
    assert cut("re-", "sign", "They re-sign it.") == "re-sign"


def test_without_evidence_small_letters_join_except_behind_what_keeps_its_hyphen() -> None:
    assert cut("communi-", "cation") == "communication"
    assert cut("non-", "empty") == "non-empty"
    assert cut("state-of-the-", "art") == "state-of-the-art"
    assert cut("UTF-", "8") == "UTF-8"


def test_a_hyphen_stays_between_two_words_that_the_document_has_by_themselves() -> None:
    said = "The harbour is provided with cranes."
    assert cut("harbour-", "provided", said) == "harbour-provided"
    assert cut("harbour-", "ing", said) == "harbouring"


def test_a_plain_hyphen_stays_where_typesetters_hyphens_cut_words_or_the_document_cuts_none() -> None:
    assert cut("edge-", "triggered", f"{WRAPPED}inter\u2010\nface.") == "edge-triggered"
    kept = f"A file-system here.\n\n{WRAPPED}file-\nsystem."
    assert cut("client-", "server", kept) == "client-server"


@pytest.mark.parametrize(
    "text",
    [
        "/etc/shadow-\n    the copy before the last change\n",
        f"{WRAPPED}Anglo-\n\nSaxon",
        f"{WRAPPED}it -\nas they say",
        f"{WRAPPED}software--\nas they say",
        "Head\n----\ntext\n",
    ],
)
def test_what_is_no_cut_word_stays(text: str) -> None:
    assert rejoin(text) == text


def test_lines_and_their_indents_stay() -> None:
    assert rejoin("   one inter\u2010\n   national  word\n") == "   one international\n   word\n"
    assert rejoin("   in\u2010\n   ter\u2010\n   national\n   word") == "   international\n   word"


def test_within_a_line_typesetters_hyphens_become_plain_ones() -> None:
    assert rejoin("a read\u2010only, non\u2011empty fi\u00adle") == "a read-only, non-empty file"


def test_the_parts_of_a_document_are_judged_by_the_whole() -> None:
    hyphenation = Hyphenation(f"{WRAPPED}work-\nflow\fThe workflow ends.")
    assert hyphenation.rejoin(f"{WRAPPED}work-\nflow") == f"{WRAPPED}workflow\n"
    assert hyphenation.word("work", "flow") == "workflow"


def test_a_long_text_without_blanks_is_read_in_no_time() -> None:
    text = "x" * 2_000_000 + "-\n" + "y-" * 500_000
    assert soon(lambda: rejoin(text), seconds=5)
