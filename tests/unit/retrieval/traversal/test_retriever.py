"""Traversal over real stores: every parameter has its effect, every call is counted, every failure leaves a result."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.retrievers import (
    ChunkBasedSearch,
    EntityBasedSearch,
    TopicBeamSearch,
    TraversalBasedRetriever,
)
from lexigraph.retrieval.stages.postprocess import SentenceReranker
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.retrieval.traversal.searches import SEARCHES, TraversalSearch
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.found import best, texts, titles
from tests.laptop import laptop, laptop_with, open_laptop
from tests.models import WordEmbedder, model
from tests.standins.llm_server import ScriptedLLMServer, refused, said

CHAIN = "In which city does the team that owns Tidewater work?"


def firings(day: int) -> str:
    """So many sentences that a section of them is a chunk of its own."""
    return " ".join(f"The kiln is fired at dawn on day {day} of kiln week {week}." for week in range(10))


DOCUMENTS = {
    "Tidewater": "Tidewater is owned by the Heron Team. Tidewater replaced Silverbirch. Tidewater has nine dashboards.",
    "Heron Team": "The Heron Team works at Kestrel House. Ines Calloway leads the Heron Team.",
    "Kestrel House": "Kestrel House is in the city of Antwerp. Its lift is small.",
    "Silverbirch": "Silverbirch was written by Odile Ferrand. Silverbirch ran for eleven years.",
    "Odile Ferrand": "Odile Ferrand keeps bees on a roof.",
    "Lanternfish": "Lanternfish searches reports. Lanternfish is kept by the Basalt Team.",
    "Basalt Team": "The Basalt Team sits at Foundry Quay. The Basalt Team likes owls.",
    # five pages of one source about one thing, beside a single page of another
    "Handbook": "\n\n".join(f"## Part {n}\n\n{firings(n)}" for n in range(5)),
    "Potter": "The kiln belongs to a potter.",
    # a hub: many pages name the same mill
    **{f"Page {n}": f"Page {n} tells of the Great Mill and of oats." for n in range(6)},
    "Mill Road": "Mill Road leads to the Great Mill.",
    **{f"Town {n}": f"Town {n} is a quiet place by the sea." for n in range(12)},
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("traversal"), DOCUMENTS) as opened:
        yield opened


def retriever(stores: Stores, **options: Any) -> TraversalBasedRetriever:
    options = {"embedder": WordEmbedder(), "settings": Settings(), **options}
    return TraversalBasedRetriever(stores.graph, stores.vectors, **options)


def ask(stores: Stores, question: str, tenant: str = "default", filters: Any = None, **options: Any) -> SearchResults:
    return retriever(stores, **options).retrieve(Tenant(tenant), Question.of(question, filters))


# ---------------------------------------------------------------- what it finds


def test_a_question_over_three_documents_finds_all_three_first(stores: Stores):
    found = ask(stores, CHAIN)
    assert set(titles(found)[:3]) == {"Tidewater", "Heron Team", "Kestrel House"}
    city = next(s for s in found.statements if "Antwerp" in s.text)
    assert city.path == ("Tidewater", "Heron Team", "Kestrel House") or city.path == ("Heron Team", "Kestrel House")


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


def test_results_say_where_a_statement_stands_and_why_it_is_there(stores: Stores):
    found = ask(stores, "Who leads the Heron Team?")
    top = best(found)[0]
    assert top.text == "Ines Calloway leads the Heron Team."
    parsed = "Heron Team\n\n" + DOCUMENTS["Heron Team"]
    assert parsed[top.start : top.end] == top.text
    assert top.reason in ("chunk", "entity")
    assert {"vector", "bm25", "coverage"} <= top.parts.keys()
    assert "Heron Team" in found.entities
    assert found.keywords[0] == "Heron Team"


def test_the_same_question_gets_the_same_answer(stores: Stores):
    first, second = ask(stores, CHAIN), ask(stores, CHAIN)
    assert first.results == second.results


def test_without_blocking_the_loop_it_answers_the_same(stores: Stores):
    found = asyncio.run(retriever(stores).aretrieve(DEFAULT_TENANT, Question.of(CHAIN)))
    assert found.results == ask(stores, CHAIN).results


def test_another_tenant_finds_nothing(stores: Stores):
    found = ask(stores, CHAIN, tenant="other")
    assert (found.results, found.entities) == ((), ())


# ---------------------------------------------------------------- calls


@pytest.mark.parametrize(
    "question", [CHAIN, "kiln", "What of the Great Mill?", "Who is it?", "sea " * 300, "Xyzzy?", "Tidewater " * 40]
)
@pytest.mark.parametrize("options", [{}, {"vss_top_k": 200, "link_seeds": 50}, {"link_rounds": 0}, {"max_keywords": 50}])
def test_at_most_three_vector_and_four_graph_calls(stores: Stores, question: str, options: dict[str, Any]):
    calls = ask(stores, question, **options).calls
    assert calls["vector"] <= 3
    assert calls["graph"] <= 4


def test_timings_tell_the_steps(stores: Stores):
    timings = ask(stores, CHAIN).timings
    assert {"embed", "anchors", "entities", "evidence", "links_1", "links_2", "rank", "rerank", "total"} <= timings.keys()
    assert timings["total"] >= timings["rank"] >= timings["rerank"] >= 0


# ---------------------------------------------------------------- searches


@pytest.mark.requirement("G-16", "G-38")
def test_the_chunk_search_alone_asks_no_model_and_looks_up_no_entity(stores: Stores):
    with ScriptedLLMServer({"keywords": ["Tidewater"]}) as server:
        found = ask(stores, CHAIN, retrievers=[ChunkBasedSearch], llm=model(server))
        assert server.requests == []
    assert (found.keywords, found.entities) == ((), ())
    assert "Tidewater" in titles(found)[:3]
    assert {s.reason for s in found.statements} <= {"chunk", "topic", "link"}


@pytest.mark.requirement("G-15")
def test_the_entity_search_alone_starts_from_names(stores: Stores):
    found = ask(stores, "What is known about Silverbirch?", retrievers=[EntityBasedSearch], link_rounds=0)
    assert {s.reason for s in found.statements} == {"entity"}
    assert "Tidewater replaced Silverbirch." in texts(found)
    assert not any("sea" in text for text in texts(found))


def test_what_stands_in_a_document_that_is_called_as_an_entity_is_there_for_that_entity(stores: Stores):
    found = ask(stores, "What is known about Silverbirch?", retrievers=[EntityBasedSearch], link_rounds=0)
    about = next(s for s in ask(stores, "What has the Handbook?", retrievers=[EntityBasedSearch]).statements)
    assert {s.reason for s in found.statements} == {"entity"}
    assert (about.text.startswith("The kiln is fired"), about.reason) == (True, "entity")


@pytest.mark.parametrize("search", [ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch])
def test_a_search_used_alone_finds_what_the_composite_of_it_alone_finds(stores: Stores, search: type[ChunkBasedSearch]):
    own = search(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(), max_search_results=2)
    found = own.retrieve(DEFAULT_TENANT, Question.of(CHAIN))
    assert found.results == ask(stores, CHAIN, retrievers=[search], max_search_results=2).results
    assert asyncio.run(own.aretrieve(DEFAULT_TENANT, Question.of(CHAIN))).results == found.results


def test_a_search_without_stores_cannot_be_used_alone():
    with pytest.raises(InvalidInput, match="ChunkBasedSearch has no stores"):
        ChunkBasedSearch().retrieve(DEFAULT_TENANT, Question.of("Why?"))


@pytest.mark.requirement("G-18")
@pytest.mark.parametrize("given", [[ChunkBasedSearch], [ChunkBasedSearch()], ["ChunkBasedSearch"], ChunkBasedSearch])
def test_searches_are_given_as_types_instances_or_names(stores: Stores, given: Any):
    assert ask(stores, CHAIN, retrievers=given).results == ask(stores, CHAIN, retrievers=[ChunkBasedSearch]).results


@pytest.mark.requirement("G-18", "G-26")
def test_the_arguments_of_an_instance_are_its_own(stores: Stores):
    options = {"link_rounds": 0, "vss_diversity_factor": None}
    narrow = ask(stores, "kiln", retrievers=[ChunkBasedSearch(vss_top_k=1)], vss_top_k=5, **options)
    assert len({s.chunk_id for s in narrow.statements if s.reason == "chunk"}) == 1
    heavy = retriever(stores, retrievers=[ChunkBasedSearch, EntityBasedSearch(weight=3.0)])
    assert (heavy.args.entity_weight, heavy.args.chunk_weight) == (3.0, 1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least one"),
        ([ChunkBasedSearch, ChunkBasedSearch()], "ChunkBasedSearch and ChunkBasedSearch are the same search: pass only one"),
        (["TopicSearch"], "'TopicSearch' is not a search"),
        ([3], "3 is not a search"),
        ([ChunkBasedSearch(max_search_results=3)], "pass max_search_results to the composite"),
        ([ChunkBasedSearch(reranker="none")], "pass reranker to the composite"),
        ([ChunkBasedSearch(embedder=WordEmbedder())], "pass embedder to the composite"),
        ([EntityBasedSearch(settings=Settings())], "pass settings to the composite"),
        ([{}], "is not a search"),
    ],
)
def test_what_is_no_search_is_refused(stores: Stores, given: Any, message: str):
    with pytest.raises(InvalidInput, match=message):
        retriever(stores, retrievers=given)


def test_a_search_inside_a_composite_may_have_been_given_its_stores_and_no_others(stores: Stores, tmp_path: Path):
    own = ChunkBasedSearch(stores.graph, stores.vectors, vss_top_k=1)
    assert (
        ask(stores, CHAIN, retrievers=[own]).results
        == ask(stores, CHAIN, retrievers=[ChunkBasedSearch(vss_top_k=1)]).results
    )
    other = open_laptop(tmp_path / "other")
    with pytest.raises(InvalidInput, match="EntityBasedSearch: vector_store must be the same"):
        retriever(stores, retrievers=[EntityBasedSearch(stores.graph, other.vectors)])
    other.close()


@pytest.mark.parametrize("kind", [TraversalBasedRetriever, ChunkBasedSearch])
def test_a_question_alone_is_asked_as_the_tenant_of_the_settings(stores: Stores, kind: Any):
    mine, other = (
        kind(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(tenant=tenant))
        for tenant in (DEFAULT_TENANT, "other")
    )
    found = mine.retrieve(DEFAULT_TENANT, Question.of(CHAIN))
    assert mine.retrieve(CHAIN).results == mine.retrieve("default", CHAIN).results == found.results != ()
    assert asyncio.run(mine.aretrieve(CHAIN)).results == found.results
    assert other.retrieve(CHAIN).results == ()
    with pytest.raises(InvalidInput, match="question must contain a letter or digit"):
        mine.retrieve(" ")


def test_a_weight_is_given_once():
    with pytest.raises(InvalidInput, match="weight and chunk_weight are the same parameter"):
        ChunkBasedSearch(weight=1.0, chunk_weight=2.0)


@pytest.mark.parametrize(
    ("search", "args", "owner"),
    [
        (ChunkBasedSearch, {"max_keywords": 3}, "EntityBasedSearch"),
        (ChunkBasedSearch, {"topic_statements": 3}, "TopicBeamSearch"),
        (EntityBasedSearch, {"vss_top_k": 3}, "ChunkBasedSearch"),
        (TopicBeamSearch, {"entity_weight": 3.0}, "EntityBasedSearch"),
    ],
)
def test_a_parameter_of_a_search_that_takes_no_part_is_refused(
    stores: Stores, search: type[TraversalSearch], args: dict[str, Any], owner: str
):
    for make in (lambda: retriever(stores, retrievers=[search], **args), lambda: search(**args)):
        with pytest.raises(InvalidInput, match=f"{next(iter(args))} belongs to {owner}, which is not used here"):
            make()


def test_an_unknown_argument_is_refused_wherever_it_is_given(stores: Stores):
    with pytest.raises(InvalidInput, match="did you mean 'vss_top_k'"):
        retriever(stores, vss_topk=3)
    with pytest.raises(InvalidInput, match="did you mean 'vss_top_k'"):
        ChunkBasedSearch(vss_topk=3)


# ---------------------------------------------------------------- parameters

# parameter: question, two values that must give different results, and what else must be set for it to matter
FLIPS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "max_context_tokens": (CHAIN, 10, 2_000, {}),
    "max_search_results": (CHAIN, 2, 3, {}),
    "max_statements_per_topic": (CHAIN, 1, 2, {}),
    "include_facts": (CHAIN, False, True, {}),
    "expand_entities": ("Silverbirch", False, True, {"retrievers": [EntityBasedSearch], "link_rounds": 0}),
    "max_keywords": ("Lanternfish and Silverbirch", 1, 2, {"retrievers": [EntityBasedSearch], "link_rounds": 0}),
    "vss_top_k": ("a quiet place by the sea", 1, 3, {"retrievers": [ChunkBasedSearch], "link_rounds": 0}),
    "vss_diversity_factor": (
        "kiln fired at dawn",
        0,
        5,
        {"retrievers": [ChunkBasedSearch], "link_rounds": 0, "vss_top_k": 3},
    ),
    "derive_subqueries": ("What do the two persons of the roof keep?", False, True, {"link_rounds": 0, "vss_top_k": 1}),
    "max_subqueries": (
        "What do the two persons of the roof keep?",
        1,
        2,
        {"link_rounds": 0, "vss_top_k": 3, "derive_subqueries": True, "retrievers": [ChunkBasedSearch]},
    ),
    "reranker": (CHAIN, "none", "tfidf", {}),
    "max_statements": (CHAIN, 3, None, {}),
    "chunk_weight": (CHAIN, 0.5, 1.0, {}),
    "entity_weight": (CHAIN, 0.0, 1.0, {}),
    "bm25_weight": (CHAIN, 0.0, 1.0, {}),
    "link_rounds": (CHAIN, 1, 2, {"vss_top_k": 1, "retrievers": [ChunkBasedSearch]}),
    "link_seeds": (CHAIN, 1, 5, {"link_rounds": 1}),
    "max_links_per_entity": ("Where does Mill Road lead?", 1, 10, {"vss_top_k": 1, "retrievers": [ChunkBasedSearch]}),
    "max_link_df": ("Where does Mill Road lead?", 1, 15, {"vss_top_k": 1, "retrievers": [ChunkBasedSearch]}),
    "max_statements_per_entity": ("the Great Mill", 1, 50, {"retrievers": [EntityBasedSearch], "link_rounds": 0}),
    "topic_weight": (CHAIN, 0.0, 1.0, {"retrievers": [ChunkBasedSearch, TopicBeamSearch]}),
    "topic_top_k": ("Silverbirch", 1, 10, {"retrievers": [TopicBeamSearch], "link_rounds": 0}),
    "topic_beam_width": ("Part 2", 0, 20, {"retrievers": [TopicBeamSearch], "link_rounds": 0, "topic_top_k": 1}),
    "topic_beam_max_depth": ("Part 2", 1, 2, {"retrievers": [TopicBeamSearch], "link_rounds": 0, "topic_top_k": 1}),
    "topic_statements": ("Silverbirch", 1, 25, {"retrievers": [TopicBeamSearch], "link_rounds": 0}),
    "diversity": (CHAIN, 0.0, 0.9, {}),
}
SUBQUERIES = {"several_entities": True, "subqueries": ["Who leads the Heron Team?", "Who likes owls?"], "keywords": ["roof"]}


@pytest.mark.parametrize("name", [f.name for f in fields(TraversalArgs)])
def test_every_parameter_changes_what_is_found(stores: Stores, name: str):
    question, low, high, others = FLIPS[name]
    with ScriptedLLMServer(SUBQUERIES) as server:
        llm = {"llm": model(server)} if name in ("derive_subqueries", "max_subqueries") else {}
        a, b = (ask(stores, question, **llm, **{**others, name: value}) for value in (low, high))
    assert a.results != b.results


@pytest.mark.parametrize(("kind", "name"), [(kind, n) for kind in SEARCHES.values() for n in (*kind.OWN, "weight")])
def test_every_parameter_of_a_search_changes_what_is_found(stores: Stores, kind: type[TraversalSearch], name: str):
    question, low, high, given = FLIPS[kind.WEIGHT if name == "weight" else name]
    others = dict(given)
    beside = [s for s in others.pop("retrievers", [ChunkBasedSearch, EntityBasedSearch]) if s is not kind]
    a, b = (ask(stores, question, retrievers=[kind(**{name: value}), *beside], **others) for value in (low, high))
    assert a.results != b.results


@pytest.mark.requirement("G-21", "G-22")
def test_max_search_results_and_statements_per_topic_bound_the_result(stores: Stores):
    assert len(ask(stores, CHAIN, max_search_results=3).results) == 3
    assert len(ask(stores, CHAIN, max_search_results=None).results) > 3
    assert {len(r.statements) for r in ask(stores, CHAIN, max_statements_per_topic=1).results} == {1}


@pytest.mark.requirement("G-31", "G-32")
@pytest.mark.parametrize(("reranker", "bounded"), [("tfidf", True), ("none", False), (None, False)])
def test_max_statements_bounds_all_results_together_but_only_with_a_reranker(stores: Stores, reranker: str, bounded: bool):
    found = ask(stores, CHAIN, max_statements=2, reranker=reranker)
    assert (len(found.statements) == 2) == bounded


def test_the_best_statements_are_kept_not_the_first_found(stores: Stores):
    everything = [s.id for s in best(ask(stores, CHAIN, max_statements=None))]
    assert [s.id for s in best(ask(stores, CHAIN, max_statements=3))] == everything[:3]


@pytest.mark.requirement("G-23")
def test_facts_that_support_a_statement_come_with_it(stores: Stores):
    found = ask(stores, "Who owns Tidewater?", include_facts=True)
    assert ("Tidewater is owned by the Heron Team",) in [s.facts for s in found.statements]


@pytest.mark.requirement("G-24")
def test_connected_entities_are_followed_only_when_asked(stores: Stores):
    options = {"retrievers": [EntityBasedSearch], "link_rounds": 0, "max_search_results": None}
    narrow = ask(stores, "Silverbirch", expand_entities=False, **options)
    wide = ask(stores, "Silverbirch", expand_entities=True, **options)
    assert "Odile Ferrand keeps bees on a roof." not in texts(narrow)
    assert "Odile Ferrand keeps bees on a roof." in texts(wide)


@pytest.mark.requirement("G-25")
def test_max_keywords_bounds_keywords_and_entities(stores: Stores):
    found = ask(stores, "Lanternfish and Silverbirch", max_keywords=1, expand_entities=False)
    assert len(found.keywords) == 1
    assert len(found.entities) == 1


@pytest.mark.requirement("G-27")
def test_diversity_takes_the_next_best_of_a_source_not_seen(stores: Stores):
    options = {"retrievers": [ChunkBasedSearch], "link_rounds": 0, "vss_top_k": 2}
    question = "The kiln is fired at dawn on day 1 of the kiln week"
    assert titles(ask(stores, question, vss_diversity_factor=None, **options)) == ["Handbook"]
    assert titles(ask(stores, question, vss_diversity_factor=20, **options))[0] == "Handbook"
    assert len(titles(ask(stores, question, vss_diversity_factor=20, **options))) == 2


@pytest.mark.parametrize(
    ("rounds", "reached"), [(0, {"Tidewater"}), (1, {"Tidewater", "Heron Team"}), (2, {"Kestrel House"})]
)
def test_each_round_of_links_reaches_one_document_further(stores: Stores, rounds: int, reached: set[str]):
    found = ask(stores, "Who owns Tidewater?", link_rounds=rounds, vss_top_k=1, retrievers=[ChunkBasedSearch])
    assert reached <= set(titles(found))
    assert ("Kestrel House" in titles(found)) == (rounds == 2)


def test_a_hub_leads_to_so_many_chunks_at_most(stores: Stores):
    options = {"vss_top_k": 1, "retrievers": [ChunkBasedSearch], "link_rounds": 1}
    found = ask(stores, "Where does Mill Road lead?", max_links_per_entity=2, **options)
    assert 1 <= len([t for t in titles(found) if t.startswith("Page")]) <= 2
    cut = ask(stores, "Where does Mill Road lead?", max_link_df=3, **options)
    assert not [t for t in titles(cut) if t.startswith("Page")]


def test_filters_reach_every_step(stores: Stores):
    only = MetadataFilter("title", "in", ("Tidewater", "Kestrel House"))
    found = ask(stores, CHAIN, filters=only)
    assert set(titles(found)) == {"Tidewater", "Kestrel House"}
    assert ask(stores, CHAIN, filters=MetadataFilter("title", "==", "Nowhere")).results == ()


# ---------------------------------------------------------------- models


@pytest.mark.requirement("G-15")
def test_keywords_of_the_model_are_looked_up(stores: Stores):
    options = {"retrievers": [EntityBasedSearch], "link_rounds": 0, "expand_entities": False}
    question = "What became of the old loan system?"
    assert "Silverbirch" not in ask(stores, question, **options).entities
    with ScriptedLLMServer({"keywords": ["Silverbirch"]}) as server:
        found = ask(stores, question, llm=model(server), **options)
        assert question in said(server.requests[0])
    assert (found.keywords, found.entities) == (("Silverbirch",), ("Silverbirch",))
    assert "Silverbirch ran for eleven years." in texts(found)


def test_a_failing_model_leaves_the_keywords_of_the_question_and_a_warning(stores: Stores):
    with ScriptedLLMServer(refused(503)) as server:
        found = ask(stores, CHAIN, llm=model(server))
    assert [w.type for w in found.warnings] == ["keywords_failed"]
    assert found.results == ask(stores, CHAIN).results


@pytest.mark.requirement("G-28")
def test_subqueries_find_what_the_question_does_not_say_in_the_same_calls(stores: Stores):
    question = "What do the two persons of the roof keep?"
    options = {"link_rounds": 0, "vss_top_k": 3, "retrievers": [ChunkBasedSearch]}
    with ScriptedLLMServer(SUBQUERIES) as server:
        found = ask(stores, question, derive_subqueries=True, llm=model(server), **options)
    assert {"Ines Calloway leads the Heron Team.", "The Basalt Team likes owls."} <= set(texts(found))
    assert found.calls["vector"] <= 2


PARTS = {
    "Who leads the Heron Team?": "Ines Calloway leads the Heron Team.",
    "Who wrote Silverbirch?": "Silverbirch was written by Odile Ferrand.",
    "What does the Basalt Team like?": "The Basalt Team likes owls.",
    "Where does Mill Road lead?": "Mill Road leads to the Great Mill.",
    "Whom does the kiln belong to?": "The kiln belongs to a potter.",
}


class Counting(WordEmbedder):
    """Notes the texts of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[list[str]] = []

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        self.asked.append(list(texts))
        return super().embed_questions(texts)


