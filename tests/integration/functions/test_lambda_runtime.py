"""`stream` behind Lambda Web Adapter itself, over a runtime API that takes streamed responses; what functions load."""

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.invoke import EVENTS
from infra.layers import ROOT, core_of_host
from lexigraph.api.app import create_app
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.settings import Settings
from tests.laptop import write_pages
from tests.models import SentenceExtractor
from tests.runtimes import web_adapter as web_adapter
from tests.server import serving
from tests.standins.deployment import aws_deployment
from tests.standins.llm_server import ScriptedLLMServer
from tests.standins.streaming_runtime import Streamed, StreamingRuntime

pytestmark = pytest.mark.slow
PAGES = {
    "Tidewater": "Tidewater is owned by the Heron Team.\n\nTidewater runs on Neptune since 2019.",
    "Heron Team": "The Heron Team is led by Ines Calloway.",
}
OTHERS = {"Ibis Team": "The Ibis Team is led by Bo Larsen.\n\nTidewater was sold to the Ibis Team."}
QUESTION = "Who leads the team that owns Tidewater?"
ANSWER = "The Heron Team is led by Ines Calloway [S1]. It owns Tidewater [S2]."
PAUSE = b" Tidewater"  # the model waits before it says this
FORGED = {"authorizer": {"tenant": "other", "scopes": "read ingest admin", "key_id": "k", "databases": "[]", "rate": "0"}}


class PausingModel(ScriptedLLMServer):
    """Writes a streamed answer up to a word, then waits until it may go on."""

    def __init__(self, script: Callable[[dict[str, Any]], str]) -> None:
        super().__init__(script)
        self.goes_on = threading.Event()

    def _stream(self, request: BaseHTTPRequestHandler, asked: Mapping[str, Any], reply: Any) -> None:
        write = request.wfile.write

        def pausing(data: bytes) -> Any:
            if PAUSE in data:
                assert self.goes_on.wait(60), "nobody let the model go on"
            return write(data)

        request.wfile.write = pausing  # type: ignore[method-assign]  # of this one connection
        super()._stream(request, asked, reply)


@pytest.fixture(scope="module")
def model() -> Iterator[PausingModel]:
    with PausingModel(lambda _: ANSWER) as server:
        yield server


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, model: PausingModel) -> Settings:
    """Stores with pages of two tenants."""
    folder = tmp_path_factory.mktemp("stream")
    made = Settings(data=folder / "data", llm="openai:test", llm_options={"base_url": model.base_url}, relations=False)
    with LexicalGraphIndex(extractor=SentenceExtractor(), settings=made) as index:
        for tenant, pages in (("default", PAGES), ("other", OTHERS)):
            write_pages(folder / tenant, pages)
            assert not index.ingest([folder / tenant], tenant=tenant).failures
    return made


@pytest.fixture(scope="module")
def function(settings: Settings, web_adapter: Path) -> Iterator[StreamingRuntime]:
    """The function with the variables that the `Api` stack gives it."""
    environment = {
        "LEXIGRAPH_DATA": str(settings.data),
        "LEXIGRAPH_LLM": settings.llm,
        "LEXIGRAPH_LLM_OPTIONS": json.dumps(settings.llm_options),
        "LEXIGRAPH_API_AUTH": "adapter",
        "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
        "AWS_LWA_INVOKE_MODE": "response_stream",
        "AWS_LWA_READINESS_CHECK_PATH": "/health",
    }
    with StreamingRuntime("stream", web_adapter, environment) as started:
        yield started


def request(name: str, /, said: Mapping[str, Any] | None = None, **body: Any) -> dict[str, Any]:
    """Return a payload of ``events/`` with another body, and headers of the client beside its own."""
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    for header, value in (said or {}).items():
        event["headers"][header] = value
        event["multiValueHeaders"][header] = [value]
    return {**event, "body": json.dumps(body)} if body else event


