"""Passages and questions in the public format, and what is said about files that are not."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lexigraph.evaluation.corpus import GoldQuestion, Passage, read_corpus, read_questions
from lexigraph.model.errors import InvalidInput

KNOWN = {"p1", "p2"}


def lines(path: Path, *records: Any) -> Path:
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_passages_are_read_plain_or_packed(tmp_path: Path, name: str) -> None:
    file = lines(tmp_path / name, {"id": "p1", "title": "Æ", "text": "One.", "doc": 7}, "", {"id": "p2", "text": "Two."})
    assert read_corpus(file) == [Passage("p1", "Æ", "One."), Passage("p2", "", "Two.")]


def test_questions_are_read_with_gold_passages_and_hops(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "questions.jsonl",
        {"id": "q1", "question": "Who?", "gold": ["p2", "p1", "p2"], "hops": 2, "answer": "x"},
        {"id": "q2", "question": "What?", "gold": ["p1"], "hops": "bridge"},
        {"id": "q3", "question": "Why?", "gold": ["p1"]},
    )
    assert read_questions(file, KNOWN) == [
        GoldQuestion("q1", "Who?", ("p2", "p1"), "2"),
        GoldQuestion("q2", "What?", ("p1",), "bridge"),
        GoldQuestion("q3", "Why?", ("p1",), ""),
    ]
    assert [q.id for q in read_questions(file, KNOWN, limit=2)] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"title": "T", "text": "x"}, "field 'id': is missing"),
        ({"id": 7, "text": "x"}, "field 'id': must be text, is int"),
        ({"id": "", "text": "x"}, "field 'id': is empty"),
        ({"id": "a\nb", "text": "x"}, "field 'id': must be one line"),
        ({"id": " a", "text": "x"}, "field 'id': must be one line"),
        ({"id": "a" * 501, "text": "x"}, "at most 500 characters"),
        ({"id": "p1", "text": "x"}, "field 'id': 'p1' came before"),
        ({"id": "p2"}, "field 'text': is missing"),
        ({"id": "p2", "text": " \n"}, "field 'text': is empty"),
        ({"id": "p2", "text": ["x"]}, "field 'text': must be text, is list"),
        ({"id": "p2", "title": 1, "text": "x"}, "field 'title': must be text, is int"),
        ("{not json", "is not valid JSON"),
        (["p2", "x"], "must be an object with fields, is list"),
    ],
)
def test_a_bad_passage_is_named_by_file_line_and_field(tmp_path: Path, record: Any, said: str) -> None:
    file = lines(tmp_path / "corpus.jsonl", {"id": "p1", "text": "First."}, "", record)
    with pytest.raises(InvalidInput) as error:
        read_corpus(file)
    assert str(error.value).startswith(f"{file}, line 3")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"question": None}, "field 'question': is missing"),
        ({"question": "?!"}, "field 'question': must contain a letter or digit"),
        ({"gold": None}, "field 'gold': must be a list"),
        ({"gold": []}, "field 'gold': must be a list of one or more passage ids"),
        ({"gold": "p1"}, "field 'gold': must be a list"),
        ({"gold": ["p1", 2]}, "field 'gold': must be a list"),
        ({"gold": ["p1", "p9"]}, "field 'gold': 'p9' is no passage of the corpus"),
        ({"hops": [2]}, "field 'hops': must be text or a whole number, is list"),
        ({"hops": True}, "field 'hops': must be text or a whole number, is bool"),
        ({"id": "q1"}, "field 'id': 'q1' came before"),
    ],
)
def test_a_bad_question_is_named_by_file_line_and_field(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    good = {"id": "q1", "question": "Who?", "gold": ["p1"], "hops": 2}
    file = lines(tmp_path / "questions.jsonl", good, {**good, "id": "q2", **changed})
    with pytest.raises(InvalidInput) as error:
        read_questions(file, KNOWN)
    assert str(error.value).startswith(f"{file}, line 2, ")
    assert said in str(error.value)


def test_a_file_that_is_missing_empty_or_damaged_is_said_so(tmp_path: Path) -> None:
    damaged = tmp_path / "corpus.jsonl.gz"
    whole = "".join(f'{{"id": "p{n}", "text": "x"}}\n' for n in range(99))
    damaged.write_bytes(gzip.compress(whole.encode())[:-12])
    for file, said in [
        (tmp_path / "none.jsonl", "cannot be read: no such file"),
        (lines(tmp_path / "empty.jsonl", "", ""), "holds no line"),
        (damaged, "is damaged"),
        (lines(tmp_path / "plain.jsonl", "x").rename(tmp_path / "not-packed.gz"), "is damaged"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            read_corpus(file)
