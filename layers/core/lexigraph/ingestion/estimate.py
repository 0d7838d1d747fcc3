"""What an ingest would take: tokens, money and minutes, found by reading and cutting the documents, without any model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.extract import guide_of
from lexigraph.ingestion.extract.blocks import says
from lexigraph.ingestion.extract.guide import asked_with
from lexigraph.ingestion.extract.prompts import PROPOSE, RELATE, fenced
from lexigraph.ingestion.extract.schema import PROPOSITIONS, RELATIONS
from lexigraph.ingestion.load import FileItem, Rejected, load
from lexigraph.model.tokens import count_tokens
from lexigraph.settings import MODEL_PRICES, PRICES_AS_OF, Settings

FREE = frozenset({"none", "minilm"})

_LOCAL_CHUNKS_A_SECOND = 12.0  # extraction and embedding on two cores: `lexigraph demo`
_CALL_SECONDS = 1.0  # before the first word of a reply
_REPLY_TOKENS_A_SECOND = 100
_REPLY_SHARE = 3.0  # tokens of a reply for each of the passage: statements repeat it, and the rest is names, facts and JSON
_PROPOSITIONS_SHARE = 1.2
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
    notes: tuple[str, ...] = ()


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
    read = _read(items, settings)
    calls, asked, answered = _asked(read, settings)
    embedded = round(read.tokens * (1 + _STATEMENT_SHARE))
    notes = list(read.notes)
    parts = (
        _price_of_model(asked, answered, settings, usd_per_million_input, usd_per_million_output, notes),
        _price_of_embedding(embedded, settings, notes),
    )
    known = [part for part in parts if part is not None]
    waiting = calls * _CALL_SECONDS + answered / _REPLY_TOKENS_A_SECOND
    seconds = waiting / settings.extract_concurrency + read.chunks / _LOCAL_CHUNKS_A_SECOND
    return Estimate(
        files=len(items),
        documents=read.documents,
        characters=read.characters,
        chunks=read.chunks,
        model_calls=calls,
        input_tokens=asked,
        output_tokens=answered,
        embedding_tokens=embedded,
        usd=round(sum(known), 4) if len(known) == len(parts) else None,
        minutes=round(seconds / 60, 2),
        notes=tuple(notes),
    )


@dataclass(slots=True)
class _Read:
    """What is in the files: ``tokens`` are those of all chunks, ``pairs`` those of neighbouring chunks.

    Of the chunks a language model is to extract ``asked`` (others hold only code and tables): ``said`` tokens, ``shown`` as
    so many.
    """

    documents: int = 0
    characters: int = 0
    chunks: int = 0
    tokens: int = 0
    pairs: int = 0
    asked: int = 0
    said: int = 0
    shown: int = 0
    notes: list[str] = field(default_factory=list)


def _read(items: Sequence[FileItem], settings: Settings) -> _Read:
    total = _Read()
    for found in (document for item in items for document in load(item, settings)):
        if isinstance(found, Rejected):
            total.notes.append(f"{Path(found.path).name}: {found.reason}")
            continue
        cut = chunk(found, max_tokens=settings.chunk_tokens, overlap=settings.chunk_overlap)
        total.documents += 1
        total.characters += len(found.text)
        total.chunks += len(cut)
        total.tokens += sum(count_tokens(c.indexed) for c in cut)
        said = [c for c in cut if says(c)]
        total.asked += len(said)
        total.said += sum(count_tokens(c.said) for c in said)
        total.shown += sum(count_tokens(fenced(c)) for c in said)
        total.pairs += sum(max(0, len(cut) - apart) for apart in range(1, settings.relation_window + 1))
    return total


def _asked(read: _Read, settings: Settings) -> tuple[int, int, int]:
    """Return how often a language model would be asked, and the tokens it would read and write."""
    calls = asked = answered = 0
    if settings.extraction == "llm":
        calls, asked, answered = read.asked, _sent(read, *asked_with(guide_of(settings))), round(read.said * _REPLY_SHARE)
        if settings.propositions:  # which are shown with the passage then
            said = round(read.said * _PROPOSITIONS_SHARE)
            calls, asked, answered = 2 * calls, asked + _sent(read, PROPOSE, PROPOSITIONS) + said, answered + said
    if settings.relations and settings.llm != "none":
        shown = _fixed(RELATE, RELATIONS) + 2 * settings.relation_truncate // _CHARS_A_TOKEN
        calls += read.pairs
        asked += read.pairs * shown
        answered += read.pairs * _RELATION_TOKENS
    return calls, asked, answered


def _sent(read: _Read, instructions: str, schema: Mapping[str, Any]) -> int:
    """Tokens of all prompts of a kind: instructions and schema stand in each of them, once."""
    return read.asked * _fixed(instructions, schema) + read.shown


def _fixed(instructions: str, schema: Mapping[str, Any]) -> int:
    return count_tokens(instructions + json.dumps(schema))


def _price_of_model(
    asked: int, answered: int, settings: Settings, per_input: float | None, per_output: float | None, notes: list[str]
) -> float | None:
    """Return dollars, None with a note when the price is not known. The arguments are for a million tokens."""
    if not asked or settings.llm in FREE or settings.llm.startswith("ollama:"):
        return 0.0
    if per_input is None or per_output is None:
        notes.append(f"the price of {settings.llm} is unknown: pass usd_per_million_input and usd_per_million_output")
        return None
    return (asked * per_input + answered * per_output) / 1e6


def _price_of_embedding(tokens: int, settings: Settings, notes: list[str]) -> float | None:
    """Return dollars, None with a note when the price is not known."""
    if settings.embedding_model in FREE:
        return 0.0
    price = MODEL_PRICES.get(settings.embedding_model)
    if price is None:
        notes.append(f"the price of {settings.embedding_model} is unknown")
        return None
    return tokens * price[0] / 1e6
