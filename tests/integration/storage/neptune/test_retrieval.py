"""Retrieval over Neptune's stand-in gives what it gives over SQLite, within the same number of round trips."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval import retrievers
from lexigraph.settings import Settings
from lexigraph.storage.factory import GraphStoreFactory
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop, open_laptop
from tests.models import WordEmbedder
from tests.standins.neptune import NeptuneStandIn

pytestmark = pytest.mark.soak  # two ingestions of the demo corpus; test_stores_agree.py asks some of it in every run
EXAMPLES = Path(__file__).parents[4] / "examples"
QUESTIONS = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
# Graph calls of a question at most
BUDGETS = {
    "TraversalBasedRetriever": 4,
    "TopicBeamSearch": 4,
    "SemanticGuidedRetriever": 3,
    "MultihopRetriever": 5,
    "MultidocRetriever": 1,
    "HybridRetriever": 3,
    "RecallRetriever": 3,
    "RecallSearch": 3,
}


@pytest.fixture(scope="module")
def neptune() -> Iterator[NeptuneStandIn]:
    with NeptuneStandIn() as standin:
        yield standin


@pytest.fixture(scope="module")
def both(neptune: NeptuneStandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, Stores]]:
    """The demo corpus in SQLite; the second stores have it in Neptune, and search the vectors of the first."""
    stores = []
    for name in ("sqlite", "neptune"):
        folder = tmp_path_factory.mktemp(name)
        opened = open_laptop(folder)
        if name == "neptune":
            opened.graph.close()
            opened = replace(opened, graph=GraphStoreFactory.for_graph_store(neptune.connection))
        assert not laptop(folder, opened).ingest([EXAMPLES / "corpus"]).failures
        stores.append(opened)
    yield stores[0], replace(stores[1], vectors=stores[0].vectors)
    for opened in stores:
        opened.close()


def retrieve(stores: Stores, name: str, question: Question) -> Any:
    make = getattr(retrievers, name)
    if name == "RecallRetriever":
        recall = make(stores.graph, stores.vectors, stores.registry, embedder=WordEmbedder(), clock=lambda: 1_000_000.0)
        return recall.retrieve(DEFAULT_TENANT, question)
    return make(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings()).retrieve(
        DEFAULT_TENANT, question
    )


def same(both: tuple[Stores, Stores], neptune: NeptuneStandIn, name: str, question: Question) -> None:
    of_sqlite, of_neptune = both
    neptune.forget()
    found = retrieve(of_neptune, name, question)
    trips = neptune.counts

    assert replace(found, timings={}) == replace(retrieve(of_sqlite, name, question), timings={})
    assert set(trips) <= {"read"}
    assert trips["read"] == found.calls["graph"] <= BUDGETS[name]


@pytest.mark.parametrize("name", BUDGETS)
def test_every_question_of_the_demo_gets_the_same_over_neptune(
    both: tuple[Stores, Stores], neptune: NeptuneStandIn, name: str
) -> None:
    for asked in QUESTIONS:
        same(both, neptune, name, Question.of(asked["question"]))


@pytest.mark.parametrize("name", BUDGETS)
def test_a_question_gets_the_same_over_neptune_with_and_without_filters(
    both: tuple[Stores, Stores], neptune: NeptuneStandIn, name: str
) -> None:
    text = QUESTIONS[0]["question"]
    for filters in (None, MetadataFilter("uri", "!=", "nowhere"), MetadataFilter("title", "<", "N")):
        same(both, neptune, name, replace(Question.of(text), filters=filters))
