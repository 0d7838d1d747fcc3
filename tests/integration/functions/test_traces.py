"""What a function does is told to the daemon of X-Ray, below the call that X-Ray began."""

import json
import socket
import time
from pathlib import Path

import pytest

from lexigraph import telemetry
from tests.functions import deployed, event, invoke, message
from tests.integration.functions.test_handlers import HARBOUR

pytestmark = pytest.mark.slow


def test_store_calls_of_functions_are_subsegments_of_their_call(tmp_path: Path) -> None:
    begun = f"{int(time.time()):08x}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(0.5)
        daemon.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
        of_x_ray = {
            "LEXIGRAPH_API_AUTH": "gateway",
            "LEXIGRAPH_TELEMETRY": "xray",
            "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
            "_X_AMZN_TRACE_ID": f"Root=1-{begun}-aaaaaaaaaaaaaaaaaaaaaaaa;Parent=bbbbbbbbbbbbbbbb;Sampled=1",
        }
        try:
            with deployed(tmp_path / "data", aws=True, **of_x_ray) as made:
                version = made.put(HARBOUR)
                assert invoke("start", message("start.created", version_id=version)) == {"batchItemFailures": []}
                assert invoke("query", event("query.retrieve"))["statusCode"] == 200
        finally:
            telemetry.use(None)
        sent = []
        while True:
            try:
                sent.append(json.loads(daemon.recv(65_535).split(b"\n", 1)[1]))
            except TimeoutError:
                break
    assert {one["trace_id"] for one in sent} == {f"1-{begun}-aaaaaaaaaaaaaaaaaaaaaaaa"}
    known = {one["id"] for one in sent} | {"bbbbbbbbbbbbbbbb"}
    assert {one["parent_id"] for one in sent} <= known
    [request] = [one for one in sent if one["name"].startswith("POST /")]
    assert request["parent_id"] == "bbbbbbbbbbbbbbbb"
    systems = {one["metadata"]["lexigraph"].get("db.system.name") for one in sent}
    assert {"aws.dynamodb", "sqlite"} <= systems
    assert "Harbour" not in json.dumps(sent)
