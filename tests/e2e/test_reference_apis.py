"""The example code of the reference pages against a live ``lexigraph serve``: only address, key and names are changed.

The requests client of the multi-hop page, the curl lines and payloads of the Evolution RAG page, and the recall page. The
four tests of the multi-document page are in ``test_multidoc_page.py``, the code of "Querying the Graph" in
``test_reference_page.py``.
"""

import ast
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.commandline import apart, begin
from tests.files import section
from tests.standins.llm_server import ScriptedLLMServer, said

pytestmark = pytest.mark.slow

SECONDS = 60.0
APPEALS = """# The appeals process

Appeals must be submitted in writing within 14 days of the decision.

The review board convenes on the first Monday of each month to read appeals.

## The board

The review board has five members, who are chosen by the council for two years.

## Decisions

Decisions are issued within 30 days of the sitting, with the reasons of the board.

## Rulings

Final rulings are binding unless a court of the region sets them aside.
"""
BOOK = """# The approval flow

The approval flow begins at the desk of Tove Lund. Tove Lund reads each request and approves it or sends it back.

## Signing

Mira Holm signs what Tove Lund approves. Since 2024 the signature of Mira Holm is electronic.

## Payment

The Finance Office pays what Mira Holm has signed. The Finance Office is led by Edda Roos.
"""
DECISIONS = """# Authentication

JWT authentication was chosen in the decision of 12 March. JWT replaced session cookies in the Harbour service.

The decision on JWT authentication was taken by Ada Lind, who leads the Harbour team.
"""
QUESTION = "Describe the multi-step approval flow."


@dataclass(frozen=True)
class Server:
    """A running server: its address, a key with every scope, and the folder whose files it may take in."""

    url: str
    key: str
    folder: Path

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"X-API-Key": self.key}, timeout=SECONDS, verify=False)


@contextmanager
def serving(folder: Path, **env: str) -> Iterator[Server]:
    """Run ``lexigraph serve`` in a folder, with a key made by the command."""
    scopes = [part for scope in ("read", "ingest", "admin") for part in ("--scope", scope)]
    key = apart("keys", "create", *scopes, cwd=folder).out.strip()
    with begin("serve", "--port", "0", "--root", ".", cwd=folder, env=env) as process:
        end = threading.Timer(600, process.kill)  # a test that hangs ends
        end.start()
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            assert first.startswith("listening on http://127.0.0.1:"), first
            yield Server(first.split()[2].rstrip(","), key, folder)
        finally:
            end.cancel()
            process.terminate()
            process.communicate(timeout=30)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "data").mkdir()
    (folder / "data" / "book.txt").write_text(BOOK, encoding="utf-8")
    (folder / "notes.md").write_text(DECISIONS, encoding="utf-8")
    with serving(folder) as made:
        with made.client() as client:
            assert client.post("/ingest", json={"path": "notes.md"}, params={"wait": 50}).status_code == 200
        yield made


def has_shape(example: Any, reply: Any, at: str = "reply") -> None:
    """Check that a reply has every field of the page's example, each of the example's kind; more fields are allowed."""
    if isinstance(example, dict):
        assert isinstance(reply, dict), at
        assert example.keys() <= reply.keys(), f"{at} lacks {sorted(example.keys() - reply.keys())}"
        for name, value in example.items():
            has_shape(value, reply[name], f"{at}.{name}")
    elif isinstance(example, list):
        assert isinstance(reply, list), at
        for number, element in enumerate(reply):
            has_shape(example[0], element, f"{at}[{number}]")
    elif isinstance(example, bool) or isinstance(reply, bool):
        assert isinstance(reply, bool) == isinstance(example, bool), at
    elif isinstance(example, (int, float)):
        assert reply is None or isinstance(reply, (int, float)), at
    elif isinstance(example, str):
        assert isinstance(reply, str), at


# ---------------------------------------------------------------- multihop_query

