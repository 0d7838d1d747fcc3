"""Models of Amazon Bedrock through boto3: Converse and ConverseStream, Titan and Cohere embeddings, Rerank."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexigraph import telemetry
from lexigraph.aws import code_of
from lexigraph.inference.bedrock_client import BedrockClient, Refused
from lexigraph.inference.chat import not_empty, out_of_tokens, parse_json, streamed, turns, with_schema
from lexigraph.inference.line import read_over, still_wanted
from lexigraph.inference.protocols import FloatArray, MalformedReply, Prompt, Standing
from lexigraph.inference.vectors import embed_distinct, unit_rows
from lexigraph.model.batches import batched
from lexigraph.model.errors import InvalidInput, ModelUnavailable

_OUT_OF_TOKENS = ("max_tokens", "model_context_window_exceeded")
_AT_A_TIME = 8
_PROFILE = re.compile(r"[a-z]{2,6}\.[a-z0-9-]+\.")  # us., eu., apac., global. before the maker's name


class BedrockLLM:
    """A chat model of Bedrock. ``maxTokens`` goes with every request: Bedrock reserves it from the quota.

    ``options`` are the model's own request fields (``additionalModelRequestFields``: ``top_k``, ...).
    Where a model refuses a temperature or a forced tool, the request is put in its other form once and remembered.
    """

    def __init__(
        self, model: str, client: BedrockClient, *, name: str = "", options: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name or f"bedrock:{model}"
        self.model = model
        self.options = dict(options or {})
        self._client = client
        self._temperature = True
        self._way = 0

    def complete(self, prompt: Prompt) -> str:
        reply = self._converse(prompt)
        stop = reply["stopReason"]
        text = not_empty(_text(reply), self.name, stop, cut=stop in _OUT_OF_TOKENS)
        if stop in _OUT_OF_TOKENS:
            raise out_of_tokens(self.name, prompt, text)
        return text

    def stream(self, prompt: Prompt) -> Iterator[str]:
        def begin() -> Generator[str, None, None]:
            return self._pieces(self._call("converse_stream", prompt, {})["stream"], prompt)

        with self._client.errors():
            yield from streamed(self.name, begin, self._client.retry)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        """Return the input of a tool that the model is made to call; in words where a model knows no tools."""
        tool = {"name": name, "description": "Give the reply.", "inputSchema": {"json": dict(schema)}}
        # what models understand, from the strictest; None is a prompt that asks for JSON
        ways: tuple[dict[str, Any] | None, ...] = ({"tool": {"name": name}}, {"any": {}}, {"auto": {}}, None)
        while True:
            way = ways[self._way]
            try:
                if way is None:
                    return self.read(self._converse(with_schema(prompt, schema)))
                return self.read(self._converse(prompt, {"tools": [{"toolSpec": tool}], "toolChoice": way}))
            except Refused as error:
                if way is None or not error.mentions("toolchoice", "tool use"):
                    raise
                self._way = len(ways) - 1 if error.mentions("tool use") else ways.index(way) + 1

    def standing(self, seconds: float) -> Standing:
        """Ask for the model, or the inference profile; not known where the role may not, or nothing leads there."""
        profile = "inference-profile/" in self.model or _PROFILE.match(self.model)
        what, name = ("inference_profile", "inferenceProfile") if profile else ("foundation_model", "model")
        try:
            self._client.asking(seconds).send("bedrock", f"get_{what}", {f"{name}Identifier": self.model})
        except Refused:
            return Standing(True, False)
        except Exception as error:  # noqa: BLE001  # botocore's many
            return Standing(True, False) if code_of(error) == "ResourceNotFoundException" else Standing()
        return Standing(True, True)

    def read(self, reply: Mapping[str, Any]) -> Any:
        """Return the JSON data of a response of Converse. Raise ``MalformedReply``."""
        blocks = reply["output"]["message"]["content"]
        given = next((block["toolUse"]["input"] for block in blocks if "toolUse" in block), None)
        if reply["stopReason"] in _OUT_OF_TOKENS:
            text = _text(reply) if given is None else json.dumps(given, ensure_ascii=False)
            raise MalformedReply(f"{self.name}: reply was cut off at the maximum of tokens", text, truncated=True)
        return parse_json(_text(reply), self.name, truncated=False) if given is None else given

    def _converse(self, prompt: Prompt, tools: Mapping[str, Any] | None = None) -> Any:
        reply = self._client.retry(lambda: self._call("converse", prompt, {"toolConfig": tools} if tools else {}))
        _count(reply.get("usage"), reply["stopReason"])
        return reply

    def _call(self, operation: str, prompt: Prompt, extra: Mapping[str, Any]) -> Any:
        request = {"modelId": self.model, **self.body(prompt, temperature=self._temperature), **extra}
        try:
            return self._client.send("bedrock-runtime", operation, request)
        except Refused as error:
            if not (self._temperature and error.mentions("temperature")):
                raise
            self._temperature = False
            return self._call(operation, prompt, extra)

    def _pieces(self, events: Any, prompt: Prompt) -> Generator[str, None, None]:
        spoke, stop = False, ""
        with closing(events), read_over(lambda: events._raw_stream.fileno()):
            for event in events:
                still_wanted()
                if piece := event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
                    spoke = True
                    yield piece
                stop = event.get("messageStop", {}).get("stopReason", stop)
                if "messageStop" in event or "metadata" in event:
                    _count(event.get("metadata", {}).get("usage"), event.get("messageStop", {}).get("stopReason", ""))
        if not stop:
            raise ConnectionResetError("the stream ended before the reply did")
        if spoke and stop in _OUT_OF_TOKENS:
            raise out_of_tokens(self.name, prompt)

    def body(self, prompt: Prompt, *, temperature: bool = True) -> dict[str, Any]:
        """Return what Converse is sent but for the model; ``temperature=False`` for models that refuse one."""
        body: dict[str, Any] = {
            "messages": [{"role": role, "content": [{"text": content}]} for role, content in turns(prompt)],
            "inferenceConfig": {"maxTokens": prompt.max_tokens},
        }
        if prompt.system.strip():
            body["system"] = [{"text": prompt.system}]
        if self.options:
            body["additionalModelRequestFields"] = self.options
        if temperature:
            body["inferenceConfig"]["temperature"] = prompt.temperature
        return body


def _count(used: Mapping[str, int] | None, finish: str) -> None:
    telemetry.usage((used or {}).get("inputTokens"), (used or {}).get("outputTokens"), finish)


def _text(reply: Mapping[str, Any]) -> str:
    return "".join(block.get("text", "") for block in reply["output"]["message"]["content"])


@dataclass(frozen=True, slots=True)
class _Family:
    """How a family of embedding models is asked: texts a call, characters a text, vector sizes, request and reply."""

    batch: int
    max_chars: int
    dimensions: tuple[int, ...]
    request: Callable[[Sequence[str], str, int], dict[str, Any]]
    vectors: Callable[[Any], Any]


def _titan(texts: Sequence[str], _kind: str, dimension: int) -> dict[str, Any]:
    return {"inputText": texts[0], "dimensions": dimension, "normalize": True}


def _cohere_v4(texts: Sequence[str], kind: str, dimension: int) -> dict[str, Any]:
    sizes = {"embedding_types": ["float"], "output_dimension": dimension, "truncate": "RIGHT"}
    return {"texts": list(texts), "input_type": kind, **sizes}


def _cohere_v3(texts: Sequence[str], kind: str, _dimension: int) -> dict[str, Any]:
    return {"texts": list(texts), "input_type": kind, "truncate": "END"}


def _cohere_vectors(reply: Any) -> Any:
    rows = reply["embeddings"]
    return rows["float"] if isinstance(rows, dict) else rows


# By a part of the model id, first match; region prefixes and ARNs keep that part. Titan reads 8,192 tokens and refuses
# more, v3 refuses more than 2,048 characters, v4 cuts by itself.
_FAMILIES = {
    "titan-embed-text-v2": _Family(1, 20_000, (256, 512, 1024), _titan, lambda reply: [reply["embedding"]]),
    "embed-v4": _Family(96, 400_000, (256, 512, 1024, 1536), _cohere_v4, _cohere_vectors),
    "embed-english-v3": _Family(96, 2_048, (1024,), _cohere_v3, _cohere_vectors),
    "embed-multilingual-v3": _Family(96, 2_048, (1024,), _cohere_v3, _cohere_vectors),
}


class BedrockEmbedder:
    """Titan Text Embeddings v2 and Cohere Embed v3 and v4. Eight requests are sent at a time.

    Raise ``InvalidInput`` for another model, or a ``dimension`` that the model does not give.
    """

    def __init__(self, model: str, dimension: int, client: BedrockClient, *, label: str) -> None:
        family = next((family for part, family in _FAMILIES.items() if part in model), None)
        if family is None:
            raise InvalidInput(f"embedding_model bedrock:{model} is unknown: use a model of {', '.join(_FAMILIES)}")
        if dimension not in family.dimensions:
            sizes = ", ".join(map(str, family.dimensions))
            raise InvalidInput(f"embedding_dimension {dimension} is not supported by bedrock:{model}: use {sizes}")
        self.label = label
        self.dimension = dimension
        self.model = model
        self._family = family
        self._client = client

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        return self._embed(texts, "search_document")

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return self._embed(texts, "search_query")

    def _embed(self, texts: Sequence[str], kind: str) -> FloatArray:
        size = self._family.batch

        def embed(distinct: list[str]) -> FloatArray:
            # a blank text is refused by all of them
            asked = [text[: self._family.max_chars] if text.strip() else "-" for text in distinct]
            batches = list(batched(asked, size))
            if len(batches) == 1:
                return self._request(asked, kind)
            with ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="bedrock") as pool:
                return np.concatenate(list(pool.map(telemetry.carried(lambda batch: self._request(batch, kind)), batches)))

        return embed_distinct(texts, self.dimension, embed)

    def _request(self, batch: Sequence[str], kind: str) -> FloatArray:
        body = json.dumps(self._family.request(batch, kind, self.dimension))
        request = {"modelId": self.model, "contentType": "application/json", "accept": "application/json", "body": body}

        def read() -> tuple[bytes, Mapping[str, str]]:
            reply = self._client.send("bedrock-runtime", "invoke_model", request)
            return reply["body"].read(), reply.get("ResponseMetadata", {}).get("HTTPHeaders", {})

        raw, headers = self._client.retry(read)
        if (tokens := headers.get("x-amzn-bedrock-input-token-count", "")).isdigit():
            telemetry.usage(int(tokens))
        try:
            return unit_rows(self._family.vectors(json.loads(raw)), len(batch), self.dimension, f"bedrock:{self.model}")
        except (ValueError, KeyError, TypeError):
            raise ModelUnavailable(f"bedrock:{self.model} replied without embeddings") from None


class BedrockReranker:
    """Bedrock's Rerank: one query, up to 1,000 texts of 32,000 characters a request; scores lie between 0 and 1."""

    name = "bedrock"
    _TEXTS, _CHARS = 1_000, 32_000

    def __init__(self, model: str, client: BedrockClient) -> None:
        self.model = model
        self._client = client

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        scores = [0.0] * len(texts)
        query = "\n".join(filter(str.strip, queries))[: self._CHARS]
        asked = [at for at, text in enumerate(texts) if text.strip()] if query else []
        for part in batched(asked, self._TEXTS):
            for result in self._rank(query, [texts[at][: self._CHARS] for at in part]):
                scores[part[result["index"]]] = float(result["relevanceScore"])
        return scores

    def _rank(self, query: str, texts: Sequence[str]) -> Iterator[Any]:
        request: dict[str, Any] = {
            "queries": [{"type": "TEXT", "textQuery": {"text": query}}],
            "sources": [
                {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}}}
                for text in texts
            ],
            "rerankingConfiguration": {
                "type": "BEDROCK_RERANKING_MODEL",
                "bedrockRerankingConfiguration": {
                    "numberOfResults": len(texts),
                    "modelConfiguration": {"modelArn": self._client.model_arn(self.model)},
                },
            },
        }
        while True:
            page = self._client.ask("bedrock-agent-runtime", "rerank", request)
            yield from page["results"]
            if not page.get("nextToken"):
                return
            request = request | {"nextToken": page["nextToken"]}
