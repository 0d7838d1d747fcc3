"""Words of no language: which words of a question they are, and where one stands by itself."""

import pytest

from lexigraph.answering.identifiers import identifiers, numbered, share_held


@pytest.mark.parametrize(
    "identifier",
    [
        "CVE-2023-25652",
        "max_user_watches",
        "/proc/sys",
        "--partscan",
        "2.38.5",
        "http3",
        "key=value",
        "limits.conf",
        "kettle.c",
        "GPL-2",
    ],
)
def test_identifiers_are_words_of_no_language(identifier):
    assert identifiers(f"What about {identifier}?") == {identifier.casefold()}


@pytest.mark.parametrize("word", ["well-known", "Tidewater", "1998", "e.g.", "don't", "Node.js", "2.5"])
def test_other_words_are_no_identifiers(word):
    assert identifiers(f"What about {word}?") == frozenset()


def test_a_number_with_one_dot_is_a_version_behind_the_name_of_something():
    assert identifiers("What changed in Kiln 2.30?") == {"2.30"}
    assert identifiers("Is it more than 2.30 metres?") == frozenset()


@pytest.mark.parametrize(
    ("identifier", "text", "held"),
    [
        ("gpl-2", "See GPL-2 there.", True),
        ("gpl-2", "GPL-2.txt", True),
        ("gpl-2", "See GPL 2 there.", True),
        ("gpl-2", "LGPL-2.1.txt", False),
        ("gpl-2", "GPL-2.1", False),
        ("2.30", "Kiln v2.30.0 is out", True),
        ("2.30", "Kiln 2.30.", True),
        ("v2.30", "Kiln 2.30", True),
        ("2.30", "Kiln 2.30.9", False),
        ("2.30", "Kiln 12.30", False),
        ("2.30", "Kiln 1.2.30", False),
        ("--list", "use --list, or", True),
        ("--list", "use --listen", False),
        ("--list", "use --list-all", False),
        ("--list=all", "--list=<none|all> [default: none]", True),
        ("--list=all", "--list=<depth>", True),
        ("--list=all", "--list=none, all of them", False),
        ("--list=all", "--list=allowed", False),
        ("limits.conf", "/etc/limits.conf.5.txt", True),
        ("limits.conf", "limits.config", False),
        ("valve 99", "Valves 98 and 99 are open.", True),
        ("valve 99", "Valve: 99; State: open", True),
        ("valve 99", "Valve 999 is open, and valve 1.99.", False),
        ("valve 99", "The pump weighs 99 kg.", False),
        ("error 7", "signal(7): an error is told", False),
        ("click.confirm", "def confirm(text: str)\nclick/termui.py", True),
        ("click.confirm", "Ask twice.\nconfirm\nclick/termui.py", True),
        ("click.confirm", "def confirm(text: str)\nhttpx/_api.py", False),
        ("click.confirm", "Whether users of click confirm it.", False),
        ("limits.conf", "limits: none. conf: all.", False),
        ("http3", "\u4f7f\u7528http3\u534f\u8bae", True),
    ],
)
def test_an_identifier_is_found_where_it_is_no_part_of_another(identifier, text, held):
    assert share_held({identifier}, text) == float(held)


def test_the_share_of_no_identifiers_is_whole():
    assert share_held(frozenset(), "Anything.") == 1.0
    assert share_held({"gpl-2", "gpl-3"}, "GPL-3") == 0.5


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What does exit code 28 mean?", {"code 28"}),
        ("Who checked valve no. 17, and when?", {"valve 17"}),
        ("Quelle est la pression de la vanne 17?", {"vanne 17"}),
        ("Who directed Big Hero 6?", set()),
        ("Did she do 60 pull-ups?", set()),
        ("Does it cost 4 euros?", set()),
        ("What was written in summer 1994?", set()),
        ("What may a child at age 4 eat?", set()),
        ("Which signal is number 11?", set()),
    ],
)
def test_a_thing_is_named_by_a_number_that_is_no_title_quantity_or_year(question, named):
    assert numbered(question) == named
