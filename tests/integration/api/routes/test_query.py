"""Questions over HTTP: cited answers whole and in pieces, the ranking behind them, statements by every retriever."""

import json
import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lexigraph.inference.factory import make_llm
from lexigraph.inference.protocols import LanguageModel
from lexigraph.model.ids import entity_id
from lexigraph.retrieval.catalogue import RETRIEVERS
from lexigraph.settings import Settings
from tests.files import prose, section
from tests.integration.api.routes.test_ingest import events
from tests.laptop import write_pages
from tests.server import SECONDS, Api, laptop_api
from tests.standins.llm_server import ScriptedLLMServer, said
from tests.waiting import eventually

PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.\n\nTidewater runs on Neptune since 2019.",
    "Heron Team": "The Heron Team is led by Ines Calloway.\n\nIt has 12000 members.",
    "Ines Calloway": "Ines Calloway came from a shipping insurer.",
}
FLAGS: dict[str, dict[str, Any]] = {
    "rerank_enabled": {"reranker": "none"},
    "bm25_enabled": {"bm25": False},
    "graph_rank_enabled": {"graph_rank": "degree"},
    "hash_incremental_enabled": {"hash_incremental": False},
    "entity_normalize_enabled": {"entity_normalize": False},
}
QUESTION = "Who leads the Heron Team?"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("query"), pages=PAGES) as served:
        yield served


def model(server: ScriptedLLMServer, **settings: Any) -> LanguageModel:
    made = Settings(llm="openai:test", llm_options={"base_url": server.base_url}, model_attempts=1, **settings)
    llm = make_llm(made)
    assert llm is not None
    return llm


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Any]:
    """Return a function that serves the pages with a model of that script."""
    open_: list[Any] = []

    def serve(script: Any, **settings: Any) -> tuple[Api, ScriptedLLMServer]:
        server = ScriptedLLMServer(script)
        server.__enter__()
        write_pages(tmp_path / "corpus", PAGES)
        context = laptop_api(tmp_path, llm=model(server, **settings))
        api = context.__enter__()
        open_.extend((context, server))
        assert api.client().post("/ingest", json={"path": "corpus"}).status_code == 200
        return api, server

    yield serve
    for context in open_:
        context.__exit__(None, None, None)


@pytest.mark.requirement("E-35", "E-36", "E-42", "E-43", "E-44", "E-45", "E-46")
def test_an_answer_has_sources_references_entities_and_warnings(served: Any) -> None:
    api, _ = served("The Heron Team is led by Ines Calloway [S1]. It has 12000 people.")
    reply = api.client().post("/query", json={"question": QUESTION})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert told["answer"].startswith("The Heron Team is led by Ines Calloway [S1]")
    assert [s["rank"] for s in told["sources"]] == list(range(1, len(told["sources"]) + 1))
    first = told["sources"][0]
    assert {"id", "rank", "reason", "score", "base_norm", "bonus", "composite_score", "rel_type", "rel_conf"} <= first.keys()
    assert sum(first["parts"].values()) == pytest.approx(first["final_score"], abs=1e-3)
    assert first["id"].startswith("chunk:")
    assert first["composite_score"] == pytest.approx(first["base_norm"] + first["bonus"], abs=2e-4)
    assert told["references"] == [{name: first[name] for name in ("label", "id", "score", "composite_score")}]
    named = next(e for e in told["entities"] if e["name"] == "Ines Calloway")
    assert named == {"id": entity_id("default", "Ines Calloway"), "name": "Ines Calloway", "freq": 2}
    assert [e["freq"] for e in told["entities"]] == sorted((e["freq"] for e in told["entities"]), reverse=True)
    warned = [(w["type"], w["detail"]) for w in told["warnings"]]
    assert ("unreferenced_numeric", "12000 is not in S1") in warned
    assert "unused_sources" not in dict(warned), "the best one was cited"
    scores = [s["final_score"] for s in told["sources"]]
    assert scores == sorted(scores, reverse=True)
    assert 1 >= scores[0] > 0


@pytest.mark.requirement("E-45")
def test_entities_are_those_that_the_sources_themselves_name(api: Api) -> None:
    told = api.client().post("/query", json={"question": "What does Tidewater run on?"}).json()
    shown = " ".join(s["resolved"] or s["text"] for s in told["sources"])
    assert told["entities"]
    assert [e["name"] for e in told["entities"] if e["name"] not in shown] == []
    owner = api.client().post("/query", json={"question": "Who owns Tidewater?"}).json()
    assert "since 2019" not in str(owner["sources"]), "a statement of the same chunk is not shown"
    assert "Neptune" not in {e["name"] for e in owner["entities"]}


