"""Semantic-guided search over real stores: every parameter has its effect, every call is counted, failures leave results."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.answering.response import QueryResponse
from lexigraph.inference.protocols import FloatArray
from lexigraph.inference.rerank import TfidfReranker
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.retrievers import (
    KeywordRankingSearch,
    RerankingBeamGraphSearch,
    SemanticBeamGraphSearch,
    SemanticGuidedRetriever,
    StatementCosineSimilaritySearch,
)
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.semantic.searches import SEMANTIC_SEARCHES, SemanticSearch
from lexigraph.retrieval.stages.postprocess import StatementDiversityPostProcessor
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.found import best, texts, titles
from tests.laptop import laptop, laptop_with, open_laptop
from tests.models import WordEmbedder, model
from tests.standins.llm_server import ScriptedLLMServer, refused, said

CHAIN = "In which city does the team that owns Tidewater work?"
DOCUMENTS = {
    "Tidewater": "Tidewater is owned by the Heron Team. Tidewater replaced Silverbirch. Tidewater has nine dashboards.",
    "Heron Team": "The Heron Team works at Kestrel House. Ines Calloway leads the Heron Team.",
    "Kestrel House": "Kestrel House is in the city of Antwerp. Its lift is small. Mabel Orr built Kestrel House.",
    "Silverbirch": "Silverbirch was written by Odile Ferrand. Silverbirch ran for eleven years.",
    "Odile Ferrand": "Odile Ferrand keeps bees on a roof.",
    "Mabel Orr": "Mabel Orr was born in Ghent.",
    "Lanternfish": "Lanternfish searches reports. Lanternfish is kept by the Basalt Team.",
    "Basalt Team": "The Basalt Team sits at Foundry Quay. The Basalt Team likes owls.",
    "Kiln": "\n\n".join(f"## Part {n}\n\nThe kiln is fired at dawn on day {n} of the kiln week." for n in range(4)),
    # a hub: many pages name the same mill
    **{f"Page {n}": f"Page {n} tells of the Great Mill and of oats." for n in range(6)},
    "Mill Road": "Mill Road leads to the Great Mill.",
    **{f"Town {n}": f"Town {n} is a quiet place by the sea." for n in range(12)},
}
COSINE, KEYWORDS, BEAM = StatementCosineSimilaritySearch, KeywordRankingSearch, SemanticBeamGraphSearch
ONE_SEED = {"retrievers": [COSINE, BEAM], "cosine_top_k": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("semantic")


@pytest.fixture(scope="module")
def stores(folder: Path) -> Iterator[Stores]:
    with laptop_with(folder, DOCUMENTS) as opened:
        yield opened


def retriever(stores: Stores, **options: Any) -> SemanticGuidedRetriever:
    options = {"embedder": WordEmbedder(), "settings": Settings(), **options}
    return SemanticGuidedRetriever(stores.graph, stores.vectors, **options)


def ask(stores: Stores, question: str, tenant: str = "default", filters: Any = None, **options: Any) -> SearchResults:
    return retriever(stores, **options).retrieve(Tenant(tenant), Question.of(question, filters))


# ---------------------------------------------------------------- what it finds


def test_a_question_over_three_documents_finds_all_three_first(stores: Stores):
    found = ask(stores, CHAIN)
    assert set(titles(found)[:3]) == {"Tidewater", "Heron Team", "Kestrel House"}


@pytest.mark.requirement("G-07")
def test_the_beam_brings_what_no_statement_like_the_question_says(stores: Stores):
    found = ask(stores, "Who owns Tidewater?", **ONE_SEED)
    beam = [s for s in found.statements if s.reason == "beam"]
    assert "Ines Calloway leads the Heron Team." in [s.text for s in beam]
    house = next(s for s in beam if "Antwerp" in s.text)
    assert house.path == ("Tidewater", "Heron Team", "Kestrel House")
    assert house.parts["link"] > 0
    without = ask(stores, "Who owns Tidewater?", retrievers=[COSINE(top_k=1)])
    assert titles(without) == ["Tidewater"]
    assert without.calls == {"vector": 2, "graph": 1}


@pytest.mark.requirement("G-07")
def test_reasons_say_which_search_found_a_statement(stores: Stores):
    assert {s.reason for s in ask(stores, CHAIN, retrievers=[COSINE]).statements} == {"statement"}
    assert {s.reason for s in ask(stores, "Silverbirch", retrievers=[KEYWORDS]).statements} == {"keyword"}
    mixed = ask(stores, "Who leads the Heron Team?", cosine_top_k=1, keyword_top_k=2)
    assert {s.reason for s in mixed.statements} == {"statement", "keyword", "beam"}


def test_scores_are_the_sums_of_their_parts_between_0_and_1_and_ordered(stores: Stores):
    found = ask(stores, CHAIN)
    for statement in found.statements:
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-9)
        assert 0 <= statement.score <= 1
    for result in found.results:
        scores = [s.score for s in result.statements]
        assert scores == sorted(scores, reverse=True)
        assert result.score == scores[0]
    assert [r.score for r in found.results] == sorted((r.score for r in found.results), reverse=True)


def test_results_say_where_a_statement_stands(stores: Stores):
    found = ask(stores, "Who leads the Heron Team?")
    top = best(found)[0]
    assert top.text == "Ines Calloway leads the Heron Team."
    parsed = "Heron Team\n\n" + DOCUMENTS["Heron Team"]
    assert parsed[top.start : top.end] == top.text
    assert {"vector", "bm25", "coverage", "entity"} <= top.parts.keys()
    assert "Heron Team" in found.entities
    assert found.keywords[0] == "Heron Team"


def test_the_same_question_gets_the_same_answer_also_from_many_threads(stores: Stores):
    shared = retriever(stores)
    questions = [CHAIN, "Silverbirch", "Who likes owls?"] * 4
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda q: shared.retrieve(DEFAULT_TENANT, Question.of(q)).results, questions))
    assert found[:3] == found[3:6] == found[6:9] == found[9:]
    assert found[0] == ask(stores, CHAIN).results
    assert asyncio.run(shared.aretrieve(DEFAULT_TENANT, Question.of(CHAIN))).results == found[0]


def test_the_order_of_ingestion_plays_no_part(folder: Path, stores: Stores):
    other = open_laptop(folder / "backwards")
    index = laptop(folder / "backwards", other)
    files = sorted((folder / "corpus").iterdir(), reverse=True)
    for half in (files[::2], files[1::2]):
        assert not index.ingest(half).failures
    for question in (CHAIN, "What of the Great Mill?", "a quiet place by the sea"):
        assert ask(other, question).results == ask(stores, question).results
    other.close()


def test_another_tenant_finds_nothing(stores: Stores):
    found = ask(stores, CHAIN, tenant="other")
    assert (found.results, found.entities) == ((), ())


def test_filters_reach_every_step(stores: Stores):
    only = MetadataFilter("title", "in", ("Tidewater", "Kestrel House"))
    assert set(titles(ask(stores, CHAIN, filters=only))) == {"Tidewater", "Kestrel House"}
    assert ask(stores, CHAIN, filters=MetadataFilter("title", "==", "Nowhere")).results == ()


# ---------------------------------------------------------------- calls

ODD = [CHAIN, "kiln", "What of the Great Mill?", "Who is it?", "sea " * 300, "Xyzzy?", "Tidewater " * 40, '"', "the who 5?"]


@pytest.mark.parametrize("question", [q for q in ODD if any(c.isalnum() for c in q)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 8, "beam_width": 1000, "cosine_top_k": 1000, "keyword_top_k": 1000},
        {"max_depth": 0},
        {"beam_width": 0},
        {"retrievers": [BEAM]},
        {"retrievers": [KEYWORDS(max_keywords=50), RerankingBeamGraphSearch(reranker="tfidf", max_depth=8)]},
    ],
)
def test_at_most_three_vector_and_three_graph_calls(stores: Stores, question: str, options: dict[str, Any]):
    calls = ask(stores, question, **options).calls
    assert calls["vector"] <= 3
    assert calls["graph"] <= 3


def test_timings_tell_the_steps(stores: Stores):
    timings = ask(stores, CHAIN, post_processors=[StatementDiversityPostProcessor()]).timings
    assert {"embed", "anchors", "evidence", "links_1", "links_2", "rank", "rerank", "post_processing", "total"} <= set(
        timings
    )
    assert timings["total"] >= timings["rank"] >= timings["rerank"] >= 0


# ---------------------------------------------------------------- parameters

# parameter: question, two values that must give different results, and what else must be set for it to matter
FLIPS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "max_context_tokens": (CHAIN, 10, 2_000, {}),
    "max_search_results": (CHAIN, 2, 3, {}),
    "max_statements_per_topic": (CHAIN, 1, 2, {}),
    "include_facts": (CHAIN, False, True, {}),
    "cosine_top_k": ("a quiet place by the sea", 1, 3, {"retrievers": [COSINE]}),
    "max_keywords": ("Lanternfish and Silverbirch", 1, 2, {}),
    "keyword_top_k": ("a quiet place by the sea", 1, 3, {"retrievers": [KEYWORDS]}),
    "max_depth": ("Who owns Tidewater?", 1, 2, ONE_SEED),
    "beam_width": ("Who owns Tidewater?", 1, 2, ONE_SEED),
    "reranker": (CHAIN, "none", "tfidf", {}),
    "max_statements": (CHAIN, 3, None, {}),
    "entity_weight": (CHAIN, 0.0, 1.0, {}),
    "bm25_weight": (CHAIN, 0.0, 1.0, {}),
    "link_seeds": ("Who owns Tidewater?", 1, 5, {**ONE_SEED, "cosine_top_k": 3, "max_depth": 1}),
    "max_links_per_entity": ("Where does Mill Road lead?", 1, 10, {**ONE_SEED, "max_depth": 1}),
    "max_link_df": ("Where does Mill Road lead?", 1, 15, {**ONE_SEED, "max_depth": 1}),
    "diversity": (CHAIN, 0.0, 0.9, {}),
}


@pytest.mark.parametrize("name", [f.name for f in fields(SemanticArgs)])
def test_every_parameter_changes_what_is_found(stores: Stores, name: str):
    question, low, high, others = FLIPS[name]
    a, b = (ask(stores, question, **{**others, name: value}) for value in (low, high))
    assert a.results != b.results


# the same of the searches: question, what else takes part
SEARCH_FLIPS: dict[tuple[str, str], tuple[str, Any, Any, list[Any]]] = {
    ("StatementCosineSimilaritySearch", "top_k"): ("a quiet place by the sea", 1, 3, []),
    ("KeywordRankingSearch", "top_k"): ("a quiet place by the sea", 1, 3, []),
    ("KeywordRankingSearch", "max_keywords"): ("Lanternfish and Silverbirch", 1, 2, []),
    ("SemanticBeamGraphSearch", "max_depth"): ("Who owns Tidewater?", 1, 2, [COSINE(top_k=1)]),
    ("SemanticBeamGraphSearch", "beam_width"): ("Who owns Tidewater?", 1, 2, [COSINE(top_k=1)]),
    ("RerankingBeamGraphSearch", "max_depth"): ("Who owns Tidewater?", 1, 2, [COSINE(top_k=1)]),
    ("RerankingBeamGraphSearch", "beam_width"): ("Who owns Tidewater?", 1, 2, [COSINE(top_k=1)]),
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, search in SEMANTIC_SEARCHES.items() for name in search.PARAMETERS]
)
def test_every_parameter_of_a_search_changes_what_is_found(stores: Stores, kind: str, name: str):
    question, low, high, others = SEARCH_FLIPS[kind, name]
    own = {"reranker": "tfidf"} if kind == "RerankingBeamGraphSearch" else {}
    a, b = (
        ask(stores, question, retrievers=[*others, SEMANTIC_SEARCHES[kind](**own, **{name: value})])  # type: ignore[arg-type]
        for value in (low, high)
    )
    assert a.results != b.results


def test_a_beam_always_adds_however_many_statements_were_found_before(stores: Stores):
    # the seeds are more than the width
    options = {"max_search_results": None, "max_statements": None}
    found = ask(stores, "Who owns Tidewater?", retrievers=[COSINE(top_k=6), BEAM(max_depth=1, beam_width=2)], **options)
    assert len({s.chunk_id for s in found.statements if s.reason == "statement"}) > 2
    assert {r.source.title for r in found.results if r.statements[0].reason == "beam"} == {"Silverbirch", "Heron Team"}


def test_deeper_than_two_hops_the_beam_runs_in_memory(stores: Stores):
    question = "Who owns Tidewater?"
    calls = {depth: ask(stores, question, max_depth=depth, **ONE_SEED).calls for depth in (2, 3, 8)}
    assert calls[2] == calls[3] == calls[8]
    born = "Where was the builder of the house born where the team works that owns Tidewater?"
    # all statements are found at once, and each hop leads one document further
    options = {"retrievers": [COSINE(top_k=1000), BEAM], "link_seeds": 1}
    paths = [{s.path for s in ask(stores, born, max_depth=depth, **options).statements} for depth in (2, 8)]
    whole = ("Tidewater", "Heron Team", "Kestrel House", "Mabel Orr")
    assert [whole in found for found in paths] == [False, True]


def test_bounds_are_kept(stores: Stores):
    assert len(ask(stores, CHAIN, max_search_results=3).results) == 3
    assert {len(r.statements) for r in ask(stores, CHAIN, max_statements_per_topic=1).results} == {1}
    everything = [s.id for s in best(ask(stores, CHAIN, max_statements=None))]
    assert [s.id for s in best(ask(stores, CHAIN, max_statements=3))] == everything[:3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cosine_top_k": 0}, "cosine_top_k must be a whole number from 1 to 1,000"),
        ({"max_depth": 9}, "max_depth must be a whole number from 0 to 8"),
        ({"beam_width": 1.5}, "beam_width must be a whole number"),
        ({"beam_widht": 5}, "did you mean 'beam_width'"),
        ({"vss_top_k": 5}, "unknown parameter 'vss_top_k'"),
        ({"bm25_weight": 2}, "bm25_weight must be"),
        ({"reranker": "best"}, "reranker must be one of"),
        ({"retrievers": []}, "must contain at least one of"),
        ({"retrievers": [COSINE, COSINE()]}, "are the same search"),
        (
            {"retrievers": [BEAM, RerankingBeamGraphSearch()]},
            "SemanticBeamGraphSearch and RerankingBeamGraphSearch are the same",
        ),
        (
            {"retrievers": [RerankingBeamGraphSearch(), BEAM]},
            "RerankingBeamGraphSearch and SemanticBeamGraphSearch are the same",
        ),
        ({"retrievers": [COSINE(embedder=WordEmbedder())]}, "pass embedder to the composite"),
        (
            {"retrievers": [COSINE], "max_keywords": 3},
            "max_keywords belongs to KeywordRankingSearch, which is not used here",
        ),
        ({"retrievers": [COSINE], "entity_weight": 3.0}, "entity_weight belongs to KeywordRankingSearch"),
        ({"retrievers": [KEYWORDS], "cosine_top_k": 3}, "cosine_top_k belongs to StatementCosineSimilaritySearch"),
        ({"retrievers": [KEYWORDS], "link_seeds": 3}, "link_seeds belongs to SemanticBeamGraphSearch"),
        ({"reranker": 5}, "5 is not a reranker"),
        ({"reranker": TfidfReranker}, "is not a reranker"),
        ({"retrievers": ["ChunkBasedSearch"]}, "'ChunkBasedSearch' is not a search"),
        ({"retrievers": [3]}, "3 is not a search"),
        ({"post_processors": [3]}, "3 has no method process"),
    ],
)
def test_what_is_not_allowed_is_refused_with_the_reason(stores: Stores, options: dict[str, Any], message: str):
    with pytest.raises(InvalidInput, match=message):
        retriever(stores, **options)


def test_a_beam_alone_starts_from_the_nearest_statements(stores: Stores):
    few, many = (ask(stores, CHAIN, retrievers=[BEAM], cosine_top_k=k, max_depth=0) for k in (1, 5))
    assert len(few.statements) < len(many.statements)


@pytest.mark.parametrize(
    ("reranker", "message"),
    [
        ("none", "needs a reranker: pass one"),
        (None, "needs a reranker: pass one"),
        ("best", "reranker must be one of"),
        (5, "5 is not a reranker"),
        (object(), "is not a reranker"),
    ],
)
def test_the_reranking_beam_needs_a_reranker(reranker: Any, message: str):
    with pytest.raises(InvalidInput, match=message):
        RerankingBeamGraphSearch(reranker=reranker)


def test_searches_check_their_own_parameters():
    with pytest.raises(InvalidInput, match="unknown parameter 'topk'"):
        COSINE(topk=5)
    with pytest.raises(InvalidInput, match="max_keywords must be"):
        KEYWORDS(max_keywords=0)


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize("given", [[COSINE], [COSINE()], ["StatementCosineSimilaritySearch"], COSINE])
def test_searches_are_given_as_types_instances_or_names(stores: Stores, given: Any):
    assert ask(stores, CHAIN, retrievers=given).results == ask(stores, CHAIN, retrievers=[COSINE]).results


@pytest.mark.parametrize("search", [COSINE, KEYWORDS, BEAM])
def test_a_search_used_alone_finds_what_the_composite_of_it_alone_finds(stores: Stores, search: type[SemanticSearch]):
    own = search(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings())
    found = own.retrieve(DEFAULT_TENANT, Question.of(CHAIN))
    assert found.results
    assert found.results == ask(stores, CHAIN, retrievers=[search]).results
    assert asyncio.run(own.aretrieve(DEFAULT_TENANT, Question.of(CHAIN))).results == found.results


def test_a_search_without_stores_cannot_be_used_alone():
    with pytest.raises(InvalidInput, match="has no stores"):
        COSINE().retrieve(DEFAULT_TENANT, Question.of("Why?"))


def test_the_arguments_of_an_instance_replace_those_around_it(stores: Stores):
    made = retriever(stores, retrievers=[COSINE(top_k=7), BEAM(max_depth=1)], cosine_top_k=5, beam_width=9)
    assert (made.args.cosine_top_k, made.args.max_depth, made.args.beam_width) == (7, 1, 9)


class Owls:
    """A reranker that likes texts about owls; ``texts`` are those it was given."""

    name = "owls"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        self.texts += texts
        return [float("owls" in text) for text in texts]


class Refusing(Owls):
    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        raise ModelUnavailable("no such model")


def test_the_reranking_beam_goes_where_the_reranker_says(stores: Stores):
    question, options = "Who keeps Lanternfish?", {"reranker": "none", "cosine_top_k": 5}
    owls = Owls()
    found = ask(stores, question, retrievers=[COSINE, RerankingBeamGraphSearch(reranker=owls)], **options)
    assert any("Basalt Team sits" in text for text in owls.texts)
    assert best(found)[0].chunk_id == next(s.chunk_id for s in found.statements if "owls" in s.text)
    plain = ask(stores, question, retrievers=[COSINE, BEAM], **options)
    assert titles(plain)[0] == "Lanternfish"


def test_a_failing_reranker_of_the_beam_leaves_likeness_and_a_warning(stores: Stores):
    found = ask(stores, CHAIN, retrievers=[COSINE, RerankingBeamGraphSearch(reranker=Refusing())])
    assert [w.type for w in found.warnings] == ["beam_rerank_failed"]
    assert found.results == ask(stores, CHAIN, retrievers=[COSINE, BEAM]).results


# ---------------------------------------------------------------- models


def test_keywords_of_the_model_are_looked_up(stores: Stores):
    question = "What became of the old loan system?"
    assert "Silverbirch" not in ask(stores, question).entities
    with ScriptedLLMServer({"keywords": ["Silverbirch"]}) as server:
        found = ask(stores, question, llm=model(server))
        assert question in said(server.requests[0])
    assert (found.keywords, found.entities) == (("Silverbirch",), ("Silverbirch",))
    assert "Silverbirch ran for eleven years." in texts(found)


def test_without_the_keyword_search_no_model_is_asked(stores: Stores):
    with ScriptedLLMServer({"keywords": ["Silverbirch"]}) as server:
        found = ask(stores, CHAIN, llm=model(server), retrievers=[COSINE, BEAM])
        assert server.requests == []
    assert (found.keywords, found.entities) == ((), ())


def test_a_failing_model_leaves_the_keywords_of_the_question_and_a_warning(stores: Stores):
    with ScriptedLLMServer(refused(503)) as server:
        found = ask(stores, CHAIN, llm=model(server))
    assert [w.type for w in found.warnings] == ["keywords_failed"]
    assert found.results == ask(stores, CHAIN).results


class Broken(WordEmbedder):
    """An embedding model that cannot be reached."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("connection refused")


