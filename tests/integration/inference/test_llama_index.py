"""Language and embedding models of LlamaIndex behind our protocols, by class and as objects."""

import traceback
from typing import Any

import numpy as np
import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.embeddings import BaseEmbedding, MockEmbedding
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from pydantic import Field

from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.llama_index import LlamaIndexEmbedder, LlamaIndexLLM, of_class
from lexigraph.inference.protocols import Embedder, LanguageModel, MalformedReply, Prompt
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.retry import Retry
from lexigraph.settings import load_settings

ASK = Prompt("Where?", system="Be brief.", history=(("user", "Hello"), ("assistant", "Hi")), max_tokens=3)


class HttpError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class Scripted(CustomLLM):
    """A model of a user: answers in turn, keeps what it was asked."""

    answers: list[Any]
    seen: list[tuple[str, dict[str, Any]]]
    temperature: float = 0.9

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def _next(self, prompt: str, arguments: dict[str, Any]) -> str:
        self.seen.append((prompt, {**arguments, "temperature": self.temperature}))
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next(prompt, kwargs))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any):
        text = self._next(prompt, kwargs)
        return (CompletionResponse(text=text[: at + 1], delta=letter) for at, letter in enumerate(text or [""]))


class Letters(BaseEmbedding):
    """Counts letters; treats queries unlike passages; refuses the word ``bad``."""

    def _get_text_embedding(self, text: str) -> list[float]:
        if text == "bad":
            raise ValueError("bad text")
        return [float(text.count("a")), float(text.count("b")), 1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [0.0, 0.0, 2.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def scripted(*answers: Any, slept: list[float] | None = None) -> tuple[Scripted, LlamaIndexLLM]:
    llm = Scripted(answers=list(answers), seen=[])
    return llm, LlamaIndexLLM(llm, retry=Retry(sleep=(slept if slept is not None else []).append, draw=lambda: 1.0))


def test_a_class_is_named_in_the_settings_and_made_with_their_options():
    settings = load_settings(llm="llama-index:llama_index.core.llms.MockLLM", llm_options={"is_chat_model": True})
    model = make_llm(settings)
    assert isinstance(model, LanguageModel)
    assert model.name.startswith("llama-index:llama_index.core.llms.MockLLM#")
    assert model.complete(ASK) == "text text text"


def test_the_maximum_of_tokens_of_each_prompt_reaches_the_model():
    model = LlamaIndexLLM(MockLLM(max_tokens=50))
    assert model.complete(ASK) == "text text text"
    assert "".join(model.stream(Prompt("Where?", max_tokens=2))) == "text text"
    llm, model = scripted("Lisbon")
    model.complete(ASK)
    assert llm.seen[0][1] == {"max_tokens": 3, "temperature": 0.0}


def test_an_option_that_a_user_set_stays():
    settings = load_settings(llm="llama-index:llama_index.core.llms.MockLLM", llm_options={"max_tokens": 1})
    assert make_llm(settings).complete(ASK) == "text"


def test_the_users_object_is_left_as_it_was():
    llm = MockLLM(max_tokens=50)
    LlamaIndexLLM(llm).complete(ASK)
    assert llm.max_tokens == 50


def test_system_prompt_and_history_reach_the_model_in_order():
    llm, model = scripted("Lisbon")
    assert model.complete(ASK) == "Lisbon"
    asked = llm.seen[0][0]
    places = [asked.index(part) for part in ("Be brief.", "Hello", "Hi", "Where?")]
    assert places == sorted(places)


def test_a_stream_comes_in_pieces():
    _, model = scripted("Lisbon")
    assert list(model.stream(ASK)) == list("Lisbon")


def test_structured_shows_the_schema_and_reads_the_json():
    llm, model = scripted('{"city": "Lisbon"}')
    assert model.structured(ASK, {"type": "object", "title": "Place"}) == {"city": "Lisbon"}
    assert '"title": "Place"' in llm.seen[0][0]


@pytest.mark.parametrize(("reply", "truncated"), [('{"city": "Lis', True), ("It is Lisbon.", False), ("", False)])
def test_a_structured_reply_that_is_no_json_is_malformed(reply, truncated):
    _, model = scripted(reply)
    with pytest.raises(MalformedReply) as caught:
        model.structured(ASK, {})
    assert (caught.value.text, caught.value.truncated) == (reply, truncated)


@pytest.mark.parametrize("busy", [HttpError(429), HttpError(503), TimeoutError(), ConnectionResetError()])
def test_a_busy_model_is_asked_again(busy):
    slept: list[float] = []
    llm, model = scripted(busy, busy, "Lisbon", slept=slept)
    assert model.complete(ASK) == "Lisbon"
    assert (len(llm.seen), slept) == (3, [0.5, 1.0])


@pytest.mark.parametrize(
    ("error", "told"), [(HttpError(401), r"HttpError \(HTTP 401\)"), (ValueError("Where? Brief."), "ValueError")]
)
def test_what_an_integration_raises_becomes_one_error_without_its_words(error, told):
    slept: list[float] = []
    for ask in (lambda model: model.complete(ASK), lambda model: list(model.stream(ASK))):
        _, model = scripted(error, slept=slept)
        with pytest.raises(ModelUnavailable, match=f"llama-index:Scripted: {told}$"):
            ask(model)
    assert slept == []


def test_an_empty_reply_is_an_error():
    _, model = scripted("")
    with pytest.raises(ModelUnavailable, match="empty reply"):
        model.complete(ASK)
    with pytest.raises(ModelUnavailable, match="empty reply"):
        list(model.stream(ASK))


@pytest.mark.parametrize(
    ("dotted", "options", "said"),
    [
        ("llama_index.llms.no_such_vendor.Model", {}, "pip install llama-index-llms-no-such-vendor"),
        ("llama_index.core.llms.NoSuchModel", {}, "llama_index.core.llms has no class NoSuchModel"),
        ("llama_index.core.llms.MockLLM", {"max_tokens": "many"}, r"check llm_options \(max_tokens\)"),
    ],
)
def test_a_class_that_cannot_be_made_says_what_to_do(dotted, options, said):
    model = LlamaIndexLLM(of_class(dotted, options, "llm_options"), name="m", pinned=tuple(options))
    with pytest.raises(ModelUnavailable, match=said):
        model.complete(ASK)


class NeedsAnAddress(Scripted):
    """A class of options that refuses them as a whole, as pydantic does, or in words of its own."""

    answers: list[Any] = Field(default_factory=list)
    seen: list[tuple[str, dict[str, Any]]] = Field(default_factory=list)
    api_key: str
    model: str = ""
    address: str

    def model_post_init(self, _: object) -> None:
        raise LookupError(f"no {self.model} for {self.api_key}")


@pytest.mark.parametrize(
    ("options", "said"), [({}, "address: Field required"), ({"address": "here"}, r"LookupError: no large for \*\*\*")]
)
def test_a_class_that_cannot_be_made_says_why_without_the_key_that_it_was_given(options, said):
    given = {"api_key": "sk-heron", "model": "large", **options}
    model = LlamaIndexLLM(of_class(f"{__name__}.NeedsAnAddress", given, "llm_options"), name="m")
    with pytest.raises(ModelUnavailable, match=f"{said}; check llm_options") as refused:
        model.complete(ASK)
    assert "heron" not in "".join(traceback.format_exception(refused.value))


def test_what_is_no_class_of_models_is_not_called(tmp_path):
    touched = tmp_path / "touched"
    for dotted, given in (("os.mkdir", {"path": str(touched)}), ("subprocess.Popen", {"args": ["mkdir", str(touched)]})):
        model = LlamaIndexLLM(of_class(dotted, given, "llm_options"), name="m", pinned=tuple(given))
        with pytest.raises(ModelUnavailable, match=f"llama-index:{dotted} is no LLM or embedding class of LlamaIndex"):
            model.complete(ASK)
    assert not touched.exists()


@pytest.mark.parametrize("dotted", ["MockLLM", "os.system('x')", "a..b", ".a"])
def test_what_is_no_dotted_name_is_refused(dotted):
    with pytest.raises(InvalidInput, match="not a dotted class name"):
        of_class(dotted, {}, "llm_options")


def test_an_embedding_class_is_named_in_the_settings_and_its_vectors_are_normalised():
    spec = "llama-index:llama_index.core.embeddings.MockEmbedding"
    settings = load_settings(embedding_model=spec, embedding_dimension=16, embedding_options={"embed_dim": 16})
    model = make_embedder(settings)
    assert isinstance(model, Embedder)
    assert model.label == settings.embedding.label
    vectors = model.embed_passages(["a", "b", "a"])
    assert (vectors.shape, vectors.dtype) == ((3, 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3))
    assert model.embed_passages([]).shape == (0, 16)


def test_passages_and_questions_go_their_own_way():
    model = LlamaIndexEmbedder(Letters(), label="letters-3", dimension=3)
    assert model.embed_passages(["aab", "", "aab"]) == pytest.approx(
        np.array([[2, 1, 1], [0, 0, 6**0.5], [2, 1, 1]]) / 6**0.5
    )
    assert model.embed_questions(["aab"]) == pytest.approx(np.array([[0, 0, 1]]))


def test_an_embedding_of_another_size_is_refused_with_the_remedy():
    model = LlamaIndexEmbedder(MockEmbedding(embed_dim=8), label="mock-16", dimension=16)
    with pytest.raises(ModelUnavailable, match="vectors of 8 numbers, 16 were expected: set LEXIGRAPH_EMBEDDING_DIMENSION"):
        model.embed_passages(["a"])


def test_an_embedding_that_fails_is_one_error_without_its_words():
    model = LlamaIndexEmbedder(Letters(), label="letters-3", dimension=3)
    with pytest.raises(ModelUnavailable, match=r"letters-3: ValueError$"):
        model.embed_passages(["a", "bad"])
