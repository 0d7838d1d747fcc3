"""Models as a server uses them: what they say of a failure is logged, and callers are told of it in general words.

A language model is remembered to have answered or not when it was asked last: to know without asking, which costs tokens.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lexigraph.inference.line import hung_up
from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt
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
        raise ModelUnavailable(in_general(error)) from error


class WatchedModel:
    """Passes every call on; ``answers`` is False from a failure to the next success."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name
        self.answers = True

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
        except ModelUnavailable:
            self.answers = self.answers and hung_up()
            raise
        self.answers = True
