"""Questions read beside what was found: what is asked for, names, identifiers, words that nothing has."""

from dataclasses import replace

import pytest

from lexigraph.answering.asked import read
from lexigraph.answering.candidates import candidates, names_in
from lexigraph.answering.worth import by_worth
from lexigraph.retrieval.stages.text import stems
from tests.processor import soon


def asked(question, results, *rows):
    return read(question, candidates(results(*rows or [("a.md", "Alpha.", 0.9)])))


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("Who is the leader of the team that owns Tidewater?", "leader team"),
        ("Tidewater is owned by a team: who leads it?", "leads"),
        ("Where the Lanternfish team works, what is the building cooled with?", "building cooled"),
        ("Lanternfish shows photographs. For how many years are they kept?", "years kept"),
        ("In which city are the tapes kept from which the photographs were copied?", "city tapes kept"),
        ("pipe ownership", "pipe ownership"),
        ("Wo steht der Leuchtturm?", "steht leuchtturm"),
    ],
)
def test_what_is_asked_for_stands_behind_the_last_question_word(results, question, focus):
    assert set(stems(focus)) <= asked(question, results).focus <= set(stems(question))
    assert asked(question, results).focus <= set(stems(focus)) | set(stems("wo der"))


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("Which limits does inotify have?", True),
        ("What are the socket types of the domain?", True),
        ("List the colours of the signal.", True),
        ("Which process holds the lock?", False),
        ("Which limit does inotify have?", False),
        ("Which user may read it?", False),
        ("Which option avoids that files are shared?", False),
        ("Which option prevents execution of binaries?", False),
        ("Which curl option follows redirects?", False),
        ("Which river flows through the town?", False),
        ("Which character sets are known?", True),
        ("Which changes broke it?", True),
        ("What does the boiler burn?", False),
        ("At which address is it found?", False),
    ],
)
def test_several_things_are_asked_for_by_a_plural_or_a_word_for_all(results, question, several):
    assert asked(question, results).for_several is several


def test_how_a_question_is_put_is_none_of_what_it_asks_for(results):
    put = "What is the recommended way to load records that the documents talk about?"
    assert asked(put, results).worth.keys() == set(stems("load records"))
    assert asked("What happens?", results).worth.keys() == set(stems("happens"))
    assert asked("Wie hoch ist die Gebühr?", results).worth.keys() == set(stems("Gebühr", "de"))


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("When does the ferry leave?", True),
        ("Who built the mill, and when?", True),
        ("Do you know when the mill was built?", True),
        ("What happens when a job fails?", False),
        ("When a job fails, what is kept?", False),
        ("When should I use the pump?", False),
        ("How long does it take when it rains?", True),
    ],
)
def test_a_when_in_a_clause_asks_for_no_time(results, question, time):
    assert asked(question, results).for_a_time is time


def test_a_rare_word_is_worth_more_than_a_common_one_and_one_that_nothing_has_most(results):
    rows = [("a.md", "The pump is red.", 0.9), ("b.md", "The pump is loud.", 0.8), ("c.md", "A valve.", 0.7)]
    worth = asked("Is the pump red or purple?", results, *rows).worth
    assert worth["pump"] < worth["red"] < worth["purpl"] <= 1


def test_words_that_nothing_found_has_are_told_as_they_were_written(results):
    found = asked('Does the "Pump" run on Hydrogen?', results, ("a.md", "The pump runs on water.", 0.9))
    assert found.missing == ("Hydrogen",)


def test_what_is_found_is_stemmed_in_the_language_of_the_question_though_it_has_no_function_words(results):
    rows = results(("stadt.csv", "Name: Nord; Art: Buchhandlung; Telefon: 1234", 0.9))
    question = "Wann öffnet die Buchhandlung?"
    assert read(question, candidates(rows, language="de")).missing == ("öffnet",)


@pytest.mark.parametrize("told", ["AUTHORS: Ada Byron", "The author is Ada Byron.", "It was written by Ada Byron."])
@pytest.mark.parametrize("question", ["Who wrote moor?", "Who is the author of moor?"])
def test_who_wrote_a_thing_is_its_author(results, question, told):
    assert asked(question, results, ("moor.md", told, 0.9)).missing == ()


def test_bytes_that_are_written_and_an_authority_have_no_author(results):
    said = "The bytes written to the port need an authorization."
    assert asked("Who wrote moor?", results, ("moor.md", said, 0.9)).missing == ("wrote",)


