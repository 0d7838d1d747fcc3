"""The client of OpenAI-compatible servers against a real HTTP server on loopback."""

import json
import socket
import time
from threading import Event

import pytest

from lexigraph.inference.factory import make_llm
from lexigraph.inference.openai_compatible import OpenAICompatible, Server
from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt, ReplyCut, Standing
from lexigraph.model.errors import InvalidInput, ModelUnavailable, in_general
from lexigraph.retry import Retry
from lexigraph.settings import load_settings
from tests.standins.llm_server import Reply, ScriptedLLMServer, in_turn, refused, said, truncated
from tests.standins.loopback import LoopbackServer

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
ASK = Prompt("Where?", system="Be brief.", history=(("user", "Hello"), ("assistant", "Hi")), max_tokens=50, temperature=0.2)


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def model(slept):
    """Make a client of a server whose waits are noted instead of slept."""

    def make(server: ScriptedLLMServer, **settings) -> OpenAICompatible:
        retry = Retry(attempts=settings.pop("attempts", 4), sleep=slept.append, draw=lambda: 1.0)
        return OpenAICompatible("gpt-test", Server(server.base_url, "secret-key"), retry=retry, **settings)

    return make


def test_a_request_carries_all_of_the_prompt_and_always_the_maximum_of_tokens(model):
    with ScriptedLLMServer("Lisbon") as server:
        client = model(server, options={"seed": 7})
        assert isinstance(client, LanguageModel)
        assert client.complete(ASK) == "Lisbon"
    assert server.requests == [
        {
            "model": "gpt-test",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi"},
                {"role": "user", "content": "Where?"},
            ],
            "max_tokens": 50,
            "temperature": 0.2,
            "seed": 7,
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer secret-key"


def test_a_stream_comes_in_pieces_that_make_the_whole_reply(model):
    with ScriptedLLMServer("Lisbon is\nthe capital — of Portugal. ") as server:
        pieces = list(model(server).stream(ASK))
    assert "".join(pieces) == "Lisbon is\nthe capital — of Portugal. "
    assert len(pieces) > 3
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["max_tokens"] == 50


def test_a_stream_may_be_left_early(model):
    with ScriptedLLMServer(in_turn("one two three four", "again")) as server:
        client = model(server)
        stream = client.stream(ASK)
        assert next(stream) == "one"
        stream.close()
        assert client.complete(ASK) == "again"


class Flood(LoopbackServer):
    """A model's server that writes ``begins`` and then ``goes_on`` again and again, up to 200 MB; ``sent`` counts them."""

    def __init__(self, begins: bytes, goes_on: bytes) -> None:
        super().__init__()
        self.begins, self.goes_on, self.sent, self.left = begins, goes_on, 0, Event()
        self.base_url = f"{self.url}/v1"

    def answer(self, request, body) -> None:
        request.send_response(200)
        request.end_headers()
        request.close_connection = True
        request.wfile.write(self.begins)
        part = self.goes_on * (65_536 // len(self.goes_on))
        try:
            while self.sent < 200_000_000:
                request.wfile.write(part)
                self.sent += len(part)
        except OSError:
            self.left.set()


def delta(content: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": content}}]}).encode() + b"\n\n"


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (b"", delta("")),
        (b"", b": one moment\n\n"),
        (delta("Well, "), b"x"),
        (b'data: {"choices":[{"delta":{"content":"', b"blah "),
    ],
    ids=["events without text", "comments", "a line without end", "an event without end"],
)
def test_a_stream_without_end_is_left_at_a_bound(model, slept, begins, goes_on):
    with Flood(begins, goes_on) as server:
        with pytest.raises(ReplyCut, match=r"gpt-test: the reply has more than 1,100,000 bytes"):
            list(model(server).stream(ASK))
        assert server.left.wait(20)
    assert (server.sent < 30_000_000, slept) == (True, [])


@pytest.mark.parametrize("ask", [lambda m: m.complete(ASK), lambda m: m.structured(ASK, SCHEMA)])
def test_a_whole_reply_is_read_up_to_a_bound_and_not_asked_for_again(model, slept, ask):
    with Flood(b'{"choices": [{"message": {"content": "', b"blah ") as server:
        with pytest.raises(ReplyCut, match="1,100,000 bytes"):
            ask(model(server))
        assert server.left.wait(20)
    assert (server.sent < 30_000_000, slept) == (True, [])


PARTS = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Lis"}, {"type": "text", "text": "bon"}]


def whole(content: object) -> Reply:
    return Reply(raw=json.dumps({"choices": [{"message": {"content": content}}]}).encode())


def pieces(*contents: object) -> Reply:
    """Return a stream with these as the content of its events."""
    events = b"".join(delta(content) for content in contents)
    return Reply(raw=events + b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (PARTS, "Lisbon"),
        ("a \ud83d\ude00 b", "a 😀 b"),
        ("\ud800 Lisbon", "\ufffd Lisbon"),
        ("Lisbon \udc00", "Lisbon \ufffd"),
    ],
)
def test_content_may_be_in_parts_and_its_half_characters_are_mended(model, content, text):
    with ScriptedLLMServer(in_turn(whole(content), pieces(content))) as server:
        assert model(server).complete(ASK) == text
        assert "".join(model(server).stream(ASK)) == text


