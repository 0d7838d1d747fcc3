"""A whole evaluation in small: 200 made-up documents, light models, retrievers as they are shipped."""

from pathlib import Path

import pytest

from lexigraph.evaluation.corpus import read_corpus, read_questions
from lexigraph.evaluation.index import corpus_index
from lexigraph.evaluation.made import make_corpus
from lexigraph.evaluation.metrics import measure
from lexigraph.evaluation.quality import ask, summary
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.settings import Settings
from tests.models import SentenceExtractor, WordEmbedder

RECALL_AT_5 = 1
Recall = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def recall(tmp_path_factory: pytest.TempPathFactory) -> Recall:
    """Recall@5 by retriever, then by type of question."""
    folder: Path = tmp_path_factory.mktemp("made")
    made = make_corpus(documents=200, seed=7, questions=8)
    corpus, questions = made.save(folder)
    passages = read_corpus(corpus)
    gold = read_questions(questions, {p.id for p in passages})
    types = {q.id: q.type for q in made.questions}
    settings = Settings(embedding_model="words", embedding_dimension=WordEmbedder.dimension)
    found: Recall = {}
    with corpus_index(folder / "index", passages, settings, embedder=WordEmbedder(), extractor=SentenceExtractor()) as index:
        report = index.fill()
        assert report is not None
        assert report.documents_new == 200
        stores, models = index.stores, {"embedder": index.embedder, "settings": index.settings}
        for name in ("traversal", "fused"):
            asked = ask(make_retriever(name, stores.graph, stores.vectors, **models), Tenant("default"), gold)
            by_type: dict[str, list[float]] = {}
            for question, one in zip(gold, asked, strict=True):
                by_type.setdefault(types[question.id], []).append(measure(one.ranked, question.gold)[RECALL_AT_5])
            found[name] = {type_: sum(values) / len(values) for type_, values in by_type.items()}
            found[name]["all"] = summary(gold, asked).figures["recall@5"].mean
    return found


def test_traversal_finds_more_of_what_lies_behind_a_bridge_than_likeness_does(recall: Recall) -> None:
    assert recall["traversal"]["bridge"] >= recall["fused"]["bridge"] + 0.1


def test_traversal_loses_nothing_where_likeness_is_enough(recall: Recall) -> None:
    assert recall["traversal"]["direct"] >= recall["fused"]["direct"]
    assert recall["traversal"]["all"] > recall["fused"]["all"]


def test_the_figure_of_all_questions_is_the_mean_over_their_types(recall: Recall) -> None:
    for by_type in recall.values():
        assert by_type["all"] == pytest.approx((by_type["direct"] + by_type["multi"] + by_type["bridge"]) / 3)
