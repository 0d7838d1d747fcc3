"""The registries, document stores and caches that the contract suites run over.

A back end adds one line to a table: how to open it in a place of its own. Opened twice, it is two clients of one store.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lexigraph.storage.cache.sqlite import SqliteContentCache
from lexigraph.storage.documents.files import FileDocumentStore
from lexigraph.storage.protocols import ContentCache, DocumentStore, Registry
from lexigraph.storage.registry.sqlite import SqliteRegistry

REGISTRIES: dict[str, Callable[[Path], Registry]] = {"sqlite": lambda path: SqliteRegistry(f"sqlite:///{path}")}
CACHES: dict[str, Callable[[Path], ContentCache]] = {"sqlite": lambda path: SqliteContentCache(f"sqlite:///{path}")}
DOCUMENT_STORES: dict[str, Callable[[Path], DocumentStore]] = {"file": lambda path: FileDocumentStore(f"file:///{path}")}


@pytest.fixture(params=REGISTRIES)
def open_registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Registry]]:
    """Opens one more client of the same registry."""
    opened: list[Registry] = []

    def opener() -> Registry:
        opened.append(REGISTRIES[request.param](tmp_path / "registry"))
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
        opened.append(CACHES[request.param](tmp_path / "cache"))
        return opened[-1]

    yield opener
    for cache in opened:
        cache.close()


@pytest.fixture
def cache(open_cache: Callable[[], ContentCache]) -> ContentCache:
    return open_cache()


@pytest.fixture(params=DOCUMENT_STORES)
def document_store(request: pytest.FixtureRequest, tmp_path: Path) -> DocumentStore:
    return DOCUMENT_STORES[request.param](tmp_path / "documents")
