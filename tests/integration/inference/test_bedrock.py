"""Bedrock models: requests checked against botocore's service models, replies in the real wire format from loopback."""

import json
from functools import partial

import numpy as np
import pytest
from botocore.session import Session
from botocore.validate import validate_parameters

from lexigraph.inference.bedrock import BedrockEmbedder, BedrockLLM, BedrockReranker
from lexigraph.inference.bedrock_client import BedrockClient
from lexigraph.inference.factory import make_embedder, make_llm, make_reranker
from lexigraph.inference.protocols import Embedder, LanguageModel, MalformedReply, Prompt, ReplyCut, Reranker, Standing
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.retry import Retry
from lexigraph.settings import KNOWN_DIMENSIONS, load_settings
from tests.standins.bedrock_server import BedrockServer, Fault, message, streamed, tool_use

TITAN, COHERE_V4, COHERE_V3 = (
    next(spec.removeprefix("bedrock:") for spec in KNOWN_DIMENSIONS if part in spec)
    for part in ("titan", "embed-v4", "embed-english-v3")
)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
ASK = Prompt("Where?", system="Be brief.", history=(("user", "Hello"), ("assistant", "Hi")), max_tokens=50, temperature=0.5)
MODEL = "test.model-v1:0"
BUSY = Fault(429, "ThrottlingException", "Too many requests")


@pytest.fixture(scope="module", autouse=True)
def account(tmp_path_factory):
    """Credentials of nobody, and no configuration of this machine."""
    none = str(tmp_path_factory.mktemp("aws") / "none")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        environment.setenv("AWS_CONFIG_FILE", none)
        environment.setenv("AWS_SHARED_CREDENTIALS_FILE", none)
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"):
            environment.delenv(name, raising=False)
        yield


class Bedrock:
    """A scripted Bedrock, and a client whose waits are noted instead of slept."""

    def __init__(self) -> None:
        self.answers: list = []
        self.slept: list[float] = []
        self.server = BedrockServer(self._answer)
        self.client = self.new_client("us-west-2")

    def _answer(self, operation, model, body):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(operation, model, body) if callable(answer) else answer

    def new_client(self, region: str | None) -> BedrockClient:
        retry = Retry(attempts=4, sleep=lambda seconds: self.slept.append(seconds), draw=lambda: 1.0)
        return BedrockClient(MODEL, "LEXIGRAPH_LLM", region=region, retry=retry, endpoint_url=self.server.url)

    def llm(self, **settings) -> BedrockLLM:
        return BedrockLLM(MODEL, self.client, **settings)

    def embedder(self, model: str, dimension: int) -> BedrockEmbedder:
        return BedrockEmbedder(model, dimension, self.client, label="test-3")

    def reranker(self) -> BedrockReranker:
        return BedrockReranker("test.rerank-v1:0", self.client)

    def answering(self, *answers):
        self.answers = list(answers)
        return self


@pytest.fixture(scope="module")
def scripted():
    made = Bedrock()
    with made.server:
        yield made


@pytest.fixture
def bedrock(scripted):
    scripted.slept.clear()
    scripted.server.requests.clear()
    return scripted


