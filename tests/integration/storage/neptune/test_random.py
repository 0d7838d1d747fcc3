"""Random steps of ingestions, finished or not, leave in Neptune what they leave in the embedded store."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import GraphStore, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.graph_dump import dump_graph
from tests.standins.neptune import NeptuneStandIn
from tests.worlds import Said, said, settle, show, take_out, version

A = Tenant("a")


@pytest.fixture
def store() -> Iterator[NeptuneGraphStore]:
    with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as opened:
        yield opened


def page(rng: random.Random, n: int, number: int) -> SourceVersion:
    """A version of page ``n``: some of its four parts in some order, of names and facts that all pages share."""
    told = random.Random(n)
    parts = {f"Part {n}.{k}": [sentence(told, f"{n}.{k}.{i}") for i in range(2)] for k in range(4)}
    chosen = rng.sample(list(parts), rng.randint(1, 4))
    title = rng.choice([f"Page {n}", "Ada"])
    aliases = rng.choice([[], [("Countess", "Ada")]])
    chunks = {k: parts[k] for k in chosen}
    return version(
        A, title, chunks, number=number, aliases=aliases, uri=f"file:///{n}.md", metadata={"k": rng.randint(0, 2)}
    )


def sentence(rng: random.Random, at: str) -> Said:
    a, b = rng.sample(["Ada", "ada", "Bea|Person", "BEA", "Cid|Animal", "Dora"], 2)
    fact = (a.partition("|")[0], rng.choice(["knew", "met"]), b.partition("|")[0])
    return said(f"In {at} {' '.join(fact)}.", a, b, facts=[fact] if rng.random() < 0.7 else [])


def some_change(rng: random.Random, live: dict[int, int], chunks: list[str]) -> Callable[[GraphStore], Any]:
    """Return a step of an ingestion, which may be one that another never followed; ``live`` are versions by page."""
    n = rng.randrange(3)
    v = page(rng, n, live.get(n, 0) + 1)
    source = v.source.id
    match rng.choice(["write", "publish", "show", "collect", "remove", "synonyms", "relate", "settle"]):
        case "write":
            return lambda s: s.write(A, [v])
        case "publish":
            live[n] = v.source.version
            return lambda s: (s.write(A, [v]), s.publish(A, [v.source]))
        case "show":
            live[n] = v.source.version
            return lambda s: show(s, A, v)
        case "collect":
            return lambda s: (s.doomed(A, [source]), s.collect(A, [source]), s.node_ids(A, source), s.chunk_ids(A, source))
        case "remove":
            live.pop(n, None)
            return lambda s: take_out(s, A, source)
        case "synonyms":
            pairs = rng.choice([[], [("Countess", "Bea")], [("X", "Ada"), ("Y", "Bea")]])
            return lambda s: s.set_synonyms(A, pairs)
        case "relate" if len(chunks) > 1:
            first, second = rng.sample(chunks, 2)
            types = rng.sample(["CAUSES", "FOLLOWS", "REFERENCES"], rng.randint(0, 2))
            made = tuple(ChunkRelation(first, second, type_, 0.5, "words") for type_ in types)
            seen = PairObservation(first, second, rng.choice("mn"), "how", made, rng.choice(["", "", "failed"]))
            keep = rng.random() < 0.4
            return lambda s: s.relate(A, [seen], keep=keep)
    return lambda s: settle(s, A)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(6))
def test_random_changes_leave_what_they_leave_in_the_embedded_store(
    seed: int, tmp_path: Path, store: NeptuneGraphStore
) -> None:
    rng, live = random.Random(seed), dict[int, int]()
    with closing(SqliteGraphStore(f"sqlite:///{tmp_path}")) as embedded:
        for at in range(30):
            chunks = [f"chunk:{row[0]}" for row in dump_graph(embedded, A)["chunk"]]
            change = some_change(rng, live, chunks)
            assert change(store) == change(embedded), at
        for each in (store, embedded):
            each.collect(A, each.source_ids(A))
            settle(each, A)
        assert dump_graph(store, A) == dump_graph(embedded, A)
        assert store.stats(A) == embedded.stats(A)
        assert store.relation_counts(A) == embedded.relation_counts(A)
