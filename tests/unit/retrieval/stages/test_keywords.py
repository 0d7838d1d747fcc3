"""From a question to what is looked up, with and without a language model."""

import pytest

from lexigraph.retrieval.stages.keywords import model_keywords, question_keywords, subqueries
from lexigraph.retrieval.stages.trace import Trace
from tests.models import model
from tests.standins.llm_server import ScriptedLLMServer, refused, said

LONG = "Which company owns both Tidewater and Silverbirch?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Lothair II's mother die?", ("Lothair II", "mother", "die")),
        ('Who wrote "The Pirate\'s Dream" in New York City?', ("The Pirate's Dream", "New York City", "wrote")),
        ("Is the Bank of England older than Amira & Sam?", ("Bank of England", "Amira & Sam", "older")),
        ("Is there a way to undo decisions?", ("undo", "decisions")),
        ("what does neptune analytics cost", ("neptune", "analytics", "cost")),
        ("Which is better, .NET or AT&T's C++?", (".NET", "AT&T", "C++", "better")),
    ],
)
def test_a_question_gives_quoted_strings_then_names_then_its_other_words(question: str, expected: tuple[str, ...]):
    assert question_keywords(question, 10) == expected


def test_no_more_keywords_than_the_limit():
    assert question_keywords("Which of Tidewater, Silverbirch and Lanternfish is older?", 2) == ("Tidewater", "Silverbirch")


@pytest.mark.requirement("G-25")
def test_the_model_names_keywords_within_the_limit_each_once():
    reply = {"keywords": ["S3", "Simple Storage Service", "s3", " ", 7, "Amazon S3", "bucket"]}
    trace = Trace()
    with ScriptedLLMServer(reply) as server:
        assert model_keywords(model(server), "What is S3?", 3, trace) == ("S3", "Simple Storage Service", "Amazon S3")
        asked = said(server.requests[0])
    assert "What is S3?" in asked
    assert trace.warnings == []


@pytest.mark.parametrize("reply", [refused(503), "no JSON at all", "[1, 2]", {"keywords": []}, {"keywords": "S3"}])
def test_a_model_that_fails_gives_no_keywords_and_a_warning(reply: object):
    trace = Trace()
    with ScriptedLLMServer(reply) as server:  # type: ignore[arg-type]  # any reply
        assert model_keywords(model(server), "What is S3?", 3, trace) == ()
    assert [w.type for w in trace.warnings] == ["keywords_failed"]


@pytest.mark.requirement("G-29")
def test_a_complex_question_is_broken_into_at_most_so_many_simpler_ones():
    reply = {
        "several_entities": True,
        "subqueries": ["Who owns Tidewater?", LONG, "Who owns Tidewater?", "Who owns Silverbirch?", "x"],
    }
    with ScriptedLLMServer(reply) as server:
        assert subqueries(model(server), LONG, 2, Trace()) == ("Who owns Tidewater?", "Who owns Silverbirch?")


@pytest.mark.requirement("G-28")
def test_a_question_about_one_entity_stays_whole():
    with ScriptedLLMServer({"several_entities": False, "subqueries": ["Who owns Tidewater?"]}) as server:
        assert subqueries(model(server), LONG, 2, Trace()) == ()


def test_a_subquery_that_only_repeats_the_question_or_another_is_left_out():
    reply = {"several_entities": True, "subqueries": [LONG.upper(), " Who owns\nTidewater? ", "who owns tidewater?", "?"]}
    with ScriptedLLMServer(reply) as server:
        assert subqueries(model(server), LONG, 5, Trace()) == ("Who owns Tidewater?",)


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON",
        {"several_entities": True, "subqueries": []},
        {"several_entities": True, "subqueries": "Who?"},
        {"several_entities": "yes", "subqueries": ["Who owns Tidewater?"]},
        {"several_entities": True, "subqueries": [LONG, 7]},
    ],
)
def test_a_reply_without_usable_subqueries_leaves_the_question_whole_with_a_warning(reply: object):
    trace = Trace()
    with ScriptedLLMServer(reply) as server:  # type: ignore[arg-type]  # any reply
        assert subqueries(model(server), LONG, 2, trace) == ()
    assert [w.type for w in trace.warnings] == ["subqueries_failed"]


@pytest.mark.requirement("G-28")
def test_only_questions_over_25_characters_are_broken_up():
    reply = {"several_entities": True, "subqueries": ["Who?"]}
    with ScriptedLLMServer(reply) as server:
        llm = model(server)
        assert subqueries(llm, "a" * 25, 2, Trace()) == ()
        assert server.requests == []
        assert subqueries(llm, "a" * 26, 2, Trace()) == ("Who?",)


def test_without_a_model_subqueries_warn_that_they_need_one():
    trace = Trace()
    assert subqueries(None, LONG, 2, trace) == ()
    assert [w.type for w in trace.warnings] == ["subqueries_need_llm"]


def test_a_failing_model_leaves_the_question_whole_with_a_warning():
    trace = Trace()
    with ScriptedLLMServer(refused(503)) as server:
        assert subqueries(model(server), LONG, 2, trace) == ()
    assert [w.type for w in trace.warnings] == ["subqueries_failed"]
