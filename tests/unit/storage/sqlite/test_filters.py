"""Filters in SQL mean what Filter.matches means."""

import json
import math
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lexigraph.model.filters import Filter, MetadataFilter, MetadataFilters, parse_expression
from lexigraph.storage.sqlite.filters import filter_sql, filterable_json

# few keys and values, so that conditions often meet what is there
KEYS = st.sampled_from(
    [
        "year",
        "a.b",
        "a",
        'a"b',
        "it's",
        "b\\c",
        "ü 東京",
        "\x00",
        "\x01",
        "a\x00b",
        "$",
        "[0]",
        "#",
        "a]",
        "line\nend",
        "?",
    ]
)
TEXTS = st.sampled_from(
    ["", "a", "b", "2024-05", "2024-05-01", "é", "\ue000", "\U0001f600", "a\x00", "a\x00b", "\x01", "1", "true"]
)
NUMBERS = st.sampled_from(
    [0, -0.0, 1, 1.0, 0.1, 0.1 + 0.2, 2**53, 2.0**53, 2**53 + 1, 2**63 - 1, 2.0**63, -1.5, math.inf, -math.inf]
)
VALUES = (
    st.booleans()
    | TEXTS
    | NUMBERS
    | st.text(max_size=3)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.just(math.nan)
)
METADATA = st.dictionaries(KEYS | st.text(max_size=3).filter(str.strip), VALUES, max_size=5)  # no filter has a blank key


@st.composite
def conditions(draw: st.DrawFn) -> MetadataFilter:
    operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not_in"]))
    many = operator in ("in", "not_in")
    return MetadataFilter(draw(KEYS), operator, tuple(draw(st.lists(VALUES, max_size=4))) if many else draw(VALUES))  # type: ignore[arg-type]


FILTERS: st.SearchStrategy[Filter] = st.recursive(
    conditions(),
    lambda inner: st.builds(
        MetadataFilters, st.lists(inner, min_size=1, max_size=3).map(tuple), st.sampled_from(["and", "or", "not"])
    ),
    max_leaves=6,
)


def passes(filters: Filter, stored: str) -> bool:
    condition, parameters = filter_sql(filters, "m.metadata")
    with closing(sqlite3.connect(":memory:")) as connection:
        query = f"SELECT {condition} FROM (SELECT ? AS metadata) AS m"
        found = connection.execute(query, (*parameters, stored)).fetchone()[0]
    assert found in (0, 1)
    return bool(found)


@pytest.mark.slow
@settings(max_examples=250)
@given(METADATA, FILTERS)
@example({"n": 0.1 + 0.2}, MetadataFilter("n", "==", 0.3))
@example({"on": True}, MetadataFilter("on", "<", True))
@example({"on": 1}, MetadataFilter("on", "in", (True, "1")))
def test_sql_passes_exactly_the_metadata_that_the_filter_matches(metadata: dict[str, Any], filters: Filter) -> None:
    assert passes(filters, filterable_json(metadata)) == filters.matches(metadata)


@settings(max_examples=100)
@given(METADATA.filter(bool), st.data())
def test_what_a_source_has_is_found_by_its_own_value(metadata: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(metadata)))
    value = metadata[key]
    assert passes(MetadataFilter(key, "==", value), filterable_json(metadata)) == (value == value)
    assert passes(MetadataFilter(key, "in", (value, "other")), filterable_json(metadata)) == (value == value)


@pytest.mark.parametrize("huge", [2**64, -(2**70), 10**400])
def test_a_number_too_big_for_sqlite_is_compared_as_floating_point(huge: int) -> None:
    assert passes(MetadataFilter("n", "==", huge), filterable_json({"n": huge}))
    assert passes(MetadataFilter("n", ">" if huge > 0 else "<", 5), filterable_json({"n": huge}))
    assert not passes(MetadataFilter("n", "in", (1, 2)), filterable_json({"n": huge}))


def test_text_that_is_no_unicode_can_be_stored_and_asked_for() -> None:
    assert passes(MetadataFilter("uri", "==", "file-\udc80"), filterable_json({"uri": "file-\udc80"}))


def test_ordinary_metadata_is_stored_as_ordinary_json() -> None:
    metadata = {"title": 'A "quoted" Übersicht', "year": 2024, "share": 0.5, "draft": False}
    assert json.loads(filterable_json(metadata)) == metadata


def test_quotes_in_keys_and_values_do_not_leave_their_place() -> None:
    stored = filterable_json({"a": "x"})
    assert not passes(MetadataFilter("a' OR '1'='1", "==", "x"), stored)
    assert not passes(MetadataFilter("a", "==", "' OR 1=1 --"), stored)
    assert passes(parse_expression("a == x"), stored)
