"""Ids, names, filters, questions: the values that everything else stands on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput
from lexigraph.model.extraction import Extraction
from lexigraph.model.filters import MetadataFilter, MetadataFilters, parse_expression, parse_filter
from lexigraph.model.ids import chunk_id, content_hash, entity_id, fact_id, source_id, statement_id, topic_id
from lexigraph.model.normalise import entity_key, text_key, title_names, without_brackets
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from tests.worlds import extraction, said


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Marie  Curie", "marie curie"),
        ("MARIE CURIE.", "marie curie"),
        ("\u201cMarie Curie\u201d,", "marie curie"),
        ("C++", "c++"),
        ("C#", "c#"),
        (".NET", ".net"),
        ("AT&T", "at&t"),
        ("Smith & Sons", "smith sons"),
        ("O\u2019Brien", "o'brien"),
        ("St. Louis-based", "st louis-based"),
        ("\uff21\uff37\uff33", "aws"),
        ("snake_case", "snake case"),
        ("---", ""),
        ("", ""),
        ("Zürich", "zürich"),
        ("東京", "東京"),
    ],
)
def test_a_name_is_compared_by_its_key(name: str, key: str) -> None:
    assert entity_key(name) == key


@given(st.text(max_size=60))
def test_a_key_is_its_own_key(name: str) -> None:
    assert entity_key(entity_key(name)) == entity_key(name)
    assert text_key(text_key(name)) == text_key(name)


def test_c_and_its_relatives_are_three_entities() -> None:
    assert len({entity_id("a", name) for name in ("C", "C++", "C#", "c")}) == 3


def test_ids_are_what_they_were_yesterday() -> None:
    assert source_id("default", "default", "file:///a.md") == "source:ce407b093224938ceb66fc83ed5af591"
    assert entity_id("default", "Amazon Neptune") == "entity:6cad5fc03e00ce5cdebfa6510cf85537"


def test_ids_keep_tenants_kinds_and_parts_apart() -> None:
    ids = [
        source_id("a", "n", "u"),
        source_id("b", "n", "u"),
        source_id("a", "nu", ""),
        source_id("a", "", "nu"),
        topic_id("a", "n", "u"),
        statement_id("a", "n", "u"),
        fact_id("a", "n", "u", ""),
        chunk_id("a", "n", "u", 0, ""),
        chunk_id("a", "n", "u", 1, ""),
        chunk_id("a", "n", "u", 0, "x"),
    ]
    assert len(set(ids)) == len(ids)
    assert content_hash("ab", "c") != content_hash("a", "bc")


def test_topics_and_statements_are_compared_by_their_words() -> None:
    assert topic_id("a", "s", "Graph  Databases") == topic_id("a", "s", "Graph Databases")
    assert statement_id("a", "t", "It Runs") != statement_id("a", "t", "it runs")
    assert statement_id("a", "t", "It  runs ") == statement_id("a", "t", "It runs")


def test_code_and_tables_are_compared_line_by_line_and_are_no_prose() -> None:
    flat, deep = "if x:\n  y()\nz()", "if x:\n  y()\n  z()"
    assert statement_id("a", "t", flat, "code") != statement_id("a", "t", deep, "code")
    assert statement_id("a", "t", f"\n{flat}  \n\n", "code") == statement_id("a", "t", flat, "code")
    assert len({statement_id("a", "t", "x | y", kind) for kind in ("prose", "code", "table")}) == 3


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must contain a letter or digit"):
        entity_id("a", "!?")


@pytest.mark.parametrize(
    ("title", "bare"), [("Mercury (planet)", "Mercury"), ("Mercury", "Mercury"), ("(x)", "(x)"), ("A (b) c", "A (b) c")]
)
def test_a_qualifier_in_brackets_is_dropped(title: str, bare: str) -> None:
    assert without_brackets(title) == bare


@pytest.mark.parametrize("name", ["default", "a", "team-7.eu_1", "x" * 64])
def test_tenant_names_that_are_allowed(name: str) -> None:
    assert Tenant(name) == name


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a b", "a/b", "..", "x" * 65, "a\n", "ä", "a\x00"])
def test_tenant_names_that_are_not_allowed(name: str) -> None:
    with pytest.raises(InvalidInput, match="tenant"):
        Tenant(name)


def test_a_question_is_checked_at_the_edge() -> None:
    assert Question.of("  what\x00 is\n it ").text == "what is it"
    assert Question.of("Ha\u0308user").text == "Häuser"
    for text in ("", "   ", "?!"):
        with pytest.raises(InvalidInput, match="a letter or digit"):
            Question.of(text)
    with pytest.raises(InvalidInput, match="at most 4,000"):
        Question.of("x" * 100_000)


def test_what_is_indexed_of_a_chunk_holds_title_and_headings() -> None:
    chunk = ChunkText(0, "Guide", ("Guide", "Setup", "Linux"), "Run it.", 0, 7)
    assert chunk.indexed == "Guide\nSetup > Linux\nRun it."
    assert ChunkText(0, "", (), "Run it.", 0, 7).indexed == "Run it."


def test_an_extraction_survives_json() -> None:
    made = extraction("T", [said("A b C.", "A|X", "C", facts=[("A", "b", "C")])], [("AA", "A")])
    assert Extraction.from_json(made.to_json()) == made
    failed = Extraction(failed="no JSON", dropped=("one",))
    assert Extraction.from_json(failed.to_json()) == failed


YEAR = {"year": 2020, "lang": "en", "draft": False, "day": "2024-05-01"}


@pytest.mark.parametrize(
    ("expression", "passes"),
    [
        ("year == 2020", True),
        ("year = 2020.0", True),
        ("year != 2020", False),
        ("year >= 2021", False),
        ("year < 2021", True),
        ("year > en", False),
        ("lang in [de, en]", True),
        ("lang not_in [de, en]", False),
        ("draft == false", True),
        ("draft == 0", False),
        ("missing == 1", False),
        ("missing != 1", True),
        ("missing not_in [1]", True),
        ("day >= 2024-05", True),
        ("day < 2024-05", False),
    ],
)
def test_a_filter_compares_values_of_one_type(expression: str, passes: bool) -> None:
    assert parse_expression(expression).matches(YEAR) is passes


def test_filters_combine() -> None:
    new, english = MetadataFilter("year", ">", 2010), MetadataFilter("lang", "==", "en")
    german = MetadataFilter("lang", "==", "de")
    assert MetadataFilters((new, english)).matches(YEAR)
    assert not MetadataFilters((new, german)).matches(YEAR)
    assert MetadataFilters((new, german), "or").matches(YEAR)
    assert MetadataFilters((german,), "not").matches(YEAR)
    raw = {"condition": "and", "filters": [{"key": "year", "operator": ">", "value": 2010}, {"key": "lang", "value": "en"}]}
    assert parse_filter(raw) == MetadataFilters((new, english))
    assert parse_filter(None) is None


@pytest.mark.parametrize(
    "raw",
    [
        "year > 1",
        {"key": "a"},
        {"key": 1, "value": 1},
        {"key": "a", "operator": "~", "value": 1},
        {"key": "a", "operator": "in", "value": 1},
        {"key": "a", "value": {"b": 1}},
        {"filters": []},
        {"condition": "xor", "filters": [{"key": "a", "value": 1}]},
        {"filters": [{"key": "a", "value": 1}] * 101},
        {"key": "a", "operator": "in", "value": list(range(1_001))},
    ],
)
def test_a_malformed_filter_is_refused_with_a_reason(raw: object) -> None:
    with pytest.raises(InvalidInput, match="filter"):
        parse_filter(raw)


def nested(levels: int) -> tuple[Any, Any]:
    """A filter of so many levels, as plain data and as an object."""
    raw: Any = {"key": "year", "value": 1}
    made: Any = MetadataFilter("year", "==", 1)
    for _ in range(levels - 1):
        raw, made = {"filters": [raw]}, MetadataFilters((made,))
    return raw, made


def test_filters_may_be_sixteen_levels_deep() -> None:
    raw, made = nested(16)
    assert parse_filter(raw) == parse_filter(made) == made
    for deeper in (*nested(17), *nested(90)):
        with pytest.raises(InvalidInput, match="filters: at most 16 levels of nesting"):
            parse_filter(deeper)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"key": "a", "value": 1, "valeu": "hunter2"}, "filters.valeu: unknown field, use one of key, operator, value"),
        ({"filters": [{"key": "a", "value": 1}], "conditoin": "or"}, "filters.conditoin: .* one of condition, filters"),
        ({"filters": [{"key": "a", "value": 1, "filter": []}]}, "filters.filter: unknown field"),
        ({"key": "hunter2" * 40, "value": 1}, "filters.key must be a string of 1 to 200 characters"),
        ({"key": "", "value": 1}, "filters.key must be a string of 1 to 200 characters, not all of them blank"),
        ({"key": " ", "value": "hunter2"}, "filters.key must be a string of 1 to 200 characters, not all of them blank"),
        ({"key": "a", "operator": "hunter2", "value": 1}, "filters.operator must be one of ==, .*, in, not_in"),
        ({"filters": [{"key": "a", "value": 1}], "condition": "hunter2"}, "filters.condition must be one of and, or, not"),
    ],
)
def test_what_is_wrong_in_a_filter_is_named_with_the_limit(raw: object, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refused:
        parse_filter(raw)
    assert "hunter2" not in str(refused.value)


def test_a_title_names_what_a_document_is_about() -> None:
    assert title_names("The Rank Organisation (company)") == [
        "The Rank Organisation",
        "Rank Organisation",
        "The Rank Organisation (company)",
    ]
    assert title_names("Warsaw") == ["Warsaw"]
    assert title_names("A") == ["A"]
    assert title_names("?!") == []


def test_names_keep_the_vowel_signs_that_part_one_word_from_another() -> None:
    assert entity_key("किताब") != entity_key("कताब")
    assert entity_key("हिन्दी भाषा") == "हिन्दी भाषा"
    assert entity_key("مُحَمَّد") == entity_key("محمد")


@pytest.mark.parametrize("text", ["year >> 3", "year =< 3", "year === 3", "year ! 3", "year"])
def test_a_filter_with_an_operator_that_there_is_not_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not 'KEY OPERATOR VALUE'.*operators: ==, !=, <, <=, >, >=, in, not_in"):
        parse_expression(text)
    assert parse_expression('note == ">> 3"').value == ">> 3", "quoted, it is text"


@pytest.mark.parametrize(
    "text",
    [
        "groups != 'board'",
        "groups not_in ['board']",
        "groups not_in [board]; x",
        "groups in [board",
        'groups == "board',
        "groups == [board]",
        "groups == a, b",
        "groups == \u2018board\u2019",
        "year == null",
        "year == NaN",
    ],
)
def test_a_filter_whose_value_could_be_meant_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read|is not text"):
        parse_expression(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('groups in ["a, b", "c"]', ("a, b", "c")),
        ('groups in ["a, b", c d]', ("a, b", "c d")),
        ("groups in (a,b)", ("a", "b")),
        ("groups in a, 3", ("a", 3)),
        ("title == Tom's book", "Tom's book"),
    ],
)
def test_values_of_a_filter_are_read_as_json_or_as_words(text: str, value: object) -> None:
    assert parse_expression(text).value == value