@pytest.mark.requirement("G-29")
@pytest.mark.parametrize("parts", [2, 3, 4, 5])
@pytest.mark.parametrize("searches", [None, [ChunkBasedSearch], [ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch]])
def test_all_subqueries_travel_in_one_batch_and_each_is_answered(stores: Stores, parts: int, searches: Any):
    question = "What can be said of the towns, of those five matters, and of the quiet sea?"
    reply = {"several_entities": True, "subqueries": list(PARTS), "keywords": ["towns"]}
    counting = Counting()
    with ScriptedLLMServer(reply) as server:
        options = {"llm": model(server), "embedder": counting, "derive_subqueries": True, "max_subqueries": parts}
        found = ask(stores, question, retrievers=searches, **options)
        assert len(server.requests) == (1 if searches == [ChunkBasedSearch] else 2)
    asked, answers = list(PARTS)[:parts], list(PARTS.values())[:parts]
    assert counting.asked == [[question, *asked]]
    assert found.calls["vector"] <= 3
    assert found.calls["graph"] <= 4
    assert set(answers) <= {s.text for s in best(found)[: 3 * parts]}
    assert found.warnings == ()


def test_a_model_that_fails_to_break_a_question_up_leaves_it_whole_and_warns(stores: Stores):
    for reply in (refused(503), {"several_entities": True, "subqueries": [], "keywords": ["Tidewater"]}):
        with ScriptedLLMServer(reply) as server:
            found = ask(stores, CHAIN, derive_subqueries=True, llm=model(server), retrievers=[ChunkBasedSearch])
        assert [w.type for w in found.warnings] == ["subqueries_failed"]
        assert found.results == ask(stores, CHAIN, retrievers=[ChunkBasedSearch]).results


