"""One local extractor for all tests of extraction: loading its model takes seconds."""

import pytest

from lexigraph.ingestion.extract.local import LocalExtractor


@pytest.fixture(scope="session")
def local() -> LocalExtractor:
    """The extractor that needs no language model."""
    return LocalExtractor()
