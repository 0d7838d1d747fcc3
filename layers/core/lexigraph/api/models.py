"""Models as a server uses them: what they say of a failure is logged, and callers are told of it in general words.

A language model is remembered to have answered or not when it was asked last: to know without asking, which costs tokens.
So are the vectors of questions.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lexigraph.api.caches import Memory
from lexigraph.inference.line import hung_up
from lexigraph.inference.protocols import (
    Embedder,
    FloatArray,
    LanguageModel,
    Listed,
    MalformedReply,
    Prompt,
    ReplyCut,
    Standing,
)
from lexigraph.model.errors import ModelUnavailable, in_general

logger = logging.getLogger(__name__)


@contextmanager
def in_general_words() -> Iterator[None]:
    """Tell callers of a model that fails nothing of this machine: warnings repeat what it says."""
    try:
        yield
    except MalformedReply:  # tells of no more than the model's name
        raise
    except ModelUnavailable as error:
        if hung_up():  # whatever it then says
            raise
        logger.warning("%s", error)
        told = in_general(error)
        raise ModelUnavailable(told, public=told) from error


class WatchedModel:
    """Passes every call on; ``answered`` tells whether the last one was, None before the first."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name
        self.answered: bool | None = None

    def standing(self, seconds: float) -> Standing:
        """Return what its service tells; nothing where there is none that could."""
        return self._model.standing(seconds) if isinstance(self._model, Listed) else Standing()

    def complete(self, prompt: Prompt) -> str:
        with self._watched():
            return self._model.complete(prompt)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        with self._watched():
            yield from self._model.stream(prompt)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        with self._watched():
            return self._model.structured(prompt, schema, name)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            with in_general_words():
                yield
        except ReplyCut:
            self.answered = True
            raise
        except ModelUnavailable:
            if not hung_up():
                self.answered = False
            raise
        self.answered = True


class RememberingEmbedder:
    """An embedder for one tenant that does not embed the same question twice.

    ``cleared`` is asked before a vector is used again: True when it was to be forgotten.
    """

    def __init__(self, embedder: Embedder, tenant: str, known: Memory[FloatArray], cleared: Callable[[], bool]) -> None:
        self._embedder, self._tenant, self._known, self._cleared = embedder, tenant, known, cleared
        self.label, self.dimension = embedder.label, embedder.dimension

    def embed_passages(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of passages, which are not remembered."""
        return self._embedder.embed_passages(texts)

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of questions."""
        found: dict[str, Any] = {text: self._known.get((self._tenant, self.label, text)) for text in texts}
        if any(vector is not None for vector in found.values()) and self._cleared():
            found = dict.fromkeys(found)
        if new := [text for text, vector in found.items() if vector is None]:
            with in_general_words():
                vectors = self._embedder.embed_questions(new)
            for text, vector in zip(new, vectors, strict=True):
                self._known.put((self._tenant, self.label, text), vector)
                found[text] = vector
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)
