"""The graph stores that the contract suite runs over; a new back end adds itself to ``GRAPH_STORES``."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import GraphStore
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.standins.neptune import NeptuneStandIn

# Tests that write hundreds of statements or a dozen documents, where every step is several requests over HTTP
SLOW_ON_NEPTUNE = {
    "test_a_view_sees_what_is_left_when_everything_else_is_taken_out",
    "test_every_entity_has_its_share_of_those_joined_by_facts_whatever_the_order",
    "test_an_update_equals_a_fresh_build_of_the_new_content",
}


@pytest.fixture(scope="module")
def neptune() -> Iterator[tuple[NeptuneStandIn, NeptuneGraphStore]]:
    """A cluster and a store in it for a module: making clients of AWS takes longer than most tests."""
    with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as store:
        yield cluster, store


@contextmanager
def _embedded(_: pytest.FixtureRequest, folder: Path) -> Iterator[GraphStore]:
    with closing(SqliteGraphStore(f"sqlite:///{folder}")) as store:
        yield store


@contextmanager
def _neptune(request: pytest.FixtureRequest, _: Path) -> Iterator[GraphStore]:
    cluster, store = request.getfixturevalue("neptune")
    cluster.renew()
    yield store


Opened = Callable[[pytest.FixtureRequest, Path], AbstractContextManager[GraphStore]]
GRAPH_STORES: dict[str, Opened] = {"sqlite": _embedded, "neptune": _neptune}


@pytest.fixture(params=GRAPH_STORES)
def graph_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    with GRAPH_STORES[request.param](request, tmp_path / "graph") as store:
        yield store
