"""An answer from several documents, by a language model behind HTTP and without one."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraph.answering.multidoc import query_multidoc
from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.inference.factory import make_llm
from lexigraph.inference.protocols import LanguageModel
from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.retrievers import CachedSynthesizer, MultiDocSynthesizer
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop_with
from tests.models import WordEmbedder
from tests.standins.llm_server import ScriptedLLMServer, refused, said

QUESTION = "Who owns Tidewater?"
PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team. It stands in Port Ellis.",
    "Heron Team": "The Heron Team owns Tidewater and a boat. Ada Heron leads it.",
    "Bread": "Bread is baked from flour. It is eaten in the morning.",
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("answer"), PAGES) as opened:
        yield opened


def over(server: ScriptedLLMServer) -> LanguageModel:
    model = make_llm(Settings(llm="openai:test", llm_options={"base_url": server.base_url}, model_attempts=1))
    assert model is not None
    return model


def synthesizer(stores: Stores, **args: Any) -> MultiDocSynthesizer:
    return MultiDocSynthesizer(stores, **{"num_docs": 2, "min_relevance": 0.0, **args})


@pytest.mark.requirement("W-18")
def test_an_answer_has_the_page_s_fields_and_cites_what_was_retrieved(stores: Stores) -> None:
    with ScriptedLLMServer("The Heron Team owns it [S1][S9].") as server:
        reply = query_multidoc(synthesizer(stores), QUESTION, WordEmbedder(), llm=over(server)).to_dict()

    found = synthesizer(stores).retrieve(QUESTION, WordEmbedder())
    assert list(reply)[:4] == ["answer", "sources", "facts", "num_articles"]
    assert reply["answer"] == "The Heron Team owns it [S1]."
    assert {name: reply[name] for name in ("sources", "facts", "articles", "sections", "fact_support")} == {
        name: found[name] for name in ("sources", "facts", "articles", "sections", "fact_support")
    }
    assert reply["num_articles"] == 2
    assert [c["label"] for c in reply["citations"]] == ["S1"]
    assert reply["citations"][0]["chunk_id"] in {s["section_id"] for s in found["sections"]}
    assert "unknown_citation" in [w["type"] for w in reply["warnings"]]
    assert reply["unsupported"] == []
    (body,) = server.requests
    for text in ("Tidewater is owned by the Heron Team.", "Ada Heron leads it."):
        assert text in said(body)
    assert "Bread" not in said(body)


def test_what_its_citations_do_not_bear_out_is_told(stores: Stores) -> None:
    with ScriptedLLMServer("The Heron Team owns it since 1802 [S1].") as server:
        reply = query_multidoc(synthesizer(stores), QUESTION, WordEmbedder(), llm=over(server)).to_dict()
    assert [(u["type"], u["reason"]) for u in reply["unsupported"]] == [("number", "not in S1: 1802")]


@pytest.mark.requirement("W-25")
def test_examples_show_the_model_how_to_answer(stores: Stores) -> None:
    with ScriptedLLMServer("The Heron Team [S1].") as server:
        examples = [("Who owns Bread?", "Nobody owns it."), {"question": "Why?", "answer": "Because."}]
        query_multidoc(synthesizer(stores), QUESTION, WordEmbedder(), llm=over(server), examples=examples)

    (body,) = server.requests
    turns = [(m["role"], m["content"]) for m in body["messages"][1:5]]
    assert turns == [
        ("user", "Who owns Bread?"),
        ("assistant", "Nobody owns it."),
        ("user", "Why?"),
        ("assistant", "Because."),
    ]


@pytest.mark.parametrize("examples", ["ab", [("a",)], [("a", "")], [{"question": "a"}], [("a", "b")] * 21])
def test_what_is_no_example_is_refused_before_anything_is_asked(stores: Stores, examples: Any) -> None:
    with pytest.raises(InvalidInput, match="examples"):
        query_multidoc(synthesizer(stores), QUESTION, WordEmbedder(), examples=examples)


def test_without_a_model_the_best_statements_are_quoted_and_a_failing_one_is_told(stores: Stores) -> None:
    plain = query_multidoc(synthesizer(stores), QUESTION, WordEmbedder())
    with ScriptedLLMServer(lambda _: refused(503)) as server:
        failed = query_multidoc(synthesizer(stores), QUESTION, WordEmbedder(), llm=over(server))

    assert plain.extractive
    assert "The Heron Team owns Tidewater and a boat. [S" in plain.answer
    assert [w.type for w in failed.warnings] == ["model_unavailable"]
    assert failed.citations == plain.citations


@pytest.mark.requirement("W-24")
def test_where_no_section_is_relevant_enough_nothing_is_made_up(stores: Stores) -> None:
    with ScriptedLLMServer("Mr Nobody owns it [S1].") as server:
        reply = query_multidoc(synthesizer(stores, min_relevance=1.0), QUESTION, WordEmbedder(), llm=over(server)).to_dict()

    assert server.requests == []
    assert (reply["num_articles"], reply["sources"], reply["facts"]) == (0, [], [])
    assert reply["answer"].startswith("No answer: no section reaches min_relevance=1; ")
    assert f"the best has {reply['best_relevance']:.3f}" in reply["answer"]
    assert [w["type"] for w in reply["warnings"]] == ["below_min_relevance"]


def test_an_engine_over_the_retriever_says_so_too_and_nothing_found_only_where_there_is_nothing(stores: Stores) -> None:
    engine = LexicalGraphQueryEngine.for_retriever(
        "multidoc", stores.graph, stores.vectors, embedder=WordEmbedder(), llm="none", preset="specific"
    )

    assert str(engine.query("Who eats in Port Ellis?")).startswith("No answer: no section reaches min_relevance=0.85")
    assert str(engine.query(QUESTION, tenant="other")) == "No statement about this was found in the sources."


def test_filters_and_tenant_of_the_synthesizer_hold_for_the_answer(stores: Stores) -> None:
    about_bread = synthesizer(stores, filters={"key": "title", "value": "Bread"})
    assert query_multidoc(about_bread, QUESTION, WordEmbedder()).context.sources == ["Bread"]
    assert query_multidoc(synthesizer(stores, tenant="other"), QUESTION, WordEmbedder()).context.sources == []


def test_a_lost_graph_is_a_runtime_error_also_when_the_context_is_remembered(tmp_path: Path) -> None:
    with laptop_with(tmp_path, PAGES) as opened:
        cached = CachedSynthesizer(opened, min_relevance=0.0)
        query_multidoc(cached, QUESTION, WordEmbedder())
        connection = sqlite3.connect(tmp_path / "data" / "graph.sqlite")
        with connection:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                connection.execute(f"DROP TABLE {table}")
        connection.close()
        with pytest.raises(RuntimeError):
            query_multidoc(cached, QUESTION, WordEmbedder())
