"""Several documents where one of them is long: at default parameters it neither crowds out nor outranks the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.multidoc import MultidocContext
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.retrievers import MultiDocSynthesizer
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop_with
from tests.models import WordEmbedder

QUESTION = "When does the ferry to Heron Island leave?"
PLACES = "quay jetty slipway boathouse lighthouse chapel mill bakery school market bridge tower".split()
HANDBOOK = "\n\n".join(
    f"## Crossing {i}\n\nThe ferry to Heron Island does leave when the tide of crossing {i} is high. "
    + f"Mate {i * 7} then tells the {PLACES[i % 12]} master to leave the ferry to the island at mark {i * 3}. " * 3
    for i in range(300)
)
NOTICES = {
    f"Notice of the {place}": f"The {place} of Heron Island opens in the morning and when does the ferry leave it closes. "
    f"Its keeper sells tickets, rope and lamps and writes down who comes to the {place}."
    for place in PLACES
}
TIMETABLE = {"Timetable": "When does the ferry to Heron Island leave? The ferry does leave to Heron Island at nine."}


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A handbook of 100,000 characters, a hundred of whose sections are more like the question than any notice."""
    with laptop_with(tmp_path_factory.mktemp("harbour"), {"Ferry handbook": HANDBOOK, **NOTICES}) as stores:
        yield stores


def found(stores: Stores, **args: Any) -> MultidocContext:
    return MultiDocSynthesizer(stores, **args).find(QUESTION, WordEmbedder())


@pytest.mark.requirement("W-07", "W-17")
def test_a_long_document_leaves_room_for_as_many_articles_as_are_asked_for(harbour: Stores) -> None:
    everything = found(harbour, num_docs=1, max_sections=10)
    assert everything.sources == ["Ferry handbook"]

    by_default, ten = found(harbour), found(harbour, num_docs=10)

    assert (len(by_default.sources), len(ten.sources)) == (5, 10)
    assert by_default.sources[0] == ten.sources[0] == "Ferry handbook"
    assert ten.sources[:5] == by_default.sources
    assert sum(s["article_title"] == "Ferry handbook" for s in by_default.sections) == 3


@pytest.mark.requirement("W-07")
def test_the_search_widens_only_as_far_as_articles_are_missing(harbour: Stores) -> None:
    assert found(harbour, num_docs=10).calls["vector"] == 2, "the first hundred sections are of the handbook"
    assert found(harbour, num_docs=1).calls["vector"] == 1
    strict = found(harbour, min_relevance=0.874)
    assert (strict.sources, strict.calls["vector"]) == (["Ferry handbook"], 1), "what follows is no longer relevant enough"


def test_where_there_are_fewer_articles_than_wanted_the_search_ends_with_the_last_section(tmp_path: Path) -> None:
    with laptop_with(tmp_path, {"Ferry handbook": HANDBOOK, "Timetable": TIMETABLE["Timetable"]}) as stores:
        context = found(stores, min_relevance=0.0)

    assert context.sources == ["Ferry handbook", "Timetable"]
    assert context.calls == {"vector": 3, "graph": 1, "registry": 1}, "60, 120 and 240 sections, of some 150"


@pytest.mark.requirement("W-14")
def test_many_middling_sections_do_not_outrank_the_article_that_answers(tmp_path: Path) -> None:
    with laptop_with(tmp_path, {"Ferry handbook": HANDBOOK, **NOTICES, **TIMETABLE}) as stores:
        for args in ({}, {"num_docs": 1}, {"num_docs": 2}, {"min_relevance": 0.0}, {"preset": "comprehensive"}):
            context = found(stores, **args)
            assert "Timetable" in context.sources, args
        assert found(stores, num_docs=2).sources == ["Timetable", "Ferry handbook"]


def test_as_a_retriever_it_draws_on_the_same_articles(harbour: Stores) -> None:
    retriever = make_retriever("multidoc", harbour.graph, harbour.vectors, embedder=WordEmbedder())

    results = retriever.retrieve(DEFAULT_TENANT, Question.of(QUESTION))

    assert {s.chunk_id for s in results.statements} == {s["section_id"] for s in found(harbour).sections}
    assert {r.source.title for r in results.results} == set(found(harbour).sources)
