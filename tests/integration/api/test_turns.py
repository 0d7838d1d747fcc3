"""Tenants take turns: who asks for much waits for itself, is told so when it is too much, and keeps nobody else waiting."""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.integration.api.test_faults import Embedder, served, silent
from tests.server import Api
from tests.waiting import eventually

MANY, REFUSALS = 240, 50
REFUSED = "100 requests of this tenant are already waiting"
QUESTION = {"question": "Who leads the Heron Team?"}
MULTIHOP = {"query": "Who leads the Heron Team?", "db_name": "fractal_db", "namespace": "default"}
CALL = {"name": "hm_recall", "arguments": {"query": "Heron Team"}}
HEAVY = {
    "a question": ("/query", QUESTION),
    "a stream": ("/query", {**QUESTION, "stream": True}),
    "hops": ("/unstructured/multihop_query/", MULTIHOP),
    "sections": ("/query/multidoc", QUESTION),
    "a search": ("/retrieve/traversal", QUESTION),
    "a memory": ("/api/v1/memory/recall", {"query": "Heron Team"}),
    "a tool": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}),
}


@contextmanager
def asking(api: Api, path: str, body: object, until: Event) -> Iterator[list[httpx.Response]]:
    """Let a tenant ask so often at the same time until many are refused; the value fills with the replies that have come."""
    headers = {"X-API-Key": api.key("default"), "Accept": "application/json, text/event-stream"}
    came: list[httpx.Response] = []

    def ask() -> None:
        came.append(client.post(path, json=body))

    every = httpx.Limits(max_connections=MANY)
    with (
        httpx.Client(base_url=api.url, headers=headers, timeout=60, limits=every, verify=False) as client,
        ThreadPoolExecutor(MANY) as pool,
    ):
        try:
            for _ in range(MANY):
                pool.submit(ask)
            eventually(lambda: len(came) > REFUSALS)
            yield came
        finally:
            until.set()
    assert len(came) == MANY


def is_served_first(api: Api, came: list[httpx.Response]) -> None:
    """Another tenant is answered while all that hang are still waiting."""
    other = api.client("another")
    for path in ("/documents", "/jobs", "/health"):
        assert other.get(path).status_code == 200
    assert other.post("/retrieve/bm25", json=QUESTION).status_code == 200
    assert all(reply.status_code == 429 or REFUSED in reply.text for reply in came)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.slow if k in ("a stream", "hops") else pytest.mark.nightly) for k in HEAVY]
)
def test_questions_of_one_tenant_that_hang_keep_no_other_waiting_and_too_many_are_refused(tmp_path: Path, kind: str) -> None:
    over = Event()
    embedder = Embedder(lambda: over.wait(40))
    with served(tmp_path, embedder=embedder, api_deadline=30.0) as api, asking(api, *HEAVY[kind], over) as came:
        is_served_first(api, came)
        told = Counter(reply.status_code for reply in came)
        if kind == "a tool":
            assert sum(REFUSED in reply.text for reply in came) > REFUSALS
            return
        assert told[429] > REFUSALS, told
        assert {reply.headers["retry-after"] for reply in came if reply.status_code == 429} == {"5"}
        assert {reply.json()["error"] for reply in came if reply.status_code == 429} == {"rate_limited"}


def test_questions_that_hang_keep_no_search_without_the_graph_waiting(tmp_path: Path) -> None:
    over = Event()
    with served(tmp_path, embedder=Embedder(lambda: over.wait(40))) as api, ThreadPoolExecutor(8) as pool:
        client = api.client("default")
        try:
            asked = [pool.submit(client.post, "/retrieve/traversal", json=QUESTION) for _ in range(8)]
            time.sleep(0.5)
            assert client.post("/retrieve/bm25", json=QUESTION).status_code == 200
            assert not any(each.done() for each in asked)
        finally:
            over.set()


@pytest.mark.nightly
@pytest.mark.parametrize("stream", [pytest.param(False, marks=pytest.mark.soak), True])
def test_questions_of_one_tenant_to_a_model_that_hangs_keep_no_other_waiting(tmp_path: Path, stream: bool) -> None:
    asked = {**QUESTION, "stream": stream}
    with (
        silent() as model,
        served(tmp_path, model=model, api_deadline=20.0) as api,
        asking(api, "/query", asked, Event()) as came,
    ):
        is_served_first(api, came)
        assert Counter(reply.status_code for reply in came)[429] > REFUSALS
