"""Words of texts as they are read from the index of FTS5, compared with what FTS5 itself makes of them."""

import sqlite3
from collections.abc import Iterator
from math import log
from pathlib import Path
from random import Random

import numpy as np
import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import SearchRequest, VectorRecord
from lexigraph.storage.sqlite.vector.partitions import Partition, partitions_of
from lexigraph.storage.sqlite.vector.postings import K1, Lengths, average_length, occurrences, shares
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.contract.vector_fixtures import DIMENSION, LABEL, random_units

A = Tenant("a")
WORDS = [*(f"w{n}" for n in range(12)), "running", "runs", "Über", "灯台", "c\U0001e900d", "naïve", "кошки"]
VECTORS = random_units(300, seed=3)


LONG = VectorRecord("long", "w0 " * 9_000 + "w1 " * 9_000, vector=VECTORS[0])


def texts(seed: int, first: int, count: int, longest: int, *, vectors: bool = True) -> list[VectorRecord]:
    rng = Random(seed)
    return [
        VectorRecord(
            f"r{n}", " ".join(rng.choices(WORDS, k=rng.randrange(1, longest))), vector=VECTORS[n] if vectors else None
        )
        for n in range(first, first + count)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteVectorStore]:
    """Texts of which some were replaced and some removed, some of more than 127 and of more than 16,383 words."""
    made = SqliteVectorStore(f"sqlite:///{tmp_path}", label=LABEL, dimension=DIMENSION)
    made.upsert(A, {"chunk": texts(1, 0, 200, 60), "entity": texts(2, 0, 100, 3, vectors=False)})
    made.upsert(A, {"chunk": [*texts(3, 50, 60, 400), LONG]})
    made.delete(A, {"chunk": [f"r{n}" for n in range(0, 200, 7)], "entity": ["r1", "r2"]})
    yield made
    made.close()


def scored_by_fts5(connection: sqlite3.Connection, partition: Partition, term: str) -> dict[int, float]:
    """Return what ``bm25`` of FTS5 says, without its idf."""
    rows = connection.execute(
        f"SELECT rowid, -bm25({partition.words}) FROM {partition.words} WHERE {partition.words} MATCH ?", (term,)
    ).fetchall()
    odds = (partition.live - len(rows) + 0.5) / (len(rows) + 0.5)
    return {key: score / max(log(odds), 1e-6) / (K1 + 1) for key, score in rows}


@pytest.mark.parametrize("index", ["chunk", "entity"])
def test_a_word_is_worth_to_texts_what_it_is_to_fts5(store: SqliteVectorStore, index: str) -> None:
    lengths, found = Lengths(lambda: None), 0
    with store._database.read() as connection:
        [partition] = [p for p in partitions_of(connection, A) if p.name == index]
        average = average_length(connection, partition, partition.live)
        for term in (
            *(f'"{word}"' for word in (*WORDS, "w", "ru", "")),
            '"w"*',
            '"w1"*',
            '"runn"*',
            '"c\U0001e900"*',
            '""*',
        ):
            keys, times = occurrences(connection, partition, term)
            scores = shares(times, lengths.of(connection, partition, keys), average)
            expected = scored_by_fts5(connection, partition, term)
            assert keys.tolist() == sorted(expected), term
            assert np.allclose(scores, [expected[key] for key in keys.tolist()], rtol=1e-9, atol=0), term
            found += len(keys)
    assert found > 200


def test_chunks_without_a_relation_take_nothing_from_the_labels_of_others(store: SqliteVectorStore) -> None:
    labels = ["is owned by", "replaced\nruns on", "leads\nworks at\nis kept by", "replaced"]
    told = [VectorRecord(f"c{n}", label, "s1", f"c{n}") for n, label in enumerate(labels)]
    asked = [SearchRequest("relation", text="replaced", k=9)]
    store.upsert(A, {"relation": told})
    alone = store.search_many(A, asked)
    store.upsert(A, {"relation": [VectorRecord(f"e{n}", "", "s1", f"e{n}") for n in range(200)]})
    assert store.search_many(A, asked) == alone
    assert [hit.id for hit in alone[0]] == ["c3", "c1"]
    store.tag(A, [Source("s1", "file:///s1", metadata={"n": 1})])
    assert store.search_many(View(A, MetadataFilter("n", "==", 1)), asked) == alone


def test_lengths_are_those_of_the_file_that_is_there(store: SqliteVectorStore) -> None:
    file = 1
    lengths = Lengths(lambda: file)
    with store._database.write() as connection:
        partition = next(p for p in partitions_of(connection, A) if p.name == "chunk")
        keys, _ = occurrences(connection, partition, '"w0"')
        before = lengths.of(connection, partition, keys)
        connection.execute(f"UPDATE {partition.words}_docsize SET sz = x'0502'")
        assert lengths.of(connection, partition, keys).tolist() == before.tolist(), "they were not kept"
        file = 2
        assert set(lengths.of(connection, partition, keys).tolist()) == {7}


def test_a_file_of_before_has_its_words_found(store: SqliteVectorStore, tmp_path: Path) -> None:
    asked = [SearchRequest("chunk", text="running w3 w4", k=20)]
    before = store.search_many(A, asked)
    with store._database.write() as connection:
        for partition in partitions_of(connection, A):
            connection.execute(f"DROP TABLE {partition.terms}")
        connection.execute("PRAGMA user_version=3")
    store.close()
    again = SqliteVectorStore(f"sqlite:///{tmp_path}", label=LABEL, dimension=DIMENSION)
    try:
        assert again.search_many(A, asked) == before != [[]]
    finally:
        again.close()
