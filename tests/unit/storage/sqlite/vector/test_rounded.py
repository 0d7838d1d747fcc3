"""Thousands of vectors are scanned as bytes: what is found is what the vectors themselves say, to the last digit."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.model.filters import parse_expression
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import FloatArray, Hit, SearchRequest, VectorRecord
from lexigraph.storage.sqlite.damage import examine, set_aside
from lexigraph.storage.sqlite.vector.rounded import LEAST, Rounded, rounded
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore

pytest.importorskip("simsimd")
A = Tenant("a")
DIMENSION = 48
COUNT = LEAST + 500


def units(count: int, seed: int) -> FloatArray:
    """Vectors of which many are alike, some are the same, and some numbers are far larger than the others."""
    rng = np.random.default_rng(seed)
    around = rng.standard_normal((20, DIMENSION)) * np.where(rng.random(DIMENSION) < 0.1, 8.0, 1.0)
    vectors = around[rng.integers(0, 20, count)] + rng.standard_normal((count, DIMENSION)) * 0.2
    vectors[rng.integers(0, count, count // 50)] = vectors[0]
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


VECTORS, QUESTIONS = units(COUNT + 600, 1), [*units(40, 2), units(1, 1)[0]]


def records(first: int, last: int) -> list[VectorRecord]:
    return [VectorRecord(f"r{n:05d}", "", f"s{n % 7}", "", VECTORS[n]) for n in range(first, last)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with many vectors, which have been searched."""
    folder = tmp_path_factory.mktemp("rounded")
    with_store(folder, lambda store: store.upsert(A, {"chunk": records(0, COUNT)}))
    with_store(folder, lambda store: search(store, QUESTIONS[0]))
    return folder


@pytest.fixture
def store(kept: Path) -> Iterator[SqliteVectorStore]:
    opened = SqliteVectorStore(f"sqlite:///{kept}", label="made", dimension=DIMENSION)
    yield opened
    opened.close()


def with_store(folder: Path, act: Callable[[SqliteVectorStore], object]) -> None:
    opened = SqliteVectorStore(f"sqlite:///{folder}", label="made", dimension=DIMENSION)
    act(opened)
    opened.close()


def search(store: SqliteVectorStore, question: FloatArray, k: int = 10, filters: str = "") -> list[Hit]:
    asked = SearchRequest("chunk", vector=question, k=k, filters=parse_expression(filters) if filters else None)
    return store.search_many(A, [asked])[0]


def expected(question: FloatArray, k: int, numbers: range | list[int]) -> list[tuple[str, float]]:
    """The best by products in double precision, ties by id."""
    scores = np.round(VECTORS[list(numbers)].astype(np.float64) @ question.astype(np.float64), 6) + 0.0
    return sorted(zip([f"r{n:05d}" for n in numbers], scores.tolist(), strict=True), key=lambda f: (-f[1], f[0]))[:k]


def found(hits: list[Hit]) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hits]