@pytest.mark.parametrize("told", ["New in version 3.11.", "Added in: v3.11.0", "Version: v3.11; Changes: Added in: v3.11"])
@pytest.mark.parametrize(
    "question",
    ["When was moor added?", "In which version was moor introduced?", "In which moor version was it introduced?"],
)
def test_when_a_thing_was_added_is_answered_by_the_version_that_it_is_new_in(results, question, told):
    rows = [("moor.md", told, 0.9), ("moor.md", "It moors boats.", 0.8)]
    found = candidates(results(*rows))
    assert asked(question, results, *rows).missing == ()
    assert [read(question, found).is_answered_by(c) for c in found] == [True, False]
    assert not read("When is moor used?", found).is_answered_by(found[0])


def test_what_was_founded_was_established_and_not_found(results):
    question = "When was Kestrel founded?"
    assert asked(question, results, ("a.md", "Kestrel was established in 1911.", 0.9)).missing == ()
    assert asked(question, results, ("a.md", "Kestrel can be found in the valley.", 0.9)).missing == ("founded",)


def test_what_only_compares_need_not_be_said(results):
    rows = [("alpha.md", "Alpha is quick.", 0.9), ("beta.md", "Beta is slow.", 0.8)]
    assert asked("What is the difference between Alpha and Beta?", results, *rows).missing == ()
    assert asked("What is the difference of the pumps?", results, *rows).missing == ("difference", "pumps")


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("Who founded Heron Works?", ("Heron Works",)),
        ("Who founded Kestrel Works?", ()),  # a word of it is known: documents may call it by that alone
        ("Is it kept by RSA?", ("RSA",)),
        ("Compare the valves.", ()),
        ("What opens on Friday in December?", ()),
        ("Wo ist der Kessel und wer hat ihn gebaut?", ()),  # in German every noun has a capital
    ],
)
def test_a_name_is_unknown_when_nothing_found_has_a_word_of_it(results, question, unknown):
    assert asked(question, results, ("a.md", "The valley belongs to Kestrel.", 0.9)).unknown == unknown


def test_names_are_runs_of_capitalised_words():
    text = 'The Heron Team, in Antwerp (Kestrel House), and Tidewater\'s "Nightjar Runbook". It is Ines Calloway.'
    assert names_in(text) == {"heron team", "antwerp", "kestrel house", "tidewater", "nightjar runbook", "ines calloway"}


def test_an_acronym_is_sought_like_an_identifier_unless_all_is_in_capitals(results):
    assert asked("What does BBV write?", results).identifiers == {"bbv"}
    assert asked("WHAT DOES BBV WRITE?", results).identifiers == frozenset()


def test_a_statement_about_the_acronym_asked_about_is_preferred_to_one_with_more_of_the_other_words(results):
    rows = [
        ("lackey.html", "It prints the output format of a file that is called.", 0.9),
        ("bbv.html", "BBV writes bb.out.", 0.85),
        ("bbv.html", "BBV needs a file.", 0.8),
    ]
    found = candidates(results(*rows))
    question = "What is the output file of BBV called?"
    _, best = by_worth(read(question, found), found)[0]
    assert best.citation.text.startswith("BBV")


@pytest.mark.parametrize(
    "constant", ["POOL_SIZE = 10", "POOL_SIZE: int = 10", "#define POOL_SIZE 10", "pub const POOL_SIZE: u32 = 10;"]
)
def test_code_that_sets_a_constant_is_worth_more_than_what_only_uses_it(results, constant):
    found = results(("a.py", "def open_pool(\n    size: int = POOL_SIZE,\n): ...", 0.9), ("b.py", constant, 0.4))
    code = [replace(r, statements=tuple(replace(s, kind="code") for s in r.statements)) for r in found.results]
    choices = candidates(replace(found, results=tuple(code)))
    _, first = by_worth(read("What is POOL_SIZE?", choices), choices)[0]
    assert first.citation.text == constant


@pytest.mark.parametrize("piece", ["when x ", "what did x ", "whom did x "])
def test_a_question_as_long_as_may_be_that_asks_again_and_again_is_judged_at_once(results, piece):
    found = candidates(results(("kiln.txt", "The kiln was lit in May.", 0.9)))
    question = f"Why {piece * 1_000}"[:4_000]

    def judged():
        whole = read(question, found)
        for _ in range(100):  # statements
            whole.is_answered_by(found[0])

    assert soon(judged, seconds=0.7)
