"""The embedded vector store on the inside: the copy of the vectors, the full-text tables, and what is left behind."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import log1p
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from lexigraph.model.filters import parse_expression
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Hit, IndexName, SearchRequest, VectorRecord
from lexigraph.storage.sqlite.database import Database
from lexigraph.storage.sqlite.vector import partitions
from lexigraph.storage.sqlite.vector.recent import Scored
from lexigraph.storage.sqlite.vector.sidecar import Moved, Sidecars, _slot
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.contract.vector_fixtures import DIMENSION, LABEL, random_units, unit
from tests.disks import files_of_at_most
from tests.formats import without_ledger

A, B = Tenant("a"), Tenant("b")
COUNT = 60
VECTORS = random_units(COUNT, seed=7)
QUESTION = unit(1, 1, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[[], SqliteVectorStore]]:
    """Opens one more client of the store in the folder."""
    stores: list[SqliteVectorStore] = []

    def opener() -> SqliteVectorStore:
        stores.append(SqliteVectorStore(f"sqlite:///{folder}", label=LABEL, dimension=DIMENSION))
        return stores[-1]

    yield opener
    for store in stores:
        store.close()


def records(first: int = 0, last: int = COUNT, shift: int = 0) -> list[VectorRecord]:
    return [VectorRecord(f"r{n}", f"word{n}", f"s{n}", "", VECTORS[(n + shift) % COUNT]) for n in range(first, last)]


def search(store: SqliteVectorStore, k: int = COUNT, **more: Any) -> list[Hit]:
    return store.search_many(A, [SearchRequest("chunk", vector=QUESTION, k=k, **more)])[0]


def scored(hits: list[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def expected(store: SqliteVectorStore) -> dict[str, float]:
    """What a search for everything has to give, worked out from the records."""
    found = store.fetch(A, "chunk", store.ids(A, "chunk"))
    return {
        i: round(float(np.asarray(r.vector, np.float64) @ QUESTION.astype(np.float64)), 6) + 0.0 for i, r in found.items()
    }


def sidecars(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.f32*"), *folder.glob("*.i8*")])


# -- the copy of the vectors


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(path.stat().st_size))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def zeros(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[:64] + bytes(len(raw) - 64))


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"leftover of an append that was killed")


def other_header(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[30] ^= 1
    path.write_bytes(bytes(raw))


def rotated(path: Path) -> None:
    # whole and well formed, with every vector in another's slot
    raw = path.read_bytes()
    slots = np.frombuffer(raw[64:], _slot(DIMENSION)).copy()
    slots["vector"] = np.roll(slots["vector"], 1, axis=0)
    path.write_bytes(raw[:64] + slots.tobytes())


DAMAGES = [Path.unlink, lambda path: path.write_bytes(b""), garbage, cut, zeros, longer, other_header, rotated]


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_missing_or_damaged_copy_is_made_anew_without_a_word(
    opened: Callable[[], SqliteVectorStore], folder: Path, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    before = search(store)
    store.close()
    damage(*sidecars(folder))
    fresh = opened()
    assert search(fresh) == before
    fresh.upsert(A, {"chunk": [VectorRecord("late", "text", vector=QUESTION)]})
    assert search(fresh, k=1)[0].id == search(opened(), k=1)[0].id == "late"
    assert not caplog.records
    assert len(sidecars(folder)) == 1


def test_one_wrong_vector_that_turns_up_is_noticed(opened: Callable[[], SqliteVectorStore], folder: Path) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    before = search(store)
    store.close()
    (path,) = sidecars(folder)
    raw = path.read_bytes()
    # a slot that no sample looks at
    at = raw.index(VECTORS[2].tobytes())
    path.write_bytes(raw[:at] + QUESTION.tobytes() + raw[at + 4 * DIMENSION :])
    assert search(opened(), k=5) == before[:5]
    assert QUESTION.tobytes() not in path.read_bytes()


@pytest.mark.parametrize("place", [0, COUNT - 1])
def test_a_vector_lost_at_either_end_of_the_copy_is_noticed(
    opened: Callable[[], SqliteVectorStore], folder: Path, place: int
) -> None:
    rows = records()
    rows[place] = VectorRecord("wanted", "text", vector=QUESTION)
    store = opened()
    store.upsert(A, {"chunk": rows})
    assert search(store, k=1)[0].id == "wanted"
    store.close()
    (path,) = sidecars(folder)
    path.write_bytes(path.read_bytes().replace(QUESTION.tobytes(), bytes(4 * DIMENSION)))
    assert search(opened(), k=1)[0].id == "wanted"


def test_a_copy_of_another_moment_or_database_is_not_used(opened: Callable[[], SqliteVectorStore], folder: Path) -> None:
    store = opened()
    store.upsert(A, {"chunk": records(0, 20)})
    search(store)
    store.close()
    backup = folder.with_name("backup")
    shutil.copytree(folder, backup)
    store = opened()
    store.upsert(A, {"chunk": records(20, 40)})
    search(store)
    store.close()
    # the database of the backup, the copy of later; then other records under the keys that the copy has
    shutil.copy(backup / "vectors.sqlite", folder / "vectors.sqlite")
    store = opened()
    assert scored(search(store)) == expected(store)
    store.close()
    shutil.copy(*sidecars(folder), backup / "kept")
    store = opened()
    store.upsert(A, {"chunk": records(20, 60, shift=3)})
    store.close()
    shutil.move(backup / "kept", *sidecars(folder))
    store = opened()
    assert scored(search(store)) == expected(store)
    store.close()
    # a new database beside a copy of an old one
    for path in folder.glob("vectors.sqlite*"):
        path.unlink()
    store = opened()
    store.upsert(A, {"chunk": records(0, 60, shift=9)})
    assert scored(search(store)) == expected(store)


def test_without_room_for_the_copy_searches_go_on(
    opened: Callable[[], SqliteVectorStore], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    with files_of_at_most(500):
        assert scored(search(store)) == expected(store)
        assert search(store, filters=parse_expression("a == 1")) == []
    assert len(caplog.records) == 1 and "in memory" in caplog.text
    store.delete(A, {"chunk": ["r5"]})
    assert scored(search(store)) == expected(store)
    assert len(sidecars(folder)) == 1


def test_a_search_without_news_reads_no_log(opened: Callable[[], SqliteVectorStore]) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    store.upsert(A, {"chunk": records(0, 30, shift=1)})
    search(store)
    queries: list[str] = []
    with store._database.read() as connection:
        connection.set_trace_callback(queries.append)
    search(store, k=3)
    asked = [q.split("WHERE")[0].strip() for q in queries if q.startswith("SELECT")]
    assert len(asked) == 2
    assert asked[0].endswith("FROM partitions")
    assert asked[1] == "SELECT key, id, source, chunk, text, vector FROM record_1"


def test_a_transaction_older_than_the_copy_is_repeated(opened: Callable[[], SqliteVectorStore], folder: Path) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    database = Database(folder / "vectors.sqlite", partitions.SCHEMA, version=partitions.VERSION)
    cache = Sidecars(folder)
    with database.read() as connection:
        (partition,) = partitions.partitions_of(connection, A)
        store.upsert(A, {"chunk": records(0, 5, shift=4)})
        store.delete(A, {"chunk": ["r0"]})
        search(store)
        with pytest.raises(Moved):
            cache.view(connection, partition)
        alone = cache.view(connection, partition, patient=False)
        assert len(alone.slots) == COUNT and not len(alone.dead)
    with database.read() as connection:
        (partition,) = partitions.partitions_of(connection, A)
        view = cache.view(connection, partition)
        assert len(view.slots) - len(view.dead) == COUNT - 1
    database.close()


def test_the_copy_does_not_grow_with_every_replacement(opened: Callable[[], SqliteVectorStore], folder: Path) -> None:
    store, watcher = opened(), opened()
    rng = np.random.default_rng(1)
    for round_ in range(30):
        vectors = rng.standard_normal((COUNT, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        store.upsert(A, {"chunk": [VectorRecord(f"r{n}", f"round{round_}", vector=v) for n, v in enumerate(vectors)]})
        assert scored(search(store)) == scored(search(watcher)) == expected(store)
    slots = sidecars(folder)[0].stat().st_size // _slot(DIMENSION).itemsize
    assert slots < 1_000 + 3 * COUNT
    with store._database.read() as connection:
        assert connection.execute("SELECT count(*) FROM holes").fetchone()[0] <= 1_000


def test_random_changes_leave_old_and_new_clients_with_the_truth(opened: Callable[[], SqliteVectorStore]) -> None:
    rng, store, watcher = Random(3), opened(), opened()
    store.tag(A, [Source(f"s{n}", f"file:///{n}", metadata={"n": n}) for n in range(COUNT)])
    for step in range(60):
        chosen = sorted(rng.sample(range(COUNT), rng.randrange(1, 9)))
        if rng.random() < 0.35:
            store.delete(A, {"chunk": [f"r{n}" for n in chosen]})
        else:
            store.upsert(A, {"chunk": [records(n, n + 1, shift=rng.choice([0, 0, 5]))[0] for n in chosen]})
        truth = expected(store)
        clients = [store, watcher, opened()] if step % 10 == 0 else [watcher] if step % 3 else []
        for client in clients:
            assert scored(search(client)) == truth
            few = parse_expression(f"n < {COUNT // 3}")
            assert scored(search(client, filters=few)) == {i: s for i, s in truth.items() if int(i[1:]) < COUNT // 3}


def cosines(store: SqliteVectorStore, ids: list[str]) -> dict[str, float]:
    return scored(store.search_many(A, [SearchRequest("chunk", vector=QUESTION, ids=tuple(ids), texts=False)])[0])


def test_cosines_of_known_records_are_the_same_from_the_copy_and_from_the_records(
    opened: Callable[[], SqliteVectorStore],
) -> None:
    rng, store = Random(8), opened()
    asked = [f"r{n}" for n in range(COUNT + 5)]  # the last ones are nowhere
    for step in range(30):
        chosen = rng.sample(range(COUNT), 5)
        if step % 3 == 2:
            store.delete(A, {"chunk": [f"r{n}" for n in chosen]})
        else:
            store.upsert(A, {"chunk": [records(n, n + 1, shift=step)[0] for n in chosen]})
        truth, read = expected(store), cosines(opened(), asked)
        assert search(store)
        queries: list[str] = []
        with store._database.read() as connection:
            connection.set_trace_callback(queries.append)
        assert cosines(store, [i for i in asked if i in truth]) == read == truth
        assert not any("vector" in query for query in queries), "vectors were read from rows"
        with store._database.read() as connection:
            connection.set_trace_callback(None)
        assert cosines(store, asked) == truth


def test_a_known_record_whose_place_in_the_copy_is_damaged_is_read(
    opened: Callable[[], SqliteVectorStore], folder: Path
) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    truth = scored(search(store))
    store.close()
    (path,) = sidecars(folder)
    slots = np.frombuffer(path.read_bytes()[64:], _slot(DIMENSION)).copy()
    slots["vector"][2] = QUESTION
    slots["id"][3] += 1
    slots["id"][5] = slots["id"][6]
    path.write_bytes(path.read_bytes()[:64] + slots.tobytes())
    fresh = opened()
    fresh.search_many(A, [SearchRequest("chunk", vector=-QUESTION, k=1)])  # finds none of these
    assert cosines(fresh, [f"r{n}" for n in range(COUNT)]) == truth


# -- what is left behind


def tables(folder: Path) -> set[str]:
    connection = sqlite3.connect(folder / "vectors.sqlite")
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def test_a_tenant_that_deletes_everything_leaves_no_table_and_no_file(
    opened: Callable[[], SqliteVectorStore], folder: Path
) -> None:
    store = opened()
    bare = tables(folder)
    for tenant in (A, B):
        store.upsert(tenant, {"chunk": records(), "entity": [VectorRecord("e", "name")]})
        store.search_many(tenant, [SearchRequest("chunk", vector=QUESTION)])
    store.upsert(A, {"chunk": records(shift=1)})
    assert len(sidecars(folder)) == 2
    store.delete(A, {"chunk": store.ids(A, "chunk"), "entity": ["e"]})
    assert len(sidecars(folder)) == 1
    store.delete(B, {"chunk": store.ids(B, "chunk"), "entity": ["e"]})
    assert sidecars(folder) == []
    assert tables(folder) == bare
    connection = sqlite3.connect(folder / "vectors.sqlite")
    for table in ("partitions", "holes", "tags"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    connection.close()


def test_files_whose_owner_is_gone_are_removed_when_the_store_is_opened(
    opened: Callable[[], SqliteVectorStore], folder: Path
) -> None:
    store = opened()
    store.upsert(A, {"chunk": records()})
    search(store)
    (kept,) = sidecars(folder)
    for name in ("vectors-99.f32", "vectors-98.f32-new", "vectors-97.i8"):
        (folder / name).write_bytes(b"vectors of a partition that is no more")
    opened()
    assert sidecars(folder) == [kept]


def test_the_full_text_tables_hold_exactly_the_texts_there_are(opened: Callable[[], SqliteVectorStore]) -> None:
    store, rng = opened(), Random(5)
    for step in range(40):
        chosen = rng.sample(range(COUNT), 6)
        if step % 4 == 3:
            store.delete(A, {"chunk": [f"r{n}" for n in chosen]})
        else:
            texts = [f"step{step} common word{rng.randrange(9)} ünïcode\x00null" for _ in chosen]
            store.upsert(
                A, {"chunk": [VectorRecord(f"r{n}", t, vector=VECTORS[n]) for n, t in zip(chosen, texts, strict=True)]}
            )
    with store._database.write() as connection:
        # compares the index with the records
        connection.execute("INSERT INTO words_1 (words_1, rank) VALUES ('integrity-check', 1)")
        rows = connection.execute("SELECT count(*) FROM words_1 WHERE words_1 MATCH 'common'").fetchone()[0]
    assert rows == store.stats(A)["chunk"]


# -- words in a large index


def bm25(texts: dict[str, str], words: list[str]) -> dict[str, float]:
    """BM25 as Lucene defines it, written down plainly."""
    split = {i: t.split() for i, t in texts.items()}
    mean = sum(map(len, split.values())) / len(split)
    scores: dict[str, float] = {}
    for word in words:
        having = [i for i, t in split.items() if word in t]
        weight = log1p((len(split) - len(having) + 0.5) / (len(having) + 0.5))
        for i in having:
            frequency = split[i].count(word)
            length = 1.2 * (1 - 0.75 + 0.75 * len(split[i]) / mean)
            scores[i] = scores.get(i, 0.0) + weight * frequency / (frequency + length)
    return {i: round(s, 6) for i, s in scores.items()}


def words(store: SqliteVectorStore, text: str, k: int, index: IndexName = "entity", **more: Any) -> list[Hit]:
    return store.search_many(A, [SearchRequest(index, text=text, k=k, **more)])[0]


def test_scores_are_those_of_bm25(opened: Callable[[], SqliteVectorStore]) -> None:
    store, rng = opened(), Random(1)
    texts = {f"e{n}": " ".join(f"w{int(rng.expovariate(0.1))}" for _ in range(rng.randrange(1, 30))) for n in range(400)}
    store.upsert(A, {"entity": [VectorRecord(i, t) for i, t in texts.items()]})

    def check() -> None:
        for asked in (["w3"], ["w30", "w2"], ["w1", "w9", "w25", "w41", "w0"]):
            truth = bm25(texts, asked)
            hits = words(store, " ".join(asked), 20)
            best = sorted(truth.items(), key=lambda found: (-found[1], found[0]))[:20]
            assert [(h.id, pytest.approx(h.score, abs=2e-6)) for h in hits] == best

    check()
    # "w0" is in half of the texts and more afterwards, where FTS5 weighs it by nothing
    texts |= {f"e{n}": f"w0 {texts[f'e{n}']}" for n in range(300)}
    store.upsert(A, {"entity": [VectorRecord(f"e{n}", texts[f"e{n}"]) for n in range(300)]})
    gone = [f"e{n}" for n in range(200, 400)]
    store.delete(A, {"entity": gone})
    texts = {i: t for i, t in texts.items() if i not in gone}
    check()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteVectorStore, dict[str, str]]]:
    """12,000 texts, also names: ``half`` in every other, ``third`` in a third, ``rare`` in a hundredth, ``tied`` in all."""
    store = SqliteVectorStore(f"sqlite:///{tmp_path_factory.mktemp('large')}", label=LABEL, dimension=DIMENSION)
    rng, texts = Random(2), {}
    for n in range(12_000):
        parts = ["tied", f"n{n}", *["half"] * (n % 2 == 0), *["third"] * (n % 3 == 0), *["rare"] * (n % 100 == 0)]
        texts[f"e{n:05}"] = " ".join([*parts, *["filler"] * rng.randrange(4)])
    vector = np.eye(1, DIMENSION, dtype=np.float32)[0]
    records = {"chunk": [VectorRecord(i, t, vector=vector) for i, t in texts.items()]}
    store.upsert(A, {**records, "entity": [VectorRecord(i, t) for i, t in texts.items()]})
    yield store, texts
    store.close()


def test_in_a_large_index_frequent_words_add_to_the_scores_of_what_rare_words_find(
    large: tuple[SqliteVectorStore, dict[str, str]],
) -> None:
    store, texts = large
    for own in ("n7", "n8", "n14"):  # the rows of the words that they share are known after the first
        truth = bm25(texts, ["rare", "third", own])  # every other text has "half": it is left out
        hits = words(store, f"rare third half {own}", 100, "chunk")
        best = sorted(truth.items(), key=lambda found: (-found[1], found[0]))[:100]
        assert [(h.id, pytest.approx(h.score, abs=2e-6)) for h in hits] == best
        assert scored(words(store, f"rare third half {own}", 1, "chunk", ids=tuple(i for i, _ in best))) == scored(hits)


def test_frequent_words_find_something_when_there_are_no_others(large: tuple[SqliteVectorStore, dict[str, str]]) -> None:
    store, texts = large
    for text, used in (("half", ["half"]), ("third half", ["third"]), ("tied", ["tied"])):
        best = sorted(bm25(texts, used).items(), key=lambda found: (-found[1], found[0]))[:10]
        assert [(h.id, pytest.approx(h.score, abs=2e-6)) for h in words(store, text, 10, "chunk")] == best
    assert [h.id for h in words(store, "tied nowhere", 10, "chunk")] == [h.id for h in words(store, "tied", 10, "chunk")]


def test_a_tie_longer_than_the_list_goes_by_id(large: tuple[SqliteVectorStore, dict[str, str]]) -> None:
    store, texts = large
    truth = bm25(texts, ["rare"])
    best = sorted(truth.items(), key=lambda found: (-found[1], found[0]))[:3]
    assert [(h.id, pytest.approx(h.score, abs=2e-6)) for h in words(store, "rare", 3, "chunk")] == best


def test_a_word_in_very_many_names_finds_none_of_them_and_takes_no_time_from_the_rare_ones(
    large: tuple[SqliteVectorStore, dict[str, str]],
) -> None:
    store, _ = large
    assert words(store, "half third", 10) == []
    assert [h.id for h in words(store, "half n8", 10)] == ["e00008"]
    assert len(words(store, "half rare", 10)) == 10


def test_a_filter_in_a_large_index_keeps_to_its_sources(opened: Callable[[], SqliteVectorStore]) -> None:
    store = opened()
    rows = [VectorRecord(f"e{n:05}", f"common {'rare' * (n % 50 == 0)} n{n}", f"s{n % 7}") for n in range(9_000)]
    store.upsert(A, {"entity": rows})
    store.tag(A, [Source(f"s{n}", f"file:///{n}", metadata={"n": n}) for n in range(6)])
    hits = words(store, "common rare", 500, filters=parse_expression("n == 3"))
    assert {h.source_id for h in hits} == {"s3"}
    assert [h for h in hits if "rare" in h.text] == hits[: len([n for n in range(0, 9_000, 50) if n % 7 == 3])]
    assert words(store, "common rare", 10, filters=parse_expression("n == 6")) == []


# -- what is remembered of searches by words


def test_the_calls_of_one_question_have_its_rows_scored_once(large: tuple[SqliteVectorStore, dict[str, str]]) -> None:
    store, _ = large
    ids = tuple(f"e{n:05}" for n in range(0, 2_000, 50))
    queries: list[str] = []
    with store._database.read() as connection:
        connection.set_trace_callback(queries.append)
    first = words(store, "rare third n50", 1_000, "chunk")
    assert 1 <= sum("FROM terms_" in query for query in queries) <= 3  # one a word that was not asked for before
    words(store, "third n50 rare", 1_000, "chunk")
    queries.clear()
    words(store, "n50 rare third", 1_000, "chunk")
    assert not [query for query in queries if "FROM terms_" in query], "rows of words were read again"
    given = words(store, "rare third n50", 1, "chunk", ids=ids)
    with store._database.read() as connection:
        connection.set_trace_callback(None)
    assert not [query for query in queries if "MATCH" in query]
    assert {h.id: h.score for h in given} == {h.id: h.score for h in first if h.id in ids} != {}


def test_nothing_that_was_remembered_outlives_a_write_of_any_client(opened: Callable[[], SqliteVectorStore]) -> None:
    rng, store, writer, indexes = Random(6), opened(), opened(), ("chunk", "entity")
    asked = [SearchRequest(i, text=t, k=7, prefix=p) for i in indexes for t in ("w1 w2", "w3") for p in (False, True)]
    asked += [SearchRequest(i, text="w1 w2", ids=("r1", "r2", "r3")) for i in indexes]
    for step in range(40):
        chosen = rng.sample(range(COUNT), 4)
        if step % 4 == 3:
            writer.delete(A, {index: [f"r{n}" for n in chosen] for index in indexes})
        elif step != 20:
            texts = [f"w{rng.randrange(5)} w{rng.randrange(20)}" for _ in chosen]
            rows = [VectorRecord(f"r{n}", t, vector=VECTORS[n]) for n, t in zip(chosen, texts, strict=True)]
            names = [VectorRecord(row.id, row.text) for row in rows]
            writer.upsert(A, {"chunk": rows, "entity": names})
        else:
            # the partitions go, and others come
            writer.delete(A, {"chunk": store.ids(A, "chunk"), "entity": store.ids(A, "entity")})
        fresh = opened()
        assert store.search_many(A, asked) == store.search_many(A, asked) == fresh.search_many(A, asked)
        fresh.close()


def test_what_is_remembered_of_searches_is_bounded(opened: Callable[[], SqliteVectorStore]) -> None:
    store = opened()
    tenants = [Tenant(f"t{n}") for n in range(40)]
    for tenant in tenants:
        store.upsert(tenant, {"entity": [VectorRecord("e", "name")]})
        store.search_many(tenant, [SearchRequest("entity", text=f"name word{n}") for n in range(3)])
    for first in range(0, 5_000, 100):
        text = " ".join(f"word{n}" for n in range(first, first + 100))
        store.search_many(tenants[0], [SearchRequest("entity", text=text)])
    recent = store._known.recent
    assert len(recent._texts) <= 32
    assert len(recent._counts) <= 32
    assert max(len(counts) for _, counts in recent._counts.values()) <= 2_100
    partition, _ = next(iter(recent._counts.values()))
    for number in range(6):
        recent.ids(replace(partition, number=number)).update((key, "e") for key in range(60_000))
        assert not recent.ids(replace(partition, number=number)), "too many ids are kept"
    assert len(recent._ids) <= 4
    for n in range(1_500):
        recent.keep_postings(partition, f"w{n}", Scored(np.arange(1_000), np.zeros(1_000)))
    assert sum(len(rows.keys) for _, rows in recent._postings.values()) == 1_000_000
    assert recent.postings(partition, "w1499") is not None
    assert recent.postings(partition, "w0") is None, "what was asked for long ago is kept"


@pytest.mark.parametrize("others", ["o", "a"])  # behind the equal names, and before: then they are not soon come by
def test_of_hundreds_of_equal_names_the_first_by_id_are_read(opened: Callable[[], SqliteVectorStore], others: str) -> None:
    store = opened()
    ids = [f"e{n}" for n in range(400)]
    Random(4).shuffle(ids)
    names = [VectorRecord(i, f"same x{i}" if i != "e77" else "same") for i in ids]
    store.upsert(A, {"entity": [*names, *(VectorRecord(f"{others}{n}", f"other o{n}") for n in range(900))]})
    queries: list[str] = []
    with store._database.read() as connection:
        connection.set_trace_callback(queries.append)
    hits = words(store, "same", 6, prefix=True)
    with store._database.read() as connection:
        connection.set_trace_callback(None)
    assert [h.id for h in hits] == ["e77", *[i for i in sorted(ids) if i != "e77"][:5]]
    (read,) = [query for query in queries if query.startswith("SELECT key, id, source")]
    assert read.count(",") < 12


def test_a_file_of_the_format_before_finds_words_of_other_languages_once_it_is_opened(
    opened: Callable[[], SqliteVectorStore], folder: Path
) -> None:
    store = opened()
    store.upsert(
        A, {"chunk": [VectorRecord("jp", "東京の灯台", "s", "c", unit(1)), VectorRecord("en", "A lamp", "s", "c", unit(1))]}
    )
    store.close()
    with sqlite3.connect(folder / "vectors.sqlite") as connection:
        without_ledger(connection)  # as it was written before
        connection.execute("DROP TABLE terms_1")
        connection.execute("DROP TABLE words_1")
        connection.execute("ALTER TABLE record_1 DROP COLUMN further")
        content = "content='record_1', content_rowid='key', tokenize='porter unicode61 remove_diacritics 2'"
        connection.execute(f"CREATE VIRTUAL TABLE words_1 USING fts5(text, {content})")
        connection.execute("INSERT INTO words_1 (words_1) VALUES ('rebuild')")
        connection.execute("PRAGMA user_version=1")
    connection.close()
    store = opened()
    assert [hit.id for hit in store.search_many(A, [SearchRequest("chunk", text="灯台はどこですか")])[0]] == ["jp"]
    assert [hit.id for hit in store.search_many(A, [SearchRequest("chunk", text="lamps")])[0]] == ["en"]
    with store._database.write() as connection:
        connection.execute("INSERT INTO words_1 (words_1, rank) VALUES ('integrity-check', 1)")
