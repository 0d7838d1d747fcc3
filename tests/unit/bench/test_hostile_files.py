"""Files that are made to fill the memory: what they are, and what is told of each."""

import pytest

from bench.hostile_files import MAKERS, rows
from lexigraph.ingestion.load import known_type


@pytest.mark.parametrize("name", MAKERS)
def test_each_is_of_a_type_that_is_read_and_of_the_size_that_was_asked_for(name: str) -> None:
    assert known_type(f"a.{name.partition(' ')[0]}")
    least = 1_000_000 if name in ("csv long header", "pdf pages") else 100_000  # what is hostile about them
    assert 100 < len(MAKERS[name](20_000)) < least


@pytest.mark.slow
def test_a_row_tells_memory_time_and_outcome() -> None:
    read, refused = rows(0.05, ["txt words", "json nesting"])
    assert read["outcome"].startswith("1 documents, ")
    assert refused["outcome"].startswith("0 documents, 0 chunks is nested too deeply")
    assert all(20 < row["mb"] < 400 for row in (read, refused))
