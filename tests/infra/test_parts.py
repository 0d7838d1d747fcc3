"""What a deployment is made of, as far as it can be seen without the CDK: its packages, and the addresses of its stores."""

import re
import tomllib
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from lexigraph.settings import EmbeddingModel
from lexigraph.storage import GraphStoreFactory, VectorStoreFactory
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.opensearch.store import OpenSearchVectorStore

ROOT = Path(__file__).parents[2]
# the package as it is asked for, what is imported of it, and where
USED = {
    "aws-cdk-lib": ("aws_cdk", "infra"),
    "boto3": ("boto3", "layers/core/lexigraph"),
    "opensearch-py": ("opensearchpy", "layers/core/lexigraph"),
    "gremlinpython": ("gremlin_python", "layers/core/lexigraph"),
    "aws-lambda-powertools": ("aws_lambda_powertools", "functions"),
    "llama-index-core": ("llama_index", "layers/core/lexigraph"),
    "pytest": ("pytest", "tests"),
    "moto": ("moto", "tests"),
}


@cache
def imported(folder: Path) -> frozenset[str]:
    """Return the top-level modules that the sources of a folder import, wherever in them."""
    found = (re.findall(r"^ *(?:import|from) (\w+)", file.read_text("utf-8"), re.MULTILINE) for file in folder.rglob("*.py"))
    return frozenset(module for modules in found for module in modules)


@pytest.mark.requirement("U-02")
@pytest.mark.parametrize("package", USED)
def test_every_package_that_was_asked_for_is_declared_and_used(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lists = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    assert package in {re.split(r"[\[<>=~ ;]", wanted, maxsplit=1)[0] for one in lists for wanted in one}
    module, folder = USED[package]
    assert module in imported(ROOT / folder)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that open nothing: addresses are read, nobody is called."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")


@pytest.mark.requirement("G-10")
@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("more", ["", ":8182?region=eu-west-1&read=lexigraph.cluster-ro-x.eu-west-1.neptune.amazonaws.com"])
def test_an_address_of_neptune_gives_the_graph_store_in_neptune(more: str) -> None:
    address = f"neptune-db://lexigraph.cluster-x.eu-west-1.neptune.amazonaws.com{more}"
    with closing(GraphStoreFactory.for_graph_store(address)) as store:
        assert isinstance(store, NeptuneGraphStore)


@pytest.mark.requirement("G-11")
@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("more", ["", "?region=eu-west-1&indexes=8"])
def test_an_address_of_opensearch_serverless_gives_the_vector_store_there(more: str) -> None:
    address = f"aoss://https://abcdefgh.eu-west-1.aoss.amazonaws.com{more}"
    embedding = EmbeddingModel("bedrock:amazon.titan-embed-text-v2:0", 1_024)
    with closing(VectorStoreFactory.for_vector_store(address, embedding=embedding)) as store:
        assert isinstance(store, OpenSearchVectorStore)
