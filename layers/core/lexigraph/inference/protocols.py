"""Protocols of models. :mod:`lexigraph.inference.factory` chooses implementations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.errors import ModelUnavailable

FloatArray = NDArray[np.float32]
_CHARS_A_TOKEN = 16  # far more than any text has on average


class MalformedReply(ModelUnavailable):
    """A structured reply that is not JSON; ``text`` is the reply, ``truncated`` is set if it ran out of tokens."""

    def __init__(self, message: str, text: str, truncated: bool = False) -> None:
        super().__init__(message)
        self.text = text
        self.truncated = truncated


class ReplyCut(MalformedReply):
    """A reply longer than ``max_tokens`` allows; ``text`` is what was said of one that was not streamed."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message, text, truncated=True)


@runtime_checkable
class Embedder(Protocol):
    """Embeds text. ``label`` names model and dimension (``minilm-384``). Models are loaded on first use.

    Vectors are float32 and L2-normalised. A vector does not depend on the other texts of a call; equal texts are computed
    once. Methods raise ``ModelUnavailable``.
    """

    label: str
    dimension: int

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Return an array of shape ``(len(texts), dimension)``."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Return an array of shape ``(len(texts), dimension)``; some models embed questions and passages differently."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for a language model. ``history`` holds (role, content) pairs, oldest first; role is user or assistant."""

    user: str
    system: str = ""
    history: tuple[tuple[str, str], ...] = ()
    max_tokens: int = 1024
    temperature: float = 0.0

    @property
    def max_chars(self) -> int:
        """An upper bound on the characters of ``max_tokens`` tokens; longer replies are cut off here."""
        return _CHARS_A_TOKEN * self.max_tokens


@runtime_checkable
class LanguageModel(Protocol):
    """A chat model. ``name`` identifies model and settings and is part of cache keys. Methods raise ``ModelUnavailable``.

    Throttled calls are retried with full jitter; ``max_tokens`` is sent with every request.
    """

    name: str

    def complete(self, prompt: Prompt) -> str:
        """Return the whole reply. Raise ``ModelUnavailable``, also for an empty reply; ``ReplyCut`` when tokens ran out."""

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Yield the reply in pieces. Once the first piece has arrived, a broken connection is not retried.

        Raise ``ReplyCut`` behind the last piece when tokens ran out.
        """

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        """Request a reply that follows a JSON schema and return it parsed, but not validated.

        Raise ``MalformedReply`` with the raw text if it is not JSON.
        """


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a model's provider answers, and whether it lists the model; None if unknown."""

    answers: bool | None = None
    listed: bool | None = None


@runtime_checkable
class Listed(Protocol):
    """A language model whose provider lists its models, a request that uses no tokens."""

    def standing(self, seconds: float) -> Standing:
        """Query the provider once, with a timeout of about ``seconds``."""


@runtime_checkable
class Reranker(Protocol):
    """Scores texts against queries; higher is better. Scores are comparable within one call only."""

    name: str

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return one score per text: its relevance to all queries together. Raise ``ModelUnavailable``."""
