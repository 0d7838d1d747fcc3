"""Extractors: what topics, statements, facts and entities a chunk holds."""

from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.protocols import Extractor
from lexigraph.model.errors import InvalidInput

if TYPE_CHECKING:
    from lexigraph.inference.protocols import LanguageModel
    from lexigraph.settings import Settings

__all__ = ["Extractor", "make_extractor"]


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
        max_tokens=settings.extract_max_tokens,
        propositions=settings.propositions,
        concurrency=settings.extract_concurrency,
    )
