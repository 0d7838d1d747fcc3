"""Gremlin traversals over the graph in Neptune, made only of steps that its own engine runs.

Which those are says the user guide, "Native Gremlin step support in Amazon Neptune": a step that is not converted leaves
the engine, and so does all that follows it. No two properties can be compared then (``where`` with ``by``), which is how
it is told what readers see; so edges come with what :mod:`lexigraph.storage.neptune.gremlin.walks` tells that by.

Loaded when a walk begins, as it needs gremlinpython. A row is an edge: ``type``, ``from`` and ``to`` (ids), ``of`` (its
properties).
"""

from collections.abc import Iterable
from typing import Any

from gremlin_python.process.graph_traversal import __  # type: ignore[import-untyped]  # has no types
from gremlin_python.process.traversal import P, T  # type: ignore[import-untyped]  # has no types

from lexigraph.storage.sqlite.graph.egonet import MOST
from lexigraph.storage.sqlite.graph.walks import PASSED, RUNS_OVER

_TYPES = ("EXTRACTED_FROM", "MENTIONED_IN", "BELONGS_TO", "SUPPORTS", "SUBJECT", "OBJECT", "MENTIONS", "REL", "ABOUT")
_SHOWN = ("tenant", "live", "uri", "title", "value", "subject", "predicate", "object")
_FILTERED = ("tenant", "live", "uri", "namespace", "title", "metadata")


def edges(g: Any, ids: Iterable[str]) -> Any:
    """Every edge at some nodes, at most ``MOST`` of a type; ``out`` and ``in`` are properties of its ends, each a list."""
    found = [_row(__.both_e(type_).limit(MOST), _SHOWN) for type_ in _TYPES]
    said_in = __.both_e("BELONGS_TO").limit(MOST).out_v().out_e("MENTIONED_IN")
    supported = __.both_e("SUBJECT").limit(MOST).in_v().out_e("SUPPORTS")
    return g.V(*ids).union(*found, _row(said_in, _SHOWN), _row(supported, _SHOWN))


def hops(g: Any, tenant: str, ids: Iterable[str], *, into: bool) -> Any:
    """What is a hop from those of the nodes that a walk goes through; each of these is a row ``{"through": id}``, too.

    A hop out of a statement, or by a fact; ``into`` a statement only when asked for, as many name an entity.
    """
    # an id that no node has comes first, as g.V() of no ids is every node
    nodes = g.V("none", *ids).has("tenant", tenant)
    nodes = nodes.where(__.in_e("MENTIONS").limit(PASSED + 1).count().is_(P.lte(PASSED)))
    nodes = nodes.not_(__.has_label("Topic").out_e("MENTIONED_IN").limit(RUNS_OVER + 1).count().is_(P.gt(RUNS_OVER)))
    way = __.both_e if into else __.out_e
    found = [
        way("MENTIONS", "BELONGS_TO"),
        way("BELONGS_TO").out_v().out_e("MENTIONED_IN"),
        __.out("SUBJECT", "OBJECT").in_e("SUBJECT", "OBJECT"),
    ]
    return nodes.union(__.project("through").by(T.id), *map(_row, found))


def places(g: Any, chunks: Iterable[str]) -> Any:
    """The places of chunks; ``in`` is what is known of their sources."""
    return _row(g.V(*chunks).out_e("EXTRACTED_FROM"), _FILTERED)


def _row(edge: Any, ends: Iterable[str] = ()) -> Any:
    names = ("type", "from", "to", "of", *(("out", "in") if ends else ()))
    row = edge.project(*names).by(T.label).by(__.out_v().id_()).by(__.in_v().id_()).by(__.value_map())
    return row.by(__.out_v().value_map(*ends)).by(__.in_v().value_map(*ends)) if ends else row
