"""Models of a retriever: made once whatever the number of questions and threads, and rerankers that cannot be relied on."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.retrievers import (
    ChunkBasedSearch,
    RerankingBeamGraphSearch,
    SemanticGuidedRetriever,
    StatementCosineSimilaritySearch,
    TraversalBasedRetriever,
)
from lexigraph.retrieval.stages.models import Models
from lexigraph.retrieval.stages.postprocess import SentenceReranker
from lexigraph.retrieval.stages.reranking import scored
from lexigraph.retrieval.stages.trace import Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop_with
from tests.models import WordEmbedder

DOCUMENTS = {
    "Tidewater": "Tidewater is owned by the Heron Team. Tidewater replaced Silverbirch.",
    "Heron Team": "The Heron Team works at Kestrel House. Ines Calloway leads the Heron Team.",
    "Kestrel House": "Kestrel House is in the city of Antwerp. Its lift is small.",
}
QUESTION = "In which city does the team that owns Tidewater work?"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("models"), DOCUMENTS) as opened:
        yield opened


def ask(retriever: Any) -> SearchResults:
    found: SearchResults = retriever.retrieve(DEFAULT_TENANT, Question.of(QUESTION))
    return found


# ---------------------------------------------------------------- made once

ENCODER = """
LOADED = []

class Scores(list):
    def sigmoid(self):
        return [1 / (1 + score) for score in self]

class CrossEncoder:
    def __init__(self, name):
        LOADED.append(name)

    def predict(self, pairs, activation_fn, show_progress_bar):
        return activation_fn(Scores(len(text) for _, text in pairs))
