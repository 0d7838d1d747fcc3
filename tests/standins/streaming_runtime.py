"""Lambda on loopback for a web server behind Lambda Web Adapter: runtime API with streamed responses, and extensions API.

Lambda starts the adapter as an extension and, by the adapter's exec wrapper, the function's script instead of a runtime
client; so does :class:`StreamingRuntime`. A streamed response is a chunked request of the adapter: JSON with the status and
the headers, eight NUL bytes, then the body as it comes
(https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html#runtimes-custom-response-streaming).
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self

from tests.standins.loopback import LoopbackServer, send

ROOT = Path(__file__).parents[2]
_INVOCATION, _EXTENSION = "/2018-06-01/runtime/invocation/", "/2020-01-01/extension/"
_PRELUDE_END = b"\0" * 8
_SECONDS = 60.0
_ENDED = None  # stands for the end of a body in its queue


class Streamed:
    """A response while it comes: ``status`` and ``headers`` are there once the function has begun to answer."""

    def __init__(self) -> None:
        self.status, self.headers = 0, dict[str, str]()
        self.mode = self.error = ""
        self.pieces: Queue[bytes | None] = Queue()
        self._ended = False

    def body(self) -> Iterator[bytes]:
        """Yield the pieces of the body, each as soon as it is there."""
        while not self._ended:
            piece = self.pieces.get(timeout=_SECONDS)
            self._ended = piece is _ENDED
            if piece:
                yield piece

    def read(self) -> bytes:
        """Return all of the body that was not yielded."""
        return b"".join(self.body())


class StreamingRuntime(LoopbackServer):
    """The function in ``functions/<name>/run.sh`` and the adapter in processes of their own.

    ``extensions`` are the names of those that registered; ``answered_health`` says whether the web server took connections
    when the adapter asked for its first event. ``port`` is that of the runtime API, ``application`` of the web server.
    """

    def __init__(self, name: str, adapter: Path, environment: Mapping[str, str]) -> None:
        super().__init__()
        self._name, self._adapter, self._environment = name, adapter, environment
        self._events: Queue[tuple[str, Streamed]] = Queue()
        self._under_way: dict[str, Streamed] = {}
        self._begun: Queue[Streamed] = Queue()
        self._ready: Queue[None] = Queue()
        self._stack = ExitStack()
        self.extensions: list[str] = []
        self.answered_health = False
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.application: int = free.getsockname()[1]

    def __enter__(self) -> Self:
        super().__enter__()
        log = self._stack.enter_context(tempfile.TemporaryFile())
        script = ROOT / "functions" / self._name / "run.sh"
        self._log, self._processes = log, []
        for command in (self._adapter, script):
            process = subprocess.Popen([command], env=self._of_lambda(), cwd=ROOT, stdout=log, stderr=log)
            self._processes.append(process)
            self._stack.callback(_end, process)
        self._wait(self._ready)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._stack.close()
        super().__exit__(kind, *rest)

    def invoke(self, event: Mapping[str, Any]) -> Streamed:
        """Send an event; return the response as soon as it begins."""
        self._events.put((json.dumps(event), Streamed()))
        found: Streamed = self._wait(self._begun)
        return found

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.path == f"{_EXTENSION}register":
            self.extensions.append(request.headers["Lambda-Extension-Name"])
            send(request, 200, b"{}", "application/json", Lambda_Extension_Identifier="extension-1")
        elif request.path == f"{_EXTENSION}event/next":
            request.rfile.read(1)  # there is nothing to tell an extension that asked for no events: until it hangs up
        elif request.path == f"{_INVOCATION}next":
            self._next(request)
        else:
            self._response(request, body)

    def _next(self, request: BaseHTTPRequestHandler) -> None:
        if not self._under_way and self._ready.empty():
            with socket.socket() as probe:
                self.answered_health = self.answered_health or probe.connect_ex(("127.0.0.1", self.application)) == 0
            self._ready.put(None)
        event, streamed = self._events.get()
        id_ = f"6f747d0e-7a8e-4b2e-9c54-{len(self._under_way):012}"
        self._under_way[id_] = streamed
        headers = {
            "Lambda_Runtime_Aws_Request_Id": id_,
            "Lambda_Runtime_Deadline_Ms": str(int((time.time() + _SECONDS) * 1_000)),
            "Lambda_Runtime_Invoked_Function_Arn": f"arn:aws:lambda:eu-west-1:123456789012:function:{self._name}",
            "Lambda_Runtime_Trace_Id": "Root=1-5e1b4151-5ac6c58f3a2b4e0f1f2a3b4c",
        }
        send(request, 200, event.encode(), "application/json", **headers)

    def _response(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        id_, _, what = request.path.removeprefix(_INVOCATION).partition("/")
        streamed = self._under_way[id_]
        streamed.mode = request.headers.get("Lambda-Runtime-Function-Response-Mode", "buffered")
        if what == "error":
            streamed.error = body.decode()
            self._begun.put(streamed)
        else:
            self._pass_on(streamed, _chunks(request))
        streamed.pieces.put(_ENDED)
        send(request, 202, b"{}", "application/json")

    def _pass_on(self, streamed: Streamed, chunks: Iterator[bytes]) -> None:
        held = b""
        for chunk in chunks:
            held += chunk
            if not streamed.status and _PRELUDE_END in held:
                prelude, _, held = held.partition(_PRELUDE_END)
                told = json.loads(prelude)
                streamed.status, streamed.headers = told["statusCode"], told["headers"]
                self._begun.put(streamed)
            if streamed.status and held:
                streamed.pieces.put(held)
                held = b""

    def _of_lambda(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith(("LEXIGRAPH_", "AWS_"))},
            **self._environment,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.port}",
            "AWS_LAMBDA_FUNCTION_NAME": f"lexigraph-{self._name}",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "2048",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/lexigraph/{self._name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
            "AWS_LWA_PORT": str(self.application),
            "LAMBDA_TASK_ROOT": str(ROOT),
            "PATH": path,
            "POWERTOOLS_TRACE_DISABLED": "true",
        }

    def _wait(self, queue: "Queue[Any]") -> Any:
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                return queue.get(timeout=0.2)
            except Empty:
                ended = [p.args for p in self._processes if p.poll() is not None]
                self._log.seek(0)
                said = self._log.read().decode()[-2_000:]
                assert not ended, f"{ended} ended: {said}"
                assert time.monotonic() < deadline, f"{self._name} does not answer: {said}"


def _chunks(request: BaseHTTPRequestHandler) -> Iterator[bytes]:
    """Yield the chunks of a request's body, and read the trailers behind them."""
    while size := int(request.rfile.readline().partition(b";")[0], 16):
        yield request.rfile.read(size)
        request.rfile.readline()
    while request.rfile.readline().strip():
        pass


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait(30)