MULTIHOP_CLIENT = """
import requests

SERVER_URL = "http://hbserver:8000"
API_KEY    = "yourapitoken"

def multihop_query(query: str, namespace: str) -> dict:
    response = requests.post(
        f"{SERVER_URL}/unstructured/multihop_query/",
        headers={"X-API-Key": API_KEY},
        json={
            "query":                   query,
            "db_name":                 "fractal_db",
            "namespace":               namespace,
            "role":                    "paragraph",  # optional
            "use_symbolic":            True,          # optional, defaults to True
            "num_hops":                3,             # optional, defaults to 3
            "top_k_per_hop":           15,            # optional, defaults to 15
            "final_top_k":             10,            # optional, defaults to 10
            "hop_decay":               0.85,          # optional, defaults to 0.85
            "context_expansion_ratio": 0.5,           # optional, defaults to 0.5
        },
    )
    response.raise_for_status()
    return response.json()


result = multihop_query(
    query="explain the appeals process",
    namespace="document_upload_3f9a1c2e",
)
print(result)
"""
MULTIHOP_REPLY = {
    "query": "explain the appeals process",
    "namespace": "document_upload_3f9a1c2e",
    "hops": [{"hop": 0, "docs": ["Appeals must be submitted in writing..."]}],
    "final_results": [
        {
            "row_id": 34,
            "value": "Appeals must be submitted in writing within 14 days...",
            "role": "paragraph",
            "parent": "chunk_6",
            "text": "Appeals must be submitted in writing within 14 days...",
            "score": 0.923,
        }
    ],
    "symbolic_edges": [{"hop": 0, "doc_idx": 34}],
}


