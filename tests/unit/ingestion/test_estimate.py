"""What an ingest would take is counted over the documents, without a model."""

import json
from pathlib import Path

import pytest

from lexigraph.inference.factory import make_llm
from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.estimate import estimate
from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.extract.schema import REPLY
from lexigraph.ingestion.load import FileItem, load, scan
from lexigraph.model.document import LoadedDocument
from lexigraph.model.tokens import count_tokens
from lexigraph.settings import Settings
from tests.files import section
from tests.laptop import write_pages

PARTS = "\n".join(section(f"Part {n}", "The mill of Brackford grinds the corn of the valley.") for n in range(4))


@pytest.fixture
def items(tmp_path: Path) -> list[FileItem]:
    return [item for item in scan([write_pages(tmp_path, {"Mill": PARTS})]) if isinstance(item, FileItem)]


def test_without_a_language_model_nothing_is_paid(items: list[FileItem]) -> None:
    found = estimate(items, Settings())
    assert (found.documents, found.chunks, found.model_calls, found.usd) == (1, 4, 0, 0.0)


def test_a_model_is_asked_once_a_chunk_and_once_a_pair_of_neighbours(items: list[FileItem]) -> None:
    with_pairs = estimate(items, Settings(llm="openai:m", relation_window=2))
    without = estimate(items, Settings(llm="openai:m", relations=False))
    assert (without.model_calls, with_pairs.model_calls) == (4, 4 + 3 + 2)
    assert with_pairs.input_tokens > without.input_tokens
    assert with_pairs.minutes > without.minutes


def test_code_and_tables_are_asked_of_no_model(tmp_path: Path) -> None:
    code = "\n".join(f"quill add note-{n} --colour red --after note-{n - 1}" for n in range(60))
    pages = {"Code": f"```\n{code}\n```", "Mill": PARTS}
    given = [i for i in scan([write_pages(tmp_path, pages)]) if isinstance(i, FileItem)]
    found = estimate(given, Settings(llm="openai:m", relations=False))
    assert found.chunks > found.model_calls == 4


def test_what_is_counted_is_what_is_sent(items: list[FileItem]) -> None:
    settings = Settings(llm="openai:m", relations=False)
    (document,) = [found for item in items for found in load(item, settings) if isinstance(found, LoadedDocument)]
    prompts = [LLMExtractor(make_llm(settings)).prompt(c) for c in chunk(document)]
    sent = sum(count_tokens(p.system) + count_tokens(json.dumps(REPLY)) + count_tokens(p.user) for p in prompts)
    assert estimate(items, settings).input_tokens == sent
    twice = estimate(items, Settings(llm="openai:m", relations=False, propositions=True))
    assert twice.model_calls == 2 * len(prompts)
    assert twice.input_tokens > 1.3 * sent


def test_money_needs_the_prices_of_the_model(items: list[FileItem]) -> None:
    settings = Settings(llm="openai:m")
    assert estimate(items, settings).usd is None
    paid = estimate(items, settings, usd_per_million_input=1_000_000, usd_per_million_output=0)
    assert paid.usd == paid.input_tokens
