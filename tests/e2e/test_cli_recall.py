"""``lexigraph recall`` as a user meets it."""

import json
import re
from pathlib import Path

import pytest

from lexigraph.cli.exits import ExitCode
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.retrievers import RecallRetriever
from lexigraph.settings import load_settings
from lexigraph.storage.factory import open_stores
from tests.e2e.commandline import here
from tests.e2e.conftest import ExampleIndex


def without_times(reply: dict[str, object]) -> dict[str, object]:
    metadata = {name: value for name, value in reply["metadata"].items() if name != "timings"}  # type: ignore[attr-defined]
    return {**reply, "metadata": metadata}


@pytest.mark.requirement("M-20", "M-21")
def test_json_is_the_reply_of_the_retriever_and_nothing_else(example_index: ExampleIndex) -> None:
    query = "Who owns Tidewater?"
    told = here("recall", query, "--json", "--session-id", "cli a", "--data", example_index.data)
    settings = load_settings(data=example_index.data)
    stores = open_stores(settings, create=True)
    found = RecallRetriever(stores.graph, stores.vectors, stores.registry, settings=settings).retrieve(
        DEFAULT_TENANT, Question(query), session_id="cli b"
    )
    stores.close()

    expected = json.loads(json.dumps(found.to_dict()))
    expected["metadata"]["session"]["id"] = "cli a"
    assert told.code == ExitCode.OK
    assert without_times(told.json) == without_times(expected)
    assert told.json["nodes"]
    assert 0 < len(told.json["nodes"]) <= 10


@pytest.mark.requirement("M-03", "M-20")
def test_a_session_goes_on_from_one_command_to_the_next(example_index: ExampleIndex) -> None:
    asked = ("recall", "Tidewater", "--json", "--session-id", "cli going on", "--data", example_index.data)
    replies = [here(*asked).json["metadata"] for _ in range(4)]
    assert [r["session"]["recalls"] for r in replies] == [0, 1, 2, 3]
    assert [r["phase"] for r in replies] == ["early", "early", "early", "mid"]


@pytest.mark.requirement("M-04", "M-05", "M-20")
def test_options_are_those_of_the_request(example_index: ExampleIndex) -> None:
    shared = ("--json", "--session-id", "cli options", "--data", example_index.data)
    few = here("recall", "Tidewater team", "-n", "2", *shared).json
    assert len(few["nodes"]) == 2
    forced = here("recall", r"tide\w+ ", "--force-regex", "--max-results", "50", *shared).json
    assert {tuple(n["sources"]) for n in forced["nodes"]} == {("regex",)}
    assert all("tidewater" in (n["name"] + n["description"]).lower() for n in forced["nodes"])


def test_a_reader_sees_nodes_context_and_relations(example_index: ExampleIndex) -> None:
    told = here("recall", "Who owns Tidewater?", "--session-id", "cli reader", "--data", example_index.data)
    assert told.code == ExitCode.OK
    assert re.match(r"1\. 0\.[89]\d\d  Tidewater", told.out)
    assert "Around them" in told.out
    assert "session cli reader: early, 0 recalls before" in told.out
    nothing = here("recall", "zxqvzxqv", "--session-id", "cli reader", "--data", example_index.data)
    assert nothing.out.startswith("nothing found")


def test_the_query_may_come_from_stdin(example_index: ExampleIndex) -> None:
    told = here("recall", "-", "--json", "--session-id", "cli in", "--data", example_index.data, stdin="Tidewater\n")
    assert told.json["query"] == "Tidewater"
    assert told.json["nodes"]


@pytest.mark.requirement("M-22")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["x", "-n", "0"], "max_results must be a whole number from 1 to 50"),
        (["x", "-n", "51"], "max_results must be a whole number from 1 to 50"),
        (["  "], "query must contain a letter or digit"),
        (["x", "--session-id", ""], "session_id must have 1 to 128 characters"),
        (["x", "--filter", "year"], "filter 'year'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_opened(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    told = here("recall", *arguments, "--data", tmp_path / "none")
    assert (told.code, told.out) == (ExitCode.INVALID, "")
    assert complaint in told.err
    assert len(told.complaints) == 1
    assert not (tmp_path / "none").exists()


def test_a_wrong_pattern_is_one_line(example_index: ExampleIndex) -> None:
    told = here("recall", "(", "--force-regex", "--data", example_index.data)
    assert told.code == ExitCode.INVALID
    assert "query is not a valid RE2 regular expression" in told.err
    assert len(told.complaints) == 1


def test_a_statement_is_printed_once_and_whole(example_index: ExampleIndex) -> None:
    printed = here("recall", "Tidewater decisions", "-n", "3", "--session-id", "cli once", "--data", example_index.data).out
    sentence = "Tidewater is the loan graph of Brindlewick, a company that moves works of art between museums."
    below = printed.partition("Around them")[2]
    assert f"  {sentence}  statement, context\n" in below
    assert below.count(sentence) == 1
