"""Extraction by a language model: one call a chunk, structured output, every item checked, one repair."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt
from lexigraph.ingestion.extract.asking import alive, asked, in_order
from lexigraph.ingestion.extract.blocks import as_it_stands, says, with_verbatim
from lexigraph.ingestion.extract.prompts import EXTRACT, FINGERPRINT, PROPOSE, REPAIR, fenced
from lexigraph.ingestion.extract.reply import UnusableReply, read_propositions, read_reply
from lexigraph.ingestion.extract.schema import PROPOSITIONS, REPLY
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import Extraction

# to be raised when the same reply would give another extraction than before
VERSION = 2

_logger = logging.getLogger(__name__)


class LLMExtractor:
    """Asks ``model`` once a chunk for topics, statements, facts, entities and aliases; code and tables need no model.

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
        self.concurrency = concurrency
        self.name = f"llm-{VERSION}-{FINGERPRINT}:{model.name}{'+propositions' if propositions else ''}"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order. Raise ``ModelUnavailable`` when the model answers nothing at all."""
        return in_order(self.one, chunks, self.concurrency)

    def prompt(self, chunk: ChunkText, propositions: Sequence[str] = ()) -> Prompt:
        """Return what the model is asked for a chunk; the reply is to be of the shape ``schema.REPLY``."""
        return Prompt(fenced(chunk, "\n".join(propositions)), EXTRACT, max_tokens=self._max_tokens)

    @staticmethod
    def asks(chunk: ChunkText) -> bool:
        """Tell whether the model has to be asked about a chunk: not about code with a line or two around it."""
        return says(chunk)

    @staticmethod
    def read(reply: Any, chunk: ChunkText) -> Extraction:
        """Return what a chunk yields by its reply. Raise ``UnusableReply``."""
        return with_verbatim(read_reply(reply, chunk), chunk)

    def one(self, chunk: ChunkText) -> Extraction:
        """Return what a chunk yields. Raise ``ModelUnavailable`` when the model answers nothing at all."""
        if not self.asks(chunk):
            return as_it_stands(chunk)
        reason = ""
        for _ in range(2):  # a model that answers others was away for a moment, or will not have this chunk
            try:
                return self._extraction(chunk)
            except UnusableReply as error:
                reason = str(error)
                if isinstance(error.__cause__, MalformedReply) and error.__cause__.truncated:
                    reason += ": raise LEXIGRAPH_EXTRACT_MAX_TOKENS or lower LEXIGRAPH_CHUNK_TOKENS"
                break
            except ModelUnavailable as error:
                if not alive(self._model, self._max_tokens):
                    raise
                reason = str(error)
        _logger.info("a chunk could not be extracted by %s", self._model.name)
        return with_verbatim(Extraction(failed=reason), chunk)

    def _extraction(self, chunk: ChunkText) -> Extraction:
        lines, dropped = self._proposed(chunk) if self._propositions else ([], ())
        extraction = asked(
            self._model, self.prompt(chunk, lines), REPLY, "extraction", REPAIR, lambda reply: self.read(reply, chunk)
        )
        return replace(extraction, dropped=(*dropped, *extraction.dropped))

    def _proposed(self, chunk: ChunkText) -> tuple[list[str], tuple[str, ...]]:
        """The propositions of a chunk; the passage itself must do when they cannot be used."""
        prompt = Prompt(fenced(chunk), PROPOSE, max_tokens=self._max_tokens)
        try:
            return asked(self._model, prompt, PROPOSITIONS, "propositions", REPAIR, read_propositions), ()
        except UnusableReply as error:
            return [], (f"propositions: {error}",)
