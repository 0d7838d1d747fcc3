"""The stores that the contract suites run over, one module of fixtures a protocol."""

import pytest

from tests.contract.graph_fixtures import SLOW_ON_NEPTUNE, graph_store, neptune  # noqa: F401  fixtures
from tests.contract.registry_fixtures import (  # noqa: F401  fixtures
    SLOW_ON_AWS,
    aws,
    aws_server,
    cache,
    document_store,
    open_cache,
    open_registry,
    registry,
)
from tests.contract.vector_fixtures import open_vector_store, vector_store  # noqa: F401  fixtures


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What makes hundreds of requests is left to `make nightly` where a request is one over HTTP."""
    for item in items:
        name, _, parameters = item.name.partition("[")
        if name in SLOW_ON_AWS and parameters.startswith(("dynamodb", "s3")):
            item.add_marker(pytest.mark.nightly)
        if name in SLOW_ON_NEPTUNE and parameters.startswith("neptune"):
            item.add_marker(pytest.mark.nightly)
