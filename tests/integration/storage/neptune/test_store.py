"""The graph store in Neptune: its writes are several queries, killed between any two, repeated, in each other's way."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.errors import Conflict, StoreUnavailable
from lexigraph.model.ids import entity_id
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retry import Retry
from lexigraph.storage.factory import GraphStoreFactory
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.graph_dump import dump_graph
from tests.laptop import laptop, open_laptop, write_pages
from tests.standins.neptune import Fault, NeptuneStandIn
from tests.standins.neptune_falkor import falkor
from tests.standins.script import Script
from tests.worlds import said, settle, show, take_out, version

A = Tenant("a")
BORN, MOVED = ("Marie Curie", "was born in", "Warsaw"), ("Marie Curie", "moved to", "Paris")
LIFE = [
    said("Marie Curie was born in Warsaw.", "Marie Curie|Person", "Warsaw|Location", facts=[BORN]),
    said("She moved to Paris.", "Marie Curie|Person", "Paris|Location", facts=[MOVED]),
]
FIRST = {"Life": LIFE, "Prizes": [said("She won two prizes.", "Marie Curie|Person", "Nobel Prize")]}
SECOND = {
    "Prizes": FIRST["Prizes"],
    "Late": [
        said(
            "Madame Curie died in Passy.",
            "Madame Curie|Person",
            "Passy|Location",
            facts=[("Madame Curie", "died in", "Passy")],
        )
    ],
}
TWIN = {"Births": [said("In Warsaw Marie Curie was born.", "Marie Curie", "Warsaw|City", facts=[BORN])]}


def curie(number: int = 1) -> SourceVersion:
    return version(A, "Marie Curie", FIRST, number=number, aliases=[("Madame Curie", "Marie Curie")])


def edited(number: int = 2) -> SourceVersion:
    return version(A, "Madame Curie", SECOND, number=number, uri="file:///marie curie.md", metadata={"edition": 2})


def births(number: int = 1) -> SourceVersion:
    return version(A, "Births", TWIN, number=number)


def next_of(store: GraphStore, v: SourceVersion) -> int:
    """The number of the version to come, as an ingestion finds it out that knows only what is live."""
    live = store.sources(A, [v.source.id])
    return live[v.source.id].version + 1 if live else 1


def begin(store: GraphStore) -> None:
    """Two documents that share a fact and its entities, with a relation between two chunks of the first."""
    show(store, A, curie(next_of(store, curie())), births(next_of(store, births())))
    one, two = curie().placements
    store.relate(A, [PairObservation(one, two, "observer", "how", (ChunkRelation(one, two, "FOLLOWS", 0.5, "words"),))])


def update(store: GraphStore) -> None:
    show(store, A, edited(next_of(store, edited())))


def remove(store: GraphStore) -> None:
    take_out(store, A, curie().source.id)


def other_names(store: GraphStore) -> None:
    store.set_synonyms(A, [("Varsovie", "Warsaw"), ("Warszawa", "Warsaw")])
    store.set_synonyms(A, [("Warszawa", "Warsaw"), ("Lutetia", "Paris")])
    settle(store, A)


WAYS: dict[str, Callable[[GraphStore], None]] = {"begin": begin, "update": update, "remove": remove, "names": other_names}


@pytest.fixture
def cluster() -> Iterator[NeptuneStandIn]:
    with NeptuneStandIn() as opened:
        yield opened


@pytest.fixture
def store(cluster: NeptuneStandIn) -> Iterator[NeptuneGraphStore]:
    opened = NeptuneGraphStore(cluster.connection)
    yield opened
    opened.close()


def killed_after(cluster: NeptuneStandIn, writes: int) -> None:
    """Let so many writes pass and refuse every further one: what a killed process leaves."""
    cluster.faults[:] = [Fault(kind="write", times=writes), Fault("AccessDeniedException", "write", times=1_000_000)]


def seen(store: GraphStore) -> list[tuple[str, str]]:
    """What readers see of any of the documents' versions: title and statement."""
    chunks = {c: None for v in (curie(), edited(), births()) for c in v.placements}
    rows = store.evidence(A, EvidenceRequest(chunks=tuple(chunks), neighbours=False))
    return [(row.source.title, row.value) for row in rows]


