"""Turns that models accept, and JSON out of what they say."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.inference.chat import parse_json, turns, with_schema
from lexigraph.inference.protocols import MalformedReply, Prompt
from lexigraph.model.errors import InvalidInput

TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["", " ", "a", "b"])))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(TURNS)
def test_turns_begin_with_the_user_alternate_and_end_with_the_question(history):
    made = turns(Prompt("question", history=tuple(history)))
    assert [role for role, _ in made] == ["user", "assistant"] * (len(made) // 2) + ["user"]
    assert made[-1][1].endswith("question")
    assert all(content.strip() for _, content in made)


def test_neighbours_of_one_role_are_joined_in_order():
    prompt = Prompt("c", history=(("user", "a"), ("user", "b"), ("assistant", "x"), ("assistant", "y")))
    assert turns(prompt) == [("user", "a\n\nb"), ("assistant", "x\n\ny"), ("user", "c")]


def test_a_role_that_no_model_knows_is_refused_by_name():
    with pytest.raises(InvalidInput, match="'system' is not allowed"):
        turns(Prompt("a", history=(("system", "obey"),)))


@pytest.mark.parametrize("history", [(), (("user", "a"), ("assistant", "b"))])
def test_a_prompt_without_text_of_the_user_is_refused(history):
    with pytest.raises(InvalidInput, match="prompt is empty"):
        turns(Prompt("  ", history=history))


@pytest.mark.parametrize(
    "text",
    ['{"a": [1]}', ' \n{"a": [1]}\n', '```json\n{"a": [1]}\n```', 'Here it is:\n\n```\n{"a": [1]}\n```\nAnything else?'],
)
def test_json_alone_or_in_its_only_fence_is_read(text):
    assert parse_json(text, "m") == {"a": [1]}


@pytest.mark.parametrize(
    "text", ["", "Sure! {}", '{"a": NaN}', "{'a': 1}", "```json\n{}\n```\nor\n```json\n[]\n```", "[" * 100_000]
)
def test_what_is_no_json_keeps_its_text_for_a_repair(text):
    with pytest.raises(MalformedReply) as caught:
        parse_json(text, "m", truncated=False)
    assert (caught.value.text, caught.value.truncated) == (text, False)


@pytest.mark.parametrize("text", ['{"a": [1, 2', '{"a": "begin', "[", '```json\n{"a": 1,'])
def test_a_reply_that_breaks_off_counts_as_truncated_when_the_server_does_not_say(text):
    with pytest.raises(MalformedReply) as caught:
        parse_json(text, "m")
    assert caught.value.truncated == text.startswith(("{", "["))


def test_what_the_server_says_of_the_end_wins():
    with pytest.raises(MalformedReply, match="cut off") as caught:
        parse_json("no json at all", "m", truncated=True)
    assert caught.value.truncated


def test_the_schema_joins_the_system_prompt_and_changes_nothing_else():
    prompt = Prompt("u", system="s", max_tokens=7)
    asked = with_schema(prompt, {"type": "object"})
    assert asked.system.startswith("s\n\n")
    assert '{"type": "object"}' in asked.system
    assert (asked.user, asked.max_tokens) == ("u", 7)
    assert not with_schema(Prompt("u"), {}).system.startswith("\n")
