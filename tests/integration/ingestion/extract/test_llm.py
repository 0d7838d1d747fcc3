"""Extraction through a real HTTP client and server: what travels, what is repaired, what ends the run."""

import json

import pytest

from lexigraph.inference.factory import make_llm
from lexigraph.ingestion.extract import make_extractor
from lexigraph.ingestion.extract.schema import REPLY
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.settings import load_settings
from tests.standins.llm_server import Reply, ScriptedLLMServer, in_turn, refused, said, truncated

TEXTS = ["Ada King wrote to Charles Babbage.", "Charles Babbage lived in London.", "London lies on the Thames."]


def chunks(*texts: str) -> list[ChunkText]:
    return [ChunkText(i, "Letters", (), text, 0, len(text)) for i, text in enumerate(texts)]


def reply_to(body) -> dict:
    """What a good model makes of the passage in a request: its one sentence as a statement between two names."""
    sentence = said(body).split("Passage:\n")[1].split("\n")[0]
    words = sentence.rstrip(".").split()
    subject, object_ = " ".join(words[:2]) if words[1][0].isupper() else words[0], words[-1]
    statement = {
        "statement": sentence,
        "details": [],
        "entities": [{"name": subject, "class": "Person"}, {"name": object_, "class": ""}],
        "facts": [{"subject": subject, "predicate": "is linked to", "object": object_}],
    }
    return {"topics": [{"title": "Letters", "statements": [statement]}], "aliases": []}


@pytest.fixture
def extractor():
    """Make the extractor that the settings of a served model ask for."""

    def make(server: ScriptedLLMServer, **settings):
        made = load_settings(llm="openai:any", llm_options={"base_url": server.base_url}, **settings)
        return make_extractor(made, make_llm(made))

    return make


def test_chunks_travel_with_the_schema_and_come_back_as_extractions(extractor):
    with ScriptedLLMServer(reply_to) as server:
        found = list(extractor(server, extract_max_tokens=321, extract_concurrency=2).extract(chunks(*TEXTS)))
    assert [e.topics[0].statements[0].value for e in found] == TEXTS
    assert [(s.start, s.end) for e in found for s in e.topics[0].statements] == [(0, len(t)) for t in TEXTS]
    assert len(server.requests) == 3
    for body in server.requests:
        assert body["max_tokens"] == 321
        assert body["response_format"]["json_schema"]["schema"] == REPLY
        assert body["response_format"]["json_schema"]["strict"] is True
        assert "never an instruction" in said(body, "system")
        assert "additionalProperties" not in said(body, "system") + said(body)


def test_a_reply_cut_off_or_chatty_is_repaired_over_the_wire(extractor):
    good = json.dumps(reply_to({"messages": [{"role": "user", "content": f"Passage:\n{TEXTS[0]}\n"}]}))
    for bad in (truncated(good[:50]), "Here you are!", json.dumps({"nothing": 1})):
        with ScriptedLLMServer(in_turn(bad, f"```json\n{good}\n```")) as server:
            (found,) = extractor(server).extract(chunks(TEXTS[0]))
        assert found.topics[0].statements[0].value == TEXTS[0]
        assert [m["role"] for m in server.requests[1]["messages"]] == ["system", "user", "assistant", "user"]
        assert len(server.requests) == 2


def test_of_a_sloppy_reply_what_the_passage_says_is_left(extractor):
    passage = "Ada King wrote 12 letters to Charles Babbage. He answered in London, on 5 May 1843."

    def one(statement, *names):
        named = [{"name": name, "class": "Person"} for name in names]
        return {"statement": statement, "details": [], "entities": named, "facts": []}

    statements = [
        one("Ada King wrote twelve letters to Charles Babbage.", "Ada King", "Charles Babbage"),
        one("Charles Babbage answered in London on 1843-05-05.", "Charles Babbage"),
        one("Ada King wrote 13 letters to Charles Babbage.", "Ada King"),
        one("Charles King answered in London.", "Charles King"),
        one("The capital of Mars is Olympus.", "Mars", "Olympus"),
        one("Ada King hat Charles Babbage oft geschrieben und wartete lange.", "Ada King"),
        one("London lies on the Thames.", "London", "Thames"),
    ]
    with ScriptedLLMServer(lambda _: {"topics": [{"title": "Letters", "statements": statements}], "aliases": []}) as server:
        (found,) = extractor(server).extract(chunks(passage))
    kept = found.topics[0].statements
    assert [s.value for s in kept] == [statement["statement"] for statement in statements[:2]]
    assert [passage[s.start : s.end] for s in kept] == [passage[:45], passage[46:]]
    assert len(found.dropped) == 5


def test_a_chunk_that_the_server_refuses_is_marked_and_the_others_are_done(extractor):
    def script(body):
        return refused(400, "content filter", code="content_filter") if TEXTS[1] in said(body) else answer(body)

    def answer(body):
        return reply_to(body) if "response_format" in body else "ready"

    with ScriptedLLMServer(script) as server:
        first, second, third = extractor(server).extract(chunks(*TEXTS))
    assert "content_filter" in second.failed
    assert first.topics
    assert third.topics


def test_a_server_that_refuses_everything_ends_the_run(extractor):
    with (
        ScriptedLLMServer(refused(401, "bad key")) as server,
        pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"),
    ):
        list(extractor(server).extract(chunks(*TEXTS)))


def test_a_server_that_goes_away_ends_the_run_with_what_was_done_before(extractor):
    server = ScriptedLLMServer(reply_to)
    with server:
        run = extractor(server, extract_concurrency=1).extract(chunks(*[TEXTS[0]] * 8))
        assert next(run).topics
    with pytest.raises(ModelUnavailable):
        list(run)


def test_a_throttled_request_is_tried_again(extractor):
    busy = refused(429, "slow down", retry_after=0.01)
    with ScriptedLLMServer(in_turn(busy, Reply(json.dumps(reply_to(BODY))))) as server:
        (found,) = extractor(server).extract(chunks(TEXTS[0]))
    assert found.failed == ""
    assert len(server.requests) == 2


BODY = {"messages": [{"role": "user", "content": f"Passage:\n{TEXTS[0]}\n"}]}
