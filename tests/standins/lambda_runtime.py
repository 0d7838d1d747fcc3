"""The runtime API of Lambda on loopback: what AWS's own runtime client (``awslambdaric``) asks for events and answers."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self

from tests.standins.loopback import LoopbackServer, send

ROOT = Path(__file__).parents[2]
MOST_BYTES = 6 * 2**20 + 100  # of an event, and of a reply
_INVOCATION = "/2018-06-01/runtime/invocation/"


class TooLarge(Exception):
    """What Lambda calls ``RequestTooLargeException`` and ``Function.ResponseSizeTooLarge``."""


def payload(data: Any) -> Any:
    """Return an event or a reply that Lambda hands on. Raise ``TooLarge``."""
    size = len(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise TooLarge(f"{size} bytes, more than {MOST_BYTES}")
    return data


@dataclass(frozen=True)
class Answer:
    """What a function answered: its ``reply``, or an ``error`` with its type and message."""

    reply: Any = None
    error: dict[str, Any] | None = None


class LambdaRuntime(LoopbackServer):
    """A function in a process of its own, as Lambda runs it.

    ``cold`` are the seconds of processor time from the start of the process until it asked for its first event.
    """

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        super().__init__()
        self._name, self._environment = name, environment
        self._events: Queue[str] = Queue()
        self._answers: Queue[Answer] = Queue()
        self._ready: Queue[None] = Queue()
        self.cold = 0.0

    def __enter__(self) -> Self:
        super().__enter__()
        handler = f"functions.{self._name}.handler.handler"
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LEXIGRAPH_", "AWS_"))},
            **self._environment,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.port}",
            "AWS_LAMBDA_FUNCTION_NAME": f"lexigraph-{self._name}",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "LAMBDA_TASK_ROOT": str(ROOT),
            "_HANDLER": handler,
            "POWERTOOLS_TRACE_DISABLED": "true",
            "PYTHONPATH": os.pathsep.join(filter(None, (self._environment.get("PYTHONPATH"), str(ROOT)))),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "awslambdaric", handler], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        self._until(self._ready, 60.0)
        self.cold = self.processor_seconds()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=30)
        super().__exit__(kind, *rest)

    def invoke(self, event: dict[str, Any], seconds: float = 120.0) -> Answer:
        """Send an event and return what is answered."""
        self._events.put(json.dumps(event))
        return self._until(self._answers, seconds)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def processor_seconds(self) -> float:
        """The processor time that the process has taken."""
        return processor_seconds(self.pid)

    def memory_mb(self) -> float:
        """The most memory that the process has held."""
        return memory_mb(self.pid)

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.path == f"{_INVOCATION}next":
            self._ready.put(None)
            event = self._events.get()
            headers = {
                "Lambda_Runtime_Aws_Request_Id": "6f747d0e-7a8e-4b2e-9c54-2f2f0d6f9a11",
                "Lambda_Runtime_Deadline_Ms": str(int((time.time() + 60) * 1_000)),
                "Lambda_Runtime_Invoked_Function_Arn": f"arn:aws:lambda:eu-west-1:123456789012:function:{self._name}",
                "Lambda_Runtime_Trace_Id": "Root=1-5e1b4151-5ac6c58f3a2b4e0f1f2a3b4c",
            }
            send(request, 200, event.encode(), "application/json", **headers)
            return
        told = json.loads(body or b"null")
        failed = request.path.endswith("/error")
        self._answers.put(Answer(error=told) if failed else Answer(told))
        send(request, 202, b"{}", "application/json")

    def _until(self, queue: "Queue[Any]", seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return queue.get(timeout=0.2)
            except Empty:
                ended = self._process.poll() is not None
                output = self._process.stdout.read() if ended and self._process.stdout else ""
                assert not ended, f"{self._name} ended: {output[-2_000:]}"
                assert time.monotonic() < deadline, f"{self._name} does not answer"


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Return the most memory that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024
