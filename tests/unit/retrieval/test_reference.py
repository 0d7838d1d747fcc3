"""What the page "Querying the Graph" says of the two retrievers, seen at the stores that they ask."""

from collections.abc import Iterator
from typing import Any

import pytest

from lexigraph.model.question import Question
from lexigraph.model.results import ScoredStatement, SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.retrievers import ChunkBasedSearch, EntityBasedSearch, TraversalBasedRetriever
from lexigraph.settings import Settings
from lexigraph.storage.protocols import EvidenceRequest, SearchRequest, Stores
from tests.laptop import CLOCK, CLOCK_QUESTION, laptop_with
from tests.listening import Listening
from tests.models import WordEmbedder

DOCUMENTS = {
    **CLOCK,
    **{f"Town {n}": f"Town {n} is a quiet place by the sea." for n in range(8)},
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("reference"), DOCUMENTS) as opened:
        yield opened


def asked(stores: Stores, name: str, **args: Any) -> tuple[SearchResults, set[str], list[EvidenceRequest]]:
    """What is found, the vector indexes searched by likeness, and what of the graph was asked for."""
    graph, vectors = Listening(stores.graph), Listening(stores.vectors)
    made = make_retriever(name, graph, vectors, embedder=WordEmbedder(), settings=Settings(), **args)  # type: ignore[arg-type]
    found = made.retrieve(DEFAULT_TENANT, Question.of(CLOCK_QUESTION))
    searches = {r.index for r in vectors.asked if isinstance(r, SearchRequest) and r.vector is not None and not r.ids}
    return found, searches, [r for r in graph.asked if isinstance(r, EvidenceRequest)]


@pytest.mark.requirement("G-05")
def test_the_two_retrievers_of_the_page_find_by_different_ways(stores: Stores) -> None:
    traversal, semantic = (asked(stores, name)[0] for name in ("traversal", "semantic-guided"))
    assert "chunk" in {s.reason for s in traversal.statements}
    assert {"statement", "keyword"} & {s.reason for s in semantic.statements}
    assert "chunk" not in {s.reason for s in semantic.statements}


@pytest.mark.requirement("G-08")
def test_traversal_searches_chunk_vectors_and_semantic_guided_search_statement_vectors(stores: Stores) -> None:
    assert "statement" not in asked(stores, "traversal")[1]
    assert "chunk" in asked(stores, "traversal")[1]
    assert "statement" in asked(stores, "semantic-guided")[1]


@pytest.mark.requirement("G-06", "G-14")
def test_by_default_traversal_goes_top_down_from_chunks_and_bottom_up_from_entities(stores: Stores) -> None:
    default = TraversalBasedRetriever(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings())
    assert [type(search) for search in default.searches] == [ChunkBasedSearch, EntityBasedSearch]
    found, _, _ = asked(stores, "traversal", link_rounds=0, vss_top_k=1)
    assert {"chunk", "entity"} <= {s.reason for s in found.statements}
    assert {"Silverbirch", "Clock"} <= {r.source.title for r in found.results}
    assert all(r.topic for r in found.results)


@pytest.mark.requirement("G-17")
def test_what_the_chunk_search_finds_weighs_more_than_what_the_entity_search_finds(stores: Stores) -> None:
    def found(**weights: float) -> tuple[ScoredStatement, ...]:
        options = {"link_rounds": 0, "vss_top_k": 1, "reranker": "none", "diversity": 0.0, **weights}
        return asked(stores, "traversal", **options)[0].statements

    default, turned = found(), found(chunk_weight=0.1, entity_weight=1.0)
    reasons = [s.reason for s in default]
    assert reasons.index("chunk") == 0 < reasons.index("entity")
    assert max(s.parts.get("vector", 0.0) for s in turned) < max(s.parts["vector"] for s in default)
    assert max(s.parts["entity"] for s in turned) > max(s.parts["entity"] for s in default)


@pytest.mark.requirement("G-19")
def test_the_graph_is_walked_from_chunks_and_from_entities(stores: Stores) -> None:
    both = asked(stores, "traversal")[2]
    assert any(request.chunks for request in both)
    assert any(request.entities for request in both)
    assert not any(request.entities for request in asked(stores, "chunk")[2])
