"""Questions that a language model writes: what is asked of it, and what is made of good and bad replies."""

import json
from typing import Any

import pytest

from lexigraph.evaluation.drafts import Draft
from lexigraph.evaluation.written import written
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.graph import Source, StatementRow
from tests.models import model
from tests.standins.llm_server import ScriptedLLMServer, in_turn, refused, said

SAID = {"a.md": "The Tern leaves\nat 6:30.", "b.md": "Holm Bank lends money to sailors.", "c.md": "Kolby has a pier."}
GOOD = {"question": "When does the Tern leave?", "expected": "6:30"}


def rows(*files: str) -> list[StatementRow]:
    place = ("", "topic:1", "", "chunk:1", 0, 0, 0, 10, 0)
    return [StatementRow(f"statement:{f}", SAID[f], *place, Source(f"source:{f}", f"file:///{f}")) for f in files]


def write(script: Any, *files: str, number: int = 1) -> tuple[list[Draft], list[str]]:
    with ScriptedLLMServer(script) as server:
        found = written(rows(*files), number, model(server), seed=1)
        return found, [said(body) for body in server.requests]


def test_a_question_with_what_stands_in_the_passage_spaces_aside() -> None:
    (draft,), asked = write({"question": " When does the Tern  leave?", "expected": "leaves at 6:30."}, "a.md")
    assert draft == Draft("When does the Tern leave?", "written", SAID["a.md"], "a.md", "leaves at 6:30")
    assert SAID["a.md"] in asked[0]


def test_the_passage_is_fenced_by_a_marker_that_is_not_in_it() -> None:
    _, (asked,) = write(GOOD, "a.md")
    first, *_, last = asked.splitlines()
    marker = first.removeprefix("<<<PASSAGE ")
    assert last == f"{marker} PASSAGE>>>"
    assert marker not in SAID["a.md"]


@pytest.mark.parametrize(
    "bad",
    [
        {"question": "When does the Tern leave?", "expected": "at noon"},
        {"question": "Does the Tern leave at 6:30?", "expected": "6:30"},
        {"question": "", "expected": ""},
        {"question": "?", "expected": "6:30"},
        {"question": 7, "expected": "6:30"},
        ["6:30"],
        "no JSON",
    ],
)
def test_a_reply_that_cannot_be_used_costs_a_passage_and_not_the_run(bad: Any) -> None:
    def script(body: dict[str, Any]) -> Any:
        return GOOD if "Tern" in said(body) else bad

    found, asked = write(script, "a.md", "b.md", "c.md", number=2)
    assert [draft.file for draft in found] == ["a.md"]
    assert len(asked) == 3
    assert write(bad, "a.md")[0] == []


def test_passages_come_from_all_files_in_turn_and_no_more_than_are_needed() -> None:
    answers = {
        "Tern": GOOD,
        "Holm": {"question": "What does Holm Bank lend?", "expected": "money"},
        "Kolby": {"question": "What is there in Kolby?", "expected": "a pier"},
    }

    def script(body: dict[str, Any]) -> Any:
        return next(answer for name, answer in answers.items() if name in said(body))

    found, asked = write(script, "a.md", "b.md", "c.md", number=2)
    assert len({draft.file for draft in found}) == len(asked) == 2


def test_a_model_that_fails_is_told() -> None:
    with pytest.raises(ModelUnavailable):
        write(in_turn(refused(400)), "a.md")


def test_a_reply_is_data_and_not_repeated_as_it_came() -> None:
    (draft,), _ = write({**GOOD, "files": ["/etc/passwd"]}, "a.md")
    assert json.loads(json.dumps(draft.to_dict(1)))["files"] == ["a.md"]