"""


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], list[str]]]:
    """The encoders loaded by a package with the interface of sentence-transformers, too heavy to be installed for tests."""
    (tmp_path / "sentence_transformers.py").write_text(ENCODER)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda: sys.modules["sentence_transformers"].LOADED
    sys.modules.pop("sentence_transformers", None)


MODEL = {"reranker": "model", "settings": Settings(rerank_model="my/encoder")}
MADE: dict[str, Callable[..., Any]] = {
    "traversal": lambda *stores, **models: TraversalBasedRetriever(*stores, **models, **MODEL),
    "semantic-guided": lambda *stores, **models: SemanticGuidedRetriever(*stores, **models, **MODEL),
    "beam": lambda *stores, **models: SemanticGuidedRetriever(
        *stores,
        **models,
        **MODEL,
        retrievers=[StatementCosineSimilaritySearch, RerankingBeamGraphSearch(reranker="model")],
    ),
    "search alone": lambda *stores, **models: ChunkBasedSearch(*stores, **models, **MODEL),
    "beam alone": lambda *stores, **models: RerankingBeamGraphSearch(*stores, **models, **MODEL),
}


@pytest.mark.requirement("G-30")
@pytest.mark.parametrize("name", MADE)
def test_an_encoder_is_loaded_once_for_all_questions_and_threads(
    name: str, stores: Stores, loaded: Callable[[], list[str]]
) -> None:
    retriever = MADE[name](stores.graph, stores.vectors, embedder=WordEmbedder())
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ask(retriever), range(8)))
    assert loaded() == ["my/encoder"]
    assert all(f.results == found[0].results and f.warnings == () for f in found)


def test_models_of_settings_are_made_once_by_name() -> None:
    models = Models(None, Settings())
    with ThreadPoolExecutor(4) as pool:
        assert len({id(e) for e in pool.map(lambda _: models.embedder, range(40))}) == 1
        made = list(pool.map(models.reranker, ["tfidf", "model", None, "none"] * 10))
    assert len({id(r) for r in made if r is not None}) == 2
    assert made[2:4] == [None, None]
    given = Faulty(lambda texts: [])
    assert models.reranker(given) is given


# ---------------------------------------------------------------- rerankers of users


class Faulty:
    """A reranker that gives whatever a function of the texts gives."""

    name = "faulty"

    def __init__(self, give: Callable[[Sequence[str]], Any]) -> None:
        self.give = give

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        return self.give(texts)  # type: ignore[no-any-return]


def boom(texts: Sequence[str]) -> Any:
    raise ValueError(texts[0])


FAULTS: dict[str, tuple[Callable[[Sequence[str]], Any], str]] = {
    "raises": (boom, "ValueError"),
    "too few": (lambda texts: [0.5], "1 scores for"),
    "too many": (lambda texts: [0.5] * (len(texts) + 1), "scores for"),
    "nan": (lambda texts: [float("nan")] * len(texts), "not a finite number"),
    "one nan": (lambda texts: [0.5] * (len(texts) - 1) + [float("nan")], "not a finite number"),
    "infinite": (lambda texts: [float("inf")] + [0.0] * (len(texts) - 1), "not a finite number"),
    "too far apart": (lambda texts: [1e308, -1e308] + [0.0] * (len(texts) - 2), "not a finite number"),
    "none": (lambda texts: None, "TypeError"),
    "words": (lambda texts: ["good"] * len(texts), "ValueError"),
}


def of_traversal(stores: Stores, reranker: Any) -> SearchResults:
    options = {"embedder": WordEmbedder(), "settings": Settings(), "max_statements": None}
    return ask(TraversalBasedRetriever(stores.graph, stores.vectors, reranker=reranker, **options))


def of_semantic(stores: Stores, reranker: Any) -> SearchResults:
    options = {"embedder": WordEmbedder(), "settings": Settings(), "max_statements": None}
    return ask(SemanticGuidedRetriever(stores.graph, stores.vectors, reranker=reranker, **options))


def of_beam(stores: Stores, reranker: Any) -> SearchResults:
    beam = "SemanticBeamGraphSearch" if reranker is None else RerankingBeamGraphSearch(reranker=reranker)
    options = {"embedder": WordEmbedder(), "settings": Settings()}
    return ask(SemanticGuidedRetriever(stores.graph, stores.vectors, retrievers=[beam], reranker=None, **options))


def of_sentences(stores: Stores, reranker: Any) -> SearchResults:
    found = of_traversal(stores, None)
    return found if reranker is None else SentenceReranker(reranker).process(found)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    ("place", "warning"),
    [
        (of_traversal, "rerank_failed"),
        (of_semantic, "rerank_failed"),
        (of_beam, "beam_rerank_failed"),
        (of_sentences, "rerank_failed"),
    ],
)
def test_a_reranker_that_gives_no_scores_leaves_the_order_and_a_warning(
    place: Callable[..., SearchResults], warning: str, fault: str, stores: Stores
) -> None:
    give, told = FAULTS[fault]
    found = place(stores, Faulty(give))
    assert [w.type for w in found.warnings] == [warning]
    assert told in found.warnings[0].detail
    assert not any(text in found.warnings[0].detail for text in DOCUMENTS.values())
    assert found.results == place(stores, None).results


@pytest.mark.parametrize("given", [5, object(), Faulty])
@pytest.mark.parametrize(
    "kind", [TraversalBasedRetriever, SemanticGuidedRetriever, ChunkBasedSearch, RerankingBeamGraphSearch]
)
def test_what_is_no_reranker_is_refused_when_a_retriever_is_made(kind: Any, given: Any, stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="is not a reranker; use tfidf"):
        kind(stores.graph, stores.vectors, reranker=given)
    with pytest.raises(InvalidInput, match="is not a reranker; use tfidf"):
        SentenceReranker(given)


def test_an_unknown_name_is_refused_when_a_retriever_is_made(stores: Stores) -> None:
    for kind in (TraversalBasedRetriever, SemanticGuidedRetriever, ChunkBasedSearch, RerankingBeamGraphSearch):
        with pytest.raises(InvalidInput, match="reranker must be one of tfidf, bedrock, model, none"):
            kind(stores.graph, stores.vectors, reranker="best")


def test_a_reranker_is_not_asked_about_nothing() -> None:
    trace = Trace()
    assert scored(Faulty(boom), ["q"], [], trace, instead="results keep their order") == []
    assert trace.warnings == []
