"""Hybrid retrieval over real stores: reasons, explained scores, budgets, and what happens when a part fails."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.hybrid.reranking import FAILURES, RerankGuard
from lexigraph.retrieval.hybrid.results import HybridResults
from lexigraph.retrieval.retrievers import HybridRetriever
from lexigraph.retrieval.stages.trace import Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.effective import effective
from tests.laptop import laptop_with
from tests.models import WordEmbedder
from tests.waiting import eventually

PAGES = {
    "Approval": "Every purchase needs an approval by Mara Quill. The approval flow begins with a form.",
    "Ledger": "Mara Quill signs in Norwick. Olaf Brandt keeps the book.",
    "Archive": "Olaf Brandt sends papers to Vellmark Hall.",
    "Vault": "Vellmark Hall has a stone cellar.",
    "Harbour": "Ships wait for the tide.",
    "Quarry": "Granite is cut by hand.",
}
QUESTION = "How does the approval flow begin?"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("hybrid"), PAGES) as opened:
        chunk = chunks(opened)
        opened.graph.relate(
            DEFAULT_TENANT,
            [
                observation(chunk["Approval"], chunk["Harbour"], "CAUSES", 0.8),
                observation(chunk["Harbour"], chunk["Quarry"], "FOLLOWS", 0.3),
            ],
        )
        yield opened


def observation(first: str, second: str, type_: str, confidence: float) -> PairObservation:
    return PairObservation(first, second, "tests", "", (ChunkRelation(first, second, type_, confidence, "a form"),))


def chunks(stores: Stores) -> dict[str, str]:
    """The first chunk of each page, by title."""
    sources = stores.graph.sources(DEFAULT_TENANT, stores.graph.source_ids(DEFAULT_TENANT))
    return {s.title: next(iter(stores.graph.chunk_ids(DEFAULT_TENANT, s.id))) for s in sources.values()}


def ask(stores: Stores, text: str = QUESTION, question: Question | None = None, **args: object) -> HybridResults:
    retriever = HybridRetriever(
        stores.graph,
        stores.vectors,
        settings=Settings(),
        **{"embedder": WordEmbedder(), "reranker": "none", **args},  # type: ignore[arg-type]
    )
    return retriever.retrieve(DEFAULT_TENANT, question or Question.of(text))


def reasons(results: HybridResults) -> dict[str, str]:
    return {item.title: item.reason for item in results.items}


def only_a_hit(**args: object) -> dict[str, object]:
    """So narrow that everything but the best hit is found by the graph."""
    return {"top_k": 1, **args}


# ---------------------------------------------------------------- what leads to a chunk


@pytest.mark.requirement("E-65", "E-66")
def test_every_chunk_says_how_it_was_reached(stores: Stores) -> None:
    found = ask(stores, **only_a_hit())

    assert reasons(found) == {"Approval": "vector", "Ledger": "entity", "Harbour": "llm_rel", "Archive": "subgraph"}
    harbour = next(i for i in found.items if i.title == "Harbour")
    assert (harbour.rel_type, harbour.rel_conf, harbour.evidence) == ("CAUSES", 0.8, "a form")
    assert harbour.parts["relation"] == round(0.22 * 0.8, 4)
    ledger = next(i for i in found.items if i.title == "Ledger")
    assert ledger.path == ("Mara Quill",)
    assert ledger.parts["relation"] == 0.12
    assert next(i for i in found.items if i.title == "Archive").path == ("Mara Quill", "Olaf Brandt")


@pytest.mark.requirement("E-70")
def test_the_subgraph_ends_after_two_steps_and_can_be_left_out(stores: Stores) -> None:
    assert "Vault" not in reasons(ask(stores, **only_a_hit()))
    assert "Archive" not in reasons(ask(stores, **only_a_hit(subgraph_depth=1)))
    assert set(reasons(ask(stores, **only_a_hit(subgraph_depth=0)))) == {"Approval", "Ledger", "Harbour"}
    assert set(reasons(ask(stores, **only_a_hit(subgraph_depth=0, expand_hops=1)))) == {"Approval", "Ledger"}
    alone = ask(stores, **only_a_hit(subgraph_depth=0, expand_hops=0))
    assert reasons(alone) == {"Approval": "vector"}
    assert alone.calls == {"vector": 2, "graph": 1}
    as_subgraph = reasons(ask(stores, **only_a_hit(expand_hops=0, subgraph_depth=1)))
    assert {as_subgraph[t] for t in ("Ledger", "Harbour")} == {"subgraph"}


@pytest.mark.requirement("E-69")
def test_relations_of_low_confidence_lead_nowhere(stores: Stores) -> None:
    assert "Quarry" not in reasons(ask(stores, **only_a_hit()))
    assert "Quarry" in reasons(ask(stores, **only_a_hit(min_rel_confidence=0.3)))
    assert "Harbour" not in reasons(ask(stores, **only_a_hit(min_rel_confidence=0.9)))


def test_a_name_of_the_question_leads_to_what_names_it(stores: Stores) -> None:
    found = ask(stores, "What has olaf brandt to do with granite?", **only_a_hit(bm25=False, subgraph_depth=0))
    assert {"Ledger", "Archive"} <= set(reasons(found))


def test_the_subgraph_keeps_to_its_places_and_reserves_some_for_its_second_level(tmp_path: Path) -> None:
    pages = {"Start": "Nora Pell opens the gate."}
    pages |= {f"Near {c}": f"Nora Pell met Kin {c}osk there." for c in "ABCDEFGH"}
    pages |= {f"Far {c}": f"Kin {c}osk left early." for c in "ABCDEFGH"}
    with laptop_with(tmp_path, pages) as stores:
        found = ask(stores, "Who opens the gate?", top_k=1, bm25=False, max_links_per_entity=50, max_link_df=50)

    by_level = [title.split()[0] for title, reason in reasons(found).items() if reason == "subgraph"]
    assert (by_level.count("Near"), by_level.count("Far")) == (1, 1)
    assert sorted(reasons(found).values()).count("entity") == 2


# ---------------------------------------------------------------- results


@pytest.mark.requirement("E-43", "E-59", "E-60", "E-62", "E-63", "E-64")
def test_scores_are_explained_and_add_up(stores: Stores) -> None:
    found = ask(stores)

    assert len(found.items) > 3
    for item in found.items:
        assert item.composite_score == round(item.base_norm + item.bonus, 4) == item.final_score
        assert item.bonus == pytest.approx(sum(item.parts.values()), abs=1e-9)
        assert -1.0 <= (item.score_raw or 0.0) <= 1.0
        assert item.uri.startswith("file:")
    assert max(i.base_norm for i in found.items) == 1.0
    assert min(i.base_norm for i in found.items) == 0.0
    assert [i.final_score for i in found.items] == sorted((i.final_score for i in found.items), reverse=True)
    assert [s["rank"] for s in found.sources()] == list(range(1, len(found.items) + 1))
    assert not found.degraded
    assert found.preview()["items"][0]["id"] == found.items[0].id


def test_statements_come_from_the_chunks_in_their_order(stores: Stores) -> None:
    found = ask(stores)
    place = {item.id: at for at, item in enumerate(found.items)}

    assert found.statements[0].text == "The approval flow begins with a form."
    assert {s.chunk_id for s in found.statements} == set(place)
    scores = [s.score for s in found.statements]
    assert all(0.0 <= score <= 1.0 for score in scores)
    for statement in found.statements:
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-5)
        item = found.item(statement.chunk_id)
        assert item is not None
        assert statement.reason == item.reason


def test_all_that_the_searches_find_is_read_though_the_graph_is_followed_from_the_best_only(tmp_path: Path) -> None:
    pages = {f"Log {n}": f"Note {n}: the lamp of pier {n} was lit at dusk." for n in range(30)}
    with laptop_with(tmp_path, pages) as stores:
        everything = ask(stores, "When was the lamp lit?")
        few = ask(stores, "When was the lamp lit?", top_k=3, subgraph_depth=0, expand_hops=0)

    assert len(everything.items) == 30
    assert {item.reason for item in everything.items} == {"vector"}
    assert len(few.items) <= 6


def test_a_statement_that_says_again_what_was_said_loses_by_diversity(tmp_path: Path) -> None:
    pages = {
        "Harbour book": "The ferry to Arno leaves the harbour at nine.",
        "Town paper": "The ferry to Arno leaves the harbour at nine, too.",
    }
    with laptop_with(tmp_path, pages) as stores:
        plain, diverse = (ask(stores, "When does the ferry to Arno leave?", diversity=d).statements for d in (0.0, 0.9))

    assert not any("diversity" in s.parts for s in plain)
    assert diverse[0].text == plain[0].text
    assert diverse[1].parts["diversity"] < -0.05


def test_any_question_stays_within_two_vector_and_three_graph_calls(stores: Stores) -> None:
    for text in (QUESTION, "Mara Quill", "zzz", "?! who", "Vellmark Hall and Olaf Brandt " * 50):
        calls = ask(stores, text, reranker="tfidf", graph_rank="pagerank").calls
        assert calls["vector"] <= 2
        assert calls["graph"] <= 3


ARGS: dict[str, st.SearchStrategy[Any]] = {
    "max_search_results": st.none() | st.integers(1, 5),
    "max_statements_per_topic": st.none() | st.integers(1, 3),
    "include_facts": st.booleans(),
    "top_k": st.none() | st.integers(1, 100),
    "diversity": st.floats(0, 0.9),
    "vector": st.just(True) | st.booleans(),
    "bm25_weight": st.floats(0, 10),
    "expand_hops": st.integers(0, 2),
    "subgraph_depth": st.integers(0, 2),
    "relation_bonus": st.booleans(),
    "path_weight": st.floats(0, 10),
    "link_weight": st.floats(0, 10),
    "graph_rank": st.sampled_from(["none", "degree", "pagerank"]),
    "graph_rank_weight": st.floats(0, 10),
    "max_entities": st.integers(1, 200),
    "max_links_per_entity": st.integers(1, 100),
    "max_link_df": st.integers(0, 1_000),
    "min_rel_confidence": st.floats(0, 1),
    "entity_min_length": st.integers(1, 50),
    "cooccur_min_count": st.integers(1, 50),
    "max_contexts": st.integers(1, 200),
    "reranker": st.sampled_from(["tfidf", "none", None]),
    "rerank_alpha": st.floats(0, 1),
}
TEXTS = [QUESTION, "?! who", "zzz", "Mara Quill", "the of and", "Z" * 4_000, "\u8c01\u62e5\u6709\u516c\u53f8\uff1f"]


@settings(max_examples=60, derandomize=True, database=None)
@given(text=st.sampled_from(TEXTS), args=st.fixed_dictionaries({}, optional=ARGS))
def test_whatever_the_parameters_a_result_is_sound(stores: Stores, text: str, args: dict[str, Any]) -> None:
    found, args = effective(lambda those: ask(stores, text, **those), args)

    assert found.calls["vector"] <= 2
    assert found.calls["graph"] <= 3
    assert len({item.id for item in found.items}) == len(found.items)
    finals = [item.final_score for item in found.items]
    assert finals == sorted(finals, reverse=True)
    assert len(found.results) <= (args.get("max_search_results") or len(found.results))
    for item in found.items:
        assert 0.0 <= item.base_norm <= 1.0
        assert item.composite_score == round(item.base_norm + item.bonus, 4)
    for statement in found.statements:
        assert 0.0 <= statement.score <= 1.0
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-5)
        assert args.get("include_facts") or not statement.facts


def test_the_same_question_gives_the_same_result(stores: Stores) -> None:
    first, second = ask(stores, reranker="tfidf"), ask(stores, reranker="tfidf")
    assert (first.items, first.results) == (second.items, second.results)


def test_filters_and_tenants_are_kept(stores: Stores) -> None:
    only = Question.of(QUESTION, MetadataFilter("title", "!=", "Ledger"))
    assert "Ledger" not in reasons(ask(stores, question=only))
    assert reasons(ask(stores, question=only))
    other = HybridRetriever(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings())
    nothing = other.retrieve(Tenant("other"), Question.of(QUESTION))
    assert (nothing.items, nothing.results, nothing.degraded) == ((), (), False)


@pytest.mark.requirement("E-55")
def test_noise_control_defaults_to_the_settings(stores: Stores) -> None:
    mine = Settings(entity_min_length=30, cooccur_min_count=7)
    retriever = HybridRetriever(stores.graph, stores.vectors, embedder=WordEmbedder(), settings=mine)
    assert (retriever.args.entity_min_length, retriever.args.cooccur_min_count) == (30, 7)
    given = HybridRetriever(stores.graph, stores.vectors, settings=mine, entity_min_length=3)
    assert (given.args.entity_min_length, given.args.cooccur_min_count) == (3, 7)


def test_questions_can_be_answered_over_it(stores: Stores) -> None:
    engine = LexicalGraphQueryEngine.for_retriever(
        "hybrid", stores.graph, stores.vectors, embedder=WordEmbedder(), llm="none", settings=Settings()
    )
    answer = engine.query(QUESTION)
    assert "The approval flow begins with a form." in answer.response
    assert isinstance(answer.results, HybridResults)
    assert answer.results.item(answer.citations[0].chunk_id) is not None


# ---------------------------------------------------------------- what fails


class Unreachable(WordEmbedder):
    """A model that cannot be reached."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("embedding model: no connection")


