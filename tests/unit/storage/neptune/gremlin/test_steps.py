"""Traversals keep to the steps that Neptune's own engine runs: any other would leave the engine with all that follows."""

from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import P, T, TraversalStrategies
from gremlin_python.structure.graph import Graph

from lexigraph.storage.neptune.gremlin import steps
from tests.standins.neptune_gremlin import not_native

G = GraphTraversalSource(Graph(), TraversalStrategies())


@pytest.mark.parametrize(
    "made",
    [
        lambda g: steps.edges(g, ["entity:1", "chunk:2"]),
        lambda g: steps.places(g, ["chunk:2"]),
        lambda g: steps.hops(g, "a", ["entity:1"], into=True),
        lambda g: steps.hops(g, "a", [], into=False),
    ],
)
def test_every_step_is_one_that_neptune_converts(made: Any) -> None:
    assert list(not_native(made(G).bytecode)) == []


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda g: g.V("a").union(__.out(), __.in_()).count(), "union() is not the last step"),
        (lambda g: g.V("a").not_(__.union(__.out(), __.in_())), "union() is not the last step"),
        (lambda g: g.V("a").as_("p").out().where(P.gte("p")), "where() has by(), or compares for order"),
        (lambda g: g.V("a").as_("p").out().where(P.eq("p")).by("live"), "where() has by(), or compares for order"),
        (lambda g: g.V("a").project("x", "y").by(T.id), "project() has another number of by() than of names"),
        (lambda g: g.V("a").has(T.id, P.gt("b")), "has() of an id or label compares otherwise than for equality"),
        (lambda g: g.V("a").project("x").by(__.coalesce(__.out(), __.in_())), "coalesce()"),
        (lambda g: g.V("a").filter_(__.out()), "filter()"),
        (lambda g: g.V("a").union(__.out().dedup()), "dedup()"),
    ],
)
def test_a_step_that_is_not_converted_is_found_wherever_it_stands(made: Any, why: str) -> None:
    assert list(not_native(made(G).bytecode)) == [why]
