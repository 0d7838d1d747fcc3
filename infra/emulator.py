"""AWS on loopback: ministack in a process of its own, the environment that leads programs to it, and what it noted."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from infra.layers import ROOT
from infra.live import http
from infra.live.programs import run
from infra.live.told import Failed

PROGRAM = ROOT / ".emulator" / "bin" / "ministack"
ACCOUNT, REGION = "000000000000", "us-east-1"
_START_SECONDS, _END_SECONDS = 60.0, 10.0
_LINES = 25  # of each log that are shown when something failed
_NOISE = ("START ", "END ", "REPORT ", '{"_aws"')  # metrics, and what frames a call


class Emulator:
    """A running ministack; ``environment`` leads AWS clients to it and to nowhere else.

    Everything it keeps lies in ``folder``. Raise :class:`Failed` when it does not start.
    """

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        given = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "LEXIGRAPH_", "PYTHON"))}
        self.environment = {
            **given,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "CDK_HOME": str(folder),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
        }
        own = {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(self._port), "TMPDIR": str(folder)}
        own["IOT_MTLS_ENABLED"] = "0"  # else it listens on all interfaces for MQTT
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # of the functions, many processes on few cores
        self._log = folder / "emulator.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM)],
                env={**self.environment, **own, **threads},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the functions are processes of its group and end with it
            )
        try:
            self._wait()
        except BaseException:
            self.end()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                http.ask(f"{self.url}/_ministack/health", seconds=5)
                return
            except OSError:
                time.sleep(0.1)
        raise Failed(f"the emulator did not start: {self._log.read_text('utf-8')[-2_000:]}")

    def end(self) -> None:
        """Stop it and all that it started."""
        for number, seconds in ((signal.SIGTERM, _END_SECONDS), (signal.SIGKILL, _END_SECONDS)):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(seconds)
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def client(self, service: str) -> Any:
        """Return a client of a service."""
        import boto3  # type: ignore[import-untyped]  # has no types

        session = boto3.session.Session("test", "test", region_name=REGION)
        return session.client(service, endpoint_url=self.url)

    def run(self, *command: str, seconds: float, cwd: Path = ROOT, **environment: str) -> str:
        """Run a program that sees this AWS; return what it printed. Raise :class:`Failed` with its words."""
        return run(*command, environment={**self.environment, **environment}, seconds=seconds, cwd=cwd)

    def executions(self, machine: str) -> list[dict[str, Any]]:
        """Return the executions of a state machine, oldest first."""
        found = self.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
        return sorted(found, key=lambda e: e["startDate"])

    def logged(self, group: str, what: str) -> int:
        """Return how many lines of a log group have a text in them."""
        return sum(what in line for line in self._lines(group))

    def _lines(self, group: str) -> list[str]:
        pages = self.client("logs").get_paginator("filter_log_events").paginate(logGroupName=group)
        return [event["message"].rstrip() for page in pages for event in page["events"]]

    def _history(self, execution: dict[str, Any]) -> list[dict[str, Any]]:
        pages = self.client("stepfunctions").get_paginator("get_execution_history")
        return [e for page in pages.paginate(executionArn=execution["executionArn"]) for e in page["events"]]

    def told(self) -> str:
        """Return the end of what the emulator, the functions and the executions that failed said."""
        noted = self._log.read_text("utf-8").partition("Ready")[2].splitlines()
        lines = ["emulator:", *[line for line in noted if " INFO [" not in line and not line.startswith(_NOISE)][-_LINES:]]
        try:
            lines += self._functions() + self._failures()
        except Exception as error:  # noqa: BLE001  # it is for people, and something failed already
            lines.append(f"its logs cannot be read: {type(error).__name__}")
        return "\n".join(lines)

    def _functions(self) -> list[str]:
        lines = []
        for group in self.client("logs").describe_log_groups(logGroupNamePrefix="/lexigraph/")["logGroups"]:
            of_interest = [line for line in self._lines(group["logGroupName"]) if not line.startswith(_NOISE)]
            lines += [f"{group['logGroupName']}:", *of_interest[-_LINES:]]
        return lines

    def _failures(self) -> list[str]:
        machines = self.client("stepfunctions").list_state_machines()["stateMachines"]
        lines = []
        for execution in (e for m in machines for e in self.executions(m["stateMachineArn"])):
            if execution["status"] != "SUCCEEDED":
                events = self._history(execution)
                way = [e["stateEnteredEventDetails"]["name"] for e in events if "stateEnteredEventDetails" in e]
                errors = [d for e in events for k, d in e.items() if "Failed" in k and isinstance(d, dict)]
                lines.append(f"execution {execution['name']} {execution['status']}: {' '.join(way[:20])}")
                lines += [f"  {json.dumps(error, default=str)}" for error in errors[:5]]
        return lines
