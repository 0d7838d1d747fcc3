"""The graph stores that the contract suite runs over; a new back end adds itself to ``GRAPH_STORES``."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lexigraph.storage.graph.sqlite import SqliteGraphStore
from lexigraph.storage.protocols import GraphStore

GRAPH_STORES: dict[str, Callable[[Path], GraphStore]] = {"sqlite": lambda path: SqliteGraphStore(f"sqlite:///{path}")}


@pytest.fixture(params=GRAPH_STORES)
def graph_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    store = GRAPH_STORES[request.param](tmp_path / "graph")
    yield store
    store.close()
