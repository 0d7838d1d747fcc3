"""Pieces of Gremlin traversals over the graph in Neptune: what readers see, hops, and where they lead no further.

Loaded when a walk begins, as it needs gremlinpython. Every method returns a new anonymous traversal, as adding to one
changes it. What stands in a traversal before a piece is said by its docstring; conditions are for ``filter_``.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

from gremlin_python.process.graph_traversal import __  # type: ignore[import-untyped]  # has no types
from gremlin_python.process.traversal import P, T  # type: ignore[import-untyped]  # has no types

from lexigraph.model.filters import Filter, MetadataFilter
from lexigraph.storage.neptune.filters import NEGATIONS, compared_values
from lexigraph.storage.sqlite.graph.walks import PASSED, RUNS_OVER

_ORDERED = {"<": P.lt, "<=": P.lte, ">": P.gt, ">=": P.gte}


@dataclass(frozen=True)
class Seen:
    """The conditions and hops of what readers of a tenant see, within filters if any."""

    tenant: str
    filters: Filter | None = None

    # ------------------------------------------------------------ conditions

    def source(self) -> Any:
        """At the edge ``p`` from a chunk to a source: whether readers see that place. It ends at the source."""
        source = __.in_v().has("tenant", self.tenant)
        if self.filters is not None:
            source = source.filter_(_admitting(self.filters))
        source = source.where(P.gte("p")).by("live").by("since")
        return source.where(P.lt("p")).by("live").by("until")

    def places(self) -> Any:
        """From a chunk over the edges to where readers see it."""
        return __.out_e("EXTRACTED_FROM").as_("p").filter_(self.source())

    def chunks(self) -> Any:
        """From a statement or topic to the chunks where readers see it."""
        return __.out("MENTIONED_IN").filter_(self.places())

    def said(self) -> Any:
        """At a statement, after an edge ``m`` with a chunk: whether readers see the statement in that chunk."""
        return __.out("MENTIONED_IN").where(P.eq("m")).by(T.id).by("chunk").filter_(self.places())

    def supported(self) -> Any:
        """At a fact, after its edge ``m`` from an object: whether readers see the statement which said that."""
        return __.out("SUPPORTS").where(P.eq("m")).by(T.id).by("statement").filter_(self.said())

    def node(self) -> Any:
        """At an entity, statement or topic: whether readers see it."""
        naming = __.in_e("MENTIONS").as_("m").out_v().filter_(self.said())
        titled = __.in_("ABOUT").in_e("EXTRACTED_FROM").as_("p").filter_(self.source())
        # an entity's `df` tells all but what is asked within filters and what is not settled yet
        told = [__.has("df", P.gt(0))] if self.filters is None else []
        return __.or_(self.chunks(), *told, naming, titled)

    # ------------------------------------------------------------ hops

    def names_and_topic(self) -> Any:
        """From a statement to the entities that it names and to its topic; from nothing else."""
        named = __.has_label("Statement").out_e("MENTIONS").as_("m").filter_(__.out_v().filter_(self.said())).in_v()
        return __.union(named, __.has_label("Statement").filter_(self.chunks()).out("BELONGS_TO"))

    def joined(self) -> Any:
        """From an entity to those that a fact joins with it, as its object or subject; from nothing else."""
        subject = __.has_label("Entity").as_("a").out("SUBJECT").in_e("OBJECT").as_("m")
        subject = subject.filter_(__.in_v().filter_(self.supported())).out_v().where(P.neq("a"))
        object_ = __.has_label("Entity").as_("a").out_e("OBJECT").as_("m")
        object_ = object_.in_v().filter_(self.supported()).in_("SUBJECT").where(P.neq("a"))
        return __.union(subject, object_)

    def hop(self) -> Any:
        """From an entity, statement or topic to all that are a hop from it, each once."""
        naming = __.has_label("Entity").in_e("MENTIONS").as_("m").out_v().filter_(self.said())
        told = __.has_label("Topic").in_("BELONGS_TO").filter_(self.chunks())
        return __.union(self.names_and_topic(), self.joined(), naming, told).dedup()


def passed() -> Any:
    """At an entity, statement or topic: whether a walk goes through it."""
    entity = __.not_(__.in_e("MENTIONS").range_(PASSED, PASSED + 1))
    return entity.not_(__.has_label("Topic").out_e("MENTIONED_IN").range_(RUNS_OVER, RUNS_OVER + 1))


def _admitting(filters: Filter) -> Any:
    """At a source: whether the filters admit it."""
    if isinstance(filters, MetadataFilter):
        return _comparing(filters)
    parts = [_admitting(part) for part in filters.filters]
    joined = __.or_(*parts) if filters.condition == "or" else __.and_(*parts)
    return __.not_(joined) if filters.condition == "not" else joined


def _comparing(filter_: MetadataFilter) -> Any:
    compare = _ORDERED.get(filter_.operator, P.eq)
    found = [
        __.has(name, reduce(lambda either, one: either.or_(one), map(compare, values)))
        for name, values in compared_values(filter_).items()
    ]
    any_ = __.or_(*found) if found else __.not_(__.identity())
    return __.not_(any_) if filter_.operator in NEGATIONS else any_
