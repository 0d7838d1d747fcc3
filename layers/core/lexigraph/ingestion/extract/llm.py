"""Extraction by a language model: one call a chunk, structured output, every item checked, one repair."""

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt
from lexigraph.ingestion.extract.prompts import EXTRACT, FINGERPRINT, PROPOSE, REPAIR, fenced
from lexigraph.ingestion.extract.reply import UnusableReply, read_propositions, read_reply
from lexigraph.ingestion.extract.schema import PROPOSITIONS, REPLY
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import Extraction

# to be raised when the same reply would give another extraction than before
VERSION = 1

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)
_SHOWN_CHARS = 8_000  # of a bad reply, shown to the model that is to repair it
_PROBE = "Reply with the word: ready"


def has_words(chunk: ChunkText) -> bool:
    """Whether there is anything in a chunk to ask about."""
    return any(c.isalnum() for c in chunk.text)


class LLMExtractor:
    """Asks ``model`` once a chunk for topics, statements, facts, entities and aliases.

    ``propositions`` adds a call before, which rewrites the chunk into standalone propositions. ``max_tokens`` bounds every
    reply; ``concurrency`` is how many chunks are asked for at the same time.

    A reply that is no JSON, of the wrong shape or without one good statement is repaired once: the model is shown what was
    wrong. After that, and for a chunk that the model refuses, the extraction is marked ``failed`` and the run goes on.
    """

    def __init__(
        self, model: LanguageModel, *, max_tokens: int = 4096, propositions: bool = False, concurrency: int = 4
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._propositions = propositions
        self._concurrency = concurrency
        self.name = f"llm-{VERSION}-{FINGERPRINT}:{model.name}{'+propositions' if propositions else ''}"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order. Raise ``ModelUnavailable`` when the model answers nothing at all."""
        waiting: deque[Future[Extraction]] = deque()
        with ThreadPoolExecutor(self._concurrency, "extract") as pool:
            try:
                for chunk in chunks:
                    waiting.append(pool.submit(self._one, chunk))
                    if len(waiting) >= 2 * self._concurrency:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def prompt(self, chunk: ChunkText, propositions: Sequence[str] = ()) -> Prompt:
        """Return what the model is asked for a chunk; the reply is to be of the shape ``schema.REPLY``."""
        return Prompt(fenced(chunk, "\n".join(propositions)), EXTRACT, max_tokens=self._max_tokens)

    def _one(self, chunk: ChunkText) -> Extraction:
        if not has_words(chunk):
            return Extraction()
        try:
            return self._extraction(chunk)
        except UnusableReply as error:
            return self._failed(str(error))
        except ModelUnavailable as error:
            self._check_alive(error)
        # the model answers others: it was away for a moment, or will not have this chunk
        try:
            return self._extraction(chunk)
        except UnusableReply as error:
            return self._failed(str(error))
        except ModelUnavailable as error:
            self._check_alive(error)
            return self._failed(str(error))

    def _check_alive(self, error: ModelUnavailable) -> None:
        """Raise the error of a chunk again unless the model answers a question that has nothing to do with the chunk."""
        try:
            self._model.complete(Prompt(_PROBE, max_tokens=self._max_tokens))
        except ModelUnavailable:
            raise error from None

    def _failed(self, reason: str) -> Extraction:
        _logger.warning("a chunk could not be extracted by %s", self._model.name)
        return Extraction(failed=reason)

    def _extraction(self, chunk: ChunkText) -> Extraction:
        lines, dropped = self._proposed(chunk) if self._propositions else ([], ())
        prompt = self.prompt(chunk, lines)
        extraction = self._asked(prompt, REPLY, "extraction", lambda reply: read_reply(reply, chunk))
        return replace(extraction, dropped=(*dropped, *extraction.dropped))

    def _proposed(self, chunk: ChunkText) -> tuple[list[str], tuple[str, ...]]:
        """The propositions of a chunk; the passage itself must do when they cannot be used."""
        try:
            return self._asked(
                Prompt(fenced(chunk), PROPOSE, max_tokens=self._max_tokens), PROPOSITIONS, "propositions", read_propositions
            ), ()
        except UnusableReply as error:
            return [], (f"propositions: {error}",)

    def _asked(self, prompt: Prompt, schema: Mapping[str, Any], name: str, read: Callable[[Any], _T]) -> _T:
        """Ask, read the reply, and ask once more when it cannot be used."""
        try:
            reply = self._model.structured(prompt, schema, name)
        except MalformedReply as error:
            said = error.text
            reason = "it was cut off before its end: be briefer." if error.truncated else "it is no JSON."
        else:
            try:
                return read(reply)
            except UnusableReply as error:
                said, reason = json.dumps(reply, ensure_ascii=False), f"{error}."
        shown = said if len(said) <= _SHOWN_CHARS else f"{said[:_SHOWN_CHARS]} ..."
        again = replace(prompt, user=REPAIR.format(reason=reason), history=(("user", prompt.user), ("assistant", shown)))
        try:
            return read(self._model.structured(again, schema, name))
        except MalformedReply as error:
            raise UnusableReply(self._twice(error)) from error

    def _twice(self, error: MalformedReply) -> str:
        if not error.truncated:
            return "the reply was no JSON, also when asked again"
        return (
            f"the reply was cut off after {self._max_tokens:,} tokens, also when asked again: raise "
            "LEXIGRAPH_EXTRACT_MAX_TOKENS or lower LEXIGRAPH_CHUNK_TOKENS"
        )
