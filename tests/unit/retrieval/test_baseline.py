"""The baselines: chunks by vectors, by BM25 and by both, in the envelope of every retriever."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.retrievers import BaselineRetriever
from lexigraph.settings import Settings
from lexigraph.storage.protocols import SearchRequest, Stores
from tests.laptop import laptop_with
from tests.models import WordEmbedder

DOCUMENTS = {
    "Kiln": "The kiln is fired at dawn. The kiln cools for two days.",
    "Dawn": "Dawn comes early by the sea.",
    "Sea": "The sea is quiet. Nobody fires anything there.",
    "Owls": "Owls sleep by day.",
    **{f"Page {n}": f"Page {n} is about oats and barley." for n in range(8)},
}
QUESTION = "When is the kiln fired at dawn?"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("baseline"), DOCUMENTS) as opened:
        yield opened


def baseline(stores: Stores, mode: str = "fused", **options: object) -> BaselineRetriever:
    options = {"embedder": WordEmbedder(), "settings": Settings(), **options}
    return BaselineRetriever(stores.graph, stores.vectors, mode, **options)  # type: ignore[arg-type]  # any mode


def order(stores: Stores, mode: str, **options: object) -> list[str]:
    found = baseline(stores, mode, **options).retrieve(DEFAULT_TENANT, Question.of(QUESTION))
    return [r.source.title for r in found.results]


@pytest.mark.parametrize(("mode", "vector_calls"), [("vector", 1), ("bm25", 1), ("fused", 2)])
def test_each_mode_ranks_the_chunk_that_answers_first_in_few_calls(stores: Stores, mode: str, vector_calls: int):
    found = baseline(stores, mode).retrieve(DEFAULT_TENANT, Question.of(QUESTION))
    assert found.results[0].source.title == "Kiln"
    assert [s.text for s in found.results[0].statements] == ["The kiln is fired at dawn.", "The kiln cools for two days."]
    assert found.calls == {"vector": vector_calls, "graph": 1}
    for statement in found.statements:
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-5)
        assert 0 <= statement.score <= 1


@pytest.mark.parametrize(("mode", "request_"), [("vector", "vector"), ("bm25", "text")])
def test_a_single_mode_has_the_order_of_the_store(stores: Stores, mode: str, request_: str):
    vector = WordEmbedder().embed_questions([QUESTION])[0]
    search = SearchRequest("chunk", vector=vector, k=20) if mode == "vector" else SearchRequest("chunk", text=QUESTION, k=20)
    hits = stores.vectors.search_many(DEFAULT_TENANT, [search])[0]
    titles = {s.id: s.title for s in stores.graph.sources(DEFAULT_TENANT, [h.source_id for h in hits]).values()}
    assert order(stores, mode) == [titles[h.source_id] for h in hits]


def test_the_weight_moves_fused_between_vectors_and_bm25(stores: Stores):
    assert order(stores, "fused", bm25_weight=1.0)[:2] == order(stores, "bm25")[:2]
    assert order(stores, "fused", bm25_weight=0.0) == order(stores, "vector")


def test_results_are_cut_and_filtered_and_a_tenant_s_own(stores: Stores):
    assert len(order(stores, "fused", max_search_results=2)) == 2
    one = baseline(stores, max_statements_per_topic=1).retrieve(DEFAULT_TENANT, Question.of(QUESTION))
    assert {len(r.statements) for r in one.results} == {1}
    only = Question.of(QUESTION, MetadataFilter("title", "==", "Sea"))
    assert [r.source.title for r in baseline(stores).retrieve(DEFAULT_TENANT, only).results] == ["Sea"]
    assert baseline(stores).retrieve(Tenant("other"), Question.of(QUESTION)).results == ()


def test_without_blocking_the_loop_it_answers_the_same(stores: Stores):
    found = asyncio.run(baseline(stores).aretrieve(DEFAULT_TENANT, Question.of(QUESTION)))
    assert found.results == baseline(stores).retrieve(DEFAULT_TENANT, Question.of(QUESTION)).results


class Broken(WordEmbedder):
    """An embedding model that cannot be reached."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("connection refused")


def test_when_the_embedding_fails_fused_goes_by_words_with_a_warning(stores: Stores):
    found = baseline(stores, embedder=Broken()).retrieve(DEFAULT_TENANT, Question.of(QUESTION))
    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert [r.source.title for r in found.results] == order(stores, "bm25")
    with pytest.raises(ModelUnavailable):
        baseline(stores, "vector", embedder=Broken()).retrieve(DEFAULT_TENANT, Question.of(QUESTION))


def test_an_unknown_mode_is_refused(stores: Stores):
    with pytest.raises(InvalidInput, match="vector, bm25, fused"):
        baseline(stores, "both")