def test_converse_carries_all_of_the_prompt_and_always_the_maximum_of_tokens(bedrock):
    model = bedrock.answering(message("Lisbon")).llm(options={"top_k": 5})
    assert isinstance(model, LanguageModel)
    assert model.complete(ASK) == "Lisbon"
    assert bedrock.server.requests == [
        {
            "operation": "converse",
            "model": MODEL,
            "system": [{"text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"text": "Hello"}]},
                {"role": "assistant", "content": [{"text": "Hi"}]},
                {"role": "user", "content": [{"text": "Where?"}]},
            ],
            "inferenceConfig": {"maxTokens": 50, "temperature": 0.5},
            "additionalModelRequestFields": {"top_k": 5},
        }
    ]


def test_converse_stream_comes_in_pieces(bedrock):
    model = bedrock.answering(streamed(["Lis", "bon", " — yes"])).llm()
    assert list(model.stream(ASK)) == ["Lis", "bon", " — yes"]
    assert bedrock.server.requests[0]["operation"] == "converse-stream"
    assert bedrock.server.requests[0]["inferenceConfig"]["maxTokens"] == 50


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_a_reply_that_ran_out_of_tokens_is_kept_and_says_so(bedrock, stop):
    model = bedrock.answering(message("Lis", stop=stop), streamed(["L", "is"], stop=stop)).llm()
    with pytest.raises(ReplyCut, match="cut off at 50 tokens") as caught:
        model.complete(ASK)
    assert caught.value.text == "Lis"
    pieces = model.stream(ASK)
    assert [next(pieces), next(pieces)] == ["L", "is"]
    with pytest.raises(ReplyCut, match="cut off at 50 tokens"):
        next(pieces)


def test_structured_makes_the_model_call_a_tool_and_returns_its_input(bedrock):
    data = {"city": "Lisbon", "numbers": [1, 2.5, None, True]}
    model = bedrock.answering(tool_use("place", data)).llm()
    assert model.structured(ASK, SCHEMA, "place") == data
    config = bedrock.server.requests[0]["toolConfig"]
    assert config["toolChoice"] == {"tool": {"name": "place"}}
    assert config["tools"][0]["toolSpec"]["name"] == "place"
    assert config["tools"][0]["toolSpec"]["inputSchema"] == {"json": SCHEMA}


def test_a_structured_reply_that_ran_out_of_tokens_is_malformed_and_says_so(bedrock):
    model = bedrock.answering(tool_use("reply", {"city": "Lis"}, stop="max_tokens")).llm()
    with pytest.raises(MalformedReply, match="cut off") as caught:
        model.structured(ASK, SCHEMA)
    assert (caught.value.truncated, caught.value.text) == (True, '{"city": "Lis"}')


def test_a_model_that_talks_instead_of_calling_the_tool_is_read_or_malformed(bedrock):
    model = bedrock.answering(message('```json\n{"city": "Lisbon"}\n```'), message("It is Lisbon.")).llm()
    assert model.structured(ASK, SCHEMA) == {"city": "Lisbon"}
    with pytest.raises(MalformedReply) as caught:
        model.structured(ASK, SCHEMA)
    assert (caught.value.truncated, caught.value.text) == (False, "It is Lisbon.")


def refusing(*unsupported: str):
    """Refuse as models do that do not know a part of Converse."""

    def answer(operation, model, body):
        choice = next(iter(body.get("toolConfig", {}).get("toolChoice", {})), "")
        said = {
            "temperature": ("temperature" in body["inferenceConfig"], "`temperature` is deprecated for this model."),
            "tool": (choice == "tool", "This model doesn't support the toolConfig.toolChoice.tool field."),
            "any": (choice == "any", "This model doesn't support the toolConfig.toolChoice.any field."),
            "tools": ("toolConfig" in body, "This model doesn't support tool use."),
        }
        for name in unsupported:
            if said[name][0]:
                return Fault(400, "ValidationException", said[name][1])
        return tool_use("reply", {"city": "Lisbon"}) if "toolConfig" in body else message('{"city": "Lisbon"}')

    return answer


@pytest.mark.parametrize(
    ("unsupported", "requests", "choice"),
    [
        (("temperature",), 3, "tool"),
        (("tool",), 3, "any"),
        (("tool", "any"), 4, "auto"),
        (("tools", "temperature"), 4, None),
    ],
)
def test_what_a_model_refuses_is_sent_in_its_other_form_and_remembered(bedrock, unsupported, requests, choice):
    model = bedrock.answering(refusing(*unsupported)).llm()
    assert model.structured(ASK, SCHEMA) == {"city": "Lisbon"}
    assert model.structured(ASK, SCHEMA) == {"city": "Lisbon"}
    assert len(bedrock.server.requests) == requests
    last = bedrock.server.requests[-1]
    assert ("temperature" in last["inferenceConfig"]) == ("temperature" not in unsupported)
    assert next(iter(last.get("toolConfig", {}).get("toolChoice", {})), None) == choice
    assert (json.dumps(SCHEMA) in last["system"][0]["text"]) == (choice is None)


@pytest.mark.parametrize(
    "fault",
    [
        BUSY,
        Fault(400, "ServiceQuotaExceededException", "quota"),
        Fault(408, "ModelTimeoutException", "slow"),
        Fault(429, "ModelNotReadyException", "loading"),
        Fault(500, "InternalServerException", "oops"),
        Fault(503, "ServiceUnavailableException", "full"),
        Fault(0),
    ],
)
def test_a_busy_service_is_asked_again_by_us_alone(bedrock, fault):
    model = bedrock.answering(fault, fault, message("Lisbon")).llm()
    assert model.complete(ASK) == "Lisbon"
    assert (len(bedrock.server.requests), bedrock.slept) == (3, [0.5, 1.0])


def test_a_throttled_stream_is_asked_again_until_its_first_piece(bedrock):
    start = streamed([])[:1]
    inside = [*start, ("throttlingException", {"message": "slow down"})]
    model = bedrock.answering(BUSY, inside, start, streamed(["Lis", "bon"])).llm()
    assert list(model.stream(ASK)) == ["Lis", "bon"]
    assert (len(bedrock.server.requests), bedrock.slept) == (4, [0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ([("modelStreamErrorException", {"message": "broken"})], "modelStreamErrorException"),
        ([], "ended before the reply did"),
    ],
)
def test_a_stream_that_breaks_off_is_an_error_not_a_short_answer(bedrock, end, said):
    stream = bedrock.answering([*streamed(["Lis", "bon"])[:3], *end]).llm().stream(ASK)
    assert [next(stream), next(stream)] == ["Lis", "bon"]
    with pytest.raises(ModelUnavailable, match=f"bedrock:test.model-v1:0: .*{said}"):
        next(stream)
    assert (len(bedrock.server.requests), bedrock.slept) == (1, [])


def test_throttling_that_does_not_end_gives_up_and_names_model_and_remedy(bedrock):
    model = bedrock.answering(BUSY).llm()
    with pytest.raises(
        ModelUnavailable, match=r"bedrock:test\.model-v1:0: ThrottlingException \(HTTP 429\)\. .*LEXIGRAPH_MODEL_ATTEMPTS"
    ):
        model.complete(ASK)
    assert len(bedrock.server.requests) == 4


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (Fault(403, "AccessDeniedException", "You don't have access"), "Request access to the model"),
        (Fault(400, "ValidationException", "This model is marked by provider as Legacy"), "set LEXIGRAPH_LLM to a current"),
        (Fault(404, "ResourceNotFoundException", "This model version has reached the end of its life"), "being retired"),
        (Fault(404, "ResourceNotFoundException", "no such model"), "region .LEXIGRAPH_REGION. offers"),
        (Fault(400, "ValidationException", "Retry with the id of an inference profile"), "with us., eu. or global."),
        (Fault(400, "ValidationException", "The provided model identifier is invalid."), "Check LEXIGRAPH_LLM"),
        (Fault(403, "ExpiredTokenException", "expired"), "Renew the AWS credentials"),
        (Fault(424, "ModelErrorException", "the model failed"), r"ModelErrorException \(HTTP 424\)$"),
    ],
)
def test_what_another_try_cannot_mend_is_said_at_once_with_the_remedy(bedrock, fault, remedy):
    model = bedrock.answering(fault).llm()
    with pytest.raises(ModelUnavailable, match=f"bedrock:test.model-v1:0: .*{remedy}"):
        model.complete(ASK)
    assert (len(bedrock.server.requests), bedrock.slept) == (1, [])


