"""Extraction by a language model: one call a chunk, structured output, every item checked, one repair."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt
from lexigraph.ingestion.extract.asking import alive, asked, in_order
from lexigraph.ingestion.extract.blocks import as_it_stands, says, with_verbatim
from lexigraph.ingestion.extract.guide import Guide, asked_with
from lexigraph.ingestion.extract.prompts import FINGERPRINT, PROPOSE, REPAIR, fenced
from lexigraph.ingestion.extract.reply import MAX_REPORTED, UnusableReply, read_propositions, read_reply
from lexigraph.ingestion.extract.schema import PROPOSITIONS
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import Extraction

# to be raised when the same reply would give another extraction than before
VERSION = 2

_logger = logging.getLogger(__name__)


class LLMExtractor:
    """Asks ``model`` once a chunk for topics, statements, facts, entities and aliases; code and tables need no model.

    ``guide`` says which classes and relations are wanted. ``propositions`` adds a call before, which rewrites the chunk into
    standalone propositions. ``max_tokens`` bounds every reply; ``concurrency`` is how many chunks are asked for at the same
    time.

    A reply that is no JSON, of the wrong shape or without one good statement is repaired once: the model is shown what was
    wrong. After that, and for a chunk that the model refuses, the extraction is marked ``failed`` and the run goes on.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        max_tokens: int = 4096,
        propositions: bool = False,
        concurrency: int = 4,
        guide: Guide | None = None,
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._propositions = propositions
        self.concurrency = concurrency
        self._guide = guide
        self._system, self.schema = asked_with(guide)
        made_with = f"{'+propositions' if propositions else ''}{f'+guide-{guide.fingerprint}' if guide else ''}"
        self.name = f"llm-{VERSION}-{FINGERPRINT}:{model.name}{made_with}"

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order. Raise ``ModelUnavailable`` when the model answers nothing at all."""
        return in_order(self.one, chunks, self.concurrency)

    def prompt(self, chunk: ChunkText, propositions: Sequence[str] = ()) -> Prompt:
        """Return what the model is asked for a chunk; the reply is to be of the shape ``schema``."""
        return Prompt(fenced(chunk, "\n".join(propositions)), self._system, max_tokens=self._max_tokens)

    def read(self, reply: Any, chunk: ChunkText) -> Extraction:
        """Return what a chunk yields by its reply. Raise ``UnusableReply``."""
        kept, outside = self._guide.within(reply) if self._guide else (reply, ())
        extraction = read_reply(kept, chunk)
        return with_verbatim(replace(extraction, dropped=(*outside[:MAX_REPORTED], *extraction.dropped)), chunk)

    def one(self, chunk: ChunkText) -> Extraction:
        """Return what a chunk yields. Raise ``ModelUnavailable`` when the model answers nothing at all."""
        if not says(chunk):
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
            self._model, self.prompt(chunk, lines), self.schema, "extraction", REPAIR, lambda reply: self.read(reply, chunk)
        )
        return replace(extraction, dropped=(*dropped, *extraction.dropped))

    def _proposed(self, chunk: ChunkText) -> tuple[list[str], tuple[str, ...]]:
        """The propositions of a chunk; the passage itself must do when they cannot be used."""
        prompt = Prompt(fenced(chunk), PROPOSE, max_tokens=self._max_tokens)
        try:
            return asked(self._model, prompt, PROPOSITIONS, "propositions", REPAIR, read_propositions), ()
        except UnusableReply as error:
            return [], (f"propositions: {error}",)
