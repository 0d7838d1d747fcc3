"""The functions in processes of their own under AWS's runtime client, and the state machine that calls them."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from lexigraph.ingestion.load import FileItem
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from tests import patient
from tests.files import section
from tests.functions import ALL, KEY, Deployed, deployed, event, inbox, message
from tests.graph_dump import dump_graph
from tests.laptop import content
from tests.models import SentenceExtractor
from tests.standins.lambda_runtime import LambdaRuntime
from tests.standins.llm_server import ScriptedLLMServer

DEFAULT = Tenant("default")
HARBOUR = "# Harbour Office\n\nThe Harbour Office runs Lighthouse.\n\nTove Lund built Granite.\n"
LONG = HARBOUR + "\n".join(
    section(f"Room {n}", f"The Harbour Office keeps Granite {n} in room {n}. Tove Lund built it.") for n in range(40)
)
GATEWAY = {"LEXIGRAPH_API_AUTH": "gateway"}
WAITS = {"manage": "8"}  # until its deadline, as nobody carries out what it is asked for
# what the functions behind the gateway answer to their payloads where nothing was ingested
ANSWERED = {
    "query": {"query.health": 200, "query.jobs": 200, "query.retrieve": 200, "query.query": 200},
    "manage": {
        "manage.upload": 202,
        "manage.upload_url": 200,
        "manage.ingest": 202,
        "manage.remove": 404,
        "manage.relate": 422,
    },
    "curate": {"curate.decide": 404, "curate.undo": 404},
}
pytestmark = pytest.mark.slow


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(("LEXIGRAPH_", "AWS_"))}


# started by the test of a file's whole way, which looks at their warm-up, too
ON_THE_WAY = ("start", "parse", "chunk", "extract", "build", "finish", "remove")


def check_warm_up(name: str, function: LambdaRuntime) -> None:
    """Fail where a warm-up is not answered, or starting took too much processor time or memory."""
    assert function.invoke(event("warmup")).reply == {"warm": True}
    assert function.cold < 10, name
    assert function.memory_mb() < 512, name


@pytest.mark.parametrize("name", [name for name in ALL if name not in ON_THE_WAY])
def test_every_function_starts_under_the_runtime_client_and_answers_a_warm_up(tmp_path: Path, name: str) -> None:
    settings = {**GATEWAY, "LEXIGRAPH_API_DEADLINE": WAITS.get(name, "60")}
    with deployed(tmp_path, aws=True, **settings), LambdaRuntime(name, environment()) as function:
        check_warm_up(name, function)
        for payload, status in ANSWERED.get(name, {}).items():
            reply = function.invoke(event(payload)).reply
            assert reply["statusCode"] == status, (payload, reply)
        if name == "authorize":
            reply = function.invoke(event("authorize")).reply
            assert reply["policyDocument"]["Statement"][0]["Effect"] == "Deny", "the key of the payload is nobody's"
        assert function.memory_mb() < 512


def test_a_file_goes_all_the_way_through_functions_in_their_own_processes(tmp_path: Path) -> None:
    with deployed(tmp_path / "data", aws=True) as made, ExitStack() as started:
        functions: dict[str, LambdaRuntime] = {}

        def running(name: str) -> LambdaRuntime:
            """Return the environment of a function, kept from one call to the next, as Lambda does."""
            if name not in functions:
                functions[name] = started.enter_context(LambdaRuntime(name, environment()))
                check_warm_up(name, functions[name])
            return functions[name]

        told = message("start.created", version_id=made.put(HARBOUR))
        assert running("start").invoke(told).reply == {"batchItemFailures": []}
        asked, uri, registry = made.started()[0], f"s3://{inbox()}/{KEY}", made.stores.registry
        other = event("remove.documents")["removal"]["job_id"]
        registry.start_job(DEFAULT, "relate", {}, job_id=other)
        for name, payload in (
            ("parse", event("parse", **asked)),
            ("chunk", event("chunk", run=asked["run"])),
            ("extract", event("extract", run=asked["run"])),
            ("build", event("build", run=asked["run"])),
            ("finish", event("finish", run=asked["run"])),
            ("finish", event("finish.close", run=asked["run"])),
        ):
            answer = running(name).invoke(payload)
            assert answer.error is None, answer
            if name == "build":
                refused = running(name).invoke(event("build.relate")).error
                same = running(name).invoke(event("build.reembed", model="")).error
                assert same is not None and "is already in use" in same["errorMessage"]
        found = content(made.stores)
        failed = event("finish.failed", run=asked["run"])
        registry.finish_job(DEFAULT, asked["run"]["job_id"], "RUNNING", {})
        error = running("finish").invoke(failed).error
        assert running("finish").invoke(event("finish.ended")).error is None
        assert "a newer version of the file was uploaded" in registry.job(DEFAULT, other).reason
        registry.finish_job(DEFAULT, other, "RUNNING", {})
        made.delete()
        assert running("start").invoke(message("start.deleted")).reply == {"batchItemFailures": []}
        remove = running("remove")
        gone = remove.invoke(event("remove", run=made.started()[1]["run"])).reply
        assert remove.invoke(event("remove.documents")).reply == {"documents_removed": 0}  # it is gone
        assert remove.invoke(event("remove.tend")).reply == {"tenants": 0, "late_writers": 0}
        assert remove.invoke(event("remove.check")).reply["at"]["part"] == "done"
        assert functions.keys() == set(ON_THE_WAY)
    path = tmp_path / "harbour.md"
    path.write_text(HARBOUR)
    with LexicalGraphIndex(settings=Settings(data=tmp_path / "whole")) as whole:
        whole.ingest([FileItem(path, uri, "md")])
        assert found == content(whole.stores)
    assert gone == {"documents_removed": 1}
    assert refused is not None
    assert "the document no longer exists" in refused["errorMessage"]
    assert error is not None
    assert error["errorType"] == "IngestFailed"


# ------------------------------------------------------------ the state machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Deployed]:
    with deployed(tmp_path / "data", carried_out=True) as made:
        yield made


def arrive(made: Deployed, name: str, **replaced: Any) -> dict[str, Any]:
    """Tell `start` of a change and wait for the execution that it begins."""
    states = made.cloud.client("stepfunctions")
    before = {e["executionArn"] for e in states.list_executions(stateMachineArn=made.arn)["executions"]}
    made.cloud.functions["start"](message(name, **replaced))
    new = {e["executionArn"] for e in states.list_executions(stateMachineArn=made.arn)["executions"]} - before
    return made.cloud.ended(new.pop())


def whole(folder: Path, text: str, uri: str) -> Any:
    path = folder / "harbour.md"
    path.write_text(text)
    with LexicalGraphIndex(extractor=SentenceExtractor(), settings=Settings(data=folder / "whole")) as index:
        index.ingest([FileItem(path, uri, "md")])
        return content(index.stores)


@pytest.mark.nightly
def test_the_state_machine_brings_a_file_in_replaces_it_and_takes_it_out(machine: Deployed, tmp_path: Path) -> None:
    uri = f"s3://{inbox()}/{KEY}"
    assert arrive(machine, "start.created", version_id=machine.put(LONG))["status"] == "SUCCEEDED"
    batches = [asked["batch"] for name, asked in machine.cloud.invoked if name == "extract"]
    assert sorted(batches) == [0, 1, 2]
    first = content(machine.stores)

    again = LONG.replace("in room 7.", "in the cellar.")
    assert arrive(machine, "start.overwritten", version_id=machine.put(again))["status"] == "SUCCEEDED"
    second = content(machine.stores)
    machine.delete()
    assert arrive(machine, "start.deleted")["status"] == "SUCCEEDED"

    assert whole(tmp_path, LONG, uri) == first
    assert whole(tmp_path, again, uri) == second
    assert machine.stores.registry.documents(DEFAULT) == []
    assert machine.stores.graph.stats(DEFAULT)["statements"] == 0


def compared(made: Deployed, **asked: Any) -> tuple[dict[str, Any], int]:
    """Have the stores compared, a place a call; return what the execution tells, and how many calls it took."""
    before, given = len(made.cloud.invoked), event("remove.check")
    given["check"] |= {"seconds": 0, **asked}
    began = made.cloud.client("stepfunctions").start_execution(
        stateMachineArn=made.arn, name=f"check-{before}", input=json.dumps(given)
    )
    ended = made.cloud.ended(began["executionArn"])
    assert ended["status"] == "SUCCEEDED", ended
    return json.loads(ended["output"])["check"], len(made.cloud.invoked) - before


@pytest.mark.nightly
def test_an_operator_has_the_state_machine_compare_the_stores_and_put_them_right(machine: Deployed) -> None:
    assert arrive(machine, "start.created", version_id=machine.put(HARBOUR))["status"] == "SUCCEEDED"
    stores, whole = machine.stores, content(machine.stores)
    (record,) = stores.registry.documents(DEFAULT)
    gone = "source:" + "9" * 32
    stores.documents.put(DEFAULT, gone, "text.1", b"left")
    stores.documents.put(DEFAULT, record.source_id, "text.9", b"old")
    left = content(stores)

    told, calls = compared(machine)
    assert told["problems"] == {"records of another version are left over": 1, "is in a store but not in the registry": 1}
    found = {one["uri"]: (one["remedy"], one["repaired"]) for one in told["findings"]}
    assert found == {record.uri: ("collect them", False), gone: ("remove it", False)}
    assert calls > len(found)
    assert content(stores) == left

    told, _ = compared(machine, repair=True)
    assert [one["repaired"] for one in told["findings"]] == [True, True]
    assert content(stores) == whole
    told, calls = compared(machine, seconds=600)
    assert (told["problems"], told["findings"], calls) == ({}, [], 1)


def test_a_step_that_fails_for_good_fails_the_execution_with_the_reason_in_the_job(machine: Deployed) -> None:
    def refuse(name: str, asked: Any) -> None:
        if name == "extract":
            raise ValueError("the model's reply quotes a document")

    machine.cloud.before = refuse
    ended = arrive(machine, "start.created", version_id=machine.put(HARBOUR))

    (job,) = machine.stores.registry.jobs(DEFAULT)
    (record,) = machine.stores.registry.documents(DEFAULT)
    assert (ended["status"], job.status, record.state) == ("FAILED", "FAILED", "FAILED")
    assert "quotes" not in json.dumps([job.reason, record.reason])
    assert job.reason


@pytest.mark.nightly
def test_a_step_that_is_busy_is_tried_again(machine: Deployed) -> None:
    refused: list[str] = []

    def busy(name: str, asked: Any) -> None:
        if name in ("parse", "extract", "build") and name not in refused:
            refused.append(name)
            raise ModelUnavailable("throttled")

    machine.cloud.before = busy
    ended = arrive(machine, "start.created", version_id=machine.put(HARBOUR))

    assert (ended["status"], sorted(refused)) == ("SUCCEEDED", ["build", "extract", "parse"])
    assert machine.stores.graph.stats(DEFAULT)["sources"] == 1


def test_a_run_that_a_newer_one_overtakes_ends_without_a_failure(machine: Deployed) -> None:
    newest = machine.put(HARBOUR.replace("Granite", "Basalt"))

    def overtake(name: str, asked: Any) -> None:
        if name == "build" and len(machine.stores.registry.jobs(DEFAULT)) == 1:
            machine.cloud.functions["start"](message("start.overwritten", version_id=newest))

    machine.cloud.before = overtake
    ended = arrive(machine, "start.created", version_id=machine.put(HARBOUR))
    states = machine.cloud.client("stepfunctions")
    for execution in states.list_executions(stateMachineArn=machine.arn)["executions"]:
        assert machine.cloud.ended(execution["executionArn"])["status"] == "SUCCEEDED"

    newer, older = machine.stores.registry.jobs(DEFAULT)
    assert (ended["status"], newer.status, older.status) == ("SUCCEEDED", "SUCCEEDED", "FAILED")
    assert older.result["superseded_by"] == newer.id


# ------------------------------------------------------------ streaming


@pytest.mark.nightly
def test_the_stream_function_is_a_web_server_that_believes_only_its_adapter(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = {"tenant": "default", "scopes": "read", "key_id": "k", "databases": "[]", "rate": "0"}
    trusted = {"X-Amzn-Request-Context": json.dumps({"authorizer": said})}
    with (
        deployed(tmp_path, LEXIGRAPH_API_AUTH="adapter"),
        serving(port) as url,
        httpx.Client(base_url=url, timeout=patient.SECONDS) as client,
    ):
        nobody = client.get("/jobs")
        forged = client.get("/jobs", headers=[("X-Amzn-Request-Context", "{}"), *trusted.items()])
        reader = client.get("/jobs", headers=trusted)
        lines: list[str] = []
        asked = {"question": "Who built Granite?", "stream": True}
        with client.stream("POST", "/query", json=asked, headers=trusted, timeout=60) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            lines += reply.iter_lines()

    assert (nobody.status_code, forged.status_code, reader.status_code) == (401, 401, 200)
    assert any(line.startswith("data:") for line in lines)


@contextmanager
def serving(port: int) -> Iterator[str]:
    """Start the function's own script, as Lambda Web Adapter does, and wait for its health."""
    root = Path(__file__).parents[3]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "AWS_LWA_PORT": str(port), "LAMBDA_TASK_ROOT": str(root), "PATH": path}
    process = subprocess.Popen([root / "functions" / "stream" / "run.sh"], env=environment, cwd=root)
    try:
        deadline, url = time.monotonic() + 60, f"http://127.0.0.1:{port}"
        while True:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            with suppress(httpx.TransportError):
                if patient.get(f"{url}/health").status_code == 200:
                    break
            time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.nightly