def test_sources_say_which_search_found_them_at_which_place_and_how_names_of_their_path_are_related(api: Api) -> None:
    asked = {"question": "Who leads the team that owns Tidewater?"}
    told = api.client().post("/query", json=asked).json()["sources"]
    assert {"vector", "bm25"} == {search for s in told for search in s["ranks"]}
    by_search = [{s["ranks"].get(search): s["id"] for s in told} for search in ("vector", "bm25")]
    assert all(places[1] in {s["id"] for s in told} for places in by_search), "the best passage of each is a source"
    words = api.client().post("/query", json={**asked, "retriever": "bm25"}).json()["sources"]
    assert all(s["ranks"].keys() == {"bm25"} for s in words)

    linked = api.client().post("/query", json={**asked, "retriever": "traversal"}).json()["sources"]
    assert all(len(s["path_relations"]) == max(0, len(s["path"]) - 1) for s in linked)
    pairs = {
        (a, relation["label"], b, relation["reverse"])
        for s in linked
        for (a, b), relation in zip(pairwise(s["path"]), s["path_relations"], strict=True)
    }
    assert any(a == "Tidewater" and label.startswith("is owned by") and b == "Heron Team" for a, label, b, _ in pairs)


def test_what_a_model_may_cite_comes_before_its_answer_where_that_is_asked_for(served: Any) -> None:
    api, _ = served("Ines Calloway leads it [S1].")
    told = events(api.client().post("/query", json={"question": QUESTION, "stream": True, "sources_first": True}))
    names = [name for name, _ in told]
    assert names == ["sources", *["token"] * (len(told) - 3), "sources", "done"]
    assert told[0][1] == told[-2][1]


@pytest.mark.requirement("E-37", "E-41")
def test_a_streamed_answer_is_tokens_then_sources_then_done(served: Any) -> None:
    api, _ = served("Ines Calloway leads it [S1].")
    client = api.client()
    told = events(client.post("/query", json={"question": QUESTION, "stream": True}))
    names = [name for name, _ in told]
    assert names == ["token"] * (len(told) - 2) + ["sources", "done"]
    answer = "".join(data["text"] for name, data in told if name == "token")
    whole = client.post("/query", json={"question": QUESTION}).json()
    assert whole["answer"] == answer == told[-1][1]["answer"]
    assert told[-2][1] == whole["sources"]
    assert whole["cached"] is True