@pytest.mark.nightly
@pytest.mark.requirement("H-01", "H-06", "H-18", "H-19", "H-20", "H-23", "H-25", "H-26", "H-27", "H-32")
def test_the_client_of_the_multihop_page_runs_as_it_is(server: Server) -> None:
    with server.client() as client:
        sent = client.post("/unstructured/upload_document/", files={"file": ("appeals.md", APPEALS)}, params={"wait": 50})
    assert sent.status_code == 200, sent.text
    namespace = sent.json()["namespace"]
    code = (
        MULTIHOP_CLIENT.replace("http://hbserver:8000", server.url)
        .replace("yourapitoken", server.key)
        .replace("document_upload_3f9a1c2e", namespace)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr

    result = ast.literal_eval(done.stdout)
    has_shape(MULTIHOP_REPLY, result)
    assert (result["query"], result["namespace"]) == ("explain the appeals process", namespace)
    assert [hop["hop"] for hop in result["hops"]] == list(range(len(result["hops"])))
    assert 1 <= len(result["hops"]) <= 3
    assert all(1 <= len(hop["docs"]) <= 3 for hop in result["hops"])
    assert "Appeals must be submitted in writing" in result["final_results"][0]["text"]
    assert all(found["text"] == found["value"] for found in result["final_results"])
    assert {"paragraph"} == {found["role"] for found in result["final_results"]}
    assert result["symbolic_edges"]


# ---------------------------------------------------------------- Evolution RAG


def curl(*arguments: str) -> str:
    """What the curl program prints, which users have where they have a shell."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("curl is not installed here")
    done = subprocess.run(
        [program, "--silent", "--show-error", "--fail", "--max-time", "60", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS + 10,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(stream: str) -> list[tuple[str, Any]]:
    """The (event, data) of each block of a stream of server-sent events."""
    found = []
    for block in stream.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


@pytest.fixture(scope="module")
def book(server: Server) -> list[tuple[str, Any]]:
    """The events of the page's line ``curl -N 'http://localhost:8010/ingest/stream?path=/data/book.txt&checkpoint=true'``."""
    where = f"{server.url}/ingest/stream?path={server.folder}/data/book.txt&checkpoint=true"
    return blocks(curl("-N", "-H", f"X-API-Key: {server.key}", where))


@pytest.mark.requirement("E-11", "E-12", "E-13", "E-14", "E-15", "E-16", "E-18")
def test_the_curl_line_of_ingest_stream_shows_the_events_of_the_page(book: list[tuple[str, Any]]) -> None:
    assert book[0] == ("start", {})
    assert book[-1] == ("", {"stage": "done"})
    name, last = book[-2]
    assert (name, last["stage"]) == ("result", "result")
    has_shape({"chunks_total": 1300, "chunks_embedded": 820}, last["result"])
    assert last["result"]["chunks_total"] > 0
    stages = [data["stage"] for _, data in book[1:]]
    page = """scan_input hash_computed existing_scan embedding embedding_batch embedding_progress schema_index
    entity_extraction relates_to relation_start relation_extraction_done"""  # relation_extraction needs a language model
    assert set(page.split()) <= set(stages)


INGEST_REPLY = {
    "files_processed": 1,
    "chunks_new": 12,
    "chunks_skipped": 4,
    "entities_created": 23,
    "relations_created": 17,
    "cooccur_edges": 9,
    "llm_rel_edges": 8,
    "elapsed_sec": 2.41,
    "incremental": True,
}


@pytest.mark.requirement("E-04", "E-05", "E-08", "E-09")
def test_ingest_answers_with_the_fields_of_the_page(server: Server, book: list[tuple[str, Any]]) -> None:
    printed = curl(
        *("-X", "POST", "-H", f"X-API-Key: {server.key}", "-H", "Content-Type: application/json"),
        *("-d", json.dumps({"path": f"{server.folder}/data/book.txt"})),
        f"{server.url}/ingest?incremental=true&refresh=false&refresh_relations=true",
    )
    has_shape(INGEST_REPLY, json.loads(printed))
    again = json.loads(printed)
    assert (again["files_processed"], again["chunks_new"]) == (1, 0)
    assert again["chunks_skipped"] == book[-2][1]["result"]["chunks_total"]


@contextmanager
def asking(folder: Path, script: Callable[[dict[str, Any]], Any]) -> Iterator[tuple[ScriptedLLMServer, httpx.Client]]:
    """A server whose language model follows a script, and a client of it."""
    with ScriptedLLMServer(script) as model:
        options = {"LEXIGRAPH_LLM_OPTIONS": json.dumps({"base_url": model.base_url}), "LEXIGRAPH_MODEL_ATTEMPTS": "1"}
        with serving(folder, LEXIGRAPH_LLM="openai:any", **options) as server, server.client() as client:
            yield model, client


@pytest.mark.nightly
@pytest.mark.requirement("E-04", "E-09", "E-17", "E-32", "E-33")
def test_an_ingest_tells_what_the_model_failed_at_and_the_next_one_asks_for_that_alone(tmp_path: Path) -> None:
    (tmp_path / "pumps.md").write_text("\n".join(section(f"Part {n}", f"Pump {n} is of brass.") for n in range(6)))
    bad = {"chunks": ["Pump"], "pairs": ["Pump"]}

    def script(body: dict[str, Any]) -> Any:
        asked = said(body).rpartition("Passage:")[2]
        kind = "pairs" if "PASSAGES" in asked else "chunks"
        if any(word in asked for word in bad[kind]):
            return "no JSON"
        statement = {"statement": "It is of brass.", "details": [], "entities": [], "facts": []}
        return {"relations": [], "topics": [{"title": "Pumps", "statements": [statement]}], "aliases": []}

    with asking(tmp_path, script) as (model, client):

        def ingest() -> httpx.Response:
            return client.post("/ingest", json={"path": "pumps.md"}, params={"wait": 50})

        none = ingest()
        assert (none.status_code, none.json()["error"]) == (500, "ingest_failed")
        assert "none of 6 chunks could be extracted: the reply was not valid JSON" in none.json()["message"]
        job = client.get("/jobs").json()["jobs"][0]
        assert (job["status"], job["result"]["chunks_failed"], len(job["result"]["chunk_failures"])) == ("FAILED", 6, 6)
        streamed = blocks(client.get("/ingest/stream", params={"path": "pumps.md"}).text)
        assert streamed[-1][1]["stage"] == "error"
        assert [data.get("stage") for _, data in streamed].count("error") == 1

        bad["chunks"] = ["Pump 3 ", "Pump 4 "]
        some = ingest().json()
        assert (some["status"], some["chunks_failed"], some["pairs_failed"]) == ("SUCCEEDED", 2, 9)
        assert [warning["type"] for warning in some["warnings"]] == ["chunks_failed", "pairs_failed"]
        assert all("the reply was not valid JSON" in warning["detail"] for warning in some["warnings"])
        assert "under Part 3: the reply was not valid JSON" in some["chunk_failures"][0]["reason"]

        bad.update(chunks=[], pairs=[])
        before = len(model.requests)
        whole = ingest().json()
        assert len(model.requests) - before == 2 + 9, "what was answered is not asked again"
        assert (whole["chunks_failed"], whole["warnings"], whole["llm_rel_edges"]) == (0, [], 5)

        before = len(model.requests)
        again = ingest().json()
        assert (len(model.requests) - before, again["chunks_embedded"], again["relations_created"]) == (0, 0, 0)
        client.post("/ingest", json={"path": "pumps.md"}, params={"refresh": True, "wait": 50})
        assert len(model.requests) - before == 6 + 9


@pytest.mark.requirement("E-19", "E-20", "E-21", "E-22", "E-23", "E-26", "E-27", "E-28", "E-30")
def test_the_two_lines_of_relations_only_mode_relate_the_new_chunks(tmp_path: Path) -> None:
    relation = {"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""}
    path = tmp_path / "file.md"
    path.write_text("# Steps\n\n" + "\n".join(section(f"Part {n}", f"The part about {n} comes here.") for n in range(6)))
    assert apart("ingest", path, cwd=tmp_path).code == 0  # without a model no chunks are related
    with ScriptedLLMServer({"relations": [relation]}) as model:
        options = {"LEXIGRAPH_LLM": "openai:any", "LEXIGRAPH_LLM_OPTIONS": json.dumps({"base_url": model.base_url})}
        with serving(tmp_path, LEXIGRAPH_EXTRACTOR="local", **options) as server:
            lines = [
                f"path={path}&inc_rel_only=true&new_after=chunk_3&rel_window=2",
                f"path={path}&inc_rel_only=true&detect_after=true&new_count=2",
            ]
            key = f"X-API-Key: {server.key}"
            after, counted = (blocks(curl("-N", "-H", key, f"{server.url}/ingest/stream?{line}")) for line in lines)
    for told in (after, counted):
        assert told[0] == ("start", {})
        assert told[-1][1] == {"stage": "done"}
        begun = next(data for _, data in told if data.get("stage") == "relation_incremental_start")
        has_shape({"stage": "", "old": 120, "new": 8, "window": 2, "pairs": 34}, begun)
        name, last = told[-2]
        assert (name, last["stage"], last["result"]["mode"]) == ("result", "result", "relations_incremental")
        has_shape({"created": 12, "skipped": 9, "pairs": 34, "old": 120, "new": 8}, last["result"])
        assert (last["result"]["old"], last["result"]["new"]) == (4, 2)
    assert after[-2][1]["result"]["created"] == after[-2][1]["result"]["pairs"] > 0
    assert counted[-2][1]["result"]["created"] == 0, "a second run adds nothing"


QUERY = {
    "question": QUESTION,
    "stream": False,
    "context": [
        {"id": "ext1", "text": "An external memo about subgraph depth quotas and path scoring."},
        "A plain text snippet can also be used as extra context.",
    ],
    "history": [
        {"role": "user", "content": "Do you support hybrid retrieval?"},
        {"role": "assistant", "content": "Yes: vector + entities + co-occur + llm-rel (+BM25/+degree)."},
    ],
}
QUERY_REPLY = {
    "answer": "... answer text with inline references like [S1] ...",
    "sources": [
        {
            "id": "chunk:abc123",
            "rank": 1,
            "reason": "vector",
            "score": 0.8421,
            "base_norm": 0.73,
            "bonus": 0.12,
            "composite_score": 0.85,
            "rel_type": None,
            "rel_conf": None,
        }
    ],
    "references": [{"label": "S1", "id": "chunk:abc123", "score": 0.8421, "composite_score": 0.85}],
    "entities": [{"name": "审批", "freq": 5}],
    "warnings": [{"type": "unused_sources", "detail": "..."}],
}


def ask(server: Server, body: dict[str, Any]) -> str:
    headers = ("-H", f"X-API-Key: {server.key}", "-H", "Content-Type: application/json")
    return curl("-N", "-X", "POST", *headers, "-d", json.dumps(body), f"{server.url}/query")


@pytest.mark.requirement("E-35", "E-36", "E-38", "E-39", "E-40", "E-42", "E-43", "E-44", "E-45", "E-46")
@pytest.mark.usefixtures("book")
def test_query_takes_the_body_and_answers_with_the_fields_of_the_page(server: Server) -> None:
    told = json.loads(ask(server, QUERY))
    has_shape(QUERY_REPLY, told)
    assert "[S1]" in told["answer"]
    assert [s["rank"] for s in told["sources"]] == list(range(1, len(told["sources"]) + 1))
    external = [s for s in told["sources"] if s["reason"] == "external"]
    assert external == told["sources"][-2:]
    assert external[0]["id"] == "ext1"
    ranked = {s["label"] for s in told["sources"]}
    assert {r["label"] for r in told["references"]} <= ranked
    assert told["references"]
    assert "Tove Lund" in {e["name"] for e in told["entities"]}


@pytest.mark.requirement("E-37", "E-41")
@pytest.mark.usefixtures("book")
def test_a_streamed_query_is_text_and_then_the_sources(server: Server) -> None:
    told = blocks(ask(server, {**QUERY, "stream": True}))
    names = [name for name, _ in told]
    assert names == ["token"] * (len(told) - 2) + ["sources", "done"]
    answer = "".join(data["text"] for name, data in told if name == "token")
    has_shape(QUERY_REPLY["sources"], told[-2][1])
    assert "[S1]" in answer
    assert told[-1][1]["answer"].split() == answer.split()


DIAGNOSTICS = {
    "api_version": "0.1.0",
    "graph": {"graph": True, "detail": {}},  # "neo4j": {"neo4j": true, "detail": 1} on the page
    "vector_index": {"vector_index": True, "name": "chunk_embedding_index", "dimension": 1024},
    "llm": {"llm_api": True, "model_listed": True},
    "embedding": {"embedding_api": True, "dimension": 1024},
    "relations": {
        "llm_rel": 120,
        "relates_to": 345,
        "co_occurs_with": 220,
        "total": 685,
        "relation_extraction_enabled": True,
        "relation_debug": False,
    },
    "relation_weights": {"STEP_NEXT": 0.12, "CAUSES": 0.22},
    "feature_flags": {
        "rerank_enabled": False,
        "bm25_enabled": False,
        "graph_rank_enabled": False,
        "hash_incremental_enabled": True,
        "entity_normalize_enabled": True,
    },
    "noise_control": {"entity_min_length": 2, "cooccur_min_count": 2},
    "entity_aliases": {
        "total_entities": 430,
        "with_aliases": 120,
        "ratio": 0.2791,
        "sample_top5": [{"name": "流程", "aliases": ["过程"], "alias_count": 1}],
    },
}
PREVIEW_REPLY = {
    "question": "How does the approval flow progress?",
    "degraded": False,
    "items": [
        {
            "id": "chunk:abc123",
            "reason": "vector",
            "score_raw": 0.83,
            "base_norm": 0.72,
            "bonus": 0.13,
            "composite_score": 0.85,
            "final_score": 0.85,
            "rel_type": None,
            "rel_conf": None,
        }
    ],
}


@pytest.mark.requirement("E-01", "E-02", "E-48", "E-49", "E-50", "E-51", "E-52", "E-53", "E-54", "E-55", "E-56")
@pytest.mark.usefixtures("book")
def test_health_and_diagnostics_have_the_fields_of_the_page(server: Server) -> None:
    health = json.loads(curl(f"{server.url}/health"))
    with server.client() as client:
        told = client.get("/diagnostics").json()
    assert health == {"status": "ok", "stores": "ok", "api_version": told["api_version"]}
    has_shape(DIAGNOSTICS, told)
    assert (told["relation_weights"]["STEP_NEXT"], told["relation_weights"]["CAUSES"]) == (0.12, 0.22)
    assert told["noise_control"] == DIAGNOSTICS["noise_control"]
    assert (told["vector_index"]["vector_index"], told["embedding"]["embedding_api"]) == (True, True)


@pytest.mark.requirement("E-59", "E-60")
@pytest.mark.usefixtures("book")
def test_the_ranking_preview_has_the_fields_of_the_page(server: Server) -> None:
    with server.client() as client:
        told = client.post("/ranking/preview", json={"question": PREVIEW_REPLY["question"]}).json()
    has_shape(PREVIEW_REPLY, told)
    assert (told["question"], told["degraded"]) == (PREVIEW_REPLY["question"], False)
    assert told["items"]
    assert "answer" not in told


@pytest.mark.requirement("E-57", "E-58")
@pytest.mark.usefixtures("book")
def test_the_caches_are_told_and_cleared_as_on_the_page(server: Server) -> None:
    ask(server, QUERY)
    with server.client() as client:
        told = client.get("/cache/stats").json()
        assert told["answer_cache_keys"] == ["answer-1"], "counted, and not told: others may have asked"
        assert (told["embedding_cache_size"], told["answer_cache_size"]) == (len(told["embedding_cache_keys"]), 1)
        assert client.post("/cache/clear").json() == {"cleared": True}
        assert client.get("/cache/stats").json()["answer_cache_size"] == 0


# ---------------------------------------------------------------- hm_recall

MEMORY = "JWT authentication decisions"


@pytest.mark.requirement("M-01", "M-02", "M-17", "M-18", "M-19", "M-21")
def test_recall_takes_the_body_of_the_page(server: Server) -> None:
    with server.client() as client:
        reply = client.post("/api/v1/memory/recall", json={"query": MEMORY})
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert 1 <= len(told["nodes"]) <= 10
    assert any("JWT" in node["name"] + node["description"] for node in told["nodes"][:3])
    assert told["edges"]
    assert {"phase", "weights", "tiers"} <= told["metadata"].keys()
    assert told["metadata"]["session"]["id"] == "default"


def without_session(reply: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in reply["metadata"].items() if name not in ("timings", "session")}
    return {**reply, "metadata": metadata}


@pytest.mark.requirement("M-20")
def test_the_command_prints_what_the_route_answers(server: Server) -> None:
    with server.client() as client:
        over_http = client.post("/api/v1/memory/recall", json={"query": MEMORY, "session_id": "over http"}).json()
    printed = apart("recall", MEMORY, "--json", "--session-id", "by command", cwd=server.folder)
    assert printed.code == 0, printed.err
    assert without_session(printed.json) == without_session(over_http)
    assert printed.json["nodes"]
