"""Evidence over HTTP: what a question used, as a graph whose every node can be asked for."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lexigraph.retrieval.catalogue import RETRIEVERS
from tests.server import laptop_api

QUESTION = "Where does the team that owns Tidewater sit?"
PAGES = {
    "tidewater.md": "# Tidewater\n\nTidewater is owned by Heron Team. It keeps invoices.\n",
    "heron.md": "# Heron Team\n\nHeron Team sits in Bergen. Ines Calloway leads Heron Team.\n",
    "hostile.md": "# Notes on Tidewater\n\nTidewater says `<script>alert(1)</script>` and [S1] twice.\n",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with laptop_api(tmp_path_factory.mktemp("evidence")) as api:
        client = api.client()
        for name, text in PAGES.items():
            assert client.post("/documents", files={"file": (name, text.encode())}).status_code == 200
        yield client


def _whole(evidence: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the nodes by id; every edge leads from one of them to another, and every statement hangs on the question."""
    nodes = {node["id"]: node for node in evidence["nodes"]}
    assert len(nodes) == len(evidence["nodes"]) == evidence["shown"]["nodes"]
    assert all({edge["from"], edge["to"]} <= nodes.keys() for edge in evidence["edges"])
    reached = {"question"}
    for _ in nodes:
        reached |= {edge["to"] for edge in evidence["edges"] if edge["from"] in reached}
    assert reached == nodes.keys()
    return nodes


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_any_retriever_tells_what_led_to_its_statements(client: httpx.Client, retriever: str) -> None:
    reply = client.post(f"/retrieve/{retriever}", json={"question": QUESTION, "evidence": True}).json()
    nodes = _whole(reply["evidence"])
    found = [s for result in reply["results"] for s in result["details"]]
    assert {s["id"] for s in found} == {id_ for id_, node in nodes.items() if node["kind"] == "statement"}
    assert {r["document_id"] for r in reply["results"]} == {i for i, node in nodes.items() if node["kind"] == "source"}
    for statement in found:
        assert len(statement["path"]) == len(statement["path_ids"])
        assert set(statement["path_ids"]) <= nodes.keys()
        assert nodes[statement["id"]]["label"] == statement["text"]
    for node in nodes.values():
        if node["kind"] in ("chunk", "statement"):
            assert 0 <= node["start"] < node["end"]
            assert client.get(f"/documents/{node['document_id']}/outline").json()["characters"] >= node["end"]
        else:
            assert (node["start"], node["end"]) == (None, None)
    for id_, node in nodes.items():
        if node["kind"] in ("entity", "topic", "chunk"):
            assert client.get("/graph/egonet", params={"id": id_}).status_code == 200
        if node["kind"] == "entity":
            assert client.get(f"/entities/{id_}").json()["name"] == node["label"]


def test_a_bridge_is_shown_with_the_entity_that_it_goes_over(client: httpx.Client) -> None:
    reply = client.post("/retrieve/traversal", json={"question": "What does Tidewater keep?", "evidence": True}).json()
    passed = [s for r in reply["results"] for s in r["details"] if s["path"]]
    assert passed
    assert {i.partition(":")[0] for s in passed for i in s["path_ids"]} == {"chunk", "entity"}


def test_an_answer_marks_what_it_may_cite_and_is_remembered_with_its_evidence(client: httpx.Client) -> None:
    body = {"question": QUESTION, "evidence": True}
    plain = client.post("/query", json={"question": QUESTION}).json()
    assert "evidence" not in plain
    told, again = (client.post("/query", json=body).json() for _ in range(2))
    assert (told["cached"], again["cached"], again["evidence"]) == (False, True, told["evidence"])
    labels = {s["statement_id"]: s["label"] for s in told["sources"]}
    cited = {id_: node["citation"] for id_, node in _whole(told["evidence"]).items() if node["citation"]}
    assert cited
    assert cited.items() <= labels.items()
    for source in told["sources"]:
        assert client.get(f"/statements/{source['statement_id']}").json()["document"]["id"] == source["document_id"]
    assert all(client.get(f"/entities/{e['id']}").json()["name"] == e["name"] for e in told["entities"])


def test_a_stream_ends_with_the_evidence(client: httpx.Client) -> None:
    text = client.post("/query", json={"question": QUESTION, "evidence": True, "stream": True}).text
    assert '"evidence":' in text[text.index("event: done") :]


def test_what_an_answer_cites_is_drawn_before_what_scores_higher(client: httpx.Client) -> None:
    body = {"question": QUESTION, "evidence": True}
    every = client.post("/retrieve/hybrid", json=body).json()["evidence"]
    worst = min((n for n in every["nodes"] if n["kind"] == "statement"), key=lambda n: n["score"])
    drawn = {**body, "evidence_limit": 5, "citations": {worst["id"]: "S1"}}
    few = client.post("/retrieve/hybrid", json=drawn).json()["evidence"]
    assert _whole(few)[worst["id"]] == {**worst, "citation": "S1"}
    assert {n["id"]: n["score"] for n in few["nodes"]}.items() <= {n["id"]: n["score"] for n in every["nodes"]}.items()
    assert few["totals"] == every["totals"]


def test_no_more_is_shown_than_asked_for_and_all_is_counted(client: httpx.Client) -> None:
    body = {"question": QUESTION, "evidence": True}
    every = client.post("/retrieve/vector", json=body).json()["evidence"]
    few = client.post("/retrieve/vector", json={**body, "evidence_limit": 5}).json()["evidence"]
    assert _whole(few).keys() < _whole(every).keys()
    assert few["shown"]["nodes"] <= 5 < few["totals"]["nodes"]
    assert few["totals"] == every["totals"] == every["shown"]
    for limit in (0, 501, "5"):
        assert client.post("/retrieve/vector", json={**body, "evidence_limit": limit}).status_code == 422
