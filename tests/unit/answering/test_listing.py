"""Which questions ask for a list, and of what."""

import pytest

from lexigraph.answering.candidates import candidates
from lexigraph.answering.listing import kind_asked_for, listing_source
from lexigraph.retrieval.stages.text import stems


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("List the options of marl", "options"),
        ("list all of the options of marl, please", "options"),
        ("Can you give me a list of the socket types?", "types"),
        ("Enumerate every field", ""),
        ("What are the fields of the berth table?", "fields"),
        ("Which fields does the berth table have?", "fields"),
        ("Which values may the state of a berth have?", "values"),
        ("What errors are there?", "errors"),
        ("Which errors of the pier exist?", "errors"),
        ("Which options show piers?", ""),
        ("Which options of marl show piers?", ""),
        ("List the options that show piers", ""),
        ("What is a pier?", ""),
        ("Which pier does marl count first?", ""),
        ("How do I list the options of marl?", ""),
        ("", ""),
    ],
)
def test_a_list_is_asked_for_by_a_plural_and_nothing_that_leaves_some_of_it_out(question: str, kind: str) -> None:
    assert kind_asked_for(question) == frozenset(stems(kind))


def test_a_list_is_of_a_source_that_has_the_acronym_asked_for_however_much_of_another_is_found(results) -> None:
    shell = [("shell.1", f"-{letter}: what a parameter of the shell means.", 0.8) for letter in "abcdef"]
    found = candidates(results(*shell, ("keyed-hash.7", "The HMAC parameters are set like others.", 0.9)))
    question = "Which parameters does the HMAC implementation have?"
    assert listing_source(question, found, frozenset(["hmac"])) == "source:keyed-hash.7"
    assert listing_source(question, found, frozenset(["xmac"])) == listing_source(question, found) == "source:shell.1"


def test_no_text_takes_long_to_look_at() -> None:
    for text in ("list " * 800, "which of in for " * 250, "a: " * 1_300, "list all the " + "x" * 3_980):
        assert kind_asked_for(text) == frozenset()
