"""A language model that remembers whether it answered when it was asked last: to know without asking, which costs tokens."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lexigraph.inference.protocols import LanguageModel, Prompt
from lexigraph.model.errors import ModelUnavailable


class WatchedModel:
    """Passes every call on; ``answers`` is False from a failure to the next success."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name
        self.answers = True

    def complete(self, prompt: Prompt) -> str:
        """Return the whole reply."""
        with self._watched():
            return self._model.complete(prompt)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Yield the reply in pieces."""
        with self._watched():
            yield from self._model.stream(prompt)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        """Return a reply as JSON data."""
        with self._watched():
            return self._model.structured(prompt, schema, name)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except ModelUnavailable:
            self.answers = False
            raise
        self.answers = True
