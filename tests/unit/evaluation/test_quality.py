"""Asking questions whose evidence is known: which documents come first, what it takes, and what the figures say."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from lexigraph.evaluation.corpus import GoldQuestion, Passage
from lexigraph.evaluation.index import corpus_index
from lexigraph.evaluation.quality import Asked, ask, ranked_documents, summary
from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Source
from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import RETRIEVERS, Retriever, make_retriever
from lexigraph.settings import Settings
from tests.models import SentenceExtractor, WordEmbedder

TENANT = Tenant("default")
WORDS = {"embedding_model": "words", "embedding_dimension": WordEmbedder.dimension}
PASSAGES = [
    Passage("cellar", "Granite Cellar", "Granite Cellar is a database. Tove Lund built Granite Cellar."),
    Passage("tove", "Tove Lund", "Tove Lund was born in Aalborg."),
    Passage("bread", "Bread", "Bread needs flour."),
]
QUESTIONS = [
    GoldQuestion("q1", "Who built Granite Cellar?", ("cellar",), "1"),
    GoldQuestion("q2", "Where was the builder of Granite Cellar born?", ("cellar", "tove"), "2"),
]


def statement(id_: str, score: float) -> ScoredStatement:
    return ScoredStatement(id_, id_, score, "chunk", "chunk:1", 0, 1)


def result(document: str, *scores: float) -> SearchResult:
    source = Source(f"source:{document}", f"file:///x#{document}", "default", "", {"id": document})
    return SearchResult(source, "", tuple(statement(f"{document}-{s}", s) for s in scores), max(scores))


def found(*results: SearchResult) -> SearchResults:
    return SearchResults("?", results)


def test_a_document_stands_at_the_place_of_its_best_statement() -> None:
    assert ranked_documents(found(result("a", 0.9, 0.1), result("b", 0.8), result("a", 0.7), result("c", 0.75))) == (
        "a",
        "b",
        "c",
    )
    assert ranked_documents(found(result("a", 0.2), result("b", 0.1, 0.9))) == ("b", "a")
    assert ranked_documents(found(result("b", 0.5), result("a", 0.5))) == ("b", "a")
    assert ranked_documents(found()) == ()


def test_the_figures_of_a_run_worked_out_by_hand() -> None:
    asked = [
        Asked("q1", ("cellar", "tove"), 30.0, 10.0, {"vector": 2, "graph": 1}),
        Asked("q2", ("bread", "cellar"), 50.0, 10.0, {"vector": 1, "graph": 4}, ("rerank_failed",)),
    ]
    figures = summary(QUESTIONS, asked)
    assert {name: e.mean for name, e in figures.figures.items()} == {
        "recall@2": 0.75,
        "recall@5": 0.75,
        "recall@10": 0.75,
        "all-gold@5": 0.5,
        "MRR": 0.75,
    }
    assert figures.by_hops == {"1": (1.0, 1), "2": (0.5, 1)}
    assert figures.milliseconds == (40.0, 49.0)
    assert figures.retrieval == (30.0, 39.0)
    assert (figures.calls, figures.warnings) == ({"graph": 4, "vector": 2}, {"rerank_failed": 1})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Retriever]]:
    folder, settings = tmp_path_factory.mktemp("quality") / "index", Settings(**WORDS)
    models = {"embedder": WordEmbedder(), "extractor": SentenceExtractor()}
    with corpus_index(folder, PASSAGES, settings, **models) as index:
        index.fill()
        stores = index.stores
        yield lambda name: make_retriever(name, stores.graph, stores.vectors, embedder=index.embedder, settings=settings)


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_of_the_catalogue_finds_the_evidence(name: str, made: Callable[[str], Retriever]) -> None:
    seen: list[tuple[int, int]] = []
    asked = ask(made(name), TENANT, QUESTIONS, advance=lambda done, total: seen.append((done, total)))
    assert [one.id for one in asked] == ["q1", "q2"]
    assert asked[0].ranked[0] == "cellar"
    assert all(one.milliseconds > one.embedding >= 0 for one in asked)
    assert all(one.calls["graph"] >= 1 and not one.warnings for one in asked)
    assert seen == [(1, 2), (2, 2)]


def test_what_is_asked_is_what_a_caller_of_the_retriever_gets(made: Callable[[str], Retriever]) -> None:
    (first, _) = ask(made("fused"), TENANT, QUESTIONS)
    direct = made("fused").retrieve(TENANT, Question.of(QUESTIONS[0].text))
    assert first.ranked == tuple(dict.fromkeys(r.source.metadata["id"] for r in direct.results))


def test_a_question_too_long_for_the_settings_is_refused(made: Callable[[str], Retriever]) -> None:
    long = replace(QUESTIONS[0], text="why " * 50)
    with pytest.raises(InvalidInput, match="at most 100"):
        ask(made("bm25"), TENANT, [long], max_chars=100)
