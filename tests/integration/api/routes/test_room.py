"""How much comes back over HTTP and MCP: within the room, best first, and fewer are the first of more."""

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from lexigraph.api.access.keys import HEADER
from lexigraph.retrieval.stages.results import size
from tests.laptop import laptop_with
from tests.manuals import manuals, questions
from tests.server import Api, laptop_api

RETRIEVERS = ("traversal", "semantic-guided", "hybrid", "multihop", "multidoc", "recall")
WHOLE = ("multihop", "recall")  # the one takes chunks whole, the other reads no statement but those that it finds
ROOMS = (100, 300, 1_000, 2_000, 8_000)
ASKED = questions()[:3]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("room")
    with laptop_with(folder / "data", manuals()) as stores, laptop_api(folder, stores=stores) as served:
        yield served


@pytest.fixture(scope="module")
def client(api: Api) -> httpx.Client:
    return api.client()


def found(client: httpx.Client, retriever: str, question: str, **parameters: Any) -> list[dict[str, Any]]:
    reply = client.post(f"/retrieve/{retriever}", json={"question": question, "parameters": parameters})
    assert reply.status_code == 200, reply.text
    return list(reply.json()["results"])


def best_first(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((s for result in results for s in result["details"]), key=lambda s: -s["score"])


@pytest.mark.slow
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_statements_fill_their_room_best_first_and_stay_the_same_in_a_larger_one(
    client: httpx.Client, retriever: str
) -> None:
    for question in ASKED:
        before: list[str] = []
        for room in ROOMS:
            results = found(client, retriever, question, max_context_tokens=room)
            said = best_first(results)
            assert len(said) == 1 or sum(size(s["text"]) for s in said) <= room
            scores = [result["score"] for result in results]
            assert scores == sorted(scores, reverse=True)
            assert set(before) <= {s["id"] for s in said}
            before = [s["id"] for s in said]
        assert len(before) > 20, "the largest room is for many"


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_what_stands_beside_a_statement_is_marked_and_no_result(client: httpx.Client, retriever: str) -> None:
    results = found(client, retriever, ASKED[0], max_context_tokens=100)
    said = best_first(results)
    beside = [other for s in said for other in s["context"]]
    assert beside or retriever in WHOLE, "the room is for statements, not for what they are read by"
    assert {(other["reason"], other["score"]) for other in beside} <= {("context", 0.0)}
    assert not {other["id"] for other in beside} & {s["id"] for s in said}


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_three_results_are_the_first_of_twenty(client: httpx.Client, retriever: str) -> None:
    for question in ASKED:
        three = found(client, retriever, question, max_search_results=3)
        assert three == found(client, retriever, question, max_search_results=20)[:3]
        assert len(three) == 3


def test_a_tool_is_told_how_much_may_come_back(api: Api) -> None:
    def called(**arguments: Any) -> int:
        body = {"name": "traversal", "arguments": {"question": ASKED[0], "max_search_results": 100, **arguments}}
        reply = httpx.post(
            f"{api.url}/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body},
            headers={HEADER: api.key("default", "read"), "Accept": "application/json, text/event-stream"},
            timeout=30,
        )
        results = reply.json()["result"]["structuredContent"]["results"]
        return sum(size(s["text"]) for result in results for s in result["statements"])

    assert called(max_context_tokens=100) <= 100 < called(max_context_tokens=1_000) <= 1_000 < called() <= 2_000
