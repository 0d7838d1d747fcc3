"""The example corpus and its questions agree with each other: what a question expects is written where it says."""

import csv
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import docx
import pypdf
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CORPUS = EXAMPLES / "corpus"
FILES = sorted(path.name for path in CORPUS.iterdir())
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
DOCUMENTS_BY_KIND = {"direct": 1, "two": 2, "three": 3}
by_id = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
by_file = pytest.mark.parametrize("name", FILES)


@cache
def text_of(name: str) -> str:
    """Return what a reader of the file sees."""
    path = CORPUS / name
    if path.suffix == ".pdf":
        return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    if path.suffix == ".docx":
        return "\n".join(paragraph.text for paragraph in docx.Document(str(path)).paragraphs)
    return path.read_text(encoding="utf-8")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


@by_id
def test_a_question_has_exactly_the_agreed_fields(question: dict[str, Any]) -> None:
    assert list(question) == ["id", "question", "paraphrases", "expected", "files", "kind"]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", question["id"])
    assert question["expected"]
    assert all(expected.strip() for expected in question["expected"])


@by_id
def test_every_expected_string_is_in_a_file_that_the_question_needs(question: dict[str, Any]) -> None:
    for expected in question["expected"]:
        assert any(expected in text_of(name) for name in question["files"]), expected


@by_id
def test_an_answer_is_not_given_away_by_its_question(question: dict[str, Any]) -> None:
    for asked in (question["question"], *question["paraphrases"]):
        assert not any(expected.casefold() in asked.casefold() for expected in question["expected"]), asked


@by_id
def test_a_question_needs_as_many_documents_as_its_kind_says(question: dict[str, Any]) -> None:
    assert len(set(question["files"])) == len(question["files"]) == DOCUMENTS_BY_KIND[question["kind"]]


@by_id
def test_the_first_file_of_a_question_is_named_in_it_and_the_last_holds_the_answer(question: dict[str, Any]) -> None:
    proper_names = [w for w in re.findall(r"[A-Z]\w{3,}", question["question"]) if not question["question"].startswith(w)]
    assert any(name in text_of(question["files"][0]) for name in proper_names)
    assert any(expected in text_of(question["files"][-1]) for expected in question["expected"])


@by_id
def test_paraphrases_are_two_other_wordings(question: dict[str, Any]) -> None:
    wordings = [question["question"], *question["paraphrases"]]
    assert len(wordings) == 3
    assert len({frozenset(Counter(words(wording)).items()) for wording in wordings}) == 3


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q["kind"] != "direct"], ids=lambda q: q["id"])
def test_no_single_file_answers_a_question_that_needs_several(question: dict[str, Any]) -> None:
    if len(question["expected"]) > 1:
        assert not any(all(expected in text_of(name) for expected in question["expected"]) for name in FILES)
        return
    # the file with the answer does not know the name that the question starts from
    anchors = {w for w in re.findall(r"[A-Z]\w{5,}", question["question"]) if w in text_of(question["files"][0])}
    title = {w for w in anchors if w.casefold() in question["files"][0]} or anchors
    assert title
    assert not any(name in text_of(question["files"][-1]) for name in title)


@by_file
def test_every_document_is_needed_by_a_question(name: str) -> None:
    assert any(name in question["files"] for question in QUESTIONS)


@by_file
def test_a_document_is_short(name: str) -> None:
    assert 120 <= len(words(text_of(name))) <= 400
    assert (CORPUS / name).stat().st_size < 50_000


def test_every_file_that_a_question_needs_exists() -> None:
    assert {name for question in QUESTIONS for name in question["files"]} <= set(FILES)


def test_question_ids_are_unique() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)


def test_there_are_enough_questions_of_each_kind() -> None:
    counts = Counter(question["kind"] for question in QUESTIONS)
    assert set(counts) == set(DOCUMENTS_BY_KIND)
    assert counts["direct"] >= 10
    assert counts["two"] >= 9
    assert counts["three"] >= 4


def test_the_question_of_the_reference_page_is_asked() -> None:
    asked = {question["question"]: question for question in QUESTIONS}
    question = asked["What are the differences between Neptune Database and Neptune Analytics?"]
    assert set(question["files"]) == {"neptune-database.md", "neptune-analytics.md"}


def test_the_corpus_holds_every_kind_of_text_file() -> None:
    assert {Path(name).suffix for name in FILES} == {".md", ".txt", ".html", ".csv", ".json", ".jsonl", ".docx", ".pdf"}


def test_structured_files_parse() -> None:
    with (CORPUS / "sites.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    assert {len(row) for row in rows} == {4}
    teams = [json.loads(line) for line in text_of("teams.jsonl").splitlines()]
    assert [sorted(team) for team in teams] == [["id", "text", "title"]] * 3
    assert json.loads(text_of("operation-fernhill.json"))["title"] == "Operation Fernhill"
