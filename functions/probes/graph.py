"""Probes of the graph: what the store writes and asks is run over documents of its own, and compared with SQLite.

Each query that was sent is explained afterwards: the engine says how it would run it, and its plan is in the JSON.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from functions.probes.report import ProbeFailed, Report
from functions.probes.sample import LAST, TENANT, Sample, ids, sample
from functions.settings import settings
from lexigraph.aws import config
from lexigraph.storage.factory import GraphStoreFactory
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import NeptuneClient, Row, meaning_of, signing_session
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks, NoWebSocket
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.neptune.views import bound
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, RelatedRequest
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore

_SECONDS = 20.0  # below the 29 that `query` has
_PLAN_CHARS, _QUERY_CHARS = 3_000, 160
_REPORT_IT = "report it with the probe's JSON: the engine answers otherwise than the one the queries were made for"
_NO_SOCKET = "walks go by openCypher meanwhile, which is slower; the role needs neptune-db:ReadDataViaQuery for Gremlin, too"
_HOLDS_REST = "run `make smoke` again, which begins by removing what is left of the tenant lexigraph-probe"


class _Fragment:
    """What texts are searched for: a word."""

    fragments = ("calloway",)

    def share(self, text: str) -> float:
        return len(self.fragments[0]) / len(text) if self.fragments[0] in text.lower() else 0.0


# the methods by which readers are answered, with arguments that reach every branch of their queries
_READS: Mapping[str, Callable[[GraphStore, Sample], Any]] = {
    "sources": lambda g, s: g.sources(TENANT, [source.id for source in s.sources]),
    "chunk_ids": lambda g, s: g.chunk_ids(TENANT, s.sources[0].id),
    "entities": lambda g, _: g.entities(TENANT, ids("Heron Team", "HT", LAST, "Nobody"), connected=2),
    "evidence": lambda g, s: g.evidence(
        TENANT,
        EvidenceRequest(
            chunks=tuple(s.chunks[:1]),
            entities=tuple(ids("Heron Team", "Neptune")),
            statements=tuple(s.statements[-1:]),
            topics=(s.versions[0].chunks[0].topics[0].id,),
            topic_reach=1,
            topic_links=2,
        ),
    ),
    "neighbourhood": lambda g, s: g.neighbourhood(TENANT, s.chunks, names={s.chunks[0]: ids("Neptune")}),
    "related": lambda g, s: g.related(TENANT, RelatedRequest(chunks=tuple(s.chunks), names={"": ids(LAST)}, first=2)),
    "relation_counts": lambda g, _: g.relation_counts(TENANT),
    "observed": lambda g, s: g.observed(TENANT, s.chunks, "probe", "probe"),
    "adjacent": lambda g, s: g.adjacent(TENANT, s.chunks, per_kind=3),
    "nodes": lambda g, s: g.nodes(TENANT, [*ids("Neptune", LAST), *s.statements], near=ids("Heron Team")),
    "matching": lambda g, _: g.matching(TENANT, _Fragment(), near=ids("Heron Team")),
    "surroundings": lambda g, s: g.surroundings(TENANT, [*ids("Heron Team"), *s.statements[:2]]),
    "topics": lambda g, s: g.topics(TENANT, s.sources[0].id),
    "naming": lambda g, _: g.naming(TENANT, ids("Heron Team")[0]),
    "profile": lambda g, _: g.profile(TENANT, ids("Heron Team")[0]),
    "companions": lambda g, _: g.companions(TENANT, ids("Heron Team")[0]),
    "egonet": lambda g, _: g.egonet(TENANT, ids("Heron Team")[0], depth=2),
    "stats": lambda g, _: g.stats(TENANT),
    "source_ids": lambda g, _: g.source_ids(TENANT),
    "absent": lambda g, _: g.absent(TENANT, ids("Heron Team", "Nobody")),
    "node_ids": lambda g, s: g.node_ids(TENANT, s.sources[0].id),
}


class _Noting(NeptuneClient):
    """A client that notes each query with the parameters it was last sent with."""

    def __init__(self, address: NeptuneAddress, **options: Any) -> None:
        super().__init__(address, **options)
        self.noted: dict[str, dict[str, Any]] = {}

    def read(self, query: str, /, **parameters: Any) -> list[Row]:
        text, given = bound(query, parameters)
        self.noted[text] = given
        return super().read(query, **parameters)

    def read_latest(self, query: str, /, **parameters: Any) -> list[Row]:
        text, given = bound(query, parameters)
        self.noted[text] = given
        return super().read_latest(query, **parameters)

    def write(self, query: str, /, rows: Sequence[Mapping[str, Any]] | None = None, **parameters: Any) -> list[Row]:
        self.noted[query] = parameters if rows is None else {**parameters, "rows": list(rows)}
        return super().write(query, rows, **parameters)


def status(report: Report, least_engine: str = "") -> None:
    """Ask the engine how it is; ``least_engine`` is the version that the profile wants at least."""
    if not _in_neptune():
        return report.skip("graph.status", "the engine's state and version", "the graph is in SQLite")
    with report.part("graph.status", "the engine's state and version") as detail:
        found = _asked("get_engine_status")
        told = {name: found.get(name, "") for name in ("status", "dbEngineVersion", "role")}
        detail.update(told)
        if told["status"] != "healthy":
            raise ProbeFailed(f"the engine says {told['status'] or 'nothing'}", "wait until the cluster is available")
        if _version(told["dbEngineVersion"]) < _version(least_engine):
            raise ProbeFailed(
                f"engine {told['dbEngineVersion']} is older than {least_engine}",
                "let AWS upgrade the cluster (aws neptune modify-db-cluster --engine-version), then deploy again",
            )
    return None


def write(report: Report) -> None:
    """Write the documents, as `build` and `finish` do; what an interrupted probe left goes before."""
    with _opened() as (store, noting):
        with report.part("graph.write", "write, publish, collect, derive, relate") as detail:
            _remove(store)
            _write(store, sample(1))
            detail["stats"] = store.stats(TENANT)
        _explain(report, noting, "graph.write")


def read(report: Report) -> None:
    """Ask all that readers ask, through each method of the store."""
    documents, slow = sample(1), dict[str, int]()
    with _opened() as (store, noting):
        with report.part("graph.queries", f"{len(_READS)} methods of readers, compared with SQLite") as detail:
            detail["ms"] = slow
            expected = dict(_expected(documents))
            other = []
            for name, call in _READS.items():
                began = time.monotonic()
                try:
                    found = call(store, documents)
                except Exception as error:
                    detail["method"] = name
                    raise error from None
                slow[name] = round((time.monotonic() - began) * 1_000)
                if found != expected[name]:
                    other.append(name)
            if other:
                raise ProbeFailed(f"answered otherwise than by SQLite: {', '.join(other)}", _REPORT_IT)
        _explain(report, noting, "graph.queries")
        _walk(report)


def remove(report: Report) -> None:
    """Take the documents out again."""
    with _opened() as (store, noting):
        with report.part("graph.remove", "withdraw, collect, derive"):
            _remove(store)
            if left := {name: count for name, count in store.stats(TENANT).items() if count}:
                raise ProbeFailed(f"left behind: {left}", _HOLDS_REST)
        _explain(report, noting, "graph.remove")


def _walk(report: Report) -> None:
    name, what = "graph.walks", "a Gremlin walk over a signed web socket"
    address = NeptuneAddress.parse(settings().connections["graph"]) if _in_neptune() else None
    if address is None or not address.walks:
        return report.skip(name, what, "walks go by openCypher here")
    with report.part(name, what) as detail, closing(GremlinWalks(address, seconds=_SECONDS)) as walks:
        try:
            detail["found"] = walks.run(lambda g: g.V(ids("Heron Team")[0]).count().next())
        except NoWebSocket as error:
            raise ProbeFailed(f"NoWebSocket: {error}", _NO_SOCKET) from None
        if detail["found"] != 1:
            raise ProbeFailed(f"a node looked for by its id was found {detail['found']} times", _REPORT_IT)
    return None


def _write(store: GraphStore, documents: Sample) -> None:
    store.write(TENANT, documents.versions)
    store.publish(TENANT, documents.sources)
    store.collect(TENANT, [source.id for source in documents.sources])
    store.set_synonyms(TENANT, [("Heron Group", "Heron Team")])
    _settle(store)
    store.relate(TENANT, documents.observations)


def _remove(store: GraphStore) -> None:
    while left := store.source_ids(TENANT, limit=100):
        store.withdraw(TENANT, left)
        store.doomed(TENANT, left)
        store.collect(TENANT, left)
        if store.source_ids(TENANT, limit=100) == left:
            raise ProbeFailed(f"{len(left)} sources cannot be removed", _HOLDS_REST)
    store.set_synonyms(TENANT, [])
    _settle(store)


def _settle(store: GraphStore) -> None:
    while derived := store.derive(TENANT):
        store.settle(TENANT, derived)


def _expected(documents: Sample) -> Iterator[tuple[str, Any]]:
    """Yield what each method has to answer: what it does over SQLite."""
    with TemporaryDirectory() as folder, closing(SqliteGraphStore(f"sqlite:///{folder}")) as store:
        _write(store, documents)
        for name, call in _READS.items():
            yield name, call(store, documents)


def _explain(report: Report, noting: _Noting | None, name: str) -> None:
    """Have every query that was sent explained."""
    what = "the engine's plan of each query that was sent"
    if noting is None:
        return report.skip(f"{name}.explain", what, "the graph is in SQLite")
    with report.part(f"{name}.explain", what) as detail:
        detail["queries"] = plans = list[dict[str, Any]]()
        for query, parameters in noting.noted.items():
            given = {"parameters": json.dumps(parameters)} if parameters else {}
            timed = f"USING QUERY:TIMEOUTMILLISECONDS {int(_SECONDS * 1_000)} {query}"
            found = _asked("execute_open_cypher_explain_query", openCypherQuery=timed, explainMode="static", **given)
            plan = found["results"].read().decode("utf-8", "replace")
            plans.append({"query": " ".join(query.split())[:_QUERY_CHARS], "plan": plan[:_PLAN_CHARS]})
            if not plan.strip():
                raise ProbeFailed("a query was explained by nothing", _REPORT_IT)
    return None


@contextmanager
def _opened() -> Iterator[tuple[GraphStore, _Noting | None]]:
    store = GraphStoreFactory.for_graph_store(settings().connections["graph"])
    noting = None
    if isinstance(store, NeptuneGraphStore):
        store._client.close()
        store._client = noting = _Noting(store._client.address, read_seconds=_SECONDS, write_seconds=_SECONDS)
    with closing(store):
        yield store, noting


def _asked(operation: str, **request: Any) -> Any:
    """Return what the cluster's writer answers to an operation that the store has no need of."""
    address = NeptuneAddress.parse(settings().connections["graph"])
    made = signing_session(address.region)
    with closing(made.client("neptunedata", config=config(5, _SECONDS), endpoint_url=address.endpoint)) as client:
        try:
            return getattr(client, operation)(**request)
        except Exception as error:
            raise meaning_of(error, _SECONDS) from error


def _in_neptune() -> bool:
    return settings().connections["graph"].startswith("neptune-db:")


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
