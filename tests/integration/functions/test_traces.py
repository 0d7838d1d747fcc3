"""What a function does is told to the daemon of X-Ray, below the call that X-Ray began."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexigraph import telemetry
from tests.functions import Deployed, deployed, event, invoke, message
from tests.integration.functions.test_handlers import HARBOUR, called

pytestmark = pytest.mark.slow
PARENT = "bbbbbbbbbbbbbbbb"  # the segment that X-Ray began
Sent = Callable[[], list[dict[str, Any]]]


@contextmanager
def traced(folder: Path, **options: Any) -> Iterator[tuple[Deployed, str, Sent]]:
    """Deploy functions whose calls X-Ray traces: the deployment, the id of the trace, and what the daemon was sent."""
    trace = f"1-{int(time.time()):08x}-aaaaaaaaaaaaaaaaaaaaaaaa"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(0.5)
        daemon.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        of_x_ray = {
            "AWS_LAMBDA_FUNCTION_NAME": "one",
            "LEXIGRAPH_API_AUTH": "gateway",
            "LEXIGRAPH_TELEMETRY": "xray",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
            "_X_AMZN_TRACE_ID": f"Root={trace};Parent={PARENT};Sampled=1",
        }

        def sent() -> list[dict[str, Any]]:
            found = []
            while True:
                try:
                    found.append(json.loads(daemon.recv(65_535).split(b"\n", 1)[1]))
                except TimeoutError:
                    return found

        try:
            with deployed(folder, **of_x_ray, **options) as made:
                yield made, trace, sent
        finally:
            telemetry.use(None)


def test_store_calls_of_functions_are_subsegments_of_their_call(tmp_path: Path) -> None:
    with traced(tmp_path / "data", aws=True) as (made, trace, told):
        version = made.put(HARBOUR)
        assert invoke("start", message("start.created", version_id=version)) == {"batchItemFailures": []}
        assert invoke("query", event("query.retrieve"))["statusCode"] == 200
        sent = told()
    assert {one["trace_id"] for one in sent} == {trace}
    known = {one["id"] for one in sent} | {PARENT}
    assert {one["parent_id"] for one in sent} <= known
    [request] = [one for one in sent if one["name"].startswith("POST /")]
    assert request["parent_id"] == PARENT
    systems = {one["metadata"]["lexigraph"].get("db.system.name") for one in sent}
    assert {"aws.dynamodb", "sqlite"} <= systems
    assert "Harbour" not in json.dumps(sent)


@pytest.mark.nightly
def test_an_execution_continues_the_trace_of_who_starts_it_and_every_step_is_found_by_its_job(tmp_path: Path) -> None:
    with traced(tmp_path / "data", carried_out=True) as (made, trace, told):
        status, reply = called("manage", event("manage.upload"))
        assert status == 202
        invoke("start", message("start.created", version_id=""))
        states = made.cloud.client("stepfunctions")
        [execution] = states.list_executions(stateMachineArn=made.arn)["executions"]
        assert made.cloud.ended(execution["executionArn"])["status"] == "SUCCEEDED"
        assert made.cloud.traces == [f"Root={trace};Parent={PARENT};Sampled=1"]
        sent = told()
    steps = {one["name"]: one["annotations"] for one in sent if "job_id" in one.get("annotations", {})}
    assert steps.keys() == {"handover", "start", "parse", "chunk", "extract", "build", "finish"}
    assert {one["job_id"] for one in steps.values()} == {reply["job_id"]}
