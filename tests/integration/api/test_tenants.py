"""Every route, asked by another tenant for what is the first one's: nothing comes back."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexigraph.retrieval.catalogue import RETRIEVERS
from tests import patient
from tests.laptop import write_pages
from tests.server import Api, laptop_api

SECRET = "Zanzibar"
PAGES = {"Flow": f"The approval of {SECRET} begins with Tove Lund.\n\nMira Holm signs what Tove Lund approves."}
QUESTION = f"Who signs the approval of {SECRET}?"
REMEMBERED = f"Who signs and approves {SECRET}?"  # the first tenant asks it, and one test


class Known:
    """What the first tenant has: the names of all of it, which the second one knows."""

    def __init__(self, api: Api) -> None:
        client = api.client("first")
        sent = client.post("/documents", files={"file": ("flow.md", self._text())}, data={"namespace": "court"}).json()
        uploaded = client.post("/unstructured/upload_document/", files={"file": ("flow.md", self._text())}).json()
        client.post("/query", json={"question": QUESTION})
        client.post("/query", json={"question": REMEMBERED})
        client.post("/query/multidoc", json={"question": QUESTION})
        recalled = client.post("/api/v1/memory/recall", json={"query": SECRET, "session_id": "mine"}).json()
        found = client.post("/retrieve/traversal", json={"question": QUESTION}).json()
        assert SECRET in json.dumps(found["results"])
        assert recalled["nodes"]
        self.document, self.job, self.namespace = sent["document"]["id"], sent["job_id"], uploaded["namespace"]
        details = [d for result in found["results"] for d in result["details"]]
        self.nodes = [self.document, *(d["id"] for d in details), *(d["chunk_id"] for d in details)]
        self.nodes += [node["key"] for node in recalled["nodes"]]
        self.client = client

    @staticmethod
    def _text() -> bytes:
        return f"# Flow\n\n{PAGES['Flow']}\n".encode()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("tenants")) as served:
        yield served


@pytest.fixture(scope="module")
def known(api: Api) -> Known:
    return Known(api)


@pytest.fixture
def other(api: Api, known: Known) -> httpx.Client:
    return api.client("second")


def nothing(reply: httpx.Response) -> Any:
    """The body, in which nothing of the first tenant's is."""
    told = reply.json()
    for field in ("question", "query", "keywords"):  # what was just asked
        if isinstance(told, dict):
            told.pop(field, None)
    assert SECRET not in json.dumps(told), reply.text[:300]
    assert "Tove" not in reply.text
    return told


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_no_retriever_finds_another_tenant_s_statements(other: httpx.Client, retriever: str) -> None:
    assert nothing(other.post(f"/retrieve/{retriever}", json={"question": QUESTION}))["results"] == []


def test_no_filter_opens_another_tenant_s_documents(other: httpx.Client, known: Known) -> None:
    for key, value in (("namespace", "court"), ("namespace", known.namespace), ("title", "Flow"), ("tenant", "first")):
        body = {"question": QUESTION, "filters": {"key": key, "value": value}}
        assert nothing(other.post("/retrieve/traversal", json=body))["results"] == []


def test_no_answer_is_made_of_another_tenant_s_documents_nor_remembered_from_its_questions(other: httpx.Client) -> None:
    told = nothing(other.post("/query", json={"question": REMEMBERED}))
    assert (told["cached"], told["sources"], told["entities"]) == (False, [], [])
    assert nothing(other.post("/ranking/preview", json={"question": QUESTION}))["items"] == []
    several = nothing(other.post("/query/multidoc", json={"question": QUESTION, "min_relevance": 0.0}))
    assert (several["articles"], several["sections"], several["facts"]) == ([], [], [])


def test_a_stream_tells_nothing_either(other: httpx.Client) -> None:
    text = other.post("/query", json={"question": QUESTION, "stream": True}).text
    assert "Tove" not in text
    assert "Mira" not in text


def test_a_namespace_of_another_tenant_does_not_exist(other: httpx.Client, known: Known) -> None:
    for namespace in (known.namespace, "court"):
        body = {"query": QUESTION, "db_name": "fractal_db", "namespace": namespace}
        assert other.post("/unstructured/multihop_query/", json=body).status_code == 404


def test_a_session_of_the_same_name_is_another_one(other: httpx.Client) -> None:
    told = nothing(other.post("/api/v1/memory/recall", json={"query": SECRET, "session_id": "mine"}))
    assert (told["nodes"], told["context"], told["edges"]) == ([], [], [])
    assert told["metadata"]["session"] == {"id": "mine", "recalls": 0, "hot": []}


@pytest.mark.parametrize("pattern", ["\\w{3,}", "Z.*r", f"^{SECRET}"])
def test_no_pattern_recalls_another_tenant_s_nodes(other: httpx.Client, pattern: str) -> None:
    told = nothing(other.post("/api/v1/memory/recall", json={"query": pattern, "force_regex": True}))
    assert told["nodes"] == []


def test_documents_jobs_and_their_events_are_not_there(other: httpx.Client, known: Known) -> None:
    assert other.get("/documents").json() == {"documents": [], "next": None}
    assert other.get("/documents", params={"namespace": "court"}).json()["documents"] == []
    assert other.get("/documents", params={"after": known.document}).status_code in (404, 422)
    assert other.get(f"/documents/{known.document}").status_code == 404
    assert other.delete(f"/documents/{known.document}").status_code == 404
    assert other.get("/jobs").json() == {"jobs": []}
    assert other.get(f"/jobs/{known.job}").status_code == 404
    assert other.get(f"/jobs/{known.job}/events").status_code == 404
    assert other.post(f"/jobs/{known.job}/cancel").status_code == 404
    assert known.client.get(f"/documents/{known.document}").status_code == 200, "it is still there for its owner"