@pytest.mark.parametrize("reply", [message(""), message("", stop="max_tokens")])
def test_an_empty_reply_is_an_error(bedrock, reply):
    with pytest.raises(ModelUnavailable, match="empty reply"):
        bedrock.answering(reply).llm().complete(ASK)
    with pytest.raises(ModelUnavailable, match="empty reply"):
        list(bedrock.answering(streamed([])).llm().stream(ASK))


def test_no_region_and_no_credentials_are_said_before_any_request(bedrock, monkeypatch):
    with pytest.raises(ModelUnavailable, match="Set LEXIGRAPH_REGION"):
        BedrockLLM(MODEL, bedrock.new_client(region=None)).complete(ASK)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ModelUnavailable, match="Set AWS credentials"):
        BedrockLLM(MODEL, bedrock.new_client("us-west-2")).complete(ASK)
    assert bedrock.server.requests == []


def titan(operation, model, body):
    return {"embedding": [float(len(body["inputText"])), 1.0, *([0.0] * (body["dimensions"] - 2))], "inputTextTokenCount": 1}


def cohere(rows_of, operation, model, body):
    size = body.get("output_dimension", 1024)
    rows = [[float(len(text)), 1.0, *([0.0] * (size - 2))] for text in body["texts"]]
    return {"embeddings": rows_of(rows), "response_type": "x"}