def disturb(name: str, chosen: Callable[[int], bool]) -> None:
    """Kill a change after each of its writes that is chosen, let it run again: all is as if nothing had happened.

    Between the two, readers see all of it or nothing.
    """
    change, server = WAYS[name], falkor().connection
    with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as store:
        if change is not begin:
            begin(store)
        before = f"{cluster.graph}begun"
        server.execute_command("GRAPH.COPY", cluster.graph, before)
        old = seen(store)
        cluster.forget()
        change(store)
        writes, expected, new = cluster.counts["write"], dump_graph(store, A), seen(store)
        assert writes > 3
        for at in filter(chosen, range(writes)):
            server.execute_command("GRAPH.DELETE", cluster.graph)
            server.execute_command("GRAPH.COPY", before, cluster.graph)
            killed_after(cluster, at)
            with pytest.raises(StoreUnavailable):
                change(store)
            cluster.faults.clear()
            assert seen(store) in (old, new), f"{name} killed after write {at} of {writes}"
            change(store)
            assert dump_graph(store, A) == expected, f"{name} killed after write {at} of {writes}"
        server.execute_command("GRAPH.DELETE", before)


@pytest.mark.slow
def test_a_change_killed_between_two_of_its_queries_ends_as_if_nothing_had_happened() -> None:
    disturb("update", lambda at: at % 7 == 3)


@pytest.mark.nightly
@pytest.mark.parametrize("name", WAYS)
def test_a_change_killed_after_any_of_its_queries_ends_as_if_nothing_had_happened(name: str) -> None:
    disturb(name, lambda at: True)


@pytest.mark.nightly
def test_every_query_may_run_twice_because_its_reply_was_lost(tmp_path: Path, cluster: NeptuneStandIn) -> None:
    store, calm = (
        NeptuneGraphStore(cluster.connection, retry=Retry(attempts=8, base=0.0)),
        SqliteGraphStore(f"sqlite:///{tmp_path}"),
    )
    for change in (begin, update, other_names, remove):
        # none has more than 30 writes; entities stay due, and are computed again, as long as replies are lost
        cluster.faults[:] = [fault for _ in range(40) for fault in (Fault(kind="write", lose=True), Fault(kind="write"))]
        change(store)
        assert not any(f.times for f in cluster.faults if f.lose), "every write of the change has lost a reply"
        change(calm)
        assert dump_graph(store, A) == dump_graph(calm, A), change.__name__
    store.close()
    calm.close()


@pytest.mark.slow
def test_the_graph_is_that_of_the_embedded_store_after_every_step(tmp_path: Path, store: NeptuneGraphStore) -> None:
    embedded = SqliteGraphStore(f"sqlite:///{tmp_path}")
    source = curie().source.id
    steps: list[Callable[[GraphStore], Any]] = [
        begin,
        lambda s: s.write(A, [edited()]),
        lambda s: s.publish(A, [edited().source]),
        lambda s: s.doomed(A, [source]),
        lambda s: s.collect(A, [source]),
        lambda s: settle(s, A),
        lambda s: s.derive(A),
        lambda s: s.node_ids(A, source),
        lambda s: s.chunk_ids(A, source),
        lambda s: s.source_ids(A),
        lambda s: s.sources(A, [source, births().source.id, "source:none"]),
        lambda s: s.observed(A, list(curie().placements), "observer", "how"),
        lambda s: s.withdraw(A, [source]),
        lambda s: s.doomed(A, [source]),
        lambda s: s.collect(A, [source]),
        lambda s: settle(s, A),
    ]
    for at, step in enumerate(steps):
        told = step(store), step(embedded)
        if at != 6:  # nothing is due any more, but for the number that a computation has
            assert told[0] == told[1], at
        assert dump_graph(store, A) == dump_graph(embedded, A), at
        assert store.stats(A) == embedded.stats(A), at
    embedded.close()


def test_what_a_killed_process_left_untold_is_told_by_whoever_derives_next(
    cluster: NeptuneStandIn, store: NeptuneGraphStore
) -> None:
    begin(store)
    paris = entity_id(A, "Paris")
    store.write(A, [edited()])
    killed_after(cluster, 1)
    with pytest.raises(StoreUnavailable):
        store.publish(A, [edited().source])
    cluster.faults.clear()
    assert store.sources(A, [curie().source.id])[curie().source.id].version == 2, "shown by the first query"

    assert paris in store.derive(A).gone