def test_what_stands_beside_the_best_statement_is_a_source_without_scores_of_its_own(served: Any) -> None:
    api, _ = served("It has 12000 members [S2].")
    body = {"question": QUESTION, "parameters": {"max_search_results": 1, "max_statements_per_topic": 1}}
    first, *beside = api.client().post("/query", json=body).json()["sources"]
    assert (first["reason"], first["composite_score"] > 0) == ("vector", True)
    assert [(s["label"], s["reason"], s["composite_score"], s["text"]) for s in beside] == [
        ("S2", "context", None, "It has 12000 members.")
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_tells_what_its_citations_do_not_bear_out_and_leaves_it_out_when_strict(served: Any, stream: bool) -> None:
    api, _ = served("The Heron Team is led by Ines Calloway [S1]. She was born in 1977 [S1].")

    def told(**more: bool) -> dict[str, Any]:
        reply = api.client().post("/query", json={"question": QUESTION, "stream": stream, **more})
        return dict(events(reply)[-1][1] if stream else reply.json())

    plain, strict = told(), told(strict=True)
    (found,) = plain["unsupported"]
    assert plain["answer"].endswith("She was born in 1977 [S1].")
    assert (found["sentence"], found["type"], found["citations"]) == ("She was born in 1977 [S1].", "number", ["S1"])
    assert strict["answer"] == "The Heron Team is led by Ines Calloway [S1]."
    assert strict["unsupported"] == plain["unsupported"]
    assert not strict["cached"]


@pytest.mark.requirement("E-37", "E-57")
@pytest.mark.parametrize("first", [False, True], ids=["whole first", "streamed first"])
def test_a_remembered_answer_is_streamed_without_asking_the_model_again(served: Any, first: bool) -> None:
    api, server = served("Ines Calloway leads it [S1].")
    client, body = api.client(), {"question": QUESTION}
    client.post("/query", json={**body, "stream": first}).raise_for_status()
    asked = len(server.requests)

    told = events(client.post("/query", json={**body, "stream": True}))
    whole = client.post("/query", json=body).json()
    assert [name for name, _ in told] == ["token", "sources", "done"]
    assert told[0][1] == {"text": whole["answer"]}
    assert told[1][1] == whole.pop("sources")
    assert told[2][1] == whole
    assert whole["cached"] is True
    assert len(server.requests) == asked


def test_what_cannot_be_asked_is_refused_before_a_stream_begins(api: Api) -> None:
    reply = api.client().post("/query", json={"question": "?!", "stream": True})
    assert (reply.status_code, reply.headers["content-type"]) == (422, "application/json")
    assert "question" in reply.json()["message"]


@pytest.mark.requirement("E-38", "E-40")
def test_external_texts_are_cited_after_all_others(served: Any) -> None:
    api, server = served("See [S1].")
    body = {"question": QUESTION, "context": [{"id": "ext1", "text": "Ines leads two teams."}, "The Heron Team is old."]}
    sources = api.client().post("/query", json=body).json()["sources"]
    external = [s for s in sources if s["reason"] == "external"]
    assert [s["text"] for s in external] == ["Ines leads two teams.", "The Heron Team is old."]
    assert external == sources[-2:]
    assert external[0]["id"] == "ext1"
    assert "Ines leads two teams." in json.dumps(server.requests[-1])


@pytest.mark.requirement("E-39")
def test_the_model_sees_the_history(served: Any) -> None:
    api, server = served("Yes [S1].")
    turns = [{"role": "user", "content": "Do you know herons?"}, {"role": "assistant", "content": "A little."}]
    api.client().post("/query", json={"question": QUESTION, "history": turns})
    said = [m["content"] for m in server.requests[-1]["messages"]]
    assert "Do you know herons?" in said
    assert "A little." in said


@pytest.mark.requirement("E-39")
def test_a_question_that_leans_on_the_history_is_completed_and_the_reply_shows_how(api: Api) -> None:
    turns = [{"role": "user", "content": "What is Tidewater?"}, {"role": "assistant", "content": "A service."}]
    told = api.client().post("/query", json={"question": "And its owner?", "history": turns}).json()
    assert (told["question"], told["rewritten"]) == ("And its owner?", "Tidewater: And its owner?")
    assert told["sources"][0]["title"] == "Tidewater"
    assert api.client().post("/query", json={"question": QUESTION, "history": turns}).json()["rewritten"] == ""


@pytest.mark.requirement("W-20")
def test_an_answer_is_remembered_for_the_same_question_and_nothing_else(api: Api) -> None:
    client, other = api.client(), api.client("default", "read")
    client.post("/cache/clear")
    first = client.post("/query", json={"question": QUESTION}).json()
    assert first["cached"] is False
    assert client.post("/query", json={"question": QUESTION}).json()["cached"] is True
    assert other.post("/query", json={"question": QUESTION}).json()["cached"] is True
    for change in (
        {"question": "Who owns the Heron Team?"},
        {"retriever": "traversal"},
        {"parameters": {"top_k": 3}},
        {"context": ["More."]},
        {"history": [{"role": "user", "content": "Hello"}]},
        {"filters": {"key": "title", "value": "Tidewater"}},
    ):
        assert client.post("/query", json={"question": QUESTION, **change}).json()["cached"] is False, change


def test_a_changed_document_makes_answers_stale(tmp_path: Path) -> None:
    write_pages(tmp_path / "corpus", PAGES)
    with laptop_api(tmp_path) as api:
        client = api.client()
        client.post("/ingest", json={"path": "corpus"})
        assert "Ines Calloway" in client.post("/query", json={"question": QUESTION}).json()["answer"]
        write_pages(tmp_path / "corpus", {"Heron Team": "The Heron Team is led by Mira Holm."})
        client.post("/ingest", json={"path": "corpus"}, params={"incremental": True})
        again = client.post("/query", json={"question": QUESTION}).json()
        assert again["cached"] is False
        assert "Mira Holm" in again["answer"]


def test_an_answer_given_while_a_store_was_away_is_not_remembered(tmp_path: Path) -> None:
    with laptop_api(tmp_path, pages=PAGES) as api:
        client = api.client()
        store, away = tmp_path / "data" / "vectors.sqlite", tmp_path / "away.sqlite"
        store.rename(away)
        told = client.post("/query", json={"question": QUESTION}).json()
        assert "search_failed" in {warning["type"] for warning in told["warnings"]}
        away.rename(store)
        again = client.post("/query", json={"question": QUESTION}).json()
        assert (again["cached"], again["warnings"]) == (False, [])
        assert "Ines Calloway" in again["answer"]


@pytest.mark.requirement("E-57", "E-58")
def test_the_caches_are_shown_and_cleared_by_tenant(api: Api) -> None:
    client, other = api.client(), api.client("other")
    client.post("/cache/clear")
    client.post("/query", json={"question": QUESTION})
    told = client.get("/cache/stats").json()
    assert told == {
        "embedding_cache_size": 1,
        "answer_cache_size": 1,
        "embedding_cache_keys": ["embedding-1"],
        "answer_cache_keys": ["answer-1"],
    }
    assert other.get("/cache/stats").json()["answer_cache_keys"] == []
    assert other.post("/cache/clear").json() == {"cleared": True}
    assert client.get("/cache/stats").json() == told, "another tenant's clearing leaves it"
    assert client.post("/cache/clear").json() == {"cleared": True}
    assert client.get("/cache/stats").json()["answer_cache_size"] == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/query", {"question": QUESTION}),
        ("/ranking/preview", {"question": QUESTION}),
        ("/query/multidoc", {"question": QUESTION}),
        *((f"/retrieve/{name}", {"question": QUESTION}) for name in RETRIEVERS),
        ("/api/v1/memory/recall", {"query": QUESTION}),
        ("/unstructured/multihop_query/", {"query": QUESTION, "db_name": "fractal_db", "namespace": "default"}),
    ],
)
def test_every_way_of_asking_tells_of_a_filter_that_no_document_passes(api: Api, path: str, body: dict[str, Any]) -> None:
    def warned(key: str, value: str) -> list[str]:
        reply = api.client().post(path, json={**body, "filters": {"key": key, "value": value}}).raise_for_status().json()
        warnings = reply.get("warnings", reply.get("metadata", {}).get("warnings"))
        return [w["detail"] for w in warnings if w["type"] == "filter_passes_nothing"]

    (told,) = warned("yeer", "2019")
    assert told.startswith("no document matches the filter; no document has yeer in its metadata")
    (told,) = warned("title", "Nowhere")
    assert told.startswith("no document matches the filter: check")
    assert warned("file_type", "md") == []