TEXTS = ["a", "bbbb", "a", "", "c" * 3_000]
LENGTHS = np.array([[1, 1], [4, 1], [1, 1], [1, 1]], np.float32)


def test_titan_embeds_each_distinct_text_once(bedrock):
    model = bedrock.answering(titan).embedder(TITAN, 256)
    assert isinstance(model, Embedder)
    vectors = model.embed_passages(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((5, 256), np.float32)
    assert vectors[:4, :2] == pytest.approx(LENGTHS / np.linalg.norm(LENGTHS, axis=1, keepdims=True))
    sent = [request["inputText"] for request in bedrock.server.requests]
    assert sorted(sent) == sorted(["a", "bbbb", "-", "c" * 3_000])
    assert {(r["model"], r["dimensions"], r["normalize"]) for r in bedrock.server.requests} == {(TITAN, 256, True)}
    assert model.embed_passages([]).shape == (0, 256)


def test_cohere_tells_documents_from_queries_and_takes_96_texts_a_request(bedrock):
    model = bedrock.answering(partial(cohere, lambda rows: {"float": rows})).embedder(f"eu.{COHERE_V4}", 512)
    vectors = model.embed_passages([f"{'x' * n}" for n in range(1, 201)])
    assert vectors.shape == (200, 512)
    assert (vectors[:, 0] / vectors[:, 1]) == pytest.approx(np.arange(1, 201))
    assert sorted(len(request["texts"]) for request in bedrock.server.requests) == [8, 96, 96]
    model.embed_questions(["q"])
    assert [r["input_type"] for r in bedrock.server.requests] == ["search_document"] * 3 + ["search_query"]
    last = bedrock.server.requests[-1]
    assert (last["output_dimension"], last["embedding_types"], last["truncate"]) == (512, ["float"], "RIGHT")


def test_cohere_v3_is_sent_no_more_than_it_takes(bedrock):
    model = bedrock.answering(partial(cohere, lambda rows: rows)).embedder(COHERE_V3, 1024)
    assert model.embed_passages(TEXTS).shape == (5, 1024)
    (request,) = bedrock.server.requests
    assert [len(text) for text in request["texts"]] == [1, 4, 1, 2_048]
    assert set(request) == {"operation", "model", "texts", "input_type", "truncate"}


def test_throttled_embeddings_are_asked_for_again(bedrock):
    model = bedrock.answering(BUSY, BUSY, titan).embedder(TITAN, 256)
    assert model.embed_questions(["bbbb"]).shape == (1, 256)
    assert bedrock.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"embedding": [1.0] * 8}, "vectors of 8 numbers, 256 were expected"),
        ({"embedding": [float("nan")] * 256}, "not finite"),
        ({"other": 1}, "without embeddings"),
        ({"embedding": ["x"] * 256}, "no vectors of equal length"),
    ],
)
def test_embeddings_that_cannot_be_used_are_refused(bedrock, reply, said):
    with pytest.raises(ModelUnavailable, match=said):
        bedrock.answering(reply).embedder(TITAN, 256).embed_passages(["a"])


def test_an_unknown_embedding_model_and_a_wrong_dimension_are_refused_before_any_call(bedrock):
    with pytest.raises(InvalidInput, match=r"bedrock:some.other-model is unknown: use a model of titan"):
        bedrock.embedder("some.other-model", 256)
    with pytest.raises(InvalidInput, match=r"embedding_dimension 300 .*: use 256, 512, 1024"):
        bedrock.embedder(TITAN, 300)


def ranked(operation, model, body):
    """Score by length, in two pages."""
    texts = [source["inlineDocumentSource"]["textDocument"]["text"] for source in body["sources"]]
    rows = [{"index": at, "relevanceScore": len(text) / 10} for at, text in enumerate(texts)]
    rows.sort(key=lambda row: -row["relevanceScore"])
    return {"results": rows[1:]} if "nextToken" in body else {"results": rows[:1], "nextToken": "more"}


