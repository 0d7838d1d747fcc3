"""Typed settings, in increasing precedence: defaults, ``.env``, the environment (``LEXIGRAPH_...``), arguments.

All model ids are defined here.
"""

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import MAX_CHARS

# Vector size by model, where a model does not let one choose (bedrock:titan v2 also knows 256 and 512).
KNOWN_DIMENSIONS = {
    "minilm": 384,
    "bedrock:amazon.titan-embed-text-v2:0": 1024,
    "bedrock:cohere.embed-v4:0": 1536,
    "bedrock:cohere.embed-english-v3": 1024,
    "bedrock:cohere.embed-multilingual-v3": 1024,
}
# Dollars a million tokens, in and out: us-east-1 list prices of the date, only those seen on a price page.
PRICES_AS_OF = "2026-08"
MODEL_PRICES = {
    "bedrock:amazon.titan-embed-text-v2:0": (0.02, 0.0),
    "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0": (1.0, 5.0),
}
DEFAULT_RERANK_MODEL = "cohere.rerank-v3-5:0"
DEFAULT_CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L6-v2"
MAY_HOLD_KEYS = ("llm_options", "embedding_options", "usage_keys")  # no message and no repr repeats what they hold


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model and its vector dimension; ``label`` names vector indexes."""

    spec: str
    dimension: int
    options: str = ""

    @property
    def label(self) -> str:
        """The name in lower-case letters, digits and hyphens, such as ``minilm-384``, with a digest of any options."""
        name = re.sub(r"[^a-z0-9]+", "-", self.spec.lower()).strip("-")
        digest = f"-{blake2b(self.options.encode(), digest_size=4).hexdigest()}" if self.options else ""
        return f"{name}{digest}-{self.dimension}"


class Settings(BaseSettings):
    """All settings. Unknown ``LEXIGRAPH_`` variables are ignored, invalid values rejected."""

    model_config = SettingsConfigDict(env_prefix="LEXIGRAPH_", env_file=".env", extra="ignore", frozen=True)

    # where things are kept; empty connection strings follow from `data`
    data: Path = Field(Path(".lexigraph"), description="folder of the embedded stores")
    graph_store: str = Field("", description="neptune-db://HOST[:PORT][?OPTIONS] or sqlite:///PATH")
    vector_store: str = Field("", description="aoss://https://HOST[?OPTIONS] or sqlite:///PATH")
    document_store: str = Field("", description="s3://BUCKET/PREFIX[?OPTIONS] or file:///PATH")
    registry: str = Field("", description="dynamodb://TABLE[?OPTIONS] or sqlite:///PATH")
    artefact_store: str = Field(
        "", description="s3://BUCKET/PREFIX[?OPTIONS] or file:///PATH: intermediate results of an ingest"
    )
    cache: str = Field(
        "", description="dynamodb://TABLE[?OPTIONS], sqlite:///PATH, or none; several databases may share one"
    )
    tenant: str = Field("default", description="tenant whose data is read and written")

    # models
    embedding_model: str = Field("minilm", description="minilm, bedrock:MODEL_ID or llama-index:DOTTED.CLASS")
    embedding_dimension: int | None = Field(
        None, ge=8, le=16_000, description="vector size; required for models that have no known dimension"
    )
    llm: str = Field("none", description="none, bedrock:MODEL_ID, ollama:MODEL, openai:MODEL or llama-index:DOTTED.CLASS")
    llm_options: dict[str, str | int | float | bool] = Field(
        default_factory=dict,
        repr=False,
        description="base_url of an OpenAI-compatible server, extra request fields, or class arguments (JSON)",
    )
    embedding_options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, repr=False, description="arguments of the LlamaIndex embedding class (JSON)"
    )
    rerank_model: str = Field(
        DEFAULT_RERANK_MODEL, description="Bedrock model id or cross-encoder name; none disables reranking by Bedrock"
    )
    region: str | None = Field(None, description="AWS region of Bedrock; default: that of the AWS configuration")
    answer_max_tokens: int = Field(1024, ge=1, le=64_000, description="maximum tokens of an answer")
    llm_window: int = Field(
        0, ge=0, le=10_000_000, description="context window of the LLM in tokens; 0: 4,096 for Ollama, 32,768 for others"
    )
    extract_max_tokens: int = Field(4096, ge=64, le=64_000, description="maximum tokens of an extraction reply")
    extract_concurrency: int = Field(4, ge=1, le=64, description="concurrent LLM calls during extraction")
    model_timeout: float = Field(60.0, gt=0, le=900, description="timeout of a model call, in seconds")
    model_attempts: int = Field(6, ge=1, le=20, description="attempts of a throttled model call")
    threads: int = Field(0, ge=0, le=64, description="cores for local models; 0: all")

    # ingestion
    extractor: Literal["auto", "local", "llm"] = Field("auto", description="auto: llm if LEXIGRAPH_LLM is set, else local")
    extraction_file: Path | None = Field(
        None, description="YAML file with classes, relations, instructions and examples for LLM extraction"
    )
    propositions: bool = Field(False, description="LLM extraction: split the text into propositions first")
    chunk_tokens: int = Field(256, ge=32, le=2_048, description="maximum tokens of a chunk")
    chunk_overlap: int = Field(25, ge=0, le=512, description="tokens before a chunk that its extractor also sees")
    max_file_bytes: int = Field(100_000_000, ge=1, description="maximum file size, in bytes")
    max_text_chars: int = Field(20_000_000, ge=1, description="maximum length of a document's parsed text, in characters")
    max_parts: int = Field(
        750_000,
        ge=1,
        description="maximum lines, rows or sentences of a document (tags: three times, cells: ten times as many)",
    )
    max_read_seconds: float = Field(300.0, gt=0, le=86_400, description="processor time limit for reading one file")
    max_pages: int = Field(5_000, ge=1, description="maximum pages of a PDF or epub, or slides of a pptx or odp")
    max_archive_bytes: int = Field(500_000_000, ge=1, description="maximum unpacked size of an Office file, epub or .gz")
    max_archive_ratio: int = Field(200, ge=2, description="maximum compression ratio of an Office file, epub or .gz")
    relations: bool = Field(True, description="have the LLM, if set, relate neighbouring chunks")
    relation_window: int = Field(2, ge=1, le=10, description="following chunks to which a chunk may be related")
    relation_truncate: int = Field(
        400, ge=50, le=10_000, description="characters of each chunk shown to the model that relates chunks"
    )
    relation_temperature: float = Field(0.0, ge=0, le=2, description="temperature of the model that relates chunks")
    entity_min_length: int = Field(2, ge=1, le=50, description="minimum length of entity names that relate chunks")
    cooccur_min_count: int = Field(
        2, ge=1, le=50, description="chunks in which two entities must occur together to be related"
    )
    synonyms: Path | None = Field(None, description="file with lines 'name = other name, other name'")
    hash_incremental: bool = Field(True, description="incremental ingests skip content whose hash has not changed")
    entity_normalize: bool = Field(True, description="merge entity names that a text or the synonyms equate")
    batch_documents: int = Field(64, ge=1, le=1_000, description="documents written per batch")

    # the HTTP API
    api_auth: Literal["key", "open", "gateway", "adapter"] = Field(
        "key", description="key; open: no key, on loopback only; gateway or adapter: trust API Gateway's authorizer"
    )
    api_rate: int = Field(600, ge=0, le=1_000_000, description="requests per minute and key; 0: unlimited")
    api_deadline: float = Field(60.0, gt=0, le=900, description="seconds after which a request is answered with 503")
    api_connections: int = Field(1_000, ge=1, le=100_000, description="maximum connections of a server process")
    api_connections_each: int = Field(
        250, ge=0, le=100_000, description="maximum connections per client address; 0: unlimited, for use behind a proxy"
    )
    api_follow: float = Field(0.0, ge=0, le=900, description="seconds that /ingest/stream follows a job; 0: until it ends")
    ingest_in: Literal["process", "thread"] = Field("process", description="where the server runs ingests")
    ingest_jobs: int = Field(2, ge=1, le=16, description="tenants whose ingests the server runs at the same time")
    queue_jobs: int = Field(100, ge=1, le=100_000, description="maximum queued ingests per tenant")
    queue_bytes: int = Field(500_000_000, ge=1, description="maximum bytes of queued uploads per tenant")
    ingest_roots: dict[str, Path] = Field(
        default_factory=dict, description="folder from which /ingest may read files, by tenant (JSON)"
    )

    # traces
    telemetry: Literal["off", "otlp", "console", "xray"] = Field(
        "off", description="OpenTelemetry traces: otlp (OTEL_EXPORTER_OTLP_ENDPOINT), console, or xray on Lambda"
    )
    telemetry_content: bool = Field(False, description="record questions, prompts and answers in traces")
    telemetry_tenant: bool = Field(False, description="record names of tenants in traces")

    # on AWS
    inbox: str = Field("", description="s3://BUCKET[/PREFIX][?OPTIONS] for files to ingest, named TENANT/NAMESPACE/NAME")
    workflow: str = Field("", description="ARN of the state machine that runs ingests; empty: this process runs them")
    usage_keys: dict[str, str] = Field(
        default_factory=dict, repr=False, description="usage plan key of API Gateway by tenant, '*' for all others (JSON)"
    )

    # asking
    bm25: bool = Field(True, description="use BM25 in hybrid search by default")
    graph_rank: Literal["none", "degree", "pagerank"] = Field("none", description="centrality used by hybrid search")
    reranker: Literal["tfidf", "bedrock", "model", "none"] | None = Field(
        None, description="default reranker; unset: that of each retriever"
    )
    max_question_chars: int = Field(MAX_CHARS, ge=1, le=100_000, description="maximum length of a question, in characters")

    @property
    def model_window(self) -> int:
        """The context window of the language model, in tokens. Ollama silently truncates longer prompts."""
        return self.llm_window or (4_096 if self.llm.startswith("ollama:") else 32_768)

    @cached_property
    def embedding(self) -> EmbeddingModel:
        """The embedding model with its dimension. Raise ``InvalidInput`` if the dimension is unknown."""
        dimension = self.embedding_dimension or KNOWN_DIMENSIONS.get(self.embedding_model)
        if dimension is None:
            raise InvalidInput(
                f"embedding_model {self.embedding_model!r}: dimension not known; set LEXIGRAPH_EMBEDDING_DIMENSION"
            )
        # a key makes no other model, and is to be found in no name
        said = {name: value for name, value in self.embedding_options.items() if name != "api_key"}
        return EmbeddingModel(self.embedding_model, dimension, json.dumps(said, sort_keys=True) if said else "")

    @property
    def uploads(self) -> Path:
        """The folder in which uploads are queued for ingestion."""
        return self.data.expanduser().resolve() / "uploads"

    @property
    def extraction(self) -> Literal["local", "llm"]:
        """The extractor in use, with ``auto`` resolved."""
        if self.extractor == "auto":
            return "local" if self.llm == "none" else "llm"
        return self.extractor

    def _embedded(self, given: str, scheme: str = "sqlite", below: str = "") -> str:
        # like sqlite:///relative and sqlite:////absolute in other tools
        return given or f"{scheme}:///{(self.data.expanduser().resolve() / below).as_posix()}"

    @property
    def artefacts(self) -> str:
        """The connection string of the store for intermediate results of an ingest."""
        return self._embedded(self.artefact_store, "file", "artefacts")

    @property
    def connections(self) -> dict[str, str]:
        """The five connection strings; those not set are derived from ``data``."""
        return {
            "graph": self._embedded(self.graph_store),
            "vector": self._embedded(self.vector_store),
            "documents": self._embedded(self.document_store, "file", "documents"),
            "registry": self._embedded(self.registry),
            "cache": self._embedded(self.cache),
        }

    @property
    def cache_is_own(self) -> bool:
        """Whether cache and registry share a connection. A separate cache may serve several databases."""
        return self.connections["cache"] == self.connections["registry"]


def load_settings(**overrides: object) -> Settings:
    """Load the settings; overrides that are None are ignored. Raise ``InvalidInput`` for the first invalid setting."""
    try:
        return Settings(**{k: v for k, v in overrides.items() if v is not None})  # type: ignore[arg-type]  # checked by pydantic
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        got = "" if name in MAY_HOLD_KEYS else f", got {first['input']!r}"
        raise InvalidInput(f"setting {name} (LEXIGRAPH_{name.upper()}): {first['msg']}{got}") from None
    except SettingsError as error:  # it names the field and where it was read, and repeats no value
        raise InvalidInput(f"settings: {error}; the value must be valid JSON") from None


def cores(threads: int) -> int:
    """Return the number of cores that ``threads`` allows; 0 means all that this process may use."""
    if threads:
        return threads
    # in a container less than the machine has
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
