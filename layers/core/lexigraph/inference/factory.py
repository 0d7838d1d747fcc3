"""From a setting to a model: ``minilm``, ``bedrock:MODEL_ID``, ``ollama:MODEL``, ... Making one loads nothing heavy.

Only modules of the models that are asked for are imported.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lexigraph.inference.minilm import DIMENSION, MiniLM, load
from lexigraph.inference.protocols import Embedder, LanguageModel, Reranker
from lexigraph.inference.rerank import CrossEncoderReranker, TfidfReranker
from lexigraph.inference.traced import traced
from lexigraph.model.errors import InvalidInput, Misconfigured
from lexigraph.retry import Retry
from lexigraph.settings import DEFAULT_CROSS_ENCODER, DEFAULT_RERANK_MODEL, Settings

if TYPE_CHECKING:
    from lexigraph.inference.bedrock import BedrockLLM
    from lexigraph.inference.bedrock_batch import BedrockBatches
    from lexigraph.inference.bedrock_client import BedrockClient
    from lexigraph.inference.openai_compatible import Server

EMBEDDERS = ("minilm", "bedrock:MODEL_ID", "llama-index:DOTTED.CLASS")
LANGUAGE_MODELS = ("none", "bedrock:MODEL_ID", "ollama:MODEL", "openai:MODEL", "llama-index:DOTTED.CLASS")
RERANKERS = ("tfidf", "bedrock", "model", "none")
OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://localhost:11434/v1"


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder of ``settings.embedding_model``. Raise ``Misconfigured`` for one that is not known."""
    with _of_settings():
        return traced(_embedder(settings), settings.embedding.spec)


def load_local(settings: Settings) -> None:
    """Load the embedding model of the settings into this process where it is MiniLM, and nothing elsewhere.

    Raise ``ModelUnavailable`` when its packages are missing.
    """
    if settings.embedding.spec == "minilm":
        load()


@contextmanager
def _of_settings() -> Iterator[None]:
    """Tell what is wrong as the fault of the settings: it may name a server, and who asks the API can mend nothing of it."""
    try:
        yield
    except InvalidInput as error:
        raise Misconfigured(str(error)) from None


def _embedder(settings: Settings) -> Embedder:
    embedding = settings.embedding
    kind, _, model = embedding.spec.partition(":")
    if embedding.spec == "minilm":
        if embedding.dimension != DIMENSION:
            raise InvalidInput(f"embedding_dimension {embedding.dimension}: minilm has {DIMENSION} dimensions; leave it out")
        return MiniLM(settings.threads)
    if kind == "bedrock" and model:
        from lexigraph.inference.bedrock import BedrockEmbedder

        client = _bedrock(model, "LEXIGRAPH_EMBEDDING_MODEL", settings)
        return BedrockEmbedder(model, embedding.dimension, client, label=embedding.label)
    if kind == "llama-index" and model:
        from lexigraph.inference.llama_index import LlamaIndexEmbedder, of_class

        made = of_class(model, settings.embedding_options, "embedding_options")
        return LlamaIndexEmbedder(made, label=embedding.label, dimension=embedding.dimension, retry=_retry(settings))
    raise _unknown("embedding_model", embedding.spec, EMBEDDERS)


def make_llm(settings: Settings) -> LanguageModel | None:
    """Return the language model of ``settings.llm``, None for ``none``. Raise ``Misconfigured`` for one not known.

    Keys come from ``OPENAI_API_KEY`` and ``OLLAMA_API_KEY``. ``llm_options`` are the arguments of a LlamaIndex class,
    elsewhere further fields of the request, except ``base_url``, which says where a server is.
    """
    with _of_settings():
        return traced(_llm(settings), settings.llm)


