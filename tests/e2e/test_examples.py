"""Every example question, asked in three ways: what is quoted answers it, the answer first, and little else is quoted."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from lexigraph import LexicalGraphQueryEngine
from lexigraph.answering.response import QueryResponse
from lexigraph.model.results import Citation
from tests.e2e.conftest import ExampleIndex

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
WORDINGS = [(wording, question) for question in QUESTIONS for wording in (question["question"], *question["paraphrases"])]
FOREIGN = [
    "Who won the football world cup in 1998?",
    "How long must eggs be boiled?",
    "Which symptoms does a migraine have?",
    "What is the capital of Australia?",
    "How do I replace the chain of a bicycle?",
    "When was the Battle of Hastings?",
]


@pytest.fixture(scope="session")
def engine(example_index: ExampleIndex) -> LexicalGraphQueryEngine:
    return LexicalGraphQueryEngine.for_traversal_based_search(example_index.connection, example_index.connection)


@pytest.fixture(scope="session")
def answers(engine: LexicalGraphQueryEngine) -> list[tuple[QueryResponse, dict[str, list[str]]]]:
    return [(engine.stream(wording).complete(), question) for wording, question in WORDINGS]


@pytest.mark.slow
def test_the_first_quotation_answers_three_quarters_of_the_questions(answers: list) -> None:
    assert share(says(response.citations[:1], question, any) for response, question in answers) >= 0.75


def test_all_that_is_expected_is_quoted_for_nearly_every_question(answers: list) -> None:
    assert share(says(response.citations, question, all) for response, question in answers) >= 0.95


def test_nine_quotations_of_ten_are_from_a_needed_file_and_hardly_a_needed_file_is_missing(answers: list) -> None:
    cited = [([file_of(c) for c in response.citations], set(question["files"])) for response, question in answers]
    assert sum(share(file in needed for file in files) for files, needed in cited) / len(cited) >= 0.9
    assert share(needed <= set(files) for files, needed in cited) >= 0.95


def test_at_most_eight_statements_are_quoted_and_on_average_half_of_that(answers: list) -> None:
    quoted = [len(response.citations) for response, _ in answers]
    assert max(quoted) <= 8
    assert sum(quoted) / len(quoted) <= 4


def test_what_the_documents_answer_is_hardly_ever_refused_and_what_they_do_not_is_always(
    engine: LexicalGraphQueryEngine, answers: list
) -> None:
    assert share(response.answerable for response, _ in answers) >= 0.95
    assert [question for question in FOREIGN if engine.stream(question).answerable] == []


@pytest.mark.slow
@pytest.mark.parametrize("retriever", ["traversal", "semantic-guided", "hybrid", "fused", "multihop", "recall", "topic"])
def test_whatever_finds_the_statements_the_judgement_holds(example_index: ExampleIndex, retriever: str) -> None:
    stores = (example_index.connection, example_index.connection)
    asked = LexicalGraphQueryEngine.for_retriever(retriever, *stores)
    assert [question for question in FOREIGN if asked.stream(question).answerable] == []
    answered = [asked.stream(question["question"]) for question in QUESTIONS]
    assert share(response.answerable for response in answered) >= 0.9
    assert all(response.results.nearest is not None for response in answered)


@pytest.mark.slow
def test_store_calls_stay_within_the_budget(engine: LexicalGraphQueryEngine) -> None:
    for question in QUESTIONS:
        calls = engine.retrieve(question["question"]).calls
        assert calls["vector"] <= 3
        assert calls["graph"] <= 4


def says(citations: Sequence[Citation], question: dict[str, list[str]], needed: Callable[[Iterable[bool]], bool]) -> bool:
    told = " ".join(c.text for c in citations)
    return needed(expected in told for expected in question["expected"])


def file_of(citation: Citation) -> str:
    return Path(unquote(urlsplit(citation.uri).path)).name


def share(hits: Iterable[bool]) -> float:
    counted = list(hits)
    return sum(counted) / len(counted)
