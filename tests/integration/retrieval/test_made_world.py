"""200 made-up documents: evidence is kept for every type of question, and it is the links that find bridges."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.made.corpus import make_corpus
from bench.made.evidence import Evidence, Kept, measure_kept, read_evidence
from lexigraph.evaluation.corpus import read_corpus
from lexigraph.evaluation.index import CorpusIndex, corpus_index
from lexigraph.inference.protocols import Embedder
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import Retriever, make_retriever
from lexigraph.settings import Settings
from tests.models import WordEmbedder


class Measured:
    """What retrievers keep of the evidence in a made-up world."""

    def __init__(self, folder: Path, index: CorpusIndex) -> None:
        self.index = index
        self.evidence = read_evidence(folder / "questions.jsonl", folder / "corpus.jsonl")

    def kept(self, type_: str, retriever: str, beyond: int = 0, **args: Any) -> Kept:
        """Return the means over the questions of a type; ``beyond`` leaves the first documents of each chain out."""
        stores, models = self.index.stores, {"embedder": self.index.embedder, "settings": self.index.settings}
        made = make_retriever(retriever, stores.graph, stores.vectors, **models, **args)
        asked = [replace(e, statements=e.statements[beyond:]) for e in self.evidence if e.type == type_]
        rows = [self._ask(made, evidence) for evidence in asked]
        return Kept(*(float(np.mean([getattr(row, name) for row in rows])) for name in ("results", "context", "recall")))

    def _ask(self, retriever: Retriever, evidence: Evidence) -> Kept:
        return measure_kept(evidence, retriever.retrieve(Tenant("default"), Question.of(evidence.question)))


@contextmanager
def made_world(folder: Path, questions: int, settings: Settings, embedder: Embedder | None = None) -> Iterator[Measured]:
    """200 documents as the local extractor reads them."""
    corpus, _ = make_corpus(200, seed=1, questions=questions).save(folder)
    with corpus_index(folder / "index", read_corpus(corpus), settings, embedder=embedder) as index:
        index.fill()
        yield Measured(folder, index)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    words = Settings(embedding_model="words", embedding_dimension=WordEmbedder.dimension)
    with made_world(tmp_path_factory.mktemp("made"), 20, words, WordEmbedder()) as measured:
        yield measured


@pytest.mark.nightly
@pytest.mark.parametrize(("type_", "least", "recall"), [("direct", 0.9, 0.85), ("multi", 0.85, 0.8), ("bridge", 0.6, 0.5)])
def test_traversal_keeps_the_evidence_of_every_type_of_question(
    world: Measured, type_: str, least: float, recall: float
) -> None:
    kept = world.kept(type_, "traversal")

    assert kept.results >= least
    assert kept.context >= least
    assert kept.recall >= recall


@pytest.mark.nightly
def test_what_lies_behind_a_bridge_is_found_by_links(world: Measured) -> None:
    by_links = world.kept("bridge", "traversal", beyond=1)
    without, fused = world.kept("bridge", "traversal", beyond=1, link_rounds=0), world.kept("bridge", "fused", beyond=1)

    assert by_links.results >= 2 * max(without.results, fused.results)
    assert by_links.recall >= 1.5 * max(without.recall, fused.recall)


@pytest.mark.slow
def test_links_lose_nothing_where_likeness_is_enough(world: Measured) -> None:
    by_links, fused = world.kept("direct", "traversal"), world.kept("direct", "fused")

    assert by_links.recall >= fused.recall
    assert by_links.results >= fused.results


@pytest.mark.soak
def test_with_the_shipped_models_nearly_all_evidence_is_kept(tmp_path: Path) -> None:
    with made_world(tmp_path, 40, Settings()) as world:
        kept = {type_: world.kept(type_, "traversal").context for type_ in ("direct", "multi", "bridge")}
        fused = world.kept("bridge", "fused").context

    assert kept["direct"] >= 0.95
    assert kept["multi"] >= 0.95
    assert kept["bridge"] >= max(0.75, fused + 0.2)
