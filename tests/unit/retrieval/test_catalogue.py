"""Retrievers by name: which there are, and what they refuse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.catalogue import RETRIEVERS, check_parameters, make_retriever
from lexigraph.retrieval.retrievers import BaselineRetriever, TraversalBasedRetriever
from lexigraph.storage.protocols import Stores
from tests.laptop import open_laptop
from tests.models import WordEmbedder


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_laptop(tmp_path)
    yield opened
    opened.close()


def made(stores: Stores, name: str, **args: Any) -> Any:
    return make_retriever(name, stores.graph, stores.vectors, embedder=WordEmbedder(), **args)


def test_names_stand_for_retrievers_with_their_searches(stores: Stores) -> None:
    assert type(made(stores, "traversal")) is TraversalBasedRetriever
    for name, search in (("chunk", "ChunkBasedSearch"), ("entity", "EntityBasedSearch"), ("topic", "TopicBeamSearch")):
        assert [type(one).__name__ for one in made(stores, name).searches] == [search]
    for mode in ("vector", "bm25", "fused"):
        baseline = made(stores, mode)
        assert (type(baseline), baseline.mode) == (BaselineRetriever, mode)


def test_parameters_reach_the_retriever(stores: Stores) -> None:
    assert made(stores, "traversal", bm25_weight=0.7).args.bm25_weight == 0.7
    assert made(stores, "fused", max_search_results=3).args.max_search_results == 3


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_refuses_a_parameter_that_it_does_not_have(name: str, stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="colour"):
        made(stores, name, colour="red")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("fused", {"vss_top_k": 5}),
        ("vector", {"mode": "bm25"}),
        ("chunk", {"retrievers": []}),
        ("traversal", {"weights": 1}),
    ],
)
def test_what_makes_a_retriever_is_no_parameter_of_it(name: str, args: dict[str, Any], stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="unknown parameter"):
        made(stores, name, **args)


@pytest.mark.parametrize(
    ("name", "args", "owner"),
    [
        ("traversal", {"topic_top_k": 5}, "TopicBeamSearch"),
        ("chunk", {"entity_weight": 0.5}, "EntityBasedSearch"),
        ("entity", {"vss_top_k": 5}, "ChunkBasedSearch"),
        ("topic", {"max_keywords": 5}, "EntityBasedSearch"),
        ("vector", {"bm25_weight": 0.5}, "mode fused"),
        ("bm25", {"bm25_weight": 0.5}, "mode fused"),
    ],
)
def test_a_parameter_without_effect_is_refused_with_what_it_belongs_to(
    name: str, args: dict[str, Any], owner: str, stores: Stores
) -> None:
    for refused in (lambda: made(stores, name, **args), lambda: check_parameters(name, args)):
        with pytest.raises(InvalidInput, match=f"{next(iter(args))} belongs to {owner}, which is not used here"):
            refused()


def test_a_value_out_of_range_is_refused(stores: Stores) -> None:
    for name in ("traversal", "fused"):
        with pytest.raises(InvalidInput, match="bm25_weight"):
            made(stores, name, bm25_weight=2)


def test_an_unknown_name_is_answered_with_the_known_ones(stores: Stores) -> None:
    with pytest.raises(InvalidInput, match=r"retriever 'best' is unknown: use one of traversal, .*fused"):
        made(stores, "best")