def test_subqueries_without_a_model_warn(stores: Stores):
    found = ask(stores, CHAIN, derive_subqueries=True)
    assert [w.type for w in found.warnings] == ["subqueries_need_llm"]
    assert found.results == ask(stores, CHAIN).results


class Broken(WordEmbedder):
    """An embedding model that cannot be reached."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("connection refused")


def test_without_embeddings_the_search_goes_by_words(stores: Stores):
    found = ask(stores, CHAIN, embedder=Broken())
    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert "Tidewater" in titles(found)[:2]
    assert all("vector" not in s.parts for s in found.statements)


class Lengths:
    """A reranker that prefers short texts; ``texts`` are those it was given."""

    name = "lengths"

    def __init__(self) -> None:
        self.queries: Sequence[str] = ()
        self.texts: Sequence[str] = ()

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        self.queries, self.texts = queries, texts
        return [-float(len(text)) for text in texts]


@pytest.mark.requirement("G-33", "G-34", "G-35")
def test_a_reranker_sees_each_statement_with_topic_and_source_title_and_the_entity_names(stores: Stores):
    lengths = Lengths()
    found = ask(stores, "Who leads the Heron Team?", reranker=lengths)
    assert lengths.queries[0] == "Who leads the Heron Team?"
    assert "Heron Team" in lengths.queries[1:]
    assert any(text.startswith("Heron Team\n") and "Ines Calloway leads" in text for text in lengths.texts)
    assert any("rerank" in s.parts for s in found.statements)


def test_reranking_does_not_rank_bridge_evidence_away(stores: Stores):
    plain, reranked = (ask(stores, CHAIN, reranker=name) for name in ("none", "tfidf"))
    for found in (plain, reranked):
        assert "Kestrel House is in the city of Antwerp." in [s.text for s in best(found)[:4]]


@pytest.mark.requirement("G-36")
def test_a_reranker_of_results_works_behind_that_of_statements(stores: Stores, tmp_path: Path):
    lengths = Lengths()
    engine = LexicalGraphQueryEngine.for_traversal_based_search(
        stores.graph,
        stores.vectors,
        embedder=WordEmbedder(),
        settings=Settings(data=tmp_path),
        reranker="tfidf",
        post_processors=[SentenceReranker(lengths, top_n=3)],
    )
    found = engine.retrieve(CHAIN)
    assert len(found.statements) == 3
    assert all("sentence" in s.parts for s in found.statements)
    assert lengths.queries == [CHAIN]


class Refusing(Lengths):
    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        raise ModelUnavailable("no such model")


def test_a_failing_reranker_leaves_the_order_without_it_and_a_warning(stores: Stores):
    found = ask(stores, CHAIN, reranker=Refusing())
    assert [w.type for w in found.warnings] == ["rerank_failed"]
    assert [s.id for s in best(found)] == [s.id for s in best(ask(stores, CHAIN, reranker="none", max_statements=None))]


def test_making_a_retriever_and_asking_it_loads_nothing_heavy(tmp_path: Path):
    program = """
