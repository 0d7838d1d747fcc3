"""From a connection string to a store."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lexigraph import storage
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel, load_settings
from lexigraph.storage import CacheFactory, DocumentStoreFactory, GraphStoreFactory, RegistryFactory, VectorStoreFactory
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import ContentCache, DocumentStore, GraphStore, Registry, VectorStore

A = Tenant("a")
MAKERS: dict[str, Callable[..., Any]] = {
    "graph": partial(GraphStoreFactory.for_graph_store, create=True),
    "vector": partial(VectorStoreFactory.for_vector_store, create=True),
    "documents": DocumentStoreFactory.for_document_store,
    "registry": RegistryFactory.for_registry,
    "cache": CacheFactory.for_cache,
}
PROTOCOLS = {
    "graph": GraphStore,
    "vector": VectorStore,
    "documents": DocumentStore,
    "registry": Registry,
    "cache": ContentCache,
}
FILES = {"graph": "graph.sqlite", "vector": "vectors.sqlite", "registry": "registry.sqlite", "cache": "cache.sqlite"}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An environment without settings of the person at the keyboard; LEXIGRAPH_DATA is a folder of the test."""
    for name in [name for name in os.environ if name.startswith("LEXIGRAPH_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEXIGRAPH_DATA", str(tmp_path / "data"))
    return monkeypatch


def close(store: Any) -> None:
    if hasattr(store, "close"):
        store.close()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_connection_string_gives_the_store_of_its_scheme(kind: str, tmp_path: Path) -> None:
    scheme = "file" if kind == "documents" else "sqlite"
    store = MAKERS[kind](f"{scheme}:///{tmp_path}/here")
    assert isinstance(store, PROTOCOLS[kind])
    close(store)


@pytest.mark.parametrize("kind", MAKERS)
def test_without_a_connection_the_settings_decide(kind: str, settings: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store = MAKERS[kind]()
    assert isinstance(store, PROTOCOLS[kind])
    if kind == "documents":
        store.put(A, "source:" + "0" * 32, "text-1.txt", b"1")
        assert (tmp_path / "data" / "documents" / "a").is_dir()
    else:
        assert (tmp_path / "data" / FILES[kind]).is_file()
    close(store)


@pytest.mark.parametrize(
    ("kind", "variable"),
    [
        ("graph", "LEXIGRAPH_GRAPH_STORE"),
        ("vector", "LEXIGRAPH_VECTOR_STORE"),
        ("registry", "LEXIGRAPH_REGISTRY"),
        ("cache", "LEXIGRAPH_CACHE"),
    ],
)
def test_each_store_may_have_a_place_of_its_own(
    kind: str, variable: str, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.setenv(variable, f"sqlite:///{tmp_path}/elsewhere")
    close(MAKERS[kind]())
    assert (tmp_path / "elsewhere" / FILES[kind]).is_file()
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_store_is_returned_as_it_is(kind: str, tmp_path: Path) -> None:
    store = MAKERS[kind](f"{'file' if kind == 'documents' else 'sqlite'}:///{tmp_path}")
    assert MAKERS[kind](store) is store
    close(store)


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("graph", "sqlite, neptune-db"),
        ("vector", "sqlite, aoss"),
        ("documents", "file, s3"),
        ("registry", "sqlite, dynamodb"),
        ("cache", "sqlite, dynamodb, none"),
    ],
)
@pytest.mark.parametrize("connection", ["bolt://user:secret@host", "bolt", ""])
def test_an_unknown_scheme_is_refused_with_those_that_are_known(kind: str, known: str, connection: str) -> None:
    with pytest.raises(InvalidInput, match=f"unknown scheme '{connection[:4]}'; use one of {known}$") as caught:
        MAKERS[kind](connection)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "connection"),
    [("documents", "s3://bucket/prefix"), ("registry", "dynamodb://table"), ("cache", "dynamodb://table")],
)
def test_a_store_of_aws_is_made_without_asking_it_anything(kind: str, connection: str) -> None:
    store = MAKERS[kind](f"{connection}?region=eu-west-1&endpoint=http://127.0.0.1:9")
    assert isinstance(store, PROTOCOLS[kind])
    close(store)


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_neither_a_connection_string_nor_a_store_is_refused(kind: str) -> None:
    with pytest.raises(InvalidInput, match="expected a connection string or a store, got PosixPath"):
        MAKERS[kind](Path("/srv/data"))


def test_an_option_that_the_back_end_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"unsupported options for sqlite: .*'region'"):
        GraphStoreFactory.for_graph_store(f"sqlite:///{tmp_path}", region="us-east-1")


def test_a_vector_store_is_made_for_the_embedding_asked_for(tmp_path: Path) -> None:
    model = EmbeddingModel("bedrock:some.model", 256)
    store = VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path}", embedding=model, create=True)
    assert (store.label, store.dimension) == ("bedrock-some-model-256", 256)
    store.close()


def test_a_vector_store_is_made_for_the_embedding_of_the_settings(settings: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings.setenv("LEXIGRAPH_EMBEDDING_MODEL", "bedrock:cohere.embed-v4:0")
    store = VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path}", create=True)
    assert store.dimension == 1536
    store.close()
    settings.setenv("LEXIGRAPH_EMBEDDING_MODEL", "bedrock:unheard.of")
    with pytest.raises(InvalidInput, match="LEXIGRAPH_EMBEDDING_DIMENSION"):
        VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path}", create=True)


def test_all_stores_of_the_settings_are_opened_together(settings: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings.setenv("LEXIGRAPH_CACHE", "none")
    stores = open_stores(load_settings(data=tmp_path / "given"), create=True)
    for kind, store in zip(
        MAKERS, (stores.graph, stores.vectors, stores.documents, stores.registry, stores.cache), strict=True
    ):
        assert isinstance(store, PROTOCOLS[kind])
    stores.close()
    assert {path.name for path in (tmp_path / "given").glob("*.sqlite")} == set(FILES.values()) - {"cache.sqlite"}
    assert not (tmp_path / "data").exists()


def test_no_cache_keeps_nothing_and_takes_everything() -> None:
    cache = CacheFactory.for_cache("none")
    cache.put_many(A, "embedding", {"a": b"1"})
    cache.own(A, {"one": [("embedding", "a")]})
    cache.disown(A, ["one"])
    assert cache.get_many(A, "embedding", ["a"]) == {}
    assert cache.stats(A) == {}
    cache.close()


def test_importing_the_factories_loads_no_back_end_and_nothing_heavy() -> None:
    body = """
import sys
from lexigraph.storage import CacheFactory, DocumentStoreFactory, GraphStoreFactory, RegistryFactory, VectorStoreFactory
print([m for m in sys.modules if m in ("sqlite3", "boto3", "spacy", "onnxruntime", "llama_index") or m.endswith(".sqlite")])
"""
    out = subprocess.run([sys.executable, "-c", body], check=True, capture_output=True, text=True, timeout=120).stdout
    assert out == "[]\n"


def test_the_package_knows_its_factories_and_nothing_else() -> None:
    assert storage.GraphStoreFactory is GraphStoreFactory
    with pytest.raises(AttributeError, match="has no attribute 'Neptune'"):
        _ = storage.Neptune