def test_an_entity_that_is_touched_while_it_is_derived_is_due_again(store: NeptuneGraphStore) -> None:
    store.write(A, [curie()])
    store.publish(A, [curie().source])
    derived = store.derive(A)
    assert derived
    show_other = births()
    store.write(A, [show_other])
    store.publish(A, [show_other.source])

    store.settle(A, derived)

    due = {e.id: e.df for e in store.derive(A).present}
    assert (due[entity_id(A, "Warsaw")], due[entity_id(A, "Marie Curie")]) == (2, 2)
    assert entity_id(A, "Paris") not in due


def test_who_settles_late_what_another_has_settled_meanwhile_leaves_it_due(store: NeptuneGraphStore) -> None:
    store.write(A, [curie()])
    store.publish(A, [curie().source])
    late = store.derive(A)
    show(store, A, births())
    assert not store.derive(A)

    store.settle(A, late)

    due = {e.id: e.df for e in store.derive(A).present}
    assert due.keys() == {e.id for e in late.present}
    assert due[entity_id(A, "Warsaw")] == 2


def test_an_entity_that_gets_support_after_it_was_found_gone_stays(store: NeptuneGraphStore) -> None:
    show(store, A, curie())
    store.withdraw(A, [curie().source.id])
    store.collect(A, [curie().source.id])
    derived = store.derive(A)
    warsaw = entity_id(A, "Warsaw")
    assert warsaw in derived.gone
    store.write(A, [births()])

    store.settle(A, derived)
    store.publish(A, [births().source])
    settle(store, A)

    assert (warsaw.partition(":")[2], "Warsaw", "City", 1, 1) in dump_graph(store, A)["entity"]
    assert len(dump_graph(store, A)["entity"]) == 3, "those of the births and their title"


@pytest.mark.slow
def test_a_closed_chunk_that_comes_back_half_collected_is_written_in_full(
    cluster: NeptuneStandIn, store: NeptuneGraphStore
) -> None:
    begin(store)
    expected = dump_graph(store, A)
    del expected["rel"], expected["rel_pair"]
    for writes in range(1, 9, 2):
        now = next_of(store, edited(0))
        store.write(A, [edited(now)])
        store.publish(A, [edited(now).source])
        killed_after(cluster, writes)
        with pytest.raises(StoreUnavailable):
            store.collect(A, [curie().source.id])
        cluster.faults.clear()
        show(store, A, curie(now + 1))
        got = dump_graph(store, A)
        assert {table: got[table] for table in expected} == expected, writes


@pytest.mark.nightly
def test_a_writer_that_was_stopped_until_another_took_its_turn_changes_nothing_that_readers_see(
    cluster: NeptuneStandIn, store: NeptuneGraphStore
) -> None:
    late = version(A, "Marie Curie", {"Prizes": FIRST["Prizes"], "Births": TWIN["Births"]}, number=2)
    newer = version(A, "Marie Curie", {**FIRST, "Late": SECOND["Late"]}, number=2)
    every = tuple({**late.placements, **newer.placements})

    def shown() -> list[str]:
        rows = store.evidence(A, EvidenceRequest(chunks=every, neighbours=False))
        return sorted(row.value for row in rows)

    expected = sorted(s.text for said_ in (*FIRST.values(), SECOND["Late"]) for s in said_)
    for at in range(1, 20):
        cluster.renew()
        begin(store)
        cluster.script = script = Script()
        script.begin(at, "wait")
        script.meanwhile = lambda: show(store, A, newer)
        script.counting = True
        with suppress(Conflict):  # stopped before it has looked which version is live
            store.write(A, [late])
        cluster.script = None
        if not script.met:
            break
        assert shown() == expected, f"stopped before call {at}: {script.calls[-1]}"
    assert at > 10


@pytest.mark.slow
def test_documents_that_share_everything_are_built_updated_and_removed_at_once(tmp_path: Path) -> None:
    def edition(n: int, number: int = 1) -> SourceVersion:
        told = said(f"On page {n} in edition {number} Ada knew Bea.", "Ada", "Bea", facts=[("Ada", "knew", "Bea")])
        return version(A, f"Page {n}", {"Page": [told]}, number=number, aliases=[("Countess", "Ada")])

    def life(store: GraphStore, n: int) -> None:
        for number in (1, 2):
            v = edition(n, number)
            store.write(A, [v])
            store.publish(A, [v.source])
            store.collect(A, [v.source.id])
        if n % 2:
            store.withdraw(A, [edition(n).source.id])
            store.collect(A, [edition(n).source.id])

    calm = SqliteGraphStore(f"sqlite:///{tmp_path}")
    with NeptuneStandIn(conflicts=0.1, seed=7) as cluster:
        store = NeptuneGraphStore(cluster.connection)
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(life, store, n) for n in range(6)]:
                done.result(timeout=60)
        for n in range(6):
            life(calm, n)
        settle(store, A)
        settle(calm, A)
        assert dump_graph(store, A) == dump_graph(calm, A)
        assert "ConcurrentModificationException" in {call.code for call in cluster.calls}
        store.close()
    calm.close()


