"""Walks in Neptune by Gremlin: what is around a node, and how far nodes are from others. One traversal each."""

import json
from collections.abc import Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.storage.neptune.egonet import MOST, Edge, checked_kind, net
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks
from lexigraph.storage.protocols import GraphNode
from lexigraph.storage.sqlite.graph.walks import KINDS

# ---------------------------------------------------------------- what is around a node


def egonet(walks: GremlinWalks, tenant: str, node_id: str, depth: int, limit: int) -> dict[str, list[dict[str, Any]]]:
    """Walk outwards from a node, breadth first, until ``depth`` steps or ``limit`` nodes. Raise ``NotFound``."""
    checked_kind(node_id)
    rows = walks.run(lambda g: _around(g, tenant, node_id, depth, limit)) if depth > 0 else []
    shown = {row["id"]: _shown(row) for row in rows if "id" in row}
    edges: set[Edge] = {(row["type"], row["from"], row["to"]) for row in rows if "type" in row}

    def step(frontier: Sequence[str]) -> set[Edge]:
        ends = set(frontier)
        return {edge for edge in edges if not ends.isdisjoint(edge[1:])}

    return net(node_id, depth, limit, step, shown)


def _around(g: Any, tenant: str, node_id: str, depth: int, limit: int) -> list[dict[str, Any]]:
    """Return the edges up to ``depth`` steps from a node, and the nodes at their ends, at most ``limit``.

    After every step those are counted that were ``around`` already: what is left of ``limit`` goes to the new ones with the
    smallest ids, and the next step begins at these.
    """
    from gremlin_python.process.graph_traversal import __  # type: ignore[import-untyped]  # has no types
    from gremlin_python.process.traversal import P, T  # type: ignore[import-untyped]  # has no types

    from lexigraph.storage.neptune.gremlin.steps import Seen

    seen = Seen(tenant)
    walk = g.V(node_id).aggregate("around")
    for _ in range(depth):
        walk = walk.union(*_edges(seen)).aggregate("edges").cap("edges").unfold().both_v().dedup()
        known_first = __.coalesce(__.where(P.within("around")).constant(0), __.constant(1))
        walk = walk.order().by(known_first).by(T.id).limit(limit).where(P.without("around")).aggregate("around")
    edges = __.cap("edges").unfold().dedup().not_(__.both_v().where(P.without("around")))
    texts = __.value_map("title", "uri", "value", "subject", "predicate", "object").by(__.unfold())
    place = __.flat_map(seen.places()).limit(1).project("seq", "uri").by("seq").by(__.in_v().values("uri"))
    found: list[dict[str, Any]] = (
        walk.fold()
        .union(
            edges.project("type", "from", "to").by(T.label).by(__.out_v().id_()).by(__.in_v().id_()),
            __.cap("around")
            .unfold()
            .project("id", "texts", "place")
            .by(T.id)
            .by(texts)
            .by(__.coalesce(place, __.constant(""))),
        )
        .to_list()
    )
    return found


def _edges(seen: Any) -> list[Any]:
    """Return the ways out of a node, both directions of each type of edge, as far as readers see its ends."""
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import P

    conditions = {
        "EXTRACTED_FROM": seen.source,
        "MENTIONED_IN": lambda: __.in_v().filter_(seen.places()),
        "BELONGS_TO": lambda: __.out_v().filter_(seen.chunks()),
        "SUPPORTS": lambda: __.in_v().filter_(seen.said()),
        "SUBJECT": lambda: __.in_v().out_e("SUPPORTS").as_("m").in_v().filter_(seen.said()),
        "OBJECT": lambda: __.in_v().filter_(seen.supported()),
        "MENTIONS": lambda: __.out_v().filter_(seen.said()),
        "REL": lambda: __.and_(__.out_v().filter_(seen.places()), __.in_v().filter_(seen.places())),
        "ABOUT": lambda: __.out_v().has("tenant", seen.tenant).has("live", P.gt(0)),
    }
    return [
        edges.as_("m", "p").filter_(condition()).limit(MOST)
        for label, condition in conditions.items()
        for edges in (__.out_e(label), __.in_e(label))
    ]