def test_no_document_is_read_and_no_entity_or_statement_shown_to_another_tenant(other: httpx.Client, known: Known) -> None:
    for part in ("text", "outline", "topics", "statements"):
        assert other.get(f"/documents/{known.document}/{part}").status_code == 404
        assert known.client.get(f"/documents/{known.document}/{part}").status_code == 200
    kinds = {kind: next(n for n in known.nodes if n.startswith(f"{kind}:")) for kind in ("statement", "entity")}
    paths = [f"/statements/{kinds['statement']}"]
    paths += [f"/entities/{kinds['entity']}{part}" for part in ("", "/statements", "/neighbours")]
    for path in paths:
        assert other.get(path).status_code == 404, path
        assert known.client.get(path).status_code == 200, path
    assert nothing(other.get("/entities", params={"q": "tove"})) == {"entities": [], "next": None}
    assert not any(nothing(other.get("/overview"))["counts"].values())


def test_no_key_of_another_tenant_is_listed_or_revoked(api: Api, other: httpx.Client) -> None:
    theirs = api.client("first").post("/keys", json={"name": SECRET}).json()
    assert theirs["id"] not in json.dumps(nothing(other.get("/keys")))
    assert other.delete(f"/keys/{theirs['id']}").status_code == 404


def test_no_decision_about_names_of_another_tenant_is_listed_or_undone(known: Known, other: httpx.Client) -> None:
    alias = {"kind": "alias", "name": "Zanzibar Quince", "others": [SECRET]}
    theirs = known.client.post("/curation/decisions", json=alias).json()
    for path in ("decisions", "proposals"):
        assert theirs["id"] not in json.dumps(nothing(other.get(f"/curation/{path}")))
    assert other.delete(f"/curation/decisions/{theirs['id']}").status_code == 404
    assert known.client.delete(f"/curation/decisions/{theirs['id']}").json()["undone_at"]


def test_no_node_of_another_tenant_has_surroundings(other: httpx.Client, known: Known) -> None:
    for node in known.nodes:
        reply = other.get("/graph/egonet", params={"id": node})
        assert reply.status_code == 404, node


def test_counts_and_caches_are_one_s_own(other: httpx.Client, known: Known) -> None:
    told = nothing(other.get("/diagnostics"))
    assert set(told["graph"]["detail"].values()) <= {0}
    assert told["relations"]["total"] == told["entity_aliases"]["total_entities"] == 0
    other.post("/cache/clear")
    assert other.get("/cache/stats").json()["answer_cache_keys"] == []
    before = known.client.get("/cache/stats").json()
    other.post("/cache/clear")
    assert known.client.get("/cache/stats").json() == before


def test_the_same_document_sent_by_both_is_two(api: Api, other: httpx.Client, known: Known) -> None:
    body = {"file": ("flow.md", Known._text())}
    sent = other.post("/documents", files=body, data={"namespace": "court"}).json()["document"]["id"]
    assert sent != known.document
    assert other.delete(f"/documents/{sent}").json() == {"removed": 1}
    assert known.client.get(f"/documents/{known.document}").json()["state"] == "READY"
    found = known.client.post("/retrieve/traversal", json={"question": QUESTION}).json()
    assert SECRET in json.dumps(found["results"])


def test_every_route_of_the_document_is_asked_here(api: Api) -> None:
    """A new route has to be thought of: it is listed here once a test above asks it for another's."""
    asked = {
        "/health", "/diagnostics", "/query", "/ranking/preview", "/query/multidoc", "/retrieve/{retriever}",
        "/api/v1/memory/recall", "/unstructured/upload_document/", "/unstructured/multihop_query/", "/ingest",
        "/ingest/stream", "/estimate", "/documents", "/documents/{document_id}", "/jobs", "/jobs/{job_id}",
        "/jobs/{job_id}/events",
        "/jobs/{job_id}/cancel", "/graph/egonet", "/cache/stats", "/cache/clear", "/keys", "/keys/{key_id}", "/overview",
        "/curation/decisions", "/curation/decisions/{decision_id}", "/curation/proposals",
        "/documents/{document_id}/text", "/documents/{document_id}/outline", "/documents/{document_id}/topics",
        "/documents/{document_id}/statements", "/statements/{statement_id}", "/entities", "/entities/{entity_id}",
        "/entities/{entity_id}/statements", "/entities/{entity_id}/neighbours",
    }  # fmt: skip
    assert set(patient.get(f"{api.url}/openapi.json").json()["paths"]) == asked


def test_what_a_tenant_takes_in_from_a_folder_is_its_own(tmp_path: Path) -> None:
    write_pages(tmp_path / "corpus", PAGES)
    with laptop_api(tmp_path, ingest_roots={"first": tmp_path, "second": tmp_path}) as api:
        first, second = api.client("first"), api.client("second")
        assert first.post("/ingest", json={"path": "corpus"}).json()["documents_new"] == 1
        assert second.get("/documents").json()["documents"] == []
        assert second.post("/ingest", json={"path": "corpus"}).json()["documents_new"] == 1
        mine, theirs = (c.get("/documents").json()["documents"][0]["id"] for c in (first, second))
        assert mine != theirs


@pytest.mark.requirement("M-03")
def test_the_default_session_of_a_key_is_no_other_keys(api: Api, known: Known) -> None:
    one, two = api.client("first"), api.client("first")

    def recalls(client: httpx.Client, **body: str) -> int:
        reply = client.post("/api/v1/memory/recall", json={"query": SECRET, **body})
        return int(reply.json()["metadata"]["session"]["recalls"])

    assert [recalls(one), recalls(two), recalls(one), recalls(two)] == [0, 0, 1, 1]
    assert [recalls(one, session_id="ours"), recalls(two, session_id="ours")] == [0, 1]
