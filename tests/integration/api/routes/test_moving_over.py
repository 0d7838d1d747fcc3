"""Clients written for the reference pages, as their languages and habits make them send requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import patient
from tests.laptop import write_pages
from tests.models import model
from tests.server import Api, laptop_api
from tests.standins.llm_server import ScriptedLLMServer

FLOW = {"Flow": "The approval flow begins at the desk of Tove Lund.\n\nMira Holm signs what Tove Lund approves."}
QUESTION = "Who signs what Tove Lund approves?"
TRAVERSAL = {
    "max_search_results": 20,
    "max_statements_per_topic": 10,
    "include_facts": False,
    "expand_entities": True,
    "max_keywords": 10,
    "vss_top_k": 10,
    "vss_diversity_factor": 5,
    "derive_subqueries": False,
    "max_subqueries": 2,
    "reranker": "tfidf",
    "max_statements": 100,
}
MULTIHOP = {
    "query": QUESTION,
    "db_name": "fractal_db",
    "namespace": "default",
    "role": None,
    "use_symbolic": True,
    "num_hops": 3,
    "top_k_per_hop": 15,
    "final_top_k": 10,
    "hop_decay": 0.85,
    "context_expansion_ratio": 0.5,
}
STREAM = {
    "path": "corpus",
    "incremental": "False",
    "refresh": "False",
    "refresh_relations": "True",
    "checkpoint": "True",
    "inc_rel_only": "False",
    "detect_after": "False",
    "rel_window": 2,
    "rel_truncate": 400,
    "rel_temperature": 0.0,
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("served"), pages=FLOW) as served:
        yield served


@pytest.fixture
def client(api: Api) -> httpx.Client:
    return api.client()


@pytest.mark.requirement("E-05")
@pytest.mark.parametrize(("written", "meant"), [("True", True), ("1", True), ("yes", True), ("False", False), ("0", False)])
def test_a_flag_of_the_query_may_be_written_as_any_language_writes_it(
    client: httpx.Client, written: str, meant: bool
) -> None:
    told = client.post("/ingest", params={"incremental": written}, json={"path": "corpus"})
    assert (told.status_code, told.json()["incremental"]) == (200, meant), told.text


@pytest.mark.requirement("E-04", "E-16")
def test_progress_tells_the_stages_in_the_reply(client: httpx.Client) -> None:
    told = client.post("/ingest", params={"progress": "true", "refresh": True}, json={"path": "corpus"}).json()
    stages = [stage["stage"] for stage in told["progress"]]
    assert stages[0] == "scan_input"
    assert {"existing_scan", "embedding_batch", "schema_index", "relation_extraction_done"} <= set(stages)
    assert not {"result", "done"} & set(stages)
    assert client.post("/ingest", json={"path": "corpus"}).json()["progress"] is None


@pytest.mark.parametrize("query", ["?anything", "?check=1&check=2", "?_=1700000000"])
def test_health_takes_whatever_a_load_balancer_appends(api: Api, query: str) -> None:
    told = patient.get(f"{api.url}/health{query}")
    assert (told.status_code, told.json()["status"]) == (200, "ok")


@pytest.mark.requirement("E-38", "E-40")
def test_a_text_without_an_id_is_named_by_its_content(client: httpx.Client) -> None:
    memo = {"text": "Edda Roos signs for Mira Holm in July."}
    asked = {"question": "Who signs for Mira Holm in July?", "context": [memo, memo["text"]]}
    told = client.post("/query", json=asked).json()
    ids = [source["id"] for source in told["sources"] if source["reason"] == "external"]
    assert len(ids) == 2
    assert ids[0] == ids[1]
    assert ids[0].startswith("external:")


@pytest.mark.requirement("E-38", "E-39")
def test_lists_that_a_client_does_not_have_may_be_null(client: httpx.Client) -> None:
    told = client.post("/query", json={"question": QUESTION, "context": None, "history": None, "filters": None})
    assert told.status_code == 200, told.text
    assert "Mira Holm signs" in told.json()["answer"]


@pytest.mark.requirement("E-39")
def test_a_conversation_may_begin_with_the_assistant(tmp_path: Path) -> None:
    write_pages(tmp_path / "corpus", FLOW)
    with ScriptedLLMServer("Mira Holm signs [S1].") as server:
        with laptop_api(tmp_path, llm=model(server), relations=False) as api:
            client = api.client()
            client.post("/ingest", json={"path": "corpus"})
            history = [{"role": "assistant", "content": "Welcome to the desk of forms."}]
            told = client.post("/query", json={"question": QUESTION, "history": history})
        assert (told.status_code, told.json()["answer"]) == (200, "Mira Holm signs [S1].")
        said = [(m["role"], m["content"]) for m in server.requests[-1]["messages"] if m["role"] != "system"]
    assert [role for role, _ in said] == ["user", "assistant", "user"], "models begin with the user"
    assert said[1][1] == "Welcome to the desk of forms."


@pytest.mark.requirement("G-21", "G-29", "H-07", "M-03", "W-02")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(
            (f"/retrieve/{name}", {"question": QUESTION, "parameters": TRAVERSAL})
            for name in ("traversal", "chunk", "entity")
        ),
        ("/retrieve/traversal", {"question": QUESTION, "parameters": {**TRAVERSAL, "reranker": None}}),
        ("/unstructured/multihop_query/", MULTIHOP),
        ("/api/v1/memory/recall", {"query": QUESTION, "session_id": "default", "max_results": 10, "force_regex": False}),
        ("/query/multidoc", {"question": QUESTION, "num_docs": 5, "max_sections": 3, "min_relevance": 0.7}),
        ("/query", {"question": QUESTION, "stream": False, "context": [], "history": []}),
    ],
)
def test_every_default_of_a_page_can_be_written_out(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    told = client.post(path, json=body)
    assert told.status_code == 200, told.text


@pytest.mark.requirement("E-12", "E-19", "E-23", "E-24", "E-25")
def test_every_default_of_the_stream_can_be_written_out(client: httpx.Client) -> None:
    told = client.get("/ingest/stream", params=STREAM)
    assert (told.status_code, told.text.rstrip().endswith('data: {"stage":"done"}')) == (200, True), told.text


@pytest.mark.requirement("G-29")
@pytest.mark.parametrize(
    ("retriever", "parameters"),
    [("traversal", {"max_subqueries": 3}), ("chunk", {"expand_entities": False}), ("entity", {"vss_top_k": 3})],
)
def test_what_would_have_no_effect_is_still_refused_where_somebody_means_it(
    client: httpx.Client, retriever: str, parameters: dict[str, Any]
) -> None:
    told = client.post(f"/retrieve/{retriever}", json={"question": QUESTION, "parameters": parameters})
    assert (told.status_code, next(iter(parameters)) in told.json()["message"]) == (422, True)
    assert client.get("/ingest/stream", params={"path": "corpus", "rel_window": 3}).status_code == 422
