"""Parameters of traversal: names, defaults and limits."""

import re
from dataclasses import fields

import pytest

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.traversal.args import TraversalArgs


@pytest.mark.requirement("G-17", "G-23", "G-24", "G-25", "G-27", "G-28", "G-29", "G-30")
def test_the_defaults_are_those_of_the_reference_page():
    reference = {
        "include_facts": False,
        "expand_entities": True,
        "max_keywords": 10,
        "vss_diversity_factor": 5,
        "derive_subqueries": False,
        "max_subqueries": 2,
        "reranker": "tfidf",
    }
    args = TraversalArgs()
    assert {name: getattr(args, name) for name in reference} == reference
    assert args.chunk_weight > args.entity_weight


@pytest.mark.requirement("G-21", "G-22", "G-26", "G-31")
def test_counts_of_the_reference_page_cut_when_they_are_given_and_room_decides_when_they_are_not():
    counts = ("max_search_results", "max_statements_per_topic", "max_statements", "vss_top_k")
    args = TraversalArgs()
    assert {getattr(args, name) for name in counts} == {None}
    assert (args.max_context_tokens, args.start_chunks) == (2_000, 10)
    given = TraversalArgs.of(
        {"max_search_results": 20, "max_statements_per_topic": 10, "max_statements": 100, "vss_top_k": 10}
    )
    assert [getattr(given, name) for name in counts] == [20, 10, 100, 10]


def test_the_table_that_users_read_names_every_parameter_with_its_default():
    table = dict(re.findall(r"\| ``(\w+)`` \|.*\| ([^|]+) \|", TraversalArgs.__doc__ or ""))
    assert table == {f.name: str(f.default) for f in fields(TraversalArgs)}


def test_an_unknown_name_is_refused_with_the_nearest_and_all_known():
    with pytest.raises(InvalidInput, match=r"max_serch_results.*did you mean 'max_search_results'.*vss_top_k"):
        TraversalArgs.of({"max_serch_results": 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_search_results", 0),
        ("max_search_results", 1.5),
        ("max_search_results", True),
        ("vss_top_k", 0),
        ("vss_top_k", "10"),
        ("vss_diversity_factor", -1),
        ("bm25_weight", 1.1),
        ("bm25_weight", float("nan")),
        ("link_rounds", 3),
        ("diversity", 1),
        ("include_facts", 1),
        ("reranker", "bm25"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: object):
    with pytest.raises(InvalidInput, match=name):
        TraversalArgs.of({name: value})


@pytest.mark.parametrize(
    "name", ["max_search_results", "max_statements_per_topic", "max_statements", "vss_diversity_factor"]
)
def test_none_means_no_limit(name: str):
    assert getattr(TraversalArgs.of({name: None}), name) is None


@pytest.mark.requirement("G-30")
@pytest.mark.parametrize("reranker", [None, "none"])
def test_none_and_its_name_both_turn_reranking_off(reranker: str | None):
    assert not TraversalArgs.of({"reranker": reranker}).reranks