@pytest.mark.parametrize("retrievers", [None, [COSINE], [BEAM]])
def test_without_embeddings_the_search_goes_by_words(stores: Stores, retrievers: Any):
    found = ask(stores, CHAIN, embedder=Broken(), retrievers=retrievers)
    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert "Tidewater" in titles(found)[:2]
    assert all("vector" not in s.parts for s in found.statements)


def test_a_failing_reranker_leaves_the_order_without_it_and_a_warning(stores: Stores):
    found = ask(stores, CHAIN, reranker=Refusing())
    assert [w.type for w in found.warnings] == ["rerank_failed"]
    assert [s.id for s in best(found)] == [s.id for s in best(ask(stores, CHAIN, reranker="none", max_statements=None))]


class Failing:
    """A post-processor that has a fault."""

    def process(self, found: SearchResults) -> SearchResults:
        raise KeyError("colour")


def test_a_failing_post_processor_leaves_the_results_and_a_warning_and_the_others_run(stores: Stores):
    done = StatementDiversityPostProcessor(0.3)
    found = ask(stores, CHAIN, post_processors=[Failing, done])
    assert [w.type for w in found.warnings] == ["post_processing_failed"]
    assert found.results == ask(stores, CHAIN, post_processors=[done]).results


# ---------------------------------------------------------------- engine


@pytest.mark.requirement("G-07")
def test_the_engine_answers_from_semantic_guided_search(tmp_path: Path, stores: Stores):
    engine = LexicalGraphQueryEngine.for_semantic_guided_search(
        stores.graph,
        stores.vectors,
        embedder=WordEmbedder(),
        settings=Settings(data=tmp_path),
        retrievers=[COSINE, KEYWORDS, BEAM(max_depth=2)],
        post_processors=[StatementDiversityPostProcessor],
        max_search_results=5,
        quoted_statements=4,
    )
    answer = engine.query(CHAIN)
    assert isinstance(answer, QueryResponse)
    assert "Kestrel House is in the city of Antwerp" in answer.response
    assert len(answer.results.results) == 5
    assert len(answer.citations) <= 4
    with pytest.raises(InvalidInput, match="unknown parameter"):
        LexicalGraphQueryEngine.for_semantic_guided_search(
            stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(data=tmp_path), vss_top_k=5
        )
