"""The registries, document stores and caches that the contract suites run over.

A back end adds one line to a table: how to open it in a place of its own. Opened twice, it is two clients of one store.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import pytest

from lexigraph.storage.dynamodb.cache import DynamoDBContentCache
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.protocols import ContentCache, DocumentStore, Registry
from lexigraph.storage.s3.documents import S3DocumentStore
from lexigraph.storage.sqlite.cache import SqliteContentCache
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests.standins.aws_server import ENVIRONMENT, AwsServer


@dataclass(frozen=True)
class Home:
    """Where a test keeps its store: a folder, or a table or bucket named for it."""

    path: Path
    request: pytest.FixtureRequest

    @property
    def table(self) -> str:
        server: AwsServer = self.request.getfixturevalue("aws")
        return server.dynamodb(self._name)

    @property
    def bucket(self) -> str:
        server: AwsServer = self.request.getfixturevalue("aws")
        return server.s3(self._name, "some/prefix")

    @property
    def _name(self) -> str:
        return "lexigraph-" + blake2b(str(self.path).encode(), digest_size=8).hexdigest()


REGISTRIES: dict[str, Callable[[Home], Registry]] = {
    "sqlite": lambda home: SqliteRegistry(f"sqlite:///{home.path}"),
    "dynamodb": lambda home: DynamoDBRegistry(home.table),
}
CACHES: dict[str, Callable[[Home], ContentCache]] = {
    "sqlite": lambda home: SqliteContentCache(f"sqlite:///{home.path}"),
    "dynamodb": lambda home: DynamoDBContentCache(home.table),
}
DOCUMENT_STORES: dict[str, Callable[[Home], DocumentStore]] = {
    "file": lambda home: FileDocumentStore(f"file:///{home.path}"),
    "s3": lambda home: S3DocumentStore(home.bucket),
}


SLOW_ON_AWS = {
    "test_fingerprints_of_a_whole_scan_come_at_once",
    "test_events_of_many_writers_have_no_gaps_and_keep_each_writers_order",
    "test_of_many_who_ask_at_once_exactly_one_gets_each_lease",
    "test_metadata_keeps_values_and_types",
    "test_requests_results_and_events_keep_values_and_types",
    "test_thousands_of_keys_are_found_at_once",
    "test_writers_at_the_same_time_lose_nothing",
    "test_writing_one_source_while_its_neighbour_is_deleted_loses_nothing",
    "test_readers_see_the_old_bytes_or_the_new",
}


@pytest.fixture(scope="session")
def aws_server() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def aws(aws_server: AwsServer, monkeypatch: pytest.MonkeyPatch) -> AwsServer:
    """DynamoDB and S3 on loopback, and what clients need to sign their requests."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    aws_server.calls.clear()
    return aws_server


@pytest.fixture(params=REGISTRIES)
def open_registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Registry]]:
    """Opens one more client of the same registry."""
    opened: list[Registry] = []

    def opener() -> Registry:
        opened.append(REGISTRIES[request.param](Home(tmp_path / "registry", request)))
        return opened[-1]

    yield opener
    for registry in opened:
        registry.close()


@pytest.fixture
def registry(open_registry: Callable[[], Registry]) -> Registry:
    return open_registry()


@pytest.fixture(params=CACHES)
def open_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], ContentCache]]:
    """Opens one more client of the same cache."""
    opened: list[ContentCache] = []

    def opener() -> ContentCache:
        opened.append(CACHES[request.param](Home(tmp_path / "cache", request)))
        return opened[-1]

    yield opener
    for cache in opened:
        cache.close()


@pytest.fixture
def cache(open_cache: Callable[[], ContentCache]) -> ContentCache:
    return open_cache()


@pytest.fixture(params=DOCUMENT_STORES)
def document_store(request: pytest.FixtureRequest, tmp_path: Path) -> DocumentStore:
    return DOCUMENT_STORES[request.param](Home(tmp_path / "documents", request))
