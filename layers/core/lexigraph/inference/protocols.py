"""What the product asks of models. Implementations are chosen by :mod:`lexigraph.inference.factory`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.errors import ModelUnavailable

FloatArray = NDArray[np.float32]
_CHARS_A_TOKEN = 16  # far more than any text has on average


class MalformedReply(ModelUnavailable):
    """A structured reply that is no JSON; ``text`` is what the model said, ``truncated`` whether it ran out of tokens."""

    def __init__(self, message: str, text: str, truncated: bool = False) -> None:
        super().__init__(message)
        self.text = text
        self.truncated = truncated


class ReplyCut(MalformedReply):
    """A reply that is longer than its maximum of tokens can be; the rest was not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "", truncated=True)


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors. ``label`` names model and dimension (``minilm-384``); creating one loads nothing heavy.

    Vectors are float32 and L2-normalised; a text's vector does not depend on the texts beside it, and equal texts of a call
    are computed once. Raises ``ModelUnavailable``.
    """

    label: str
    dimension: int

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Return shape ``(len(texts), dimension)``."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Return shape ``(len(texts), dimension)``; some models embed questions and passages differently."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is asked. ``history`` holds (role, content) pairs, oldest first, role user or assistant."""

    user: str
    system: str = ""
    history: tuple[tuple[str, str], ...] = ()
    max_tokens: int = 1024
    temperature: float = 0.0

    @property
    def max_chars(self) -> int:
        """More characters than ``max_tokens`` tokens can be: what a model says beyond them is not read."""
        return _CHARS_A_TOKEN * self.max_tokens


@runtime_checkable
class LanguageModel(Protocol):
    """A chat model. ``name`` identifies model and settings (part of cache keys). Raises ``ModelUnavailable``.

    Throttling is retried with full jitter; ``max_tokens`` is sent with every request.
    """

    name: str

    def complete(self, prompt: Prompt) -> str:
        """Return the whole reply. Raise ``ModelUnavailable``, also for an empty one."""

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Yield the reply in pieces as they come. What has begun is not asked for again when the connection breaks."""

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        """Return a reply as JSON data asked for with a JSON schema.

        It is parsed, not validated: the caller checks it against the schema. Raise ``MalformedReply`` with the raw text
        when it is no JSON (truncated, chatty).
        """


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a model's service answers, and whether it has the model; None is not known."""

    answers: bool | None = None
    listed: bool | None = None


@runtime_checkable
class Listed(Protocol):
    """A language model whose service tells which models it has: to ask that costs no tokens."""

    def standing(self, seconds: float) -> Standing:
        """Ask the service once, for no longer than about so many seconds."""


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against queries; higher is better, comparable within one call only."""

    name: str

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return one score a text: its likeness to the queries together. Raise ``ModelUnavailable``."""
