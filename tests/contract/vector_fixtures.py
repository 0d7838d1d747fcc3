"""The vector stores that the contract suite runs over.

A back end adds one line to a table: how to open it in a place of its own. Opened twice, it is two clients of one store,
also in another process (``vector_workers.py``).
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lexigraph.storage.opensearch.store import OpenSearchVectorStore
from lexigraph.storage.protocols import FloatArray, VectorStore
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.contract.vector_waiting import WaitingVectorStore
from tests.standins.aws_server import ENVIRONMENT
from tests.standins.opensearch import OpenSearchServer

LABEL, DIMENSION = "test-8", 8
WHERE = "collection"  # in the place of an OpenSearch store: how other processes find it


def _sqlite(place: Path, label: str, dimension: int, beside: bool = False) -> VectorStore:
    return SqliteVectorStore(f"sqlite:///{place}", label=label, dimension=dimension, beside=beside)


def _opensearch(place: Path, label: str, dimension: int, beside: bool = False) -> VectorStore:
    connection = (place / WHERE).read_text()
    return WaitingVectorStore(OpenSearchVectorStore(connection, label=label, dimension=dimension, beside=beside))


VECTOR_STORES: dict[str, Callable[..., VectorStore]] = {"sqlite": _sqlite, "opensearch": _opensearch}
WRITES_AT_ONCE = ("sqlite",)  # readers see a write whole or not at all, whatever it holds
WORDS_OF_ALL_TENANTS = ("opensearch",)  # what others write moves the scores of BM25


@dataclass
class Opener:
    """Opens one more client of the same store."""

    back_end: str
    place: Path
    opened: list[VectorStore] = field(default_factory=list)

    def __call__(self, label: str = LABEL, dimension: int = DIMENSION, *, beside: bool = False) -> VectorStore:
        self.opened.append(VECTOR_STORES[self.back_end](self.place, label, dimension, beside))
        return self.opened[-1]


IN_PROCESSES = [name if name in WRITES_AT_ONCE else pytest.param(name, marks=pytest.mark.slow) for name in VECTOR_STORES]


@pytest.fixture(params=VECTOR_STORES)
def open_vector_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    place = tmp_path / "vectors"
    opener = Opener(request.param, place)
    with ExitStack() as stack:
        if request.param == "opensearch":
            for name, value in ENVIRONMENT.items():
                monkeypatch.setenv(name, value)
            server = stack.enter_context(OpenSearchServer(delay=1))
            place.mkdir()
            (place / WHERE).write_text(f"{server.connection}&indexes=8")  # one of a kind: tests/integration
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
