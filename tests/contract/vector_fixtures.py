"""The vector stores that the contract suite runs over.

A back end adds one line to a table: how to open it in a place of its own. Opened twice, it is two clients of one store,
also in another process (``vector_workers.py``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lexigraph.storage.protocols import FloatArray, VectorStore
from lexigraph.storage.vector.sqlite import SqliteVectorStore

LABEL, DIMENSION = "test-8", 8
VECTOR_STORES: dict[str, Callable[[Path, str, int], VectorStore]] = {
    "sqlite": lambda path, label, dimension: SqliteVectorStore(f"sqlite:///{path}", label=label, dimension=dimension)
}


@dataclass
class Opener:
    """Opens one more client of the same store."""

    back_end: str
    place: Path
    opened: list[VectorStore] = field(default_factory=list)

    def __call__(self, label: str = LABEL, dimension: int = DIMENSION) -> VectorStore:
        self.opened.append(VECTOR_STORES[self.back_end](self.place, label, dimension))
        return self.opened[-1]


@pytest.fixture(params=VECTOR_STORES)
def open_vector_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(request.param, tmp_path / "vectors")
    yield opener
    for store in opener.opened:
        store.close()


@pytest.fixture
def vector_store(open_vector_store: Opener) -> VectorStore:
    return open_vector_store()


def unit(*weights: float) -> FloatArray:
    """A vector of length 1 in these proportions; what is not given is 0."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(weights)] = weights
    return vector / np.linalg.norm(vector)


def random_units(count: int, seed: int) -> FloatArray:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
