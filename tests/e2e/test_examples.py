"""Every example question, asked in three ways: the expected words are in the answer, and every needed file is cited."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from lexigraph import LexicalGraphQueryEngine
from tests.e2e.conftest import ExampleIndex

QUESTIONS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
WORDINGS = [
    pytest.param(wording, question, id=f"{question['id']}-{n}")
    for question in QUESTIONS
    for n, wording in enumerate([question["question"], *question["paraphrases"]])
]


@pytest.fixture(scope="session")
def engine(example_index: ExampleIndex) -> LexicalGraphQueryEngine:
    return LexicalGraphQueryEngine.for_traversal_based_search(example_index.connection, example_index.connection)


@pytest.mark.parametrize(("wording", "question"), WORDINGS)
def test_a_question_is_answered_with_every_needed_file(
    engine: LexicalGraphQueryEngine, wording: str, question: dict[str, list[str]]
) -> None:
    response = engine.query(wording)
    told = " ".join([response.response, *(c.text for c in response.citations)])
    cited = {Path(unquote(urlsplit(c.uri).path)).name for c in response.citations}

    assert [e for e in question["expected"] if e not in told] == []
    assert set(question["files"]) - cited == set()


def test_store_calls_stay_within_the_budget(engine: LexicalGraphQueryEngine) -> None:
    for question in QUESTIONS:
        calls = engine.retrieve(question["question"]).calls
        assert calls["vector"] <= 3
        assert calls["graph"] <= 4