@pytest.mark.requirement("E-59", "E-60", "E-61", "E-63", "E-64")
def test_the_preview_explains_the_ranking_of_the_query(api: Api) -> None:
    client = api.client()
    preview = client.post("/ranking/preview", json={"question": QUESTION, "parameters": {"reranker": "none"}}).json()
    assert (preview["question"], preview["degraded"]) == (QUESTION, False)
    assert preview["items"]
    for item in preview["items"]:
        assert item["composite_score"] == pytest.approx(item["base_norm"] + item["bonus"], abs=2e-4)
        assert item["final_score"] == item["composite_score"]
        assert item["bonus"] == pytest.approx(sum(item["parts"].values()), abs=5e-4)
    assert max(i["base_norm"] for i in preview["items"]) == 1.0
    found = client.post("/retrieve/hybrid", json={"question": QUESTION, "parameters": {"reranker": "none"}}).json()
    assert found["items"] == preview["items"]


@pytest.mark.requirement("G-09")
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_every_retriever_answers_in_one_envelope(api: Api, retriever: str) -> None:
    reply = api.client().post(f"/retrieve/{retriever}", json={"question": QUESTION})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert {"question", "results", "entities", "keywords", "warnings", "timings", "calls"} <= told.keys()
    assert told["results"], retriever
    for result in told["results"]:
        assert {"source", "topic", "statements", "score"} <= result.keys()
        assert result["statements"] == [d["text"] for d in result["details"]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"parameters": {"vss_top_q": 1}}, "vss_top_q"),
        ({"parameters": {"vss_top_k": 0}}, "vss_top_k"),
        ({"parameters": {"vss_top_k": "many"}}, "vss_top_k"),
        ({"filters": {"key": "year", "operator": "~", "value": 1}}, "operator"),
        ({"filters": {"nothing": 1}}, "filters"),
        ({"question": "   "}, "question"),
        ({"question": "x" * 5_000}, "question"),
        ({"quesiton": "x"}, "quesiton"),
    ],
)
def test_a_bad_field_is_named(api: Api, change: dict[str, Any], field: str) -> None:
    reply = api.client().post("/retrieve/traversal", json={"question": QUESTION, **change})
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
    assert field in reply.json()["message"]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("/query", '{"question": "?"}', "question: must contain a letter or digit"),
        ("/api/v1/memory/recall", '{"query": " "}', "query: must not be blank"),
        ("/query", '{"question": ' + "1" * 5_000 + "}", "the body: numbers must have at most 4,300 digits"),
        ("/query", '{"question": ' + "[" * 100_000, "the body: nested more than 16 deep"),
        ("/query", b'{"question": "\xff"}', "the body is not valid UTF-8 at byte 14"),
        (
            "/query",
            '{"question": "Who?", "filters": {"key": "year", "operator": "~", "value": 1}}',
            "filters.operator: must be one of ==, !=, <, <=, >, >=, in, not_in",
        ),
        ("/query", '{"quesiton": "Who?"}', "the body: unknown parameter 'quesiton'; did you mean 'question'? Known: "),
        ("/query", '{"question": "Who?", "Retriever": "hybrid"}', "did you mean 'retriever'?"),
        ("/query", '{"question": "Who?", "context": [{"text": "a", "ids": "b"}]}', "context.0: unknown parameter 'ids'"),
        ("/query", '{"question": "Who?", "filters": {"key": "a", "valeu": 1}}', "filters: unknown parameter 'valeu'"),
        ("/ingest", '{"pth": "."}', "did you mean 'path'? Known: path, namespace"),
        (
            "/unstructured/multihop_query/",
            '{"query": "' + "x" * 4_001 + '", "db_name": "a", "namespace": "default"}',
            "query must have at most 4,000 characters, got 4,001",
        ),
    ],
)
def test_what_a_body_must_be_is_said_with_the_limit(api: Api, path: str, content: str | bytes, told: str) -> None:
    reply = api.client().post(path, content=content, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
    assert told in reply.json()["message"]


def test_a_model_that_fails_degrades_to_an_extractive_answer(served: Any) -> None:
    from tests.standins.llm_server import refused

    api, _ = served(refused(500))
    told = api.client().post("/query", json={"question": QUESTION}).json()
    assert told["extractive"] is True
    assert "Ines Calloway" in told["answer"]
    assert "model_unavailable" in {w["type"] for w in told["warnings"]}
    again = api.client().post("/query", json={"question": QUESTION}).json()
    assert again["cached"] is False, "to retry what failed"


@pytest.mark.requirement("H-01", "H-18", "H-19", "H-20", "H-21", "H-23", "H-25")
@pytest.mark.parametrize("path", ["/unstructured/multihop_query/", "/unstructured/multihop_query"])
def test_a_multihop_question_walks_through_the_uploaded_document(api: Api, path: str) -> None:
    client = api.client()
    appeals, board, rulings = map(prose, ("Appeals go to the Board.", "The Board convenes monthly.", "They bind all."))
    text = f"# Appeals\n\n{appeals}\n\n## Board\n\n{board}\n\n## Rulings\n\n{rulings}"
    namespace = client.post("/unstructured/upload_document/", files={"file": ("a.md", text)}).json()["namespace"]
    reply = client.post(path, json={"query": "Where do appeals go?", "db_name": "fractal_db", "namespace": namespace})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert (told["query"], told["namespace"]) == ("Where do appeals go?", namespace)
    assert told["hops"][0]["hop"] == 0
    assert all(len(hop["docs"]) <= 3 for hop in told["hops"])
    best = told["final_results"][0]
    assert best["text"] == best["value"] == appeals
    assert best["parent"].startswith("chunk_")
    assert {edge["doc_idx"] for edge in told["symbolic_edges"]} <= {r["row_id"] for r in told["final_results"]}


@pytest.mark.requirement("H-24")
def test_an_unknown_namespace_is_not_found(api: Api) -> None:
    body = {"query": "x", "db_name": "fractal_db", "namespace": "document_upload_00000000"}
    reply = api.client().post("/unstructured/multihop_query/", json=body)
    assert (reply.status_code, reply.json()["error"]) == (404, "not_found")


@pytest.mark.requirement("H-03")
def test_a_key_may_be_bound_to_databases(api: Api) -> None:
    bound = api.client("default", "read", "ingest", databases=("court",))
    body = {"query": "x", "db_name": "fractal_db", "namespace": "n"}
    assert bound.post("/unstructured/multihop_query/", json=body).status_code == 403
    assert bound.post("/unstructured/multihop_query/", json={**body, "db_name": "court"}).status_code == 404
    sent = {"file": ("a.txt", b"Mira Holm signs.")}
    assert bound.post("/unstructured/upload_document/", files=sent).status_code == 403
    # a label, which parts no data: routes without one are those of the tenant
    assert bound.post("/query", json={"question": QUESTION}).json()["sources"]


@pytest.mark.requirement("M-01", "M-02", "M-03", "M-17", "M-18", "M-19", "M-21")
def test_recall_needs_a_query_only(api: Api) -> None:
    told = api.client("default").post("/api/v1/memory/recall", json={"query": "Heron Team"}).json()
    assert told["nodes"]
    scores = [node["score"] for node in told["nodes"]]
    assert scores == sorted(scores, reverse=True)
    known = {node["key"] for node in (*told["nodes"], *told["context"])}
    assert {end for edge in told["edges"] for end in (edge["source"], edge["target"])} <= known
    assert told["metadata"]["phase"] == "early"
    assert sum(told["metadata"]["weights"].values()) == pytest.approx(1)
    assert {"tiers", "strategies", "session"} <= told["metadata"].keys()


@pytest.mark.requirement("M-04", "M-22")
@pytest.mark.parametrize(
    "change", [{"max_results": 0}, {"max_results": 51}, {"query": "(a", "force_regex": True}, {"session_id": ""}]
)
def test_a_recall_out_of_range_is_refused(api: Api, change: dict[str, Any]) -> None:
    reply = api.client().post("/api/v1/memory/recall", json={"query": "Heron", **change})
    assert reply.status_code == 422
    assert reply.json()["error"] == "invalid_input"


@pytest.mark.requirement("W-09", "W-10", "W-11", "W-12", "W-17", "W-18")
def test_several_documents_give_one_answer(api: Api) -> None:
    body = {"question": QUESTION, "num_docs": 2, "min_relevance": 0.0}
    told = api.client().post("/query/multidoc", json=body).json()
    assert told["answer"]
    assert told["num_articles"] == len(told["articles"]) == len(told["sources"]) == 2
    assert [a["title"] for a in told["articles"]] == told["sources"]
    assert all({"title", "category", "word_count"} <= a.keys() for a in told["articles"])
    fields = {"section_id", "title", "content", "article_title", "relevance_score"}
    assert all(fields <= s.keys() for s in told["sections"])
    assert len(told["facts"]) == len(told["fact_support"]) > 0
    assert told["best_relevance"] == max(s["relevance_score"] for s in told["sections"])


@pytest.mark.requirement("W-19", "W-24")
def test_a_preset_that_leaves_nothing_says_so_and_what_to_set(api: Api) -> None:
    told = api.client().post("/query/multidoc", json={"question": "Who bakes?", "preset": "specific"}).json()
    assert (told["num_articles"], told["sections"]) == (0, [])
    assert 0 < told["best_relevance"] < 0.85
    assert told["answer"].startswith("No answer: no section reaches min_relevance=0.85")
    assert [w["type"] for w in told["warnings"]] == ["below_min_relevance"]


@pytest.mark.requirement("W-05", "W-08")
@pytest.mark.parametrize(
    "change", [{"num_docs": 0}, {"num_docs": 11}, {"max_sections": 0}, {"min_relevance": 1.1}, {"question": " "}]
)
def test_a_multidoc_question_out_of_range_is_refused(api: Api, change: dict[str, Any]) -> None:
    reply = api.client().post("/query/multidoc", json={"question": QUESTION, **change})
    assert reply.status_code == 422
    assert next(iter(change)) in reply.json()["message"]


def test_an_egonet_shows_what_is_around_a_node(api: Api) -> None:
    client = api.client()
    found = client.post("/retrieve/traversal", json={"question": QUESTION}).json()
    node = found["results"][0]["details"][0]["id"]
    told = client.get("/graph/egonet", params={"id": node}).json()
    ids = {n["id"] for n in told["nodes"]}
    assert node in ids
    assert told["edges"]
    assert {end for edge in told["edges"] for end in (edge["source"], edge["target"])} <= ids
    assert len(client.get("/graph/egonet", params={"id": node, "limit": 2}).json()["nodes"]) <= 2
    assert client.get("/graph/egonet", params={"id": "chunk:" + "0" * 32}).status_code == 404
    assert client.get("/graph/egonet", params={"id": "nonsense"}).status_code in (404, 422)


@pytest.mark.nightly
def test_an_estimate_reads_the_documents_and_asks_no_model(api: Api) -> None:
    client = api.client()
    told = client.post("/estimate", json={"path": "corpus"}).json()
    assert (told["files"], told["documents"], told["model_calls"], told["usd"]) == (3, 3, 0, 0.0)
    assert told["chunks"] >= 3
    assert told["embedding_tokens"] > 0
    assert client.post("/estimate", json={"path": "nowhere"}).status_code == 404


@pytest.mark.nightly
def test_an_estimate_reads_a_text_that_comes_with_it_as_the_file_it_would_be(api: Api) -> None:
    client = api.client()
    text = f"# Flow\n\n{prose('Mira Holm signs.')}\n\n{section('Appeals', 'Tove Lund hears them.')}".rstrip()
    told = client.post("/estimate", json={"text": text, "name": "flow.md"}).json()
    assert (told["files"], told["documents"], told["chunks"]) == (1, 1, 2)
    assert told["characters"] == len(text) - 5, "without the marks of headings"
    rows = "".join(json.dumps({"id": f"{n}", "text": "Mira Holm signs."}) + "\n" for n in range(3))
    assert client.post("/estimate", json={"text": rows, "name": "x.jsonl"}).json()["documents"] == 3
    long = client.post("/estimate", json={"text": "Mira Holm signs. " * 50_000})
    assert (long.status_code, long.json()["chunks"] > 100) == (200, True)
    bad = client.post("/estimate", json={"text": "{", "name": "x.json"}).json()
    assert bad["notes"][0].startswith("x.json: "), "and of no folder of the server"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "path"),
        ({"path": "corpus", "text": "Mira Holm signs."}, "path"),
        ({"text": "Mira Holm signs.", "name": "flow.tiff"}, "name"),
        ({"text": "Mira Holm signs.", "name": ".md"}, "name"),
        ({"text": "x" * 900_001}, "text"),
    ],
)
def test_an_estimate_is_of_one_thing_that_can_be_read(api: Api, body: dict[str, Any], field: str) -> None:
    reply = api.client().post("/estimate", json=body)
    assert reply.status_code == 422, reply.text
    assert reply.json()["message"].startswith((field, "the body: give either path"))


