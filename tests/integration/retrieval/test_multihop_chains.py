"""Multi-hop search at its defaults, over long documents, with MiniLM and the local extractor, as users have them.

A document of each theme, five in the soak tier, each of over fifty chunks; in each a question that three chunks answer
together, told far apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lexigraph.inference.minilm import MiniLM
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.multihop import MultihopResults
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.retrievers import MultihopRetriever
from lexigraph.settings import Settings
from tests.chains import THEMES, LongDocument, long_document

pytestmark = pytest.mark.nightly


@dataclass(frozen=True)
class Library:
    """The documents, each in a namespace of its own, and how to ask in one."""

    index: LexicalGraphIndex
    embedder: MiniLM
    documents: dict[str, LongDocument]

    def ask(self, namespace: str, text: str, **args: Any) -> MultihopResults:
        stores = self.index.stores
        retriever = MultihopRetriever(stores.graph, stores.vectors, embedder=self.embedder, **args)
        return retriever.query(DEFAULT_TENANT, Question.of(text), namespace, stores.registry)

    def last_links(self, **args: Any) -> int:
        """In how many documents the last link of the chain is among the final results."""
        found = [rank(self.ask(name, doc.question, **args), doc.links[-1]) for name, doc in self.documents.items()]
        return sum(place is not None for place in found)


@pytest.fixture(scope="module", params=[len(THEMES), pytest.param(5, marks=pytest.mark.soak)])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder, embedder = tmp_path_factory.mktemp("library"), MiniLM(threads=2)
    documents = {f"document-{seed}": long_document(seed) for seed in range(request.param)}
    with LexicalGraphIndex(embedder=embedder, settings=Settings(data=folder / "data")) as index:
        for name, document in documents.items():
            (folder / name).mkdir()
            (folder / name / "document.md").write_text(document.text, encoding="utf-8")
            report = index.ingest([folder / name / "document.md"], namespace=name)
            assert report.chunks_new > 50, "a long document"
        yield Library(index, embedder, documents)


def rank(found: MultihopResults, sentence: str) -> int | None:
    """Return the place, from 1, of the first result that holds a sentence."""
    places = (n for n, result in enumerate(found.final_results, 1) if sentence in " ".join(result.value.split()))
    return next(places, None)


@pytest.mark.requirement("H-07", "H-12", "H-13", "H-30")
def test_the_last_of_three_links_is_found_by_hops_and_not_without_them(library: Library) -> None:
    assert library.last_links() >= len(library.documents) - 1
    assert library.last_links(num_hops=1) <= 1


@pytest.mark.requirement("H-06", "H-13")
def test_it_is_symbolic_edges_that_lead_to_it(library: Library) -> None:
    assert library.last_links(use_symbolic=False) <= library.last_links() - 2
    for name, document in library.documents.items():
        found = library.ask(name, document.question)
        if place := rank(found, document.links[-1]):
            last = found.final_results[place - 1]
            assert last.hop > 0 and last.reason != "semantic"


@pytest.mark.requirement("H-10", "H-16")
def test_decay_says_how_much_a_later_hop_counts(library: Library) -> None:
    """With a steep decay the last links fall behind what is like the question; without one none is further down."""
    assert library.last_links(hop_decay=0.3) <= 1
    for name, document in library.documents.items():
        with_decay = rank(library.ask(name, document.question, final_top_k=100), document.links[-1])
        without = rank(library.ask(name, document.question, final_top_k=100, hop_decay=1.0), document.links[-1])
        assert with_decay is not None and without is not None and without <= with_decay


def test_a_question_that_one_chunk_answers_keeps_its_answer_in_the_first_three(library: Library) -> None:
    direct = [(name, ask, answer) for name, doc in library.documents.items() for ask, answer in doc.direct]

    lost = [ask for name, ask, answer in direct if (rank(library.ask(name, ask), answer) or 99) > 3]

    assert len(direct) == 6 * len(library.documents)
    assert len(lost) <= 1, lost


def test_scores_fall_and_each_says_what_it_is_made_of(library: Library) -> None:
    for name, document in library.documents.items():
        found = library.ask(name, document.question)
        scores = [result.score for result in found.final_results]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


@pytest.mark.requirement("H-08", "H-13")
def test_edges_and_likeness_have_room_of_their_own_in_a_hop(library: Library) -> None:
    for name, document in library.documents.items():
        one, both, alike = (
            {result.chunk_id for result in library.ask(name, document.question, final_top_k=100, **args).final_results}
            for args in ({"num_hops": 1}, {"num_hops": 2}, {"num_hops": 2, "use_symbolic": False})
        )
        edges = library.ask(name, document.question, num_hops=2).symbolic_edges
        assert (len(one), len(both)) == (15, 30), "fifteen a hop"
        assert sum(edge.hop == 1 for edge in edges) >= 8
        assert len(both & (alike - one)) >= 4, "of what likeness alone would lead to"


@pytest.mark.requirement("H-17")
def test_calls_stay_within_the_budget(library: Library) -> None:
    for name, document in library.documents.items():
        calls = library.ask(name, document.question).calls
        assert calls.pop("graph") in (2, 3), "the third places what only the last hop reached"
        assert calls == {"vector": 3, "text": 1, "registry": 2}
