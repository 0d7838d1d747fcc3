"""What every retriever tells of its store calls, next to what the stores saw of it."""

from collections.abc import Iterator
from typing import get_args

import pytest

from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import RetrieverName, make_retriever
from lexigraph.settings import Settings
from lexigraph.storage.protocols import SearchRequest, Stores
from tests.laptop import CLOCK, CLOCK_QUESTION, laptop_with
from tests.listening import Listening
from tests.models import WordEmbedder


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("calls"), CLOCK) as opened:
        yield opened


@pytest.mark.parametrize("name", get_args(RetrieverName))
def test_the_calls_reported_are_those_that_the_stores_received(stores: Stores, name: RetrieverName) -> None:
    graph, vectors = Listening(stores.graph), Listening(stores.vectors)
    made = make_retriever(name, graph, vectors, embedder=WordEmbedder(), settings=Settings())  # type: ignore[arg-type]
    found = made.retrieve(DEFAULT_TENANT, Question.of(CLOCK_QUESTION))
    assert found.results
    assert found.calls.get("vector", 0) == len(vectors.calls) > 0
    assert found.calls.get("graph", 0) == len(graph.calls) > 0


@pytest.mark.parametrize("name", ["traversal", "semantic-guided", "hybrid"])
def test_words_are_searched_for_without_those_in_which_a_question_is_put(stores: Stores, name: RetrieverName) -> None:
    vectors = Listening(stores.vectors)
    made = make_retriever(name, stores.graph, vectors, embedder=WordEmbedder(), settings=Settings())  # type: ignore[arg-type]
    made.retrieve(DEFAULT_TENANT, Question.of("What is the best way to wind the clock?"))
    texts = {r.text for r in vectors.asked if isinstance(r, SearchRequest) and r.index in ("chunk", "statement") and r.text}
    assert [text.split() for text in texts] == [["What", "is", "the", "to", "wind", "the", "clock?"]]