@pytest.mark.requirement("E-48", "E-49", "E-50", "E-51", "E-52", "E-53", "E-54", "E-55", "E-56")
def test_diagnostics_tell_what_works_and_what_is_there(api: Api) -> None:
    told = api.client("default", "read").get("/diagnostics").json()
    assert told["api_version"]
    assert told["graph"]["graph"] is True
    assert told["graph"]["detail"]["sources"] >= 3
    assert told["vector_index"] == {"vector_index": True, "name": "words-64", "dimension": 64}
    assert told["llm"] == {"llm_api": False, "model_listed": False, "name": "none"}
    assert told["embedding"] == {"embedding_api": True, "dimension": 64}
    relations = told["relations"]
    assert relations["total"] == relations["llm_rel"] + relations["relates_to"] + relations["co_occurs_with"]
    assert told["relation_weights"]["CAUSES"] == 0.22
    assert told["feature_flags"]["bm25_enabled"] is True
    assert told["feature_flags"]["graph_rank_enabled"] is False
    assert told["noise_control"] == {"entity_min_length": 2, "cooccur_min_count": 2}
    aliases = told["entity_aliases"]
    assert aliases["total_entities"] > 0
    assert aliases["ratio"] == round(aliases["with_aliases"] / aliases["total_entities"], 4)


