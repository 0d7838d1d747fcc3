"""Traversals keep to the steps that Neptune's own engine runs: any other would leave the engine with all that follows."""

from collections.abc import Iterator
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import Bytecode, P, T, TraversalStrategies
from gremlin_python.structure.graph import Graph

from lexigraph.storage.neptune.gremlin import steps

G = GraphTraversalSource(Graph(), TraversalStrategies())
# Neptune user guide, "Native Gremlin step support in Amazon Neptune" (gremlin-step-support)
ALWAYS = {
    "and",
    "as",
    "count",
    "E",
    "emit",
    "group",
    "groupCount",
    "identity",
    "is",
    "key",
    "label",
    "limit",
    "local",
    "loops",
}
ALWAYS |= {"not", "or", "properties", "subgraph", "until", "V", "value", "valueMap", "values"}
# moves: the page lists no step for them, and shows them within queries that it says are converted
MOVES = {"both", "bothE", "bothV", "in", "inE", "inV", "out", "outE", "outV"}
# in some cases, of which `not_native` checks those that our traversals are in
SOMETIMES = {"has", "hasLabel", "id", "project", "union", "where"}
COMPARED = {"eq", "neq", "within", "without"}


def not_native(code: Bytecode, nested: bool = False) -> Iterator[str]:
    """Yield what of a traversal, and of those inside it, the page does not list as converted."""
    instructions = list(code.step_instructions)
    for at, (step, *arguments) in enumerate(instructions):
        following = [name for name, *_ in instructions[at + 1 :]]
        bys = next((n for n, name in enumerate(following) if name != "by"), len(following))
        predicates = {a.operator for a in arguments if isinstance(a, P)}
        match step:
            case "by":
                continue
            case "has" if isinstance(arguments[0], T) and predicates - {"eq", "neq", "containing"}:
                yield "has() of an id or label compares otherwise than for equality"
            case "project" if bys != len(arguments):
                yield "project() has another number of by() than of names"
            case "union" if nested or following:
                yield "union() is not the last step"
            case "where" if bys or predicates - COMPARED:
                yield "where() has by(), or compares for order"
            case _ if step not in ALWAYS | MOVES | SOMETIMES:
                yield f"{step}()"
        inner = [a for _, *given in instructions[at : at + 1 + (bys if step != "union" else 0)] for a in given]
        for argument in inner:
            if isinstance(argument, Bytecode) or hasattr(argument, "bytecode"):
                yield from not_native(getattr(argument, "bytecode", argument), nested=True)


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