def test_a_character_that_is_split_between_two_pieces_is_one(model):
    with ScriptedLLMServer(pieces("Lisbon \ud83d", "\ude00!", "\ud83d")) as server:
        assert list(model(server).stream(ASK)) == ["Lisbon ", "😀!", "\ufffd"]


@pytest.mark.parametrize("content", [123, ["a"], {"a": 1}, [{"type": "text", "text": 7}], True])
def test_content_that_is_no_text_is_no_completion(model, content):
    with ScriptedLLMServer(in_turn(whole(content), whole(content), pieces("Well", content))) as server:
        for ask in (
            model(server).complete,
            lambda p: model(server).structured(p, SCHEMA),
            lambda p: [*model(server).stream(p)],
        ):
            with pytest.raises(ModelUnavailable, match="is no chat completion"):
                ask(ASK)


DEEP = b"[" * 100_000


@pytest.mark.parametrize("reply", [b"NaN", b"[]", b'"a"', b'{"choices": {"a": 1}}', b'{"choices": [7]}', DEEP])
def test_data_of_another_shape_make_the_model_unavailable(model, reply):
    with ScriptedLLMServer(in_turn(Reply(raw=reply), Reply(raw=b"data: " + reply + b"\n\n"))) as server:
        client = model(server, attempts=1)
        with pytest.raises(ModelUnavailable):
            client.complete(ASK)
        with pytest.raises(ModelUnavailable):
            list(client.stream(ASK))


def test_structured_data_with_half_a_character_or_too_deep_are_malformed(model):
    with ScriptedLLMServer(in_turn('{"city": "\\ud800"}', "[" * 100_000)) as server:
        for said in ("no JSON", "nested too deeply"):
            with pytest.raises(MalformedReply, match=said):
                model(server).structured(ASK, SCHEMA)