def copy_of(folder: Path) -> Path:
    (path,) = folder.glob("*.i8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 10, 50, 300, COUNT])
def test_a_search_finds_what_a_scan_of_the_vectors_would(store: SqliteVectorStore, kept: Path, k: int) -> None:
    assert copy_of(kept)
    for question in QUESTIONS:
        assert found(search(store, question, k)) == expected(question, k, range(COUNT))


def test_several_questions_at_once_find_what_each_finds_alone(store: SqliteVectorStore) -> None:
    requests = [SearchRequest("chunk", vector=question, k=20) for question in QUESTIONS]
    assert store.search_many(A, requests) == [store.search_many(A, [one])[0] for one in requests]


def test_vectors_that_come_and_go_are_found_and_not(tmp_path: Path) -> None:
    gone = list(range(5, COUNT, 9))
    left = [n for n in range(COUNT + 600) if n not in set(gone)]
    with_store(tmp_path, lambda store: store.upsert(A, {"chunk": records(0, COUNT)}))
    with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
    size = copy_of(tmp_path).stat().st_size

    def change(store: SqliteVectorStore) -> None:
        search(store, QUESTIONS[0])  # what it has mapped then is gone on from
        store.delete(A, {"chunk": [f"r{n:05d}" for n in gone]})
        store.upsert(A, {"chunk": records(COUNT, COUNT + 600)})
        for question in QUESTIONS:
            assert found(search(store, question, 30)) == expected(question, 30, left)

    with_store(tmp_path, change)
    assert copy_of(tmp_path).stat().st_size > size
    assert not list(examine(tmp_path, ()))


def test_filters_hold(tmp_path: Path) -> None:
    def check(store: SqliteVectorStore) -> None:
        store.upsert(A, {"chunk": records(0, COUNT)})
        store.tag(A, [Source(f"s{n}", "", "", "", {"kind": "even" if n % 2 == 0 else "odd"}) for n in range(7)])
        odd = [n for n in range(COUNT) if n % 7 % 2]
        for question in QUESTIONS[:10]:
            assert found(search(store, question, 25, 'kind == "odd"')) == expected(question, 25, odd)

    with_store(tmp_path, check)


def test_a_copy_that_differs_is_told_and_made_again(tmp_path: Path) -> None:
    with_store(tmp_path, lambda store: store.upsert(A, {"chunk": records(0, COUNT)}))
    with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
    raw = bytearray(copy_of(tmp_path).read_bytes())
    for at in (40, 64, len(raw) // 2, len(raw) - 1):
        copy_of(tmp_path).write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])
        told = list(examine(tmp_path, ()))
        if at >= 64:
            assert [(damage.path, damage.derived) for damage in told] == [(copy_of(tmp_path), True)]
        set_aside(told)
        with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
        assert copy_of(tmp_path).read_bytes() == raw


def test_a_copy_of_another_file_than_that_beside_it_is_made_again(tmp_path: Path) -> None:
    with_store(tmp_path, lambda store: store.upsert(A, {"chunk": records(0, COUNT)}))
    with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
    (vectors,) = tmp_path.glob("*.f32")
    vectors.unlink()
    with_store(tmp_path, lambda store: store.delete(A, {"chunk": ["r00003"]}))
    left = [n for n in range(COUNT) if n != 3]

    def check(store: SqliteVectorStore) -> None:
        for question in QUESTIONS[:5]:
            assert found(search(store, question, 10)) == expected(question, 10, left)

    with_store(tmp_path, check)
    assert not list(examine(tmp_path, ()))


def test_where_no_copy_can_be_written_the_vectors_are_scanned(tmp_path: Path) -> None:
    with_store(tmp_path, lambda store: store.upsert(A, {"chunk": records(0, COUNT)}))
    with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
    (path := copy_of(tmp_path)).unlink()
    path.mkdir()

    def check(store: SqliteVectorStore) -> None:
        assert found(search(store, QUESTIONS[1])) == expected(QUESTIONS[1], 10, range(COUNT))

    with_store(tmp_path, check)


def test_few_vectors_are_not_copied(tmp_path: Path) -> None:
    with_store(tmp_path, lambda store: store.upsert(A, {"chunk": records(0, 500)}))
    with_store(tmp_path, lambda store: search(store, QUESTIONS[0]))
    assert not list(tmp_path.glob("*.i8"))


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-6, 1.0, 1e4]), zeros=st.booleans())
def test_no_product_is_further_off_than_told(
    tmp_path_factory: pytest.TempPathFactory, seed: int, scale: float, zeros: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = np.asarray(rng.standard_cauchy((LEAST, 16)) * scale, np.float32)
    if zeros:
        vectors[rng.integers(0, LEAST, 40)] = 0.0
    made: Rounded | None = rounded(tmp_path_factory.mktemp("r") / "vectors-1.i8", vectors, os.getpid(), write=True)
    assert made
    queries = np.asarray(rng.standard_cauchy((3, 16)), np.float32)
    about, off = made.products(queries)
    exact = queries.astype(np.float64) @ vectors.T.astype(np.float64)
    size = np.abs(exact).max(axis=1)
    assert (np.abs(about - exact).max(axis=1) <= np.array(off) + 1e-6 * size).all()
