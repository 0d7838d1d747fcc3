"""Ingestion and retrieval end to end over a SQLite graph and a collection, beside the same with vectors in SQLite."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import RETRIEVERS, make_retriever
from lexigraph.settings import Settings
from lexigraph.storage.factory import (
    CacheFactory,
    DocumentStoreFactory,
    GraphStoreFactory,
    RegistryFactory,
    VectorStoreFactory,
)
from lexigraph.storage.protocols import Stores
from tests.laptop import content
from tests.standins.aws_server import ENVIRONMENT
from tests.standins.opensearch import OpenSearchServer

EXAMPLES = Path(__file__).parents[4] / "examples"
OWNER = Tenant()
pytestmark = pytest.mark.soak  # test_stores_agree.py asks some of it in every run


@dataclass(frozen=True)
class Pair:
    """The example corpus in both; what was extracted and embedded once serves for both."""

    sqlite: LexicalGraphIndex
    opensearch: LexicalGraphIndex
    collection: OpenSearchServer


def ingested(folder: Path, vectors: str, settings: Settings) -> LexicalGraphIndex:
    connection = f"sqlite:///{folder}"
    stores = Stores(
        GraphStoreFactory.for_graph_store(connection, create=True),
        VectorStoreFactory.for_vector_store(vectors or connection, embedding=settings.embedding, create=True),
        DocumentStoreFactory.for_document_store(f"file:///{folder}/documents"),
        RegistryFactory.for_registry(connection),
        CacheFactory.for_cache(f"sqlite:///{folder.parent}/cache"),
    )
    index = LexicalGraphIndex(stores, settings=settings)
    assert not index.ingest([EXAMPLES / "corpus"]).failures
    return index


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with pytest.MonkeyPatch.context() as environment, OpenSearchServer(delay=1) as collection:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        settings = Settings(data=folder)
        pair = Pair(
            ingested(folder / "sqlite", "", settings),
            ingested(folder / "opensearch", collection.connection, settings),
            collection,
        )
        yield pair
        pair.sqlite.stores.close()
        pair.opensearch.stores.close()


def test_ingestion_leaves_the_same_in_both(pair: Pair) -> None:
    assert content(pair.sqlite.stores) == content(pair.opensearch.stores)


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_collection_gives_nearly_the_same_results_in_no_more_requests(pair: Pair, name: str) -> None:
    same = most = 0
    for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        question, found = Question(json.loads(line)["question"]), []
        for index in (pair.sqlite, pair.opensearch):
            models = {"embedder": index.models.embedder, "settings": index.settings}
            retriever = make_retriever(name, index.stores.graph, index.stores.vectors, **models)  # type: ignore[arg-type]
            before = len(pair.collection.requests)
            results = retriever.retrieve(OWNER, question)
            found.append({s.id for s in results.statements[:10]})
            sent = len(pair.collection.requests) - before
            assert sent == (results.calls["vector"] if index is pair.opensearch else 0)
        same += len(found[0] & found[1])
        most += max(map(len, found))
    assert most > 0 and same >= 0.95 * most, f"{same} of {most}"