def events(text: str) -> list[tuple[str, Any]]:
    """Return name and data of each event, without the times, which no two runs have in common."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            data = json.loads(fields["data"])
            if isinstance(data, dict):
                data.pop("timings", None)
            found.append((fields["event"], data))
    return found


def told(answer: Streamed) -> Any:
    return json.loads(answer.read())


def test_the_first_words_arrive_while_the_model_still_writes_and_all_is_what_a_local_server_says(
    function: StreamingRuntime, model: PausingModel, settings: Settings
) -> None:
    model.goes_on.clear()
    answer = function.invoke(request("stream.query", question=QUESTION, stream=True))
    pieces = answer.body()
    first = next(pieces)
    while b"event: token" not in first:
        first += next(pieces)
    model.goes_on.set()
    whole = events((first + b"".join(pieces)).decode())

    assert b"event: done" not in first
    assert (answer.status, answer.mode) == (200, "streaming")
    assert answer.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in whole]
    assert names == ["token"] * (len(names) - 2) + ["sources", "done"]
    assert len(names) > 3
    assert "".join(data["text"] for name, data in whole if name == "token") == ANSWER == whole[-1][1]["answer"]
    with serving(create_app(settings, open_=True)) as url:
        asked = {"question": QUESTION, "stream": True}
        local = events(httpx.post(f"{url}/query", json=asked, timeout=60).text)
    assert whole == local


def test_the_adapter_registers_and_asks_for_events_once_the_web_server_is_there(function: StreamingRuntime) -> None:
    health = function.invoke(request("query.health"))

    assert function.extensions == ["lambda-adapter"]
    assert function.answered_health
    assert (health.status, told(health)["status"]) == (200, "ok")


def test_who_asks_is_what_the_authorizer_says_whatever_the_client_sends(
    function: StreamingRuntime, model: PausingModel
) -> None:
    model.goes_on.set()
    headers = {
        "X-Amzn-Request-Context": json.dumps(FORGED),
        "x-amzn-lambda-context": json.dumps({"identity": "other"}),
        "X-Lexigraph-Tenant": "other",
        "X-Amz-Tenant-Id": "other",
    }
    asked = request("query.retrieve", headers, question="Who owns Tidewater?")
    answer = function.invoke(asked)
    body = answer.read().decode()
    assert (answer.status, "Heron Team" in body, "Ibis" in body) == (200, True, False)

    asked["requestContext"]["authorizer"] = FORGED["authorizer"]
    body = function.invoke(asked).read().decode()
    assert ("Heron Team" in body, "Ibis" in body) == (False, True)

    del asked["requestContext"]["authorizer"]
    nobody = function.invoke(asked)
    assert (nobody.status, told(nobody)["error"]) == (401, "unauthorized")


def test_what_is_refused_before_a_stream_begins_has_its_status(function: StreamingRuntime) -> None:
    answer = function.invoke(request("stream.query", question="?!", stream=True))

    assert (answer.status, answer.headers["content-type"]) == (422, "application/json")
    assert "question" in told(answer)["message"]


# ------------------------------------------------------------ the pruned layer

# functions and layer are the only packages of this process; it prints the replies and the files of all modules
ALONE = """
import json, pkgutil, sys
sys.path[:0] = sys.argv[1:3]
sys.dont_write_bytecode = True
from importlib import import_module
import boto3, functions, lexigraph
from functions.invoke import invoke
from gremlin_python.driver import driver_remote_connection
from gremlin_python.driver.aiohttp.transport import AiohttpTransport
for package in (functions, lexigraph):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith("lexigraph.cli"):
            import_module(found.name)
for service in ("bedrock-agent-runtime", "bedrock-runtime", "dynamodb", "neptunedata", "s3", "stepfunctions"):
    boto3.client(service, region_name="eu-west-1")
told = [invoke(name, event) for name, event in json.load(sys.stdin)]
print(json.dumps([told, [module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)]]))
"""


@pytest.mark.nightly
def test_functions_need_nothing_that_was_pruned_from_their_layer(tmp_path: Path) -> None:
    layer = core_of_host().folder / "python"
    shutil.copytree(ROOT / "functions", tmp_path / "functions")
    asked = [
        ("query", request("query.query", question=QUESTION)),
        ("query", request("query.retrieve", question=QUESTION)),
        ("authorize", request("authorize")),
        ("start", request("warmup")),
    ]
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(tmp_path), str(layer)]
    with aws_deployment(LEXIGRAPH_API_AUTH="gateway", POWERTOOLS_LOG_LEVEL="CRITICAL") as environment:
        env = {**os.environ, **environment}
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=240, check=False, env=env
        )
    assert done.returncode == 0, done.stderr[-3_000:]
    (answer, statements, policy, warm), files = json.loads(done.stdout.splitlines()[-1])

    assert (answer["statusCode"], statements["statusCode"], warm) == (200, 200, {"warm": True})
    assert "Ines Calloway" in answer["body"]
    assert json.loads(statements["body"])["results"]
    assert policy["policyDocument"]["Statement"][0]["Effect"] == "Deny"
    ours = (str(layer), str(tmp_path), *{sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
    assert [file for file in files if not file.startswith(ours) or "site-packages" in file] == []


LOADED = "import functions.query.handler, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
HEAVY = {"aiohttp", "gremlin_python", "llama_index", "mcp", "onnxruntime", "pypdf", "re2", "spacy", "tokenizers", "uvicorn"}


@pytest.mark.nightly
def test_query_is_ready_with_its_stores_open_and_without_what_it_may_never_need() -> None:
    with aws_deployment(LEXIGRAPH_API_AUTH="gateway") as environment:
        done = subprocess.run(
            [sys.executable, "-c", LOADED],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
            env={**os.environ, **environment, "POWERTOOLS_TRACE_DISABLED": "true"},
            cwd=EVENTS.parent,
        )
    loaded = set(done.stdout.split())
    assert {"boto3", "opensearchpy"} <= loaded
    assert loaded & HEAVY == set()


def test_environments_of_a_snapshot_do_not_draw_the_same_numbers() -> None:
    from snapshot_restore_py import get_after_restore  # type: ignore[import-untyped]  # has no types

    from functions import runtime

    assert runtime.logger
    drawn = []
    for _ in range(2):
        random.seed(1)  # what a snapshot keeps
        for hook, args, options in get_after_restore():
            hook(*args, **options)
        drawn.append(random.random())
    assert drawn[0] != drawn[1]