@pytest.mark.requirement("E-52")
def test_diagnostics_tell_whether_relations_are_logged(
    served: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api, _ = served({"relations": [{"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""}]})
    client = api.client()
    assert client.get("/diagnostics").json()["relations"]["relation_debug"] is False
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "lexigraph"):
        assert client.get("/diagnostics").json()["relations"]["relation_debug"] is True
        parts = section("One", "Mira Holm signs."), section("Two", "Tove Lund reads.")
        (tmp_path / "parts.md").write_text("# Parts\n\n" + "\n".join(parts))
        client.post("/ingest", json={"path": "parts.md"})
    told = [r.getMessage() for r in caplog.records if r.name == "lexigraph.ingestion.relations"]
    assert len(told) == 1
    assert told[0].endswith(": 1 relations, 1 of them new")
    assert told[0].count("chunk:") == 2


@pytest.mark.requirement("E-51", "E-71")
def test_diagnostics_know_a_failing_model_without_paying_for_it(served: Any) -> None:
    from tests.standins.llm_server import refused

    api, server = served(refused(500))
    client = api.client()

    def told() -> tuple[bool | None, bool | None]:
        llm = client.get("/diagnostics").json()["llm"]
        return llm["llm_api"], llm["model_listed"]

    assert told() == (True, False), "its server answers, and lists another"
    client.post("/query", json={"question": QUESTION})
    asked = len(server.requests)
    assert told() == (False, False), "the server answers, and what was asked failed"
    assert len(server.requests) == asked


@pytest.mark.requirement("E-51")
def test_diagnostics_never_take_the_unknown_for_good(tmp_path: Path) -> None:
    class Alone:
        """A model of which no service tells anything."""

        name = "llama-index:Alone"

        def complete(self, prompt: Any) -> str:
            return "Mira Holm signs [S1]."

        stream = structured = complete

    with laptop_api(tmp_path, llm=Alone()) as api:
        told = api.client().get("/diagnostics").json()["llm"]
        assert (told["llm_api"], told["model_listed"]) == (None, None)


@pytest.mark.slow
@pytest.mark.requirement("E-54", "E-66")
def test_each_feature_flag_is_a_setting_of_the_server(tmp_path: Path) -> None:
    def flags(folder: str, **settings: Any) -> dict[str, bool]:
        with laptop_api(tmp_path / folder, **settings) as api:
            told: dict[str, bool] = api.client().get("/diagnostics").json()["feature_flags"]
            return told

    shipped = flags("shipped")
    assert shipped.keys() == FLAGS.keys()
    for name, setting in FLAGS.items():
        changed = flags(name, **setting)
        assert {n for n in shipped if shipped[n] != changed[n]} == {name}


@pytest.mark.requirement("E-54", "E-67", "E-68")
def test_what_a_flag_switches_off_is_off(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "names.md").write_text("# Names\n\nHarbour Office signs.\n")
    (tmp_path / "corpus" / "other.md").write_text("# Other\n\nThe bakery of Tove Lund opens at six.\n")
    (tmp_path / "synonyms").write_text("Harbour Office = Port Office\n")
    off = {"bm25": False, "hash_incremental": False, "entity_normalize": False, "synonyms": tmp_path / "synonyms"}
    with laptop_api(tmp_path, **off) as api:
        client = api.client()
        for _ in range(2):
            again = client.post("/ingest", params={"incremental": True}, json={"path": "corpus"}).json()
        assert (again["documents_updated"], again["incremental"]) == (2, False)
        assert client.get("/diagnostics").json()["entity_aliases"]["with_aliases"] == 0
        found = client.post("/ranking/preview", json={"question": "Office signs"}).json()["items"]
        counted = client.post("/ranking/preview", json={"question": "Office signs", "parameters": {"bm25": True}}).json()
        assert found[0]["bonus"] < counted["items"][0]["bonus"]


@pytest.mark.requirement("E-19", "E-20", "E-21", "E-22", "E-23", "E-26", "E-27", "E-30")
def test_new_chunks_of_a_document_are_related_by_a_stream_of_their_own(served: Any, tmp_path: Path) -> None:
    found = {"relations": [{"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""}]}
    api, _ = served(found)
    parts = "\n".join(section(f"Part {n}", f"The part about {n} comes here.") for n in range(6))
    (tmp_path / "steps.md").write_text(f"# Steps\n\n{parts}\n")
    client = api.client()
    assert client.post("/ingest", params={"refresh_relations": False}, json={"path": "steps.md"}).status_code == 200
    asked = {"path": "steps.md", "inc_rel_only": True, "detect_after": True, "new_count": 2, "rel_window": 2}
    told = [data for _, data in events(client.get("/ingest/stream", params=asked))][1:]
    stages = [data["stage"] for data in told]
    assert stages[0] == "relation_incremental_start"
    assert stages[-3:] == ["relation_incremental_done", "result", "done"]
    assert {"old": 4, "new": 2, "window": 2, "pairs": told[0]["pairs"]}.items() <= told[0].items()
    result = told[-2]["result"]
    assert {"mode", "created", "skipped", "pairs", "old", "new"} <= result.keys()
    assert result["mode"] == "relations_incremental"
    again = [data for _, data in events(client.get("/ingest/stream", params=asked))][-2]["result"]
    assert again["created"] == 0


def test_new_chunks_are_related_in_the_namespace_that_is_named_or_by_the_id(served: Any, tmp_path: Path) -> None:
    api, _ = served({"relations": [{"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""}]})
    parts = "\n".join(section(f"Part {n}", f"The part about {n} comes here.") for n in range(4))
    (tmp_path / "steps.md").write_text(f"# Steps\n\n{parts}\n")
    client = api.client()
    for namespace in ("one", "two"):
        body = {"path": "steps.md", "namespace": namespace}
        assert client.post("/ingest", params={"refresh_relations": False}, json=body).status_code == 200
    boundary = {"inc_rel_only": True, "new_after": "chunk_1"}

    def created(**asked: Any) -> int:
        last = [data for _, data in events(client.get("/ingest/stream", params={**boundary, **asked}))][-2]
        return int(last["result"]["created"])

    ids = {d["namespace"]: d["id"] for d in client.get("/documents").json()["documents"]}
    assert created(path="steps.md", namespace="one") > 0
    assert created(path="steps.md", namespace="one") == 0
    assert created(path=ids["two"]) > 0, "the other one was left as it was"
    missing = client.get("/ingest/stream", params={**boundary, "path": "steps.md"})
    assert (missing.status_code, "'steps.md'" in missing.json()["message"]) == (404, True)
    assert str(tmp_path) not in missing.text
    assert client.get("/ingest/stream", params={**boundary, "path": "source:" + "0" * 32}).status_code == 404
    anew = client.get("/ingest/stream", params={**boundary, "path": ids["two"], "refresh": True})
    assert (anew.status_code, anew.json()["message"].partition(":")[0]) == (422, "refresh")


def test_what_a_model_s_server_repeats_of_a_prompt_is_not_logged(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    from tests.standins.llm_server import refused

    api, server = served(lambda body: refused(400, f"cannot read {said(body)}", code="content_filter"))
    with caplog.at_level(logging.DEBUG, "lexigraph"):
        api.client().post("/query", json={"question": QUESTION})
        api.client().post("/query", json={"question": QUESTION, "stream": True})
    assert server.requests
    assert "HTTP 400, content_filter" in caplog.text
    assert QUESTION not in caplog.text
    assert "Calloway" not in caplog.text


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks into /proc")
def test_long_estimates_keep_no_question_waiting_and_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def readers() -> list[Path]:
        children = " ".join(f.read_text() for f in Path("/proc/self/task").glob("*/children")).split()
        found = [Path(f"/proc/{child}") for child in children]
        return [f for f in found if f.exists() and "lexigraph.api.estimator" in (f / "cmdline").read_text()]

    monkeypatch.setenv("AWS_SESSION_TOKEN", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    body = {"text": "*_`[" * 180_000, "name": "a.md"}
    write_pages(tmp_path / "corpus", PAGES)
    with laptop_api(tmp_path, api_deadline=8.0) as api, ThreadPoolExecutor(3) as pool:
        client = api.client()
        assert client.post("/ingest", json={"path": "corpus"}).status_code == 200
        asked = [pool.submit(client.post, "/estimate", json=body) for _ in range(3)]
        eventually(readers)
        (reader,) = readers()
        assert "secret" not in (reader / "environ").read_text(), "who reads strangers' files has no credentials"
        assert client.post("/retrieve/traversal", json={"question": QUESTION}).status_code == 200
        assert not any(estimated.done() for estimated in asked)
        told = [estimated.result(SECONDS) for estimated in asked]
        assert [(r.status_code, r.json()["error"]) for r in told] == [(503, "deadline_exceeded")] * 3
        assert any("could not be read within" in r.json()["message"] for r in told)
        assert eventually(lambda: not readers())


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"new_after": "chunk_1"}, 422, "inc_rel_only"),
        ({"inc_rel_only": True}, 422, "new_after"),
        ({"inc_rel_only": True, "detect_after": True}, 422, "new_count"),
        ({"inc_rel_only": True, "new_after": "chunk_1", "path": "corpus/nothing.md"}, 404, "document"),
        ({"inc_rel_only": True, "new_after": "chunk_1", "rel_window": 0}, 422, "rel_window"),
    ],
)
def test_a_boundary_that_is_none_is_refused(api: Api, change: dict[str, Any], status: int, field: str) -> None:
    reply = api.client().get("/ingest/stream", params={"path": "corpus/Tidewater.md", **change})
    assert reply.status_code == status, reply.text
    assert field in reply.json()["message"]


def test_text_that_is_no_text_is_refused_in_good_time(api: Api) -> None:
    client = api.client()
    deep = "[" * 50_000 + "]" * 50_000
    for content in (
        b'{"question": "\\ud800"}',
        f'{{"question": "x", "parameters": {deep}}}'.encode(),
        deep.encode(),
        b"\xff\xfe",
        b"not json",
        b'{"question": 5}',
        b"null",
        b'{"question": NaN}',
    ):
        began = time.monotonic()
        reply = client.post("/query", content=content, headers={"content-type": "application/json"})
        assert reply.status_code in (400, 422), (content[:40], reply.text)
        assert {"error", "message", "request_id"} <= reply.json().keys()
        assert time.monotonic() - began < 30
    for question in ("a\x00b", "שלום עולם \u202e abc", "(a+)+$" * 50):
        assert client.post("/query", json={"question": question}).status_code == 200
        assert client.post("/api/v1/memory/recall", json={"query": question[:200]}).status_code in (200, 422)
