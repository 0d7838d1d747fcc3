"""Walks in Neptune by Gremlin: traversals bring edges, and of these is told here what readers see."""

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks, NoWebSocket, Walks
from lexigraph.storage.sqlite.graph.egonet import Edge
from lexigraph.storage.sqlite.graph.walks import KINDS

T = TypeVar("T")
logger = logging.getLogger(__name__)
_TELLING = Lock()
_AGAIN_SECONDS = 300.0  # for which no web socket is tried after one that was not opened


class Unsettled(Exception):
    """Of the edges some are not shown to readers: of a version that is not published yet, or not any more.

    They may have taken the place of others below a limit, and which version readers see may have changed between two
    traversals. One query of openCypher tells it in one moment.
    """


class WalkingPart:
    """A part of the store whose questions are walks: by Gremlin, or by openCypher where the connection says so.

    So they are, too, for a while after no web socket could be opened.
    """

    _client: NeptuneClient
    _gremlin: GremlinWalks | None
    _gremlin_from = 0.0
    _clock: Callable[[], float]

    def _walked(self, by_gremlin: Callable[[Walks], T], by_opencypher: Callable[[], T]) -> T:
        if self._gremlin is None or self._clock() < self._gremlin_from:
            return by_opencypher()
        try:
            return by_gremlin(self._gremlin.begin())
        except Unsettled:
            return by_opencypher()
        except NoWebSocket as error:
            with _TELLING:
                told, self._gremlin_from = bool(self._gremlin_from), self._clock() + _AGAIN_SECONDS
            if not told:
                logger.warning("%s; walks go by openCypher meanwhile, for good with ?gremlin=off in the connection", error)
            return by_opencypher()


def edges_at(gremlin: Walks, tenant: str, nodes: Sequence[str], shown: dict[str, str]) -> set[Edge]:
    """Return the edges at some nodes; ``shown`` is told what the nodes at their ends are shown as. Raise ``Unsettled``."""
    rows = gremlin.run(lambda g: _steps().edges(g, nodes).to_list())
    seen = _Seen(gremlin, tenant, rows)
    ends = [(row[id_], row[properties]) for row in rows for id_, properties in (("from", "out"), ("to", "in"))]
    shown |= {id_: _label(properties) for id_, properties in ends if not id_.startswith("chunk:")} | seen.chunks
    return {edge for edge in seen.edges if not set(nodes).isdisjoint(edge[1:])}


def distances(
    gremlin: Walks, tenant: str, nodes: Iterable[str], near: Sequence[str], filters: Filter | None
) -> dict[str, int]:
    """Return how far nodes are from the nearest of ``near``, up to three hops.

    From both sides, as in the embedded store, so that the middle hop needs no walk of its own. Raise ``Unsettled``.
    """
    asked, start = set(nodes), set(near)
    rows = gremlin.run(lambda g: _steps().hops(g, tenant, asked | start, into=True).to_list())
    ends = {row[end] for row in rows if "type" in row for end in ("from", "to")} - asked - start
    between = [end for end in ends if end.partition(":")[0] in KINDS]
    rows += gremlin.run(lambda g: _steps().hops(g, tenant, between, into=False).to_list()) if between else []
    through = {row["through"] for row in rows if "through" in row}
    hops = _Seen(gremlin, tenant, [row for row in rows if "type" in row], filters).hops()
    reached = set[str]().union(*(hops[node] for node in start & through))
    joined = set[str]().union(*(hops[node] for node in reached & through))
    found: dict[str, int] = {}
    for node in asked:
        beside = hops[node] if node in through else set[str]()
        if node in start:
            found[node] = 0
        elif node in reached or beside & start:
            found[node] = 1
        elif beside & reached & through:
            found[node] = 2
        elif beside & through & joined:
            found[node] = 3
    return found


def _steps() -> Any:
    from lexigraph.storage.neptune.gremlin import steps

    return steps


class _Seen:
    """What readers of a tenant see of edges, within filters if any: ``edges``, and what live ``chunks`` are shown as."""

    def __init__(self, gremlin: Walks, tenant: str, rows: Sequence[dict[str, Any]], filters: Filter | None = None) -> None:
        self._tenant, self._filters, self._rows = tenant, filters, rows
        self._held: dict[str, set[str]] = defaultdict(set)  # the chunks of statements and topics, and those that say facts
        for row in rows:
            if row["type"] in ("MENTIONED_IN", "SUPPORTS"):
                self._held[row["from"]].add(row["of"].get("chunk", row["to"]))
        asked = {i for row in rows for i in (row["from"], row["to"], row["of"].get("chunk", "")) if i.startswith("chunk:")}
        places = gremlin.run(lambda g: _steps().places(g, asked).to_list()) if asked else []
        live = [p for p in places if p["of"]["since"] <= p["in"]["live"][0] < p["of"]["until"]]
        if {place["from"] for place in live} != asked:
            raise Unsettled
        self.chunks = {
            place["from"]: f"{place['in']['uri'][0]}#{place['of']['seq']}" for place in live if self._shows(place["in"])
        }
        self.edges: set[Edge] = {(row["type"], row["from"], row["to"]) for row in rows if self._sees(row)}

    def hops(self) -> Mapping[str, set[str]]:
        """Return what is a hop from each node: facts between entities, and out of and into statements."""
        # that of an object tells whether readers see the fact
        subjects = {row["to"]: row["from"] for row in self._rows if row["type"] == "SUBJECT"}
        pairs = [edge[1:] for edge in self.edges if edge[0] in ("MENTIONS", "BELONGS_TO")]
        pairs += [(subjects[fact], entity) for type_, entity, fact in self.edges if type_ == "OBJECT"]
        hops: dict[str, set[str]] = defaultdict(set)
        for a, b in pairs:
            if a != b:
                hops[a].add(b)
                hops[b].add(a)
        return hops

    def _sees(self, row: dict[str, Any]) -> bool:
        a, b = row["from"], row["to"]
        match row["type"]:
            case "EXTRACTED_FROM":
                return a in self.chunks
            case "MENTIONED_IN":
                return b in self.chunks
            case "BELONGS_TO":
                return not self._held[a].isdisjoint(self.chunks)
            case "SUBJECT":
                return not self._held[b].isdisjoint(self.chunks)
            case "REL":
                return a in self.chunks and b in self.chunks
            case "ABOUT":
                return self._shows(row["out"])
        return row["of"]["chunk"] in self.chunks

    def _shows(self, source: dict[str, list[Any]]) -> bool:
        of = {name: values[0] for name, values in source.items()}
        if of["tenant"] != self._tenant or not of["live"]:
            return False
        if self._filters is None:
            return True
        shown = Source("", of["uri"], of["namespace"], of["title"], json.loads(of["metadata"]))
        return self._filters.matches(shown.filterable)


def _label(properties: dict[str, list[Any]]) -> str:
    """Return what a node with these properties is shown as."""
    of = {name: str(values[0]) for name, values in properties.items()}
    if "uri" in of:
        return of["title"] or of["uri"]
    return of["value"] if "value" in of else f"{of['subject']} {of['predicate']} {of['object']}"