def test_new_chunks_are_related_through_the_gateway_and_the_state_machine(tmp_path: Path) -> None:
    found, text = list[dict[str, Any]](), LONG.partition("## Room 6")[0]
    model = {"LEXIGRAPH_API_AUTH": "gateway", "LEXIGRAPH_LLM": "openai:test"}
    with ScriptedLLMServer(lambda _: {"relations": found}) as server:
        model["LEXIGRAPH_LLM_OPTIONS"] = json.dumps({"base_url": server.base_url})
        with deployed(tmp_path / "data", carried_out=True, **model) as made:
            assert arrive(made, "start.created", version_id=made.put(text))["status"] == "SUCCEEDED"
            found.append({"type": "CAUSES", "direction": "forward", "confidence": 0.8, "evidence": ""})
            before = dump_graph(made.stores.graph, DEFAULT)

            asked = {"path": f"s3://{inbox()}/{KEY}", "inc_rel_only": "true", "detect_after": "true", "new_count": "2"}
            again = {**asked, "rel_truncate": "200"}  # pairs that were asked about in the same way are not asked about again
            wrong = {"path": asked["path"], "inc_rel_only": "true", "new_after": "chunk_900"}
            with LambdaRuntime("manage", environment()) as function:
                first, told, refused = (streamed(function, query) for query in (asked, again, wrong))
            relations = dump_graph(made.stores.graph, DEFAULT)
            jobs = made.stores.registry.jobs(DEFAULT)

    assert first[-2]["result"]["created"] == 1, "of the pairs that are further apart than an ingest asks about"
    assert [data.get("stage") for data in told[1:2] + told[-3:]] == [
        *("relation_incremental_start", "relation_incremental_done", "result", "done"),
    ]
    result = told[-2]["result"]
    assert (result["mode"], result["new"], result["created"]) == ("relations_incremental", 2, result["pairs"] - 1)
    assert relations != before
    assert refused[-1]["stage"] == "error"
    assert "new_after" in refused[-1]["error"]
    assert [job.status for job in jobs] == ["FAILED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"]


def streamed(function: LambdaRuntime, query: dict[str, str]) -> list[dict[str, Any]]:
    """Return the data of the events that the gateway's function answers with."""
    many = {name: [value] for name, value in query.items()}
    answer = function.invoke(event("manage.relate", queryStringParameters=query, multiValueQueryStringParameters=many))
    assert answer.reply["statusCode"] == 200, answer
    lines = str(answer.reply["body"]).splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
