"""What an ingest would take: tokens, money and minutes, found by reading and cutting the documents, without any model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lexigraph.ingestion.chunk import chunk, count_tokens
from lexigraph.ingestion.extract.prompts import EXTRACT
from lexigraph.ingestion.extract.relation_prompts import RELATE, RELATIONS
from lexigraph.ingestion.extract.schema import REPLY
from lexigraph.ingestion.load import FileItem, Rejected, load
from lexigraph.settings import Settings

# Dollars a million tokens, us-east-1 list prices; only those seen on a price page.
PRICES_AS_OF = "2026-08"
EMBEDDING_PRICES = {"bedrock:amazon.titan-embed-text-v2:0": 0.02}
FREE = frozenset({"none", "minilm"})

_LOCAL_CHUNKS_A_SECOND = 12.0  # extraction and embedding on two cores: `lexigraph demo`
_LLM_SECONDS_A_CHUNK = 6.0  # a reply of some 600 tokens
_REPLY_SHARE = 1.5  # tokens of a reply for each of the chunk: statements repeat its text, facts name it again
_CHARS_A_TOKEN = 4
_RELATION_TOKENS = 60  # a reply that names one or two relations
_STATEMENT_SHARE = 1.2  # tokens embedded for statements and topics, beside the chunk's own


@dataclass(frozen=True, slots=True)
class Estimate:
    """What taking documents in would need. ``usd`` is None where a price is not known; ``notes`` say why, and more."""

    files: int
    documents: int
    characters: int
    chunks: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    embedding_tokens: int
    usd: float | None
    minutes: float
    prices_as_of: str = PRICES_AS_OF
    notes: tuple[str, ...] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "notes": list(self.notes)}


def estimate(
    items: Sequence[FileItem],
    settings: Settings,
    *,
    usd_per_million_input: float | None = None,
    usd_per_million_output: float | None = None,
) -> Estimate:
    """Return what taking these files in anew would need, with the models of the settings.

    The prices of the language model are the caller's to give. What cannot be read is noted and left out.
    """
    documents = characters = chunks = tokens = pairs = 0
    notes: list[str] = []
    for item in items:
        for found in load(item, settings):
            if isinstance(found, Rejected):
                notes.append(f"{Path(found.path).name}: {found.reason}")
                continue
            cut = chunk(found, max_tokens=settings.chunk_tokens, overlap=settings.chunk_overlap)
            documents += 1
            characters += len(found.text)
            chunks += len(cut)
            pairs += sum(max(0, len(cut) - apart) for apart in range(1, settings.relation_window + 1))
            tokens += sum(count_tokens(c.indexed) for c in cut)
    by_llm = settings.extraction == "llm"
    calls = chunks * (2 if settings.propositions else 1) if by_llm else 0
    asked = calls * count_tokens(EXTRACT + str(REPLY)) + (tokens * (2 if settings.propositions else 1) if by_llm else 0)
    answered = round(tokens * _REPLY_SHARE) if by_llm else 0
    if settings.relations and settings.llm != "none":
        calls += pairs
        asked += pairs * (count_tokens(RELATE + str(RELATIONS)) + 2 * settings.relation_truncate // _CHARS_A_TOKEN)
        answered += pairs * _RELATION_TOKENS
    embedded = round(tokens * (1 + _STATEMENT_SHARE))
    usd = 0.0
    known = True
    if calls and settings.llm not in FREE and not settings.llm.startswith("ollama:"):
        if usd_per_million_input is None or usd_per_million_output is None:
            known = False
            notes.append(f"the price of {settings.llm} is not known here: give usd_per_million_input and _output")
        else:
            usd += (asked * usd_per_million_input + answered * usd_per_million_output) / 1e6
    if settings.embedding_model not in FREE:
        if settings.embedding_model in EMBEDDING_PRICES:
            usd += embedded * EMBEDDING_PRICES[settings.embedding_model] / 1e6
        else:
            known = False
            notes.append(f"the price of {settings.embedding_model} is not known here")
    seconds = calls * _LLM_SECONDS_A_CHUNK / settings.extract_concurrency
    seconds += chunks / _LOCAL_CHUNKS_A_SECOND
    return Estimate(
        files=len(items),
        documents=documents,
        characters=characters,
        chunks=chunks,
        model_calls=calls,
        input_tokens=asked,
        output_tokens=answered,
        embedding_tokens=embedded,
        usd=round(usd, 4) if known else None,
        minutes=round(seconds / 60, 2),
        notes=tuple(notes),
    )