def test_rerank_scores_every_text_whatever_the_order_and_pages_of_the_reply(bedrock):
    model = bedrock.answering(ranked).reranker()
    assert isinstance(model, Reranker)
    assert model.score(["question", "Aurora", ""], ["a", "bbbb", " ", "cc"]) == pytest.approx([0.1, 0.4, 0, 0.2])
    first = bedrock.server.requests[0]
    assert first["queries"] == [{"type": "TEXT", "textQuery": {"text": "question\nAurora"}}]
    config = first["rerankingConfiguration"]["bedrockRerankingConfiguration"]
    assert config["modelConfiguration"]["modelArn"] == "arn:aws:bedrock:us-west-2::foundation-model/test.rerank-v1:0"
    assert config["numberOfResults"] == 3
    assert len(bedrock.server.requests) == 2
    assert model.score(["question"], []) == []


def test_more_than_a_thousand_texts_are_reranked_in_parts(bedrock):
    model = bedrock.answering(ranked).reranker()
    scores = model.score(["q"], ["a" * (1 + at % 7) for at in range(1_100)])
    assert scores == pytest.approx([(1 + at % 7) / 10 for at in range(1_100)])
    assert {len(request["sources"]) for request in bedrock.server.requests} == {1_000, 100}


def test_a_refused_rerank_says_what_to_do(bedrock):
    model = bedrock.answering(Fault(403, "AccessDeniedException", "no")).reranker()
    with pytest.raises(ModelUnavailable, match="Request access"):
        model.score(["q"], ["a"])


def test_the_stand_in_says_only_what_the_service_models_know():
    models = Session()
    output = models.get_service_model("bedrock-runtime").operation_model("Converse").output_shape
    for reply in (message("Lisbon"), message("", stop="max_tokens"), tool_use("place", {"city": "Lisbon"})):
        validate_parameters(reply, output)
    events = models.get_service_model("bedrock-runtime").shape_for("ConverseStreamOutput").members
    for name, data in [*streamed(["Lis"]), ("throttlingException", {"message": "slow down"})]:
        validate_parameters(data, events[name])
    page = models.get_service_model("bedrock-agent-runtime").operation_model("Rerank").output_shape
    validate_parameters({"results": [{"index": 0, "relevanceScore": 0.5}], "nextToken": "more"}, page)


def test_settings_alone_make_working_models(bedrock, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", bedrock.server.url)
    answers = {"converse": message("Lisbon"), "rerank": {"results": [{"index": 0, "relevanceScore": 0.5}]}}
    bedrock.answering(lambda operation, model, body: titan("", "", body) if operation == "invoke" else answers[operation])
    settings = load_settings(llm="bedrock:test.chat-v1:0", embedding_model=f"bedrock:{TITAN}", region="eu-west-1")
    assert make_llm(settings).complete(ASK) == "Lisbon"
    embedder = make_embedder(settings)
    assert (embedder.label, embedder.dimension) == (settings.embedding.label, 1024)
    assert embedder.embed_passages(["abc"]).shape == (1, 1024)
    assert make_reranker("bedrock", settings).score(["q"], ["a"]) == [0.5]
    assert [request["model"] for request in bedrock.server.requests] == ["test.chat-v1:0", TITAN, ""]
    arn = bedrock.server.requests[-1]["rerankingConfiguration"]["bedrockRerankingConfiguration"]["modelConfiguration"]
    assert arn["modelArn"] == f"arn:aws:bedrock:eu-west-1::foundation-model/{settings.rerank_model}"


@pytest.mark.requirement("E-51")
def test_the_standing_of_a_model_is_what_bedrock_says_of_it(bedrock):
    llm = BedrockLLM(MODEL, bedrock.client)
    bedrock.answers = [{}]
    assert llm.standing(5.0) == Standing(answers=True, listed=True)
    assert [r["operation"] for r in bedrock.server.requests] == ["foundation-models"]
    bedrock.answers = [Fault(404, "ResourceNotFoundException")]
    assert llm.standing(5.0) == Standing(answers=True, listed=False)
    for unknown in (Fault(403, "AccessDeniedException"), Fault(0)):
        bedrock.answers = [unknown]
        assert llm.standing(5.0) == Standing()
    bedrock.answers = [{}]
    profile = BedrockLLM("eu.maker.model-v1:0", bedrock.client)
    assert profile.standing(5.0).listed is True
    assert bedrock.server.requests[-1]["operation"] == "inference-profiles"
