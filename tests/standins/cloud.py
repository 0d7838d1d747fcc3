"""What an ingest needs of AWS, on loopback: moto's S3, DynamoDB and Step Functions, and Lambda that calls real handlers.

The state machine runs in moto's interpreter, which invokes functions over HTTP as the service would. moto has no limits of
size and history: an execution that ended is held to them.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from tests.standins.aws_server import ACCOUNT, REGION, AwsServer
from tests.standins.lambda_runtime import payload
from tests.standins.loopback import hang_up, send
from tests.standins.states import Limits

Handler = Callable[[dict[str, Any]], Any]
_INVOKE = "/2015-03-31/functions/"


class Cloud(AwsServer):
    """``functions`` maps names to handlers; ``invoked`` are the calls, with ``before`` called ahead of each of them.

    ``traces`` are the headers of X-Ray that executions were started with.
    """

    def __init__(self, functions: Mapping[str, Handler]) -> None:
        super().__init__()
        self.functions = dict(functions)
        self.invoked: list[tuple[str, Any]] = []
        self.traces: list[str] = []
        self.before: Callable[[str, Any], None] = lambda name, event: None

    def arn(self, name: str) -> str:
        """The ARN of a function."""
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"

    @contextmanager
    def state_machine(self, definition: Mapping[str, Any], *, carried_out: bool = True) -> Iterator[str]:
        """Make a state machine; the value is its ARN. Where it is not ``carried_out``, executions only begin."""
        from moto.core.config import default_user_config

        default_user_config["stepfunctions"]["execute_state_machine"] = carried_out
        os.environ["MOTO_PORT"] = str(self.port)
        role = f"arn:aws:iam::{ACCOUNT}:role/workflow"
        states = self.client("stepfunctions")
        try:
            made = states.create_state_machine(name=f"ingest-{self.port}", definition=json.dumps(definition), roleArn=role)
            yield made["stateMachineArn"]
            states.delete_state_machine(stateMachineArn=made["stateMachineArn"])
        finally:
            default_user_config["stepfunctions"]["execute_state_machine"] = False
            os.environ.pop("MOTO_PORT", None)

    def started(self, arn: str) -> list[dict[str, Any]]:
        """Return the inputs of the executions of a state machine, oldest first."""
        states = self.client("stepfunctions")
        found = states.list_executions(stateMachineArn=arn)["executions"]
        arns = [e["executionArn"] for e in sorted(found, key=lambda e: e["startDate"])]
        return [json.loads(states.describe_execution(executionArn=arn)["input"]) for arn in arns]

    def forget_executions(self) -> None:
        """Let there be no execution, so that one of the same name may begin again."""
        from moto.stepfunctions.models import stepfunctions_backends

        for machine in stepfunctions_backends[ACCOUNT][REGION].state_machines:
            machine.executions.clear()

    def ended(self, execution: str, seconds: float = 60.0) -> dict[str, Any]:
        """Return an execution when it is over."""
        states, deadline = self.client("stepfunctions"), time.monotonic() + seconds
        while (found := states.describe_execution(executionArn=execution))["status"] == "RUNNING":
            assert time.monotonic() < deadline, "the execution does not end"
            time.sleep(0.05)
        self._check_history(execution)
        return found

    def _check_history(self, execution: str) -> None:
        """Refuse what Step Functions would have ended: too many events, or data that is too large."""
        limits = Limits()
        pages = self.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution)
        events = [event for page in pages for event in page["events"]]
        assert len(events) <= limits.events
        for event in events:
            for name, details in event.items():
                if name.endswith("EventDetails"):
                    for data in (details.get("input", ""), details.get("output", "")):
                        assert len(data.encode()) <= limits.bytes, (event["type"], details.get("name"))

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.path.startswith(_INVOKE):
            self._invoke(request, unquote(request.path.removeprefix(_INVOKE).partition("/")[0]), body)
        elif request.headers.get("X-Amz-Target", "").startswith("AWSStepFunctions"):
            self._start(request, body)
        else:
            super().answer(request, body)

    def _invoke(self, request: BaseHTTPRequestHandler, arn: str, body: bytes) -> None:
        name, event = arn.rpartition(":")[2], json.loads(body)
        self.invoked.append((name, event))
        try:
            self.before(name, event)
            send(request, 200, json.dumps(payload(self.functions[name](payload(event)))).encode(), "application/json")
        except Exception as error:  # noqa: BLE001  # what a function raises is its reply
            told = {"errorType": type(error).__name__, "errorMessage": str(error)}
            send(request, 200, json.dumps(told).encode(), "application/json", X_Amz_Function_Error="Unhandled")

    def _start(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer a request to Step Functions, or let it fail as the script says."""
        if len(json.loads(body).get("input", "").encode()) > Limits().bytes:
            told = {"__type": "ValidationException", "message": "Value at 'input' failed to satisfy constraint: length"}
            return send(request, 400, json.dumps(told).encode(), "application/x-amz-json-1.0")
        fault = self.scripted(f"States {request.headers['X-Amz-Target'].rpartition('.')[2]}")
        if fault and fault.kind not in ("cut", "drop"):
            told = {"__type": fault.kind if fault.kind.startswith("Access") else "ThrottlingException", "message": ""}
            return send(request, 400, json.dumps(told).encode(), "application/x-amz-json-1.0")
        if fault is None or fault.kind == "cut":
            if request.headers["X-Amz-Target"].endswith(".StartExecution"):
                self.traces.append(request.headers.get("X-Amzn-Trace-Id", ""))
            answer = self._step_functions(request, body)
        return hang_up(request) if fault else self._reply(request, *answer)

    def _step_functions(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any], bytes]:
        from botocore.awsrequest import AWSPreparedRequest
        from botocore.compat import HTTPHeaders

        host = f"states.{REGION}.amazonaws.com"
        headers = HTTPHeaders()
        for name, value in request.headers.items():
            headers[name] = host if name.lower() == "host" else value
        answered = self._moto.process_request(AWSPreparedRequest("POST", f"https://{host}/", headers, body, False))
        assert answered is not None
        status, told, reply = answered
        return int(status), dict(told), reply.encode() if isinstance(reply, str) else bytes(reply)