@pytest.mark.requirement("E-66", "E-71")
def test_without_the_embedding_model_words_find_and_the_result_says_so(stores: Stores) -> None:
    found = ask(stores, embedder=Unreachable())

    assert found.degraded
    assert found.items[0].title == "Approval"
    assert found.items[0].reason == "bm25"
    assert all(item.score_raw is None and item.base_norm == 0.0 for item in found.items)
    first = found.sources()[0]
    assert (first["id"], first["rank"], first["score"]) == ("__warning__", 0, None)
    assert "no connection" in first["text"] == found.preview()["warn"]
    assert found.preview()["degraded"] is True


def test_where_no_search_finds_anything_the_first_chunks_are_shown(stores: Stores) -> None:
    found = ask(stores, "Wherefore zzz?", embedder=Unreachable(), top_k=3)
    assert [item.reason for item in found.items] == ["first"] * 3
    assert len(found.statements) >= 3


def test_without_the_vector_store_names_find_or_the_first_chunks_are_shown(tmp_path: Path) -> None:
    with laptop_with(tmp_path, PAGES) as stores:
        stores.vectors.close()
        for part in (tmp_path / "data").glob("vector*"):
            if part.is_file():
                part.write_bytes(b"this is no database" * 1_000)
        named = ask(stores, "What does Olaf Brandt keep?")
        unknown = ask(stores, "zzz?")

    assert named.degraded
    assert {"Ledger", "Archive"} == set(reasons(named))
    assert named.warnings[0].type == "search_failed"
    assert {item.reason for item in unknown.items} == {"first"}


