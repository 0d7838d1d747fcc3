"""The tools of the Model Context Protocol, by the official client: over HTTP with a key, and over stdio."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver.exceptions import ToolError

from lexigraph.api.access.keys import HEADER, Principal
from lexigraph.api.mcp import make_server
from lexigraph.api.service import Service
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from tests import patient
from tests.laptop import write_pages
from tests.server import Api, laptop_api

PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.",
    "Heron Team": "The Heron Team is led by Ines Calloway.",
}
TOOLS = {"traversal", "semantic_guided", "hybrid", "multihop", "multidoc", "topic", "query", "hm_recall"}
SECONDS = 60


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with laptop_api(tmp_path_factory.mktemp("mcp"), pages=PAGES) as served:
        yield served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(Settings(data=tmp_path_factory.mktemp("refused")))
    yield made
    made.close()


def over_http(api: Api, key: str, *calls: tuple[str, dict[str, Any]]) -> tuple[set[str], list[Any]]:
    """The names of the tools, and the results of calls."""

    async def ask() -> tuple[set[str], list[Any]]:
        with anyio.fail_after(SECONDS):
            async with (
                httpx.AsyncClient(headers={HEADER: key}) as client,
                streamable_http_client(f"{api.url}/mcp", http_client=client) as streams,
                ClientSession(streams[0], streams[1]) as session,
            ):
                await session.initialize()
                tools = {tool.name for tool in (await session.list_tools()).tools}
                return tools, [await session.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(ask)


@pytest.mark.requirement("M-23")
def test_the_retrievers_and_recall_are_tools(api: Api) -> None:
    question = {"question": "Who leads the Heron Team?"}
    asked = [(name, question) for name in sorted(TOOLS - {"hm_recall"})]
    tools, results = over_http(api, api.key("default", "read"), *asked, ("hm_recall", {"query": "Heron Team"}))
    assert tools == TOOLS
    assert not [r for r in results if r.is_error]
    for (name, _), result in zip(asked, results, strict=False):
        assert "Ines Calloway" in json.dumps(result.structured_content), name
    assert results[-1].structured_content["nodes"]


def test_a_model_reads_each_statement_once_and_the_sources_that_are_cited(api: Api) -> None:
    question = {"question": "Who leads the Heron Team?"}
    calls = [(name, question) for name in sorted(TOOLS - {"hm_recall", "query"})]
    _, (*searches, answer) = over_http(api, api.key(), *calls, ("query", question))
    for (name, _), result in zip(calls, searches, strict=True):
        (content,) = result.content
        assert json.loads(content.text) == result.structured_content, name
        assert content.text.count(PAGES["Heron Team"]) == 1, name
        assert len(content.text) < 1_500, name
        assert all(s["reason"] for r in result.structured_content["results"] for s in r["statements"]), name
    labels = re.findall(r"\[(S\d+)\]", answer.structured_content["answer"])
    assert [source["label"] for source in answer.structured_content["sources"]] == labels


def test_another_tenant_s_tools_find_nothing(api: Api) -> None:
    question = {"question": "Who leads the Heron Team?"}
    calls = [(name, question) for name in sorted(TOOLS - {"hm_recall"})]
    _, results = over_http(api, api.key("other", "read"), *calls, ("hm_recall", {"query": "Heron Team"}))
    assert len(results) == len(TOOLS)
    for result in results:
        assert not result.is_error
        assert "Ines" not in json.dumps(result.structured_content or {}) + str(result.content)


def test_recall_takes_filters_too(api: Api) -> None:
    asked = {"query": "Heron Team", "filters": {"key": "namespace", "operator": "==", "value": "elsewhere"}}
    _, (found, none) = over_http(api, api.key(), ("hm_recall", {"query": "Heron Team"}), ("hm_recall", asked))
    assert found.structured_content["nodes"]
    assert none.structured_content["nodes"] == []


def test_bad_arguments_and_a_missing_scope_are_told_in_a_line(api: Api) -> None:
    _, (empty, long) = over_http(
        api, api.key(), ("traversal", {"question": "?!"}), ("hm_recall", {"query": "(a", "force_regex": True})
    )
    for result in (empty, long):
        assert result.is_error
        assert "invalid_input" in str(result.content)
        assert "Traceback" not in str(result.content)
    _, (refused,) = over_http(api, api.key("default", "ingest"), ("query", {"question": "Who?"}))
    assert refused.is_error
    assert "scope" in str(refused.content)


def test_where_the_sdk_is_not_installed_the_route_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with laptop_api(tmp_path) as served:
        reply = served.client().post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (reply.status_code, reply.json()["error"]) == (501, "not_installed")
        assert 'pip install "lexigraph[mcp]"' in reply.json()["hint"]
        assert served.client().get("/health").status_code == 200


def test_without_a_key_there_are_no_tools(api: Api) -> None:
    reply = patient.post(f"{api.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert (reply.status_code, reply.json()["error"]) == (401, "unauthorized")


SECRET = "hunter2-is-a-secret"
WELL = {"key": "year", "operator": "==", "value": 1}


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = WELL
    for _ in range(levels - 1):
        found = {"condition": "and", "filters": [found]}
    return found


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("traversal", {"question": "Who?", "max_search_results": SECRET}, "max_search_results: must be"),
        ("traversal", {"question": "Who?", "max_reslts": 3}, "'max_reslts'; did you mean 'max_search_results'? Known: "),
        ("traversal", {"question": "Who?", "top_k": 3, "bogus": SECRET}, "arguments: unknown parameter 'top_k'. Known: "),
        ("query", {"quesiton": "Who?"}, "unknown parameter 'quesiton'; did you mean 'question'? Known: "),
        ("query", {"question": SECRET * 300}, "question: must have at most 4000 characters"),
        ("query", {"question": "?"}, "question: must contain a letter or digit"),
        ("query", {}, "question: is required"),
        ("hm_recall", {"query": "Heron", "filters": SECRET}, "filters: must be an object"),
        ("hm_recall", {"query": "Heron", "filters": {**WELL, "operator": SECRET}}, "filters.operator must be one of =="),
        ("hm_recall", {"query": "Heron", "filters": {**WELL, "valeu": SECRET}}, "filters.valeu: unknown field"),
        (
            "hm_recall",
            {"query": "Heron", "filters": {**WELL, "key": SECRET * 20}},
            "filters.key must be a string of 1 to 200",
        ),
        ("hm_recall", {"query": "Heron", "filters": nested(90)}, "nested more than 16 deep"),
        ("traversal", {"question": "Who?", "filters": nested(90)}, "nested more than 16 deep"),
        (
            "hm_recall",
            {"query": f"({SECRET}", "force_regex": True},
            "query is not a valid RE2 regular expression (missing ))",
        ),
        ("hm_recall", {"query": "Heron", "session_id": "\ud800"}, "arguments: text must not contain"),
    ],
)
def test_bad_arguments_are_refused_by_name_without_what_was_given(
    service: Service, tool: str, arguments: dict[str, Any], told: str
) -> None:
    server = make_server(service, lambda _: Principal(Tenant("default"), frozenset({"read"})))
    with pytest.raises(ToolError) as refused:
        anyio.run(server.call_tool, tool, arguments)
    said = str(refused.value)
    assert said.startswith("invalid_input: ")
    assert told in said
    assert SECRET not in said
    assert "pydantic" not in said


def test_the_tools_say_that_they_take_nothing_else(service: Service) -> None:
    server = make_server(service, lambda _: Principal(Tenant("default"), frozenset({"read"})))
    told = {tool.name: tool.input_schema["additionalProperties"] for tool in anyio.run(server.list_tools)}
    assert told == dict.fromkeys(TOOLS, False)


def test_every_argument_is_described_and_the_hints_are_true(service: Service) -> None:
    server = make_server(service, lambda _: Principal(Tenant("default"), frozenset({"read"})))
    for tool in anyio.run(server.list_tools):
        assert all(its["description"] for its in tool.input_schema["properties"].values()), tool.name
        assert tool.annotations is not None
        # recall notes in the session what it found, so that it is found more easily next
        assert tool.annotations.read_only_hint is (tool.name != "hm_recall")
        assert (tool.annotations.destructive_hint, tool.annotations.open_world_hint) == (False, False)


def test_a_filter_that_no_document_passes_says_which_name_is_unknown(api: Api) -> None:
    def warned(**condition: Any) -> list[str]:
        asked = {"question": "Who leads the Heron Team?", "filters": condition}
        _, (found,) = over_http(api, api.key(), ("traversal", asked))
        return [warning["detail"] for warning in found.structured_content["warnings"]]

    (unknown,) = warned(key="yeer", operator="==", value=3)
    assert unknown.startswith("no document matches the filter; no document has yeer in its metadata")
    (elsewhere,) = warned(key="namespace", operator="==", value="elsewhere")
    assert elsewhere.startswith("no document matches the filter:")
    assert warned(key="namespace", operator="==", value="default") == []


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_session_to_listen_to_or_to_end(api: Api, path: str, method: str) -> None:
    client = api.client()
    with client.stream(method, path, headers={"accept": "text/event-stream"}, timeout=10) as reply:
        reply.read()
    assert (reply.status_code, reply.json()["error"]) == (405, "method_not_allowed")
    assert reply.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": {"a": SECRET}}), "not a JSON-RPC 2.0 message"),
        (f'{{"jsonrpc": "{SECRET}', "the body is not valid JSON"),
        ('{"id": ' + "1" * 5_000 + "}", "the body: numbers must have at most 4,300 digits"),
        ("[" * 100_000, "the body: nested more than 16 deep"),
    ],
)
def test_what_is_no_message_is_refused_without_what_was_sent(api: Api, content: str, told: str) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    reply = api.client().post("/mcp", content=content, headers=headers)
    assert (reply.status_code, reply.json()["error"]) == (422, "invalid_input")
    assert told in reply.json()["message"]
    assert SECRET not in reply.text


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("prompts/get", {"name": "x\nERROR forged"}),
        ("resources/read", {"uri": "x\nERROR forged"}),
        ("tools/call", {"name": "x\nERROR forged"}),
        ("tools/call", {"name": "query", "arguments": {"x\nERROR forged": ""}}),
        ("x\nERROR forged", {}),
    ],
)
def test_what_is_not_there_is_told_to_who_asked_and_makes_no_line_of_the_log(
    api: Api, caplog: pytest.LogCaptureFixture, method: str, asked: dict[str, Any]
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": asked}
    client = api.with_headers({HEADER: api.key(), "accept": "application/json, text/event-stream"})
    with caplog.at_level("INFO"):
        told = client.post("/mcp", json=message).json()
    assert "error" in told or told["result"]["isError"]
    assert "\nERROR forged" not in caplog.text


def test_the_command_serves_the_tools_over_stdio(tmp_path: Path) -> None:
    import subprocess

    lexigraph = str(Path(sys.executable).with_name("lexigraph"))
    corpus, data = write_pages(tmp_path / "corpus", PAGES), tmp_path / "data"
    subprocess.run([lexigraph, "--data", str(data), "ingest", str(corpus)], check=True, capture_output=True, timeout=120)

    async def ask() -> Any:
        with anyio.fail_after(SECONDS):
            command = StdioServerParameters(command=lexigraph, args=["--data", str(data), "mcp"])
            async with stdio_client(command) as (reading, writing), ClientSession(reading, writing) as session:
                await session.initialize()
                return await session.call_tool("traversal", {"question": "Who leads the Heron Team?"})

    result = anyio.run(ask)
    assert not result.is_error
    assert "Ines Calloway" in json.dumps(result.structured_content)