def _llm(settings: Settings) -> LanguageModel | None:
    kind, _, model = settings.llm.partition(":")
    options = dict(settings.llm_options)
    name = _name(settings.llm, options)
    if settings.llm == "none":
        return None
    if kind == "bedrock" and model:
        from lexigraph.inference.bedrock import BedrockLLM

        return BedrockLLM(model, _bedrock(model, "LEXIGRAPH_LLM", settings), name=name, options=options)
    if kind in ("ollama", "openai") and model:
        from lexigraph.inference.openai_compatible import OpenAICompatible

        server = _server(kind, model, str(options.pop("base_url", "")))
        return OpenAICompatible(
            model, server, name=name, options=options, timeout=settings.model_timeout, retry=_retry(settings)
        )
    if kind == "llama-index" and model:
        from lexigraph.inference.llama_index import LlamaIndexLLM, of_class

        made = of_class(model, options, "llm_options")
        return LlamaIndexLLM(made, name=name, pinned=tuple(options), retry=_retry(settings))
    raise _unknown("llm", settings.llm, LANGUAGE_MODELS)


def make_batches(settings: Settings) -> "tuple[BedrockLLM, BedrockBatches]":
    """Return the model of ``settings.llm`` and what runs it over batches. Raise ``InvalidInput`` for one not of Bedrock."""
    from lexigraph.inference.bedrock import BedrockLLM
    from lexigraph.inference.bedrock_batch import BedrockBatches

    llm = make_llm(settings)
    if not isinstance(llm, BedrockLLM):
        raise InvalidInput(
            f"llm {settings.llm[:200]!r}: only Bedrock has batch inference: set LEXIGRAPH_LLM=bedrock:MODEL_ID"
        )
    return llm, BedrockBatches(llm.model, _bedrock(llm.model, "LEXIGRAPH_LLM", settings))


def make_reranker(name: str | None, settings: Settings) -> Reranker | None:
    """Return the reranker called ``name`` (G-30), None for ``none`` and None.

    Raise ``InvalidInput`` for another name, and for ``bedrock`` where no model of Bedrock is to be asked.
    """
    return traced(_reranker(name, settings), f"{name}:{settings.rerank_model}" if name == "bedrock" else f"{name}")


def _reranker(name: str | None, settings: Settings) -> Reranker | None:
    if name is None or name == "none":
        return None
    if name == "tfidf":
        return TfidfReranker()
    model = settings.rerank_model
    if name == "bedrock" and model == "none":
        raise InvalidInput(
            "reranker: no Bedrock model is configured; use tfidf or set LEXIGRAPH_RERANK_MODEL (deploy -c rerank_model=...)"
        )
    if name == "bedrock":
        from lexigraph.inference.bedrock import BedrockReranker

        return BedrockReranker(model, _bedrock(model, "LEXIGRAPH_RERANK_MODEL", settings))
    if name == "model":
        return CrossEncoderReranker(DEFAULT_CROSS_ENCODER if model in (DEFAULT_RERANK_MODEL, "none") else model)
    raise _unknown("reranker", name, RERANKERS)


def _bedrock(model: str, setting: str, settings: Settings) -> "BedrockClient":
    from lexigraph.inference.bedrock_client import BedrockClient

    return BedrockClient(model, setting, region=settings.region, timeout=settings.model_timeout, retry=_retry(settings))


def _retry(settings: Settings) -> Retry:
    return Retry(attempts=settings.model_attempts, seconds=settings.model_timeout)


def _server(kind: str, model: str, base_url: str) -> "Server":
    from lexigraph.inference.openai_compatible import Server

    if kind == "ollama":
        start = f"run `ollama serve` and `ollama pull {model}`, or set base_url in LEXIGRAPH_LLM_OPTIONS"
        return Server(base_url or OLLAMA_URL, os.environ.get("OLLAMA_API_KEY", ""), "OLLAMA_API_KEY", start)
    return Server(base_url or OPENAI_URL, os.environ.get("OPENAI_API_KEY", ""), "OPENAI_API_KEY")


def _name(spec: str, options: Mapping[str, Any]) -> str:
    # options change what a model says, so they are part of the name; a key does not, and is not to be found in it
    said = {key: value for key, value in options.items() if key != "api_key"}
    if not said:
        return spec
    digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=4).hexdigest()
    return f"{spec}#{digest}"


def _unknown(setting: str, given: str, known: tuple[str, ...]) -> InvalidInput:
    return InvalidInput(f"{setting} {given[:200]!r} is not known: use one of {', '.join(known)}")