def test_a_document_of_many_chunks_is_written_in_a_number_of_queries_that_does_not_grow_with_them(
    cluster: NeptuneStandIn, store: NeptuneGraphStore
) -> None:
    def pages(many: int) -> SourceVersion:
        parts = {
            f"Part {n}": [said(f"Part {n} names Ida.", "Ida", facts=[("Ida", "wrote", f"Part {n}")])] for n in range(many)
        }
        return version(A, f"Of {many}", parts)

    calls = []
    for many in (2, 40):
        cluster.forget()
        show(store, A, pages(many))
        calls.append(sum(cluster.counts.values()))
    assert calls[0] == calls[1]


def test_a_version_that_is_not_the_next_one_changes_nothing(cluster: NeptuneStandIn, store: NeptuneGraphStore) -> None:
    begin(store)
    cluster.forget()
    with pytest.raises(Conflict):
        store.write(A, [edited(3)])
    with pytest.raises(Conflict):
        store.publish(A, [edited(3).source])
    assert cluster.counts["write"] == 0


def test_the_factory_opens_the_store_for_its_scheme(cluster: NeptuneStandIn) -> None:
    opened = GraphStoreFactory.for_graph_store(cluster.connection)
    assert isinstance(opened, NeptuneGraphStore)
    assert opened.source_ids(A) == []
    opened.close()


@pytest.mark.slow
def test_an_ingestion_over_both_stores_makes_the_same_graph_also_after_its_store_failed(
    tmp_path: Path, cluster: NeptuneStandIn, store: NeptuneGraphStore
) -> None:
    texts = {"Ada": "Ada King wrote to Charles Babbage.", "Mill": "Charles Babbage built the Mill.", "Dam": "The Dam holds."}
    files = write_pages(tmp_path / "files", texts)
    embedded = open_laptop(tmp_path / "embedded")
    own = open_laptop(tmp_path / "neptune")
    own.graph.close()
    over = replace(own, graph=store)
    calm, disturbed = laptop(tmp_path / "embedded", embedded), laptop(tmp_path / "neptune", over)

    for text in ("Ada King wrote notes on the Mill.", "Charles Babbage and Ada King met."):
        killed_after(cluster, 9)
        with pytest.raises(StoreUnavailable):
            disturbed.ingest([files])
        cluster.faults.clear()
        for index in (calm, disturbed):
            assert not index.ingest([files]).failures
        assert dump_graph(store, DEFAULT_TENANT) == dump_graph(embedded.graph, DEFAULT_TENANT)
        write_pages(files, {"Ada": text})
    embedded.close()
    over.close()


def test_what_was_written_before_statements_had_a_kind_is_prose(store: NeptuneGraphStore) -> None:
    show(store, A, curie())
    request = EvidenceRequest(chunks=tuple(curie().placements), entities=(entity_id(A, "Paris"),), neighbours=False)
    written = store.evidence(A, request)
    texts = "MATCH (c:Chunk) WHERE c.tenant = $tenant RETURN id(c) AS id, c.statements AS statements"
    chunks = [(row["id"], json.loads(row["statements"])) for row in store._client.read_latest(texts, tenant=A)]
    shorter = [{"id": i, "statements": json.dumps([topics, [row[:9] for row in told]])} for i, (topics, told) in chunks]
    store._client.write("UNWIND $rows AS row MATCH (c:Chunk {`~id`: row.id}) SET c.statements = row.statements", shorter)
    store._client.write(
        "MATCH (x:Statement)-[m:MENTIONED_IN]->(:Chunk) WHERE x.tenant = $tenant REMOVE x.kind, m.original", tenant=A
    )

    assert store.evidence(A, request) == written
    assert {(row.kind, row.original) for row in written} == {("prose", "")}
    update(store)
    assert {row.kind for row in store.evidence(A, EvidenceRequest(chunks=tuple(edited().placements)))} == {"prose"}
