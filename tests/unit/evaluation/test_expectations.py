"""Reading questions with what is expected of their answers: every form that is taken, and what is said of bad lines."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lexigraph.evaluation.expectations import Expectation, read_expectations
from lexigraph.model.errors import InvalidInput


def read(folder: Path, *lines: dict[str, Any], limit: int | None = None) -> list[Expectation]:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_expectations(path, limit)


def test_expected_texts_files_and_kind(tmp_path: Path) -> None:
    line = {"kind": "list", "question": "Which?", "expected": ["a", "b"], "any": True, "files": ["x.md", "y.md"], "more": 1}
    assert read(tmp_path, line) == [
        Expectation("1", "Which?", ("a", "b"), any=True, files=("x.md", "y.md"), type="list"),
    ]


def test_one_text_needs_no_list(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"question": "Which?", "expected": "a", "files": "x.md"})
    assert (found.expected, found.files) == (("a",), ("x.md",))


def test_an_answer_with_id_and_type_in_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"id": "q7", "question": "Why?", "answer": "It rains.", "type": "cause", "gold": ["p1"]}\n')
    )
    assert read_expectations(path) == [Expectation("q7", "Why?", answer="It rains.", files=("p1",), type="cause")]


@pytest.mark.parametrize(
    "marks",
    [{"unanswerable": True}, {"kind": "negative", "expected": [], "files": []}, {"type": "unanswerable", "answer": ""}],
)
def test_an_unanswerable_question_is_marked_or_of_that_kind(tmp_path: Path, marks: dict[str, Any]) -> None:
    (found,) = read(tmp_path, {"question": "Who won?", **marks})
    assert found.unanswerable


def test_paraphrases_are_questions_with_the_same_expectation(tmp_path: Path) -> None:
    line = {"id": "a", "question": "Who?", "paraphrases": ["Which one?", "Tell me who."], "expected": ["Mira"]}
    found = read(tmp_path, line, {"question": "When?", "answer": "At six"})
    assert [(e.id, e.text) for e in found] == [("a", "Who?"), ("a/1", "Which one?"), ("a/2", "Tell me who."), ("2", "When?")]
    assert {e.expected for e in found[:3]} == {("Mira",)}
    assert len(read(tmp_path, line, limit=2)) == 2


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"expected": ["a"]}, "field 'question': is missing"),
        ({"question": "?!", "expected": ["a"]}, "field 'question': must contain a letter or digit: write a question"),
        ({"question": "Who?"}, 'field \'expected\': is missing: give texts, or "answer", or "unanswerable": true'),
        ({"question": "Who?", "expected": []}, "field 'expected': is missing"),
        ({"question": "Who?", "expected": 7}, "field 'expected': must be a list of texts that are not blank"),
        ({"question": "Who?", "expected": ["a", " "]}, "field 'expected': must be a list of texts that are not blank"),
        ({"question": "Who?", "expected": ["a"], "files": [1]}, "field 'files': must be a list of texts"),
        ({"question": "Who?", "answer": 35}, "field 'answer': must be text, is int"),
        ({"question": "Who?", "expected": ["a"], "any": "yes"}, "field 'any': must be true or false, is str"),
        ({"question": "Who?", "answer": "a", "unanswerable": True}, "field 'answer': is given for an unanswerable question"),
        ({"question": "Who?", "answer": "a", "paraphrases": ["?"]}, "field 'paraphrases': must contain a letter or digit"),
    ],
)
def test_a_bad_line_is_named_with_field_and_remedy(tmp_path: Path, line: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, {"question": "Good?", "expected": ["yes"]}, line)
    assert "questions.jsonl, line 2, " in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("expected", "text", "said"),
    [
        ("48 Hours", "after 48\n hours", True),
        ("IR", "their", False),
        ("IR", "iris", False),
        ("IR", "It is called IR.", True),
        ("bind-mount", "by bind-mounting it", True),
        ("port 22", "port 2222", False),
        ("port", "import", False),
        ("(none)", "is (none).", True),
        ("\u6771\u4eac", "\u4eca\u65e5\u6771\u4eac\u306b", True),
    ],
)
def test_an_expected_text_is_found_from_the_beginning_of_a_word_and_a_short_one_as_a_whole(
    expected: str, text: str, said: bool
) -> None:
    assert Expectation("q", "?", (expected,)).said_in([text]) == float(said)


def test_expected_texts_may_stand_in_several_texts_and_count_by_their_share() -> None:
    assert Expectation("q", "?", ("one", "two", "three", "four")).said_in(["One and", "two"]) == 0.5
    assert Expectation("q", "?", ("one", "two"), any=True).said_in(["two"]) == 1.0
    assert Expectation("q", "?", answer="one").said_in(["one"]) is None
