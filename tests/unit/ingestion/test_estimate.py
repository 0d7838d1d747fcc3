"""What an ingest would take is counted over the documents, without a model."""

from pathlib import Path

import pytest

from lexigraph.ingestion.estimate import estimate
from lexigraph.ingestion.load import FileItem, scan
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


def test_money_needs_the_prices_of_the_model(items: list[FileItem]) -> None:
    settings = Settings(llm="openai:m")
    assert estimate(items, settings).usd is None
    paid = estimate(items, settings, usd_per_million_input=1_000_000, usd_per_million_output=0)
    assert paid.usd == paid.input_tokens
