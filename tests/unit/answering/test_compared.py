"""What a question compares, by how it asks."""

import pytest

from lexigraph.answering.candidates import candidates
from lexigraph.answering.compared import compared
from tests.processor import soon


@pytest.fixture
def found(results):
    rows = [
        ("kilnd.5.txt", "The file kilnd holds what the kiln does by day.", 0.9),
        ("glazed.5.txt", "The file glazed holds the colours.", 0.8),
        ("KPL-2.txt", "You may copy this program.", 0.7),
        ("KPL-3.txt", "You may pass this program on.", 0.6),
        ("red-cone.md", "The Red Cone bends early.", 0.5),
    ]
    return candidates(results(*rows))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is the difference between kilnd and glazed?", ("kilnd", "glazed")),
        ("What are the differences between the kilnd file and the glazed file in speed?", ("kilnd file", "glazed file")),
        ("Compare KPL-2 with KPL-3.", ("KPL-2", "KPL-3")),
        ("compare kilnd, glazed and KPL-2", ("kilnd", "glazed", "KPL-2")),
        ("How do kilnd and glazed differ?", ("kilnd", "glazed")),
        ("How do the kilnd and glazed files differ?", ("kilnd", "glazed")),
        ("How does kilnd differ from glazed in what it holds?", ("kilnd", "glazed")),
        ("How is KPL-3 different from KPL-2?", ("KPL-3", "KPL-2")),
        ("What distinguishes the Red Cone from the Blue Cone?", ("Red Cone", "Blue Cone")),
        ("What do kilnd and glazed have in common?", ("kilnd", "glazed")),
        ("KPL-2 vs. KPL-3: what may be sold?", ("KPL-2", "KPL-3")),
        ("Which words are in both kilnd and glazed?", ("kilnd", "glazed")),
        ("Should I use kilnd or glazed to set a colour?", ("kilnd", "glazed")),
        ("Is kilnd faster than glazed?", ("kilnd", "glazed")),
        ("Compare KPL-2 with EUKL-1.2.", ("KPL-2", "EUKL-1.2")),
    ],
)
def test_the_things_compared_are_named_by_the_words_of_the_question(found, question, names):
    assert tuple(side.name for side in compared(question, found)) == names


@pytest.mark.parametrize(
    "question",
    [
        "What does kilnd hold?",
        "Is the kiln lost or damaged?",  # a choice between what no document is called by
        "Is it hotter than a thousand degrees?",
        "How do salt and rope differ?",  # nothing found tells of either
        "What is the difference?",
        "Compare the kilns.",
    ],
)
def test_other_questions_compare_nothing(found, question):
    assert compared(question, found) == ()


def test_a_thing_is_told_of_by_the_words_that_the_others_lack_or_by_its_identifier(found):
    kilnd, glazed = compared("Compare the kilnd file with the glazed file.", found)
    assert [kilnd.is_told(c) for c in found] == [True, False, False, False, False]
    assert [glazed.is_told(c) for c in found] == [False, True, False, False, False]
    (second, third) = compared("KPL-2 vs KPL-3", found)
    assert [(second.is_told(c), third.is_told(c)) for c in found][2:] == [(True, False), (False, True), (False, False)]


def test_a_document_is_called_by_a_thing_by_its_title_and_as_much_by_its_file(found):
    kilnd, _ = compared("Compare kilnd and glazed.", found)
    assert [kilnd.calls(c) for c in found] == [2.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("piece", ["what does x and ", "both x and ", "how is x ", "x v ", "is x faster "])
def test_a_question_as_long_as_may_be_that_compares_nothing_is_read_at_once(found, piece):
    assert soon(lambda: compared(f"Why {piece * 1_000}"[:4_000], found), seconds=0.3)
