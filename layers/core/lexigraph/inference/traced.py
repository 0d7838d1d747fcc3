"""Models whose calls are spans, by the GenAI conventions of OpenTelemetry. Made only while telemetry is on."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, TypeVar

from lexigraph import telemetry
from lexigraph.inference.protocols import FloatArray, Prompt
from lexigraph.settings import MODEL_PRICES

M = TypeVar("M")
_PROVIDERS = {"bedrock": "aws.bedrock", "llama-index": "llama_index", "model": "sentence_transformers"}
_HERE = ("lexigraph", "sentence_transformers")  # providers that run in this process


def traced(model: M, spec: str) -> M:
    """Return the model, with its calls as spans while telemetry is on. ``spec`` is ``PROVIDER:MODEL``, or a name of ours."""
    if telemetry.on() and model is not None:
        kind, _, name = spec.partition(":")
        model._described = (_PROVIDERS.get(kind, kind if name else "lexigraph"), name or kind, MODEL_PRICES.get(spec))  # type: ignore[attr-defined]  # for `_span` below
        model.__class__ = _class(type(model))  # type: ignore[arg-type]  # so that whoever asks for the type of a model finds it
    return model


@cache
def _class(kind: type[Any]) -> type[Any]:
    """Return the class whose calls are spans."""
    wrappers: dict[str, Callable[[Any], Any]] = {
        "embed_passages": _embedding,
        "embed_questions": _embedding,
        "complete": _reply,
        "structured": _reply,
        "stream": _stream,
        "score": _score,
    }
    calls = {name: wrap(getattr(kind, name)) for name, wrap in wrappers.items() if hasattr(kind, name)}
    return type(f"Traced{kind.__name__}", (kind,), calls)


def _span(model: Any, operation: str, about: Mapping[str, Any]) -> Any:
    """Return a span of a model call, not begun, and what is to be noted of it."""
    provider, name, price = model._described
    span: Any = telemetry.span(f"{operation} {name}", "internal" if provider in _HERE else "client")
    span.of, span.price = model, price
    named = {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider, "gen_ai.request.model": name}
    return span, {**named, **about}


@contextmanager
def _called(model: Any, operation: str, about: Mapping[str, Any]) -> Iterator[Any]:
    span, told = _span(model, operation, about)
    with span:
        span.set(told)
        yield span


def _going_on(model: Any) -> bool:
    """Return whether the call is part of one that has its span, or none is to be recorded any more."""
    from lexigraph.telemetry.live import inside

    return not telemetry.on() or inside(model)


def _embedding(method: Callable[[Any, Sequence[str]], FloatArray]) -> Any:
    @wraps(method)
    def embed(self: Any, texts: Sequence[str]) -> FloatArray:
        if _going_on(self):
            return method(self, texts)
        about = {"gen_ai.embeddings.dimension.count": self.dimension, "lexigraph.texts": len(texts)}
        with _called(self, "embeddings", about):
            return method(self, texts)

    return embed


def _score(method: Callable[[Any, Sequence[str], Sequence[str]], list[float]]) -> Any:
    @wraps(method)
    def score(self: Any, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        if _going_on(self):
            return method(self, queries, texts)
        with _called(self, "rerank", {"lexigraph.texts": len(texts)}):
            return method(self, queries, texts)

    return score


def _reply(method: Callable[..., Any]) -> Any:
    @wraps(method)
    def reply(self: Any, prompt: Prompt, *args: Any, **options: Any) -> Any:
        if _going_on(self):
            return method(self, prompt, *args, **options)
        output = "text" if method.__name__ == "complete" else "json"
        with _called(self, "chat", {**_asked(prompt), "gen_ai.output.type": output}) as span:
            said = method(self, prompt, *args, **options)
            if telemetry.content():
                span.set(_said(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)))
            return said

    return reply


def _stream(method: Callable[[Any, Prompt], Iterator[str]]) -> Any:
    @wraps(method)
    def stream(self: Any, prompt: Prompt) -> Iterator[str]:
        if _going_on(self):
            yield from method(self, prompt)
            return
        span, about = _span(self, "chat", {**_asked(prompt), "gen_ai.output.type": "text", "gen_ai.request.stream": True})
        said: list[str] | None = [] if telemetry.content() else None

        def pieces() -> Iterator[str]:
            span.set(about)
            for piece in method(self, prompt):
                if said is not None:
                    said.append(piece)
                yield piece
            if said is not None:
                span.set(_said("".join(said)))

        yield from span.around(
            pieces(), lambda seconds: span.set({"gen_ai.response.time_to_first_chunk": round(seconds, 6)})
        )

    return stream


def _asked(prompt: Prompt) -> dict[str, Any]:
    about: dict[str, Any] = {
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.request.temperature": prompt.temperature,
    }
    if telemetry.content():
        turns = (*prompt.history, ("user", prompt.user))
        about["gen_ai.input.messages"] = _json([{"role": role, "parts": [_part(text)]} for role, text in turns])
        about["gen_ai.system_instructions"] = _json([_part(prompt.system)]) if prompt.system else ""
    return about


def _said(text: str) -> dict[str, Any]:
    return {"gen_ai.output.messages": _json([{"role": "assistant", "parts": [_part(text)]}])}


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
