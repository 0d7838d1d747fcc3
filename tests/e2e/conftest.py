"""The example corpus, ingested once for all tests of a process with the real local models."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from lexigraph import LexicalGraphIndex
from lexigraph.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class ExampleIndex:
    """Where the ingested example corpus is."""

    data: Path
    connection: str


@pytest.fixture(scope="session")
def example_index(tmp_path_factory: pytest.TempPathFactory) -> ExampleIndex:
    data = tmp_path_factory.mktemp("examples") / "data"
    with LexicalGraphIndex(settings=Settings(data=data)) as index:
        report = index.ingest([EXAMPLES / "corpus"])
    assert not report.failures
    return ExampleIndex(data, f"sqlite:///{data}")