def _shown(row: dict[str, Any]) -> str:
    """Return what a node is shown as."""
    texts, place = row["texts"], row["place"]
    match row["id"].partition(":")[0]:
        case "source":
            return str(texts["title"] or texts["uri"])
        case "chunk":
            return f"{place['uri']}#{place['seq']}" if place else ""
        case "fact":
            return f"{texts['subject']} {texts['predicate']} {texts['object']}"
    return str(texts["value"])


# ---------------------------------------------------------------- distances


def nodes(
    walks: GremlinWalks, tenant: str, ids: Sequence[str], near: Sequence[str], filters: Filter | None
) -> dict[str, GraphNode]:
    """Return the live nodes among the ids, with their hops from the nearest of ``near``."""
    asked, start = _of_kinds(ids), _of_kinds(near)
    if not asked:
        return {}
    rows = walks.run(lambda g: _distances(g, tenant, asked, start, filters))
    return {row["id"]: _node(row) for row in rows}


def _distances(g: Any, tenant: str, ids: list[str], near: list[str], filters: Filter | None) -> list[dict[str, Any]]:
    """Return what readers see of the nodes, and their hops.

    Walks begin at both sides, as the rule of hops does: so that it is known of the last of three hops whether it is there,
    and none is walked out of all that two hops reach. Of what is ``near`` a hop away is ``reached``, and ``open`` where a
    walk goes on; ``further`` is what the names, topics and facts of the latter lead to.
    """
    from gremlin_python.process.graph_traversal import __
    from gremlin_python.process.traversal import P, T

    from lexigraph.storage.neptune.gremlin.steps import Seen, passed

    seen = Seen(tenant, filters)
    # an id that no node has comes first, as g.V() of no ids is every node
    reached = (
        g.V("none", *near)
        .has("tenant", tenant)
        .aggregate("near")
        .filter_(passed())
        .flat_map(seen.hop())
        .dedup()
        .aggregate("reached")
    )
    further = reached.filter_(passed()).aggregate("open").union(seen.names_and_topic(), seen.joined()).aggregate("further")
    asked = further.fold().V(*ids).has("tenant", tenant).filter_(seen.node())

    joined = __.or_(__.where(P.within("further")), __.flat_map(seen.names_and_topic()).where(P.within("open")))
    from_beside = __.coalesce(
        __.where(P.within("near")).constant(1),
        __.where(P.within("open")).constant(2),
        __.filter_(passed()).filter_(joined).constant(3),
    )
    hops = __.coalesce(
        __.where(P.within("near")).constant(0),
        __.where(P.within("reached")).constant(1),
        __.filter_(passed()).flat_map(seen.hop()).flat_map(from_beside).min_(),
        __.constant(-1),
    )
    first = __.flat_map(seen.chunks()).flat_map(seen.places()).in_v().order().by(T.id).limit(1)
    source = (
        first.project("id", "of").by(T.id).by(__.value_map("uri", "namespace", "title", "metadata", "live").by(__.unfold()))
    )
    told: list[dict[str, Any]] = (
        asked.project("id", "texts", "source", "hops")
        .by(T.id)
        .by(__.value_map("value", "class", "details").by(__.unfold()))
        .by(__.coalesce(source, __.constant("")))
        .by(hops)
        .to_list()
    )
    return told


def _of_kinds(ids: Sequence[str]) -> list[str]:
    """Return the ids of entities, statements and topics, each once."""
    return [id_ for id_ in dict.fromkeys(ids) if id_.partition(":")[0] in KINDS]


def _node(row: dict[str, Any]) -> GraphNode:
    texts, source = row["texts"], None
    if row["source"]:
        of = row["source"]["of"]
        columns = of["uri"], of["namespace"], of["title"], json.loads(of["metadata"]), int(of["live"])
        source = Source(row["source"]["id"], *columns)
    kind = next(kind for kind in KINDS if row["id"].startswith(f"{kind}:"))
    details = texts["class"] if kind == "entity" else texts.get("details", "")
    return GraphNode(row["id"], kind, texts["value"], details, source, None if row["hops"] < 0 else int(row["hops"]))
