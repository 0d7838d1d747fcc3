"""Filters over the words of OpenSearch records mean what Filter.matches means."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, MetadataFilter, MetadataFilters, parse_expression
from lexigraph.model.graph import Metadata
from lexigraph.storage.opensearch.tags import tag_query, tag_words
from tests.standins.opensearch_index import Index
from tests.unit.storage.sqlite.test_filters import FILTERS, METADATA

BODY = {"mappings": {"properties": {"tags": {"type": "keyword"}}}}


def passes(filters: Filter, *versions: Metadata) -> bool:
    index = Index("records", BODY, "nextgen")
    document = {"tags": tag_words(versions)}
    index.check(document)
    index.show("one", document)
    return bool(index.search({"query": tag_query(filters)})["hits"])


@settings(max_examples=200)
@given(METADATA, FILTERS)
@example({"n": 2**53 + 1}, MetadataFilter("n", ">", 2**53))
@example({"n": 2**63 - 1}, MetadataFilter("n", "<", 2.0**63))
@example({"n": 0.0}, MetadataFilter("n", "==", -0.0))
@example({"n": -math.inf}, MetadataFilter("n", "<", -(10**300)))
@example({"n": math.nan}, MetadataFilter("n", "!=", math.nan))
@example({"n": True}, MetadataFilter("n", ">=", False))
@example({"n": "1"}, MetadataFilter("n", ">", 0))
def test_a_source_passes_as_the_filter_says(metadata: dict[str, Any], filters: Filter) -> None:
    assert passes(filters, metadata) == filters.matches(metadata)


@settings(max_examples=100)
@given(st.lists(METADATA, max_size=4), FILTERS)
@example([{"year": 1990, "lang": "en"}, {"year": 2020, "lang": "de"}], parse_expression("year >= 2000"))
def test_a_source_passes_in_any_of_its_versions_but_not_in_a_mixture(
    versions: list[dict[str, Any]], filters: Filter
) -> None:
    assert passes(filters, *versions) == any(filters.matches(metadata) for metadata in versions)


def test_values_of_two_versions_do_not_pass_together() -> None:
    both = MetadataFilters((parse_expression("year == 1990"), parse_expression("lang == de")))
    assert not passes(both, {"year": 1990, "lang": "en"}, {"year": 2020, "lang": "de"})


def test_long_texts_are_told_apart_and_ordered_by_their_beginnings() -> None:
    long = "b" * 50_000
    assert passes(MetadataFilter("t", "==", long), {"t": long})
    assert not passes(MetadataFilter("t", "==", long + "b"), {"t": long})
    assert passes(MetadataFilter("t", ">", "a" * 50_000), {"t": long})


def test_an_untagged_source_passes_no_filter() -> None:
    assert not passes(parse_expression("year != 1"))


def test_more_versions_than_an_ingest_can_leave_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"5 versions.*at most 4"):
        tag_words([{"n": n} for n in range(5)])
