"""Extractors: what topics, statements, facts and entities a chunk holds."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lexigraph.model.errors import InvalidInput

if TYPE_CHECKING:
    from lexigraph.inference.protocols import LanguageModel
    from lexigraph.ingestion.extract.guide import Guide
    from lexigraph.model.document import ChunkText
    from lexigraph.model.extraction import Extraction
    from lexigraph.settings import Settings

__all__ = ["Extractor", "OneByOne", "make_extractor"]


@runtime_checkable
class Extractor(Protocol):
    """Finds topics, statements, facts and entities in chunks.

    ``name`` is a fingerprint of method, version, model and prompt: part of cache keys and of document fingerprints.
    """

    name: str

    def extract(self, chunks: "Sequence[ChunkText]") -> "Iterator[Extraction]":
        """Yield one extraction a chunk, in order; what a chunk yields does not depend on the chunks beside it.

        One bad chunk does not end the run: it yields ``Extraction(failed=...)``. Raise ``ModelUnavailable`` when the model
        cannot be loaded or reached; what was yielded before stays valid.
        """


@runtime_checkable
class OneByOne(Extractor, Protocol):
    """An extractor that takes long over a chunk, and may be paid for it: each result is kept as soon as it is there."""

    concurrency: int

    def one(self, chunk: "ChunkText") -> "Extraction":
        """Return what a chunk yields; at most ``concurrency`` are asked for at the same time. Raise as ``extract``."""


def guide_of(settings: "Settings") -> "Guide | None":
    """Return what the settings' extraction file asks for, None without one. Raise ``Misconfigured`` for a wrong file."""
    if settings.extraction_file is None:
        return None
    from lexigraph.ingestion.extract.guide import read_guide

    return read_guide(settings.extraction_file)


def make_extractor(settings: "Settings", llm: "LanguageModel | None" = None) -> Extractor:
    """Return the extractor that the settings ask for; nothing heavy is loaded before its first chunk.

    Raise ``InvalidInput`` when it is to ask a language model and ``llm`` is None.
    """
    if settings.extraction == "local":
        from lexigraph.ingestion.extract.local import LocalExtractor

        return LocalExtractor()
    if llm is None:
        raise InvalidInput("extractor 'llm' needs a language model: set LEXIGRAPH_LLM, or LEXIGRAPH_EXTRACTOR=local")
    from lexigraph.ingestion.extract.llm import LLMExtractor

    return LLMExtractor(
        llm,
        guide=guide_of(settings),
        max_tokens=settings.extract_max_tokens,
        propositions=settings.propositions,
        concurrency=settings.extract_concurrency,
    )