def test_structured_sends_the_schema_and_returns_data(model):
    with ScriptedLLMServer({"city": "Lisbon"}) as server:
        assert model(server).structured(ASK, SCHEMA, "place") == {"city": "Lisbon"}
    form = server.requests[0]["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}


def test_strict_is_claimed_only_for_a_schema_that_keeps_its_rules(model):
    open_schema = {"type": "object", "properties": {"all": {"type": "array", "items": {**SCHEMA, "required": []}}}}
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    with ScriptedLLMServer({}) as server:
        client = model(server)
        for schema in (open_schema, closed, {**closed, "properties": open_schema["properties"], "required": ["all"]}):
            client.structured(ASK, schema)
    assert [r["response_format"]["json_schema"]["strict"] for r in server.requests] == [False, True, False]


def test_a_truncated_structured_reply_is_malformed_and_says_so(model):
    with ScriptedLLMServer(truncated('{"city": "Lis')) as server, pytest.raises(MalformedReply) as caught:
        model(server).structured(ASK, SCHEMA)
    assert (caught.value.truncated, caught.value.text) == (True, '{"city": "Lis')


def test_a_chatty_structured_reply_is_malformed_and_not_asked_for_again(model):
    with ScriptedLLMServer("Of course! It is Lisbon.") as server, pytest.raises(MalformedReply) as caught:
        model(server).structured(ASK, SCHEMA)
    assert (caught.value.truncated, caught.value.text, len(server.requests)) == (False, "Of course! It is Lisbon.", 1)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_busy_server_is_asked_again(model, slept, status):
    with ScriptedLLMServer(in_turn(refused(status), refused(status), "Lisbon")) as server:
        assert model(server).complete(ASK) == "Lisbon"
    assert (len(server.requests), slept) == (3, [0.5, 1.0])


def test_a_busy_server_is_asked_again_for_a_stream(model, slept):
    with ScriptedLLMServer(in_turn(refused(429, retry_after=3), Reply(hang_up_after=0), "Lisbon it is")) as server:
        assert "".join(model(server).stream(ASK)) == "Lisbon it is"
    assert slept == [3.5, 1.0]


def test_a_lost_connection_is_made_again(model, slept):
    with ScriptedLLMServer(in_turn(ConnectionError(), Reply(raw=b"<html>"), "Lisbon")) as server:
        assert model(server).complete(ASK) == "Lisbon"
    assert len(slept) == 2


def test_a_stream_that_breaks_off_is_an_error_not_a_short_answer(model, slept):
    with ScriptedLLMServer(Reply("one two three", hang_up_after=2)) as server:
        stream = model(server).stream(ASK)
        assert [next(stream), next(stream)] == ["one", " two"]
        with pytest.raises(ModelUnavailable, match=r"gpt-test: connection failed"):
            next(stream)
    assert (len(server.requests), slept) == (1, [])


def test_throttling_that_does_not_end_gives_up_with_the_status(model):
    with (
        ScriptedLLMServer(refused(429, "slow down")) as server,
        pytest.raises(ModelUnavailable, match=r"openai:gpt-test.*HTTP 429, error$"),
    ):
        model(server).complete(ASK)
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refused(401, "no such key", code="invalid_api_key"), "HTTP 401, invalid_api_key.*set OPENAI_API_KEY"),
        (refused(404, "no such model"), "HTTP 404, error.*check the model's name"),
        (refused(400, "too long", code="context_length_exceeded"), "HTTP 400, context_length_exceeded$"),
        (refused(400, "too long", code="Where? Brief."), "HTTP 400$"),
        (refused(429, "pay", code="insufficient_quota"), "HTTP 429, insufficient_quota$"),
        (Reply(status=302, raw=b"elsewhere"), "HTTP 302$"),
        (Reply(""), "empty reply"),
        (truncated(""), "raise the maximum of tokens"),
        (Reply(raw=b'{"choices": []}'), "no chat completion"),
        (
            Reply(raw=b'{"choices": [{"message": {"content": null, "refusal": "I may not"}}]}'),
            "refused to answer$",
        ),
    ],
)
def test_what_another_try_cannot_mend_is_said_at_once(model, slept, answer, message):
    with ScriptedLLMServer(answer) as server, pytest.raises(ModelUnavailable, match=message) as caught:
        model(server).complete(ASK)
    assert (len(server.requests), slept) == (1, [])
    assert "secret-key" not in str(caught.value)


def test_an_error_inside_a_stream_is_said(model):
    with (
        ScriptedLLMServer(Reply(raw=b'data: {"error": {"message": "out of memory"}}\n\n')) as server,
        pytest.raises(ModelUnavailable, match=r"HTTP 500$"),
    ):
        list(model(server).stream(ASK))


def test_an_empty_stream_is_an_error(model):
    with ScriptedLLMServer("") as server, pytest.raises(ModelUnavailable, match="empty reply"):
        list(model(server).stream(ASK))


def test_a_server_that_takes_too_long_is_given_up(model):
    with ScriptedLLMServer(Reply("late", delay=0.5)) as server:
        client = model(server, timeout=0.1, attempts=1)
        with pytest.raises(ModelUnavailable, match=r"no reply within 0.1 s: raise LEXIGRAPH_MODEL_TIMEOUT"):
            client.complete(ASK)


def test_a_server_that_is_not_running_is_not_waited_for(slept):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server = Server(f"http://127.0.0.1:{free.getsockname()[1]}/v1", start="run `ollama serve`")
    client = OpenAICompatible("llama", server, name="ollama:llama", retry=Retry(sleep=slept.append))
    with pytest.raises(ModelUnavailable, match=r"ollama:llama: connection failed.*run `ollama serve`"):
        client.complete(ASK)
    assert slept == []


def picky(body):
    """Refuse as the reasoning models of OpenAI do."""
    if "max_tokens" in body:
        return refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    if "temperature" in body:
        return refused(400, "Unsupported value: 'temperature' does not support 0.2 with this model.")
    if "response_format" in body:
        return refused(400, "'response_format' of type 'json_schema' is not supported")
    return json.dumps({"city": "Lisbon"})


def test_what_a_model_refuses_is_sent_in_its_other_form_and_remembered(model, slept):
    with ScriptedLLMServer(picky) as server:
        client = model(server)
        assert client.structured(ASK, SCHEMA) == {"city": "Lisbon"}
        assert client.structured(ASK, SCHEMA) == {"city": "Lisbon"}
    assert (len(server.requests), slept) == (5, [])
    last = server.requests[-1]
    assert last["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature", "response_format"} & set(last)
    assert json.dumps(SCHEMA) in said(last, "system")


