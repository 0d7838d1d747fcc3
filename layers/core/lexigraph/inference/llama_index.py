"""Any language or embedding model of LlamaIndex, by its class or as an object, behind our protocols."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from lexigraph.aws import status_of
from lexigraph.inference.chat import closed, not_empty, parse_json, streamed, turns, with_schema
from lexigraph.inference.lazy import Lazy
from lexigraph.inference.line import still_wanted
from lexigraph.inference.protocols import FloatArray, Prompt
from lexigraph.inference.vectors import embed_distinct, unit_rows
from lexigraph.model.errors import InvalidInput, LexigraphError, ModelUnavailable
from lexigraph.model.secrets import SECRET_NAME
from lexigraph.retry import Retry

T = TypeVar("T")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class LlamaIndexLLM:
    """A LlamaIndex ``LLM``, or one of :func:`of_class`.

    Structured replies are asked for in words, which every model of LlamaIndex understands. The prompt's maximum of tokens
    and temperature are set on a copy where the class has such fields, otherwise the maximum is passed with the call;
    ``pinned`` names fields that keep their own value.
    """

    def __init__(self, llm: Any, *, name: str = "", pinned: Sequence[str] = (), retry: Retry | None = None) -> None:
        self.name = name or f"llama-index:{type(llm).__name__}"
        self._llm = llm if isinstance(llm, Lazy) else Lazy(lambda: llm)
        self._pinned = frozenset(pinned)
        self._retry = retry or Retry()
        self._copies: dict[tuple[tuple[str, Any], ...], Any] = {}

    def complete(self, prompt: Prompt) -> str:
        return not_empty(self._reply(prompt), self.name)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        def begin() -> Generator[str, None, None]:
            llm, extra = self._configured(prompt)
            return _deltas(llm.stream_chat(_messages(prompt), **extra))

        with _errors(self.name):
            yield from streamed(self.name, begin, self._try)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:  # noqa: ARG002
        """Return JSON asked for in the system prompt. LlamaIndex does not say why a model stopped: a guess is made."""
        return parse_json(self._reply(with_schema(prompt, schema)), self.name)

    def _reply(self, prompt: Prompt) -> str:
        def asked() -> str:
            llm, extra = self._configured(prompt)
            return llm.chat(_messages(prompt), **extra).message.content or ""

        return self._try(asked)

    def _try(self, action: Callable[[], T]) -> T:
        with _errors(self.name):
            return self._retry.call(action, _wait, self.name)

    def _configured(self, prompt: Prompt) -> tuple[Any, dict[str, Any]]:
        llm = self._llm()
        fields = getattr(type(llm), "model_fields", {})
        wanted = {"max_tokens": prompt.max_tokens, "temperature": prompt.temperature}
        update = {field: value for field, value in wanted.items() if field in fields and field not in self._pinned}
        extra = {} if "max_tokens" in fields else {"max_tokens": prompt.max_tokens}
        if not update:
            return llm, extra
        # kept, so that a copy's client and its connections are used again
        key = tuple(update.items())
        if key not in self._copies:
            self._copies[key] = llm.model_copy(update=update)
        return self._copies[key], extra


class LlamaIndexEmbedder:
    """A LlamaIndex ``BaseEmbedding``, or one of :func:`of_class`; vectors are normalised. ``label`` names vector indexes."""

    def __init__(self, embed_model: Any, *, label: str, dimension: int, retry: Retry | None = None) -> None:
        self.label = label
        self.dimension = dimension
        self._model = embed_model if isinstance(embed_model, Lazy) else Lazy(lambda: embed_model)
        self._retry = retry or Retry()

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        return self._embed(texts, lambda model, distinct: model.get_text_embedding_batch(distinct))

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        return self._embed(texts, lambda model, distinct: [model.get_query_embedding(text) for text in distinct])

    def _embed(self, texts: Sequence[str], embed: Callable[[Any, list[str]], Any]) -> FloatArray:
        def asked(distinct: list[str]) -> FloatArray:
            with _errors(self.label):
                rows = self._retry.call(lambda: embed(self._model(), distinct), _wait, self.label)
            return unit_rows(rows, len(distinct), self.dimension, self.label)

        return embed_distinct(texts, self.dimension, asked)


def _deltas(replies: Iterable[Any]) -> Generator[str, None, None]:
    with closed(replies):
        for reply in replies:
            still_wanted()
            if reply.delta:
                yield reply.delta


def _messages(prompt: Prompt) -> list[Any]:
    from llama_index.core.llms import ChatMessage

    system = [("system", prompt.system)] if prompt.system.strip() else []
    return [ChatMessage(role=role, content=content) for role, content in (*system, *turns(prompt))]


def of_class(dotted: str, options: Mapping[str, Any], setting: str) -> Lazy[Any]:
    """Return the object of a class such as ``llama_index.llms.openai.OpenAI``, made with ``options`` at the first use.

    ``setting`` is where the options come from. Raise ``InvalidInput`` when ``dotted`` is no dotted name. What is no class of
    models is not called: settings may come from a file in the folder where a command happens to run.
    """
    module, _, name = dotted.rpartition(".")
    if not all(part.isidentifier() for part in dotted.split(".")) or not module:
        raise InvalidInput(f"llama-index:{dotted} is not a dotted class name such as llama_index.llms.openai.OpenAI")

    def make() -> Any:
        try:
            made = getattr(import_module(module), name)
            from llama_index.core.base.embeddings.base import BaseEmbedding
            from llama_index.core.base.llms.base import BaseLLM
        except ImportError as error:
            package = "-".join(module.split(".")[:3]).replace("_", "-")
            extra = '"lexigraph[llama-index]"' if package.startswith("llama-index-core") else package
            raise ModelUnavailable(f"llama-index:{dotted} cannot be imported ({error}); run: pip install {extra}") from error
        except AttributeError:
            raise ModelUnavailable(f"llama-index:{dotted}: {module} has no class {name}") from None
        if not (isinstance(made, type) and issubclass(made, (BaseLLM, BaseEmbedding))):
            raise ModelUnavailable(f"llama-index:{dotted} is no LLM or embedding class of LlamaIndex")
        try:
            return made(**options)
        except Exception as error:  # noqa: BLE001  # a class raises what it likes, and what it repeats may be a key
            keys = ", ".join(options) or "none given"
            raise ModelUnavailable(f"llama-index:{dotted}: {_told(error, options)}; check {setting} ({keys})") from None

    return Lazy(make)


@contextmanager
def _errors(name: str) -> Iterator[None]:
    # every integration raises its own errors: all of them mean that the model gave no answer
    try:
        yield
    except LexigraphError:
        raise
    except ImportError as error:
        raise ModelUnavailable(f'{name}: {error}; run: pip install "lexigraph[llama-index]"') from error
    except Exception as error:
        # its words may repeat the prompt, and what is raised is logged
        raise ModelUnavailable(f"{name}: {_kind(error)}") from error


def _wait(error: Exception) -> float | None:
    if isinstance(error, LexigraphError):
        return None
    status = _status(error)
    busy = status is not None and (status in (408, 429) or status >= 500)
    return 0.0 if busy or isinstance(error, (ConnectionError, TimeoutError)) else None


def _status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None) or status_of(error)
    return status if status and isinstance(status, int) else None


def _kind(error: Exception) -> str:
    status, code = _status(error), getattr(error, "code", None)
    told = [f"HTTP {status}"] * (status is not None)
    if isinstance(code, str) and _CODE.fullmatch(code):
        told.append(code)
    return type(error).__name__ + (f" ({', '.join(told)})" if told else "")


def _told(error: Exception, options: Mapping[str, Any]) -> str:
    """Return what a class says of the options it was given, without any that is a secret."""
    from pydantic import ValidationError

    said = f"{type(error).__name__}: {error}"
    if isinstance(error, ValidationError):  # which repeats all that was given
        found = error.errors(include_input=False, include_context=False, include_url=False)
        said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
    for name, value in options.items():
        if isinstance(value, str) and value and SECRET_NAME.search(name):
            said = said.replace(value, "***")
    return " ".join(said.split())[:300]
