"""Cold start, memory and warm calls of each function, with the packages of its layer, under AWS's runtime client.

python -m bench.functions
python -m bench.functions --function query --times 5

Processor seconds, the least of several processes, on this machine; Lambda's processors differ. `import` is from the start of
the process until it asks for its first event; `ready` is that and the first call less a warm one, so with all clients of AWS
made. Packages come from the core layer, built for this machine; the last column is of that layer without its compiled
modules. The stores are the stand-ins of the tests for Neptune, OpenSearch Serverless, DynamoDB, S3 and Bedrock, with two
documents; `query` answers a question, `stream` streams the answer to one, `authorize` looks a key up, the others are warmed
up, which loads nothing more. `stream` is its web server, asked as Lambda Web Adapter asks it; the adapter itself, which does
not take a hundredth of a second, is left out.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from functions.invoke import EVENTS
from infra.layers import ROOT, core_of_host
from tests.functions import ALL
from tests.standins.deployment import aws_deployment
from tests.standins.lambda_runtime import LambdaRuntime, memory_mb, processor_seconds

SETTINGS = {
    "POWERTOOLS_TRACE_DISABLED": "true",  # there is nobody to send traces to
    "LEXIGRAPH_API_AUTH": "gateway",
    "LEXIGRAPH_INBOX": "s3://lexigraph-inbox",
    "LEXIGRAPH_WORKFLOW": "arn:aws:states:eu-west-1:123456789012:stateMachine:lexigraph",
    # as on Lambda with one or two processors; OpenBLAS would use all of this machine
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
PAYLOADS = {"query": "query.query", "authorize": "authorize"}
READER = {"authorizer": {"tenant": "default", "scopes": "read", "key_id": "k", "databases": "[]", "rate": "0"}}
WARM_CALLS = 20
_SECONDS = 60.0


@dataclass(frozen=True)
class Measured:
    """One process: seconds of processor time, megabytes at most, and milliseconds of processor time a warm call."""

    imported: float
    ready: float
    memory: float
    warm: float


def measure(name: str, environment: dict[str, str]) -> Measured:
    """Start a function and call it."""
    with _stream(environment) if name == "stream" else _function(name, environment) as (pid, call):
        imported = processor_seconds(pid)
        call()
        first = processor_seconds(pid)
        for _ in range(WARM_CALLS):
            call()
        warm = (processor_seconds(pid) - first) / WARM_CALLS
        return Measured(imported, first - warm, memory_mb(pid), warm * 1_000)


@contextmanager
def _function(name: str, environment: dict[str, str]) -> Iterator[tuple[int, Callable[[], None]]]:
    """Start a function under the runtime client; the value is its process and what calls it."""
    calls = _payloads(name)
    with LambdaRuntime(name, environment) as function:

        def call() -> None:
            answer = function.invoke(next(calls))
            if answer.error or (isinstance(answer.reply, dict) and answer.reply.get("statusCode", 200) != 200):
                raise SystemExit(f"the function failed: {answer}")

        yield function.pid, call


@contextmanager
def _stream(environment: dict[str, str]) -> Iterator[tuple[int, Callable[[], None]]]:
    """Start the web server of `stream`; the value is its process and what asks it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    questions = _questions()
    own = {"LEXIGRAPH_API_AUTH": "adapter", "AWS_LWA_PORT": str(port), "LAMBDA_TASK_ROOT": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (
        subprocess.Popen(
            [ROOT / "functions" / "stream" / "run.sh"], env={**os.environ, **environment, **own, "PATH": path}, cwd=ROOT
        ) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_SECONDS) as client,
    ):
        headers = {"X-Amzn-Request-Context": json.dumps(READER)}

        def call() -> None:
            body = {"question": next(questions), "stream": True}
            with client.stream("POST", "/query", json=body, headers=headers) as reply:
                if reply.status_code != 200 or b"error" in b"".join(reply.iter_raw()):
                    raise SystemExit(f"the function failed: {reply}")

        try:
            _wait_for_health(client)
            yield process.pid, call
        finally:
            process.kill()


def _wait_for_health(client: httpx.Client) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        with suppress(httpx.TransportError):
            if client.get("/health").status_code == 200:
                return
        time.sleep(0.05)
    raise SystemExit("the server does not answer")


def _payloads(name: str) -> Iterator[dict[str, Any]]:
    """Yield its event again and again, `query` with another question each time."""
    event: dict[str, Any] = json.loads((EVENTS / f"{PAYLOADS.get(name, 'warmup')}.json").read_text())
    for question in _questions():
        yield {**event, "body": json.dumps({"question": question})} if name == "query" else event


def _questions() -> Iterator[str]:
    """Yield questions, none twice, so that none is answered from memory."""
    number = 0
    while True:
        number += 1
        yield f"Who leads the team that owns Tidewater in year {number}?"


def main() -> None:
    """Parse the command line, measure, and print a row for each function."""
    known = (*ALL, "stream")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--function", action="append", choices=known, help="may be repeated (default all)")
    parser.add_argument("--times", type=int, default=3, help="processes of each kind (default 3)")
    given = parser.parse_args()
    print("| function | import, s | ready, s | ready, not compiled, s | memory, MB | warm call, ms |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, aws_deployment(**SETTINGS) as environment:
        layer, plain = core_of_host().folder, Path(folder) / "plain"
        shutil.copytree(layer, plain, ignore=shutil.ignore_patterns("__pycache__"))
        of_layer, of_plain = (
            {**environment, "PYTHONPATH": str(at / "python"), "PYTHONDONTWRITEBYTECODE": "1"} for at in (layer, plain)
        )
        for name in given.function or known:
            runs = [measure(name, of_layer) for _ in range(max(1, given.times))]
            compiling = min(measure(name, of_plain).ready for _ in range(max(1, given.times)))
            figures = (f"{min(getattr(run, what) for run in runs):.2f}" for what in ("imported", "ready"))
            memory, warm = max(run.memory for run in runs), min(run.warm for run in runs)
            print(f"| {name} | {' | '.join(figures)} | {compiling:.2f} | {memory:.0f} | {warm:.1f} |", flush=True)


if __name__ == "__main__":
    main()
