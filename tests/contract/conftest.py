"""The stores that the contract suites run over, one module of fixtures a protocol."""

from tests.contract.graph_fixtures import graph_store  # noqa: F401  fixture
from tests.contract.registry_fixtures import (  # noqa: F401  fixtures
    cache,
    document_store,
    open_cache,
    open_registry,
    registry,
)
from tests.contract.vector_fixtures import open_vector_store, vector_store  # noqa: F401  fixtures