@pytest.mark.parametrize("address", ["https://ann:s3cret@host/v1", "https://host/v1?token=s3cret", "ann:s3cret@host/v1"])
def test_an_address_with_a_secret_in_it_is_refused_and_not_told(address: str) -> None:
    with pytest.raises(InvalidInput, match="set OPENAI_API_KEY to the key") as refused:
        OpenAICompatible("any", Server(address))
    assert "s3cret" not in str(refused.value)


def test_a_key_is_sent_without_the_line_end_of_its_file_and_not_told_where_no_header_takes_it() -> None:
    with ScriptedLLMServer("Lisbon") as server:
        assert OpenAICompatible("m", Server(server.base_url, "s3cret\n")).complete(ASK) == "Lisbon"
        assert server.headers[0]["Authorization"] == "Bearer s3cret"
        for key in ("s3cret\nmore", "“s3cret”", "s3cr\u00e9t"):
            with pytest.raises(InvalidInput, match="OPENAI_API_KEY: the key holds") as refused:
                OpenAICompatible("m", Server(server.base_url, key))
            assert "s3c" not in str(refused.value)
    assert "s3cret" not in repr(Server("http://host/v1", "s3cret"))


def test_what_is_told_of_a_server_that_does_not_answer_is_not_where_it_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    model = OpenAICompatible("any", Server(f"http://127.0.0.1:{port}/inside"), retry=Retry(attempts=1))
    with pytest.raises(ModelUnavailable) as told:
        model.complete(ASK)
    for part in ("127.0.0.1", str(port), "inside"):
        assert part not in str(told.value)


def test_a_base_url_that_is_no_http_address_is_refused():
    with pytest.raises(InvalidInput, match="base_url 'localhost:11434'"):
        OpenAICompatible("m", Server("localhost:11434"))


@pytest.mark.parametrize(("kind", "variable"), [("openai", "OPENAI_API_KEY"), ("ollama", "OLLAMA_API_KEY")])
def test_settings_choose_server_and_options_and_each_kind_has_its_own_key(monkeypatch, kind, variable):
    monkeypatch.setenv("OPENAI_API_KEY", "openai")
    monkeypatch.setenv("OLLAMA_API_KEY", "ollama")
    with ScriptedLLMServer("Lisbon") as server:
        settings = load_settings(llm=f"{kind}:m", llm_options={"base_url": server.base_url, "top_p": 0.5})
        assert make_llm(settings).complete(ASK) == "Lisbon"
    assert server.headers[0]["Authorization"] == f"Bearer {kind}"
    assert server.requests[0]["top_p"] == 0.5
    assert "base_url" not in server.requests[0]


def test_a_proxy_for_the_internet_is_not_asked_for_a_server_on_this_machine(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with ScriptedLLMServer("Lisbon") as server:
        assert OpenAICompatible("m", Server(server.base_url)).complete(ASK) == "Lisbon"


@pytest.mark.requirement("E-51")
def test_the_standing_of_a_model_is_what_its_server_lists_and_costs_no_reply() -> None:
    with ScriptedLLMServer("Paris", model="llama3.2:latest") as server:

        def standing(name: str, url: str = "") -> Standing:
            return OpenAICompatible(name, Server(url or server.base_url)).standing(5.0)

        assert standing("llama3.2") == standing("llama3.2:latest") == Standing(answers=True, listed=True)
        assert standing("other") == Standing(answers=True, listed=False)
        assert standing("any", f"{server.url}/v2") == Standing(answers=True), "it has no list"
        assert server.requests == []
    assert standing("llama3.2") == Standing(answers=False)


@pytest.mark.requirement("E-51")
def test_a_server_that_says_nothing_is_given_up_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert OpenAICompatible("any", Server(url)).standing(0.2) == Standing(), "it may be at work"
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("reply", "told", "public"),
    [
        (refused(500), "HTTP 500", "the model's server: HTTP 500, error"),
        (refused(429), "HTTP 429", "the model's server: too many requests, HTTP 429, error"),
        (Reply(raw=b""), "an empty reply", "the model's server: an empty reply"),
        (
            Reply(raw=b'{"choices": [{"mess'),
            "no JSON, or was cut",
            "the model's server: a reply that is no JSON, or was cut",
        ),
        (Reply(""), "gave an empty reply", "the model gave an empty reply"),
    ],
)
def test_each_kind_of_failure_is_told_apart_and_to_callers_without_the_model_s_name(model, reply, told, public):
    with ScriptedLLMServer(reply) as server, pytest.raises(ModelUnavailable) as failed:
        model(server, attempts=1).complete(ASK)
    assert told in str(failed.value)
    assert "502" not in str(failed.value)
    assert in_general(failed.value) == public