@dataclass
class Judge:
    """A reranker that prefers what was behind; it may take its time, or fail."""

    name: str = "judge"
    seconds: float = 0.0
    fails: bool = False
    asked: list[int] = field(default_factory=list)

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        self.asked.append(len(texts))
        time.sleep(self.seconds)
        if self.fails:
            raise ModelUnavailable("judge: no connection")
        return [float(at) for at in range(len(texts))]


@pytest.mark.requirement("E-64")
def test_a_reranker_has_its_share_of_the_final_score(stores: Stores) -> None:
    plain, half, whole = (ask(stores, reranker=Judge(), rerank_alpha=alpha) for alpha in (1.0, 0.5, 0.0))

    assert [i.final_score for i in plain.items] == [i.composite_score for i in plain.items]
    assert [i.id for i in whole.items] == [i.id for i in reversed(plain.items)]
    assert [i.final_score for i in whole.items][:1] == [1.0]
    last = plain.items[-1]
    mixed = next(i for i in half.items if i.id == last.id)
    assert mixed.composite_score == last.composite_score
    assert mixed.final_score == pytest.approx(0.5 * last.composite_score + 0.5, abs=1e-4)


def test_a_reranker_that_takes_too_long_or_fails_is_done_without(stores: Stores) -> None:
    plain = ask(stores)
    for judge in (Judge(seconds=1.0), Judge(fails=True)):
        found = ask(stores, reranker=judge, rerank_timeout=0.05)
        assert found.items == plain.items
        assert [w.type for w in found.warnings] == ["rerank_failed"]
        assert not found.degraded


def test_a_reranker_that_keeps_failing_is_left_alone_for_a_while() -> None:
    judge, guard = Judge(fails=True), RerankGuard(5.0, cool_down=1.0)

    def score() -> list[float] | None:
        return guard.score(judge, ["q"], ["a", "b"], Trace(), instead="nothing changes")

    assert [score() for _ in range(FAILURES + 2)] == [None] * (FAILURES + 2)
    assert len(judge.asked) == FAILURES
    judge.fails = False
    assert eventually(score) == [0.0, 1.0]


def test_parameters_are_checked_where_it_is_made(stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="top_k"):
        HybridRetriever(stores.graph, stores.vectors, settings=Settings(), top_k=0)
    with pytest.raises(InvalidInput, match="did you mean"):
        HybridRetriever(stores.graph, stores.vectors, settings=Settings(), bm25_weigth=0.1)