import sys
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.retrievers import TraversalBasedRetriever
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.factory import GraphStoreFactory, VectorStoreFactory
from tests.models import WordEmbedder, model
place, WORDS = "sqlite:///" + sys.argv[1], EmbeddingModel("words", WordEmbedder.dimension)
stores = GraphStoreFactory.for_graph_store(place), VectorStoreFactory.for_vector_store(place, embedding=WORDS)
TraversalBasedRetriever(*stores)
retriever = TraversalBasedRetriever(*stores, embedder=WordEmbedder())
found = retriever.retrieve(Tenant("default"), Question.of("Who owns Tidewater?"))
assert "rerank" in found.timings and found.statements[0].text == "Tidewater is owned by Ines."
loaded = {m.split(".")[0] for m in sys.modules}
heavy = {"llama_index", "spacy", "onnxruntime", "pandas", "sklearn", "boto3", "tokenizers"} & loaded
sys.exit(f"loaded: {heavy}" if heavy else 0)
"""
    (tmp_path / "page.md").write_text("# Tidewater\n\nTidewater is owned by Ines.", encoding="utf-8")
    assert not laptop(tmp_path / "data").ingest([tmp_path / "page.md"]).failures
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[4])},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_a_retriever_that_derives_from_another_takes_none_of_its_searches() -> None:
    class Mine(TraversalBasedRetriever):
        """A user's own."""

    assert Mine.SEARCHES is TraversalBasedRetriever.SEARCHES
    assert all(search.COMPOSITE is TraversalBasedRetriever for search in SEARCHES.values())
