"""Neptune's reads give what the embedded store gives, for made graphs and requests of every kind, in one round trip each."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.filters import Filter, MetadataFilter, MetadataFilters
from lexigraph.model.ids import entity_id
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, RelatedRequest, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.standins.neptune import NeptuneStandIn
from tests.worlds import said, show, take_out, version

A = Tenant("a")
NAMES = [
    f"{first} {second}" for first in ("Ada", "Ben", "Cy") for second in ("Hall", "Mill", "Reed", "Stone", "Vale", "Wood")
]
FILTERS: list[Filter | None] = [
    None,
    None,
    MetadataFilter("year", ">=", 2003),
    MetadataFilter("open", "==", True),
    MetadataFilters((MetadataFilter("kind", "in", ("a", "b")), MetadataFilter("year", "==", 2001)), "or"),
    MetadataFilter("kind", "!=", "a"),
]


class World:
    """A made graph, the same in both stores, and requests about it; all follow from the seed."""

    def __init__(self, seed: int, stores: tuple[GraphStore, GraphStore]) -> None:
        self.draw, self.stores = random.Random(seed), stores
        self.made: list[SourceVersion] = []
        for at in range(14):
            self._show(self._version(f"Doc {at}", at))
        for at in (0, 3):  # what changed, what went, and what is not shown yet
            self._show(self._version(f"Doc {at}", at, number=2))
        hidden = self._version("Draft", 99)
        for store in stores:
            take_out(store, A, self.made[5].source.id)
            store.write(A, [hidden])
            store.set_synonyms(A, [("Ada H", "Ada Hall"), ("Reedy", "Ben Reed")])
        self.made.append(hidden)
        chunks = self.chunks(40)
        for first, second in zip(chunks[::2], chunks[1::2], strict=True):
            made = ChunkRelation(first, second, "CAUSES", round(self.draw.random(), 2), "words")
            for store in stores:
                store.relate(A, [PairObservation(first, second, "someone", "", (made,))])

    def _show(self, made: SourceVersion) -> None:
        for store in self.stores:
            show(store, A, made)
        self.made.append(made)

    def _version(self, title: str, at: int, number: int = 1) -> SourceVersion:
        draw = self.draw
        parts = {}
        for part in range(draw.randint(2, 7)):
            told = []
            for n in range(draw.randint(1, 4)):
                # a few names are everywhere, most are rare
                names = [NAMES[min(int(draw.expovariate(0.25)), len(NAMES) - 1)] for _ in range(draw.randint(0, 3))]
                facts = [(names[0], draw.choice(("met", "owns")), names[1])] if len(set(names)) > 1 else []
                told.append(said(f"{title} {part} {n} {draw.randint(0, 3)} {' '.join(names)}.", *names, facts=facts))
            parts[f"Topic {part // 2} "[: 8 + part % 2]] = told
        metadata = {"year": 2000 + at % 6, "open": at % 2 == 0, "kind": "abc"[at % 3]}
        aliases = [("AH", "Ada Hall")] if at == 4 else []
        named = title if at % 4 else NAMES[at % len(NAMES)]
        return version(A, named, parts, number=number, uri=f"file:///{title}", metadata=metadata, aliases=aliases)

    def chunks(self, most: int) -> list[str]:
        return self._some([c for v in self.made for c in v.placements], most)

    def statements(self, most: int) -> list[str]:
        return self._some([s.id for v in self.made for c in v.chunks for s in c.statements], most)

    def topics(self, most: int) -> list[str]:
        return self._some(sorted({t.id for v in self.made for c in v.chunks for t in c.topics}), most)

    def entities(self, most: int) -> list[str]:
        return [entity_id(A, name) for name in self._some([*NAMES, "Ada H", "AH", "Reedy", "Nobody", "Doc 1"], most)]

    def _some(self, values: list[str], most: int) -> list[str]:
        return self.draw.sample(values, min(self.draw.randint(1, most), len(values)) // 2 * 2)


def evidence(w: World) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    request = EvidenceRequest(
        chunks=tuple(w.chunks(6)),
        entities=tuple(w.entities(6)),
        statements=tuple(w.statements(4)),
        neighbours=w.draw.random() < 0.5,
        whole_chunks=w.draw.random() < 0.5,
        per_entity=w.draw.choice((0, 1, 3, 50)),
        topics=tuple(w.topics(4)),
        per_topic=w.draw.choice((1, 3, 25)),
        topic_reach=w.draw.choice((0, 1, 3)),
        topic_links=w.draw.choice((0, 2, 9)),
        facts=w.draw.random() < 0.5,
        filters=w.draw.choice(FILTERS),
    )
    return "evidence", (request,), {}


def neighbourhood(w: World) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    chunks = w.chunks(8)
    names = {c: w.entities(3) for c in chunks[:2]}
    options = {"max_df": w.draw.choice((1, 3, 15)), "per_entity": w.draw.choice((1, 3, 10)), "prefer": w.chunks(30)}
    return "neighbourhood", (chunks,), {"names": names, "filters": w.draw.choice(FILTERS), **options}


def related(w: World) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    chunks = w.chunks(6)
    request = RelatedRequest(
        chunks=tuple(chunks),
        names={c: w.entities(3) for c in ["", *chunks[:2]]},
        prefer=tuple(w.chunks(10)),
        max_entities=w.draw.choice((2, 5, 20)),
        max_df=w.draw.choice((2, 5, 15)),
        per_entity=w.draw.choice((1, 3, 10)),
        all_kinds=w.draw.random() < 0.7,
        least_together=w.draw.choice((1, 2, 3)),
        first=w.draw.choice((0, 3)),
        filters=w.draw.choice(FILTERS),
    )
    return "related", (request,), {}


def others(w: World) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    filters = w.draw.choice(FILTERS)
    nodes = [*w.entities(8), *w.statements(8), *w.topics(4)]
    near = [*w.entities(3), *w.statements(4), *w.topics(2)]
    return [
        ("entities", (w.entities(8),), {"connected": w.draw.choice((0, 1, 5)), "filters": filters}),
        ("adjacent", (w.chunks(8),), {"per_kind": w.draw.choice((0, 1, 3)), "filters": filters}),
        ("nodes", (nodes,), {"near": near, "filters": filters}),
        ("surroundings", (nodes,), {"per_node": w.draw.choice((1, 3, 10)), "filters": filters}),
    ]


@pytest.fixture
def neptune() -> Iterator[NeptuneStandIn]:
    with NeptuneStandIn() as standin:
        yield standin


def check(seed: int, requests: int, neptune: NeptuneStandIn, folder: Path) -> None:
    embedded, store = SqliteGraphStore(f"sqlite:///{folder}"), NeptuneGraphStore(neptune.connection)
    world = World(seed, (embedded, store))
    kinds: tuple[Callable[[World], tuple[str, tuple[Any, ...], dict[str, Any]]], ...] = (evidence, neighbourhood, related)
    for _ in range(requests):
        for method, args, options in [*(kind(world) for kind in kinds), *others(world)]:
            neptune.forget()
            assert getattr(store, method)(A, *args, **options) == getattr(embedded, method)(A, *args, **options), method
            assert neptune.counts["read"] <= 1
            assert set(neptune.counts) <= {"read"}
    store.close()
    embedded.close()


@pytest.mark.slow
def test_a_made_graph_reads_the_same_in_both_stores(neptune: NeptuneStandIn, tmp_path: Path) -> None:
    check(1, 3, neptune, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [2, 3, pytest.param(4, marks=pytest.mark.soak)])
def test_many_made_graphs_read_the_same_in_both_stores(seed: int, neptune: NeptuneStandIn, tmp_path: Path) -> None:
    check(seed, 25, neptune, tmp_path)
