"""The stores that the contract suites run over, one module of fixtures a protocol."""

from tests.contract.registry_fixtures import (  # noqa: F401  fixtures
    cache,
    document_store,
    open_cache,
    open_registry,
    registry,
)
