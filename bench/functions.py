"""Cold start, memory and warm calls of each function under AWS's runtime client.

python -m bench.functions
python -m bench.functions --function query --times 5

Processor seconds, the least of several processes, on this machine; Lambda's processors differ. `import` is from the start of
the process until it asks for its first event; `ready` is that and the first call less a warm one, so with all clients of AWS
made. `ready, from sources` is without compiled modules, as layers are deployed. The stores are the stand-ins of the tests
for Neptune, OpenSearch Serverless, DynamoDB, S3 and Bedrock, with two documents; `query` answers a question, `authorize`
looks a key up, the others are warmed up, which loads nothing more.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from functions.invoke import EVENTS
from tests.functions import ALL
from tests.standins.deployment import aws_deployment
from tests.standins.lambda_runtime import LambdaRuntime

SETTINGS = {
    "LEXIGRAPH_API_AUTH": "gateway",
    "LEXIGRAPH_INBOX": "s3://lexigraph-inbox",
    "LEXIGRAPH_WORKFLOW": "arn:aws:states:eu-west-1:123456789012:stateMachine:lexigraph",
    # as on Lambda with one or two processors; OpenBLAS would use all of this machine
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
PAYLOADS = {"query": "query.query", "authorize": "authorize"}
WARM_CALLS = 20


@dataclass(frozen=True)
class Measured:
    """One process: seconds of processor time, megabytes at most, and milliseconds of processor time a warm call."""

    imported: float
    ready: float
    memory: float
    warm: float


def measure(name: str, environment: dict[str, str]) -> Measured:
    """Start a function and call it."""
    calls = _payloads(name)
    with LambdaRuntime(name, environment) as function:
        _call(function, next(calls))
        first = function.processor_seconds()
        for _ in range(WARM_CALLS):
            _call(function, next(calls))
        warm = (function.processor_seconds() - first) / WARM_CALLS
        return Measured(function.cold, first - warm, function.memory_mb(), warm * 1_000)


def _call(function: LambdaRuntime, payload: dict[str, Any]) -> None:
    answer = function.invoke(payload)
    if answer.error or (isinstance(answer.reply, dict) and answer.reply.get("statusCode", 200) != 200):
        raise SystemExit(f"the function failed: {answer}")


def _payloads(name: str) -> Iterator[dict[str, Any]]:
    """Yield its event again and again; no question is asked twice, so that none is answered from memory."""
    event: dict[str, Any] = json.loads((EVENTS / f"{PAYLOADS.get(name, 'warmup')}.json").read_text())
    number = 0
    while True:
        number += 1
        asked = json.dumps({"question": f"Who leads the team that owns Tidewater in year {number}?"})
        yield {**event, "body": asked} if name == "query" else event


def main() -> None:
    """Parse the command line, measure, and print a row for each function."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--function", action="append", choices=ALL, help="may be repeated (default all)")
    parser.add_argument("--times", type=int, default=3, help="processes of each kind (default 3)")
    given = parser.parse_args()
    print("| function | import, s | ready, s | ready, from sources, s | memory, MB | warm call, ms |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as empty, aws_deployment(**SETTINGS) as environment:
        sources = {**environment, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": f"{empty}/none"}
        for name in given.function or ALL:
            runs = [measure(name, environment) for _ in range(max(1, given.times))]
            compiling = measure(name, sources)
            figures = (f"{min(getattr(run, what) for run in runs):.2f}" for what in ("imported", "ready"))
            memory, warm = max(run.memory for run in runs), min(run.warm for run in runs)
            print(f"| {name} | {' | '.join(figures)} | {compiling.ready:.1f} | {memory:.0f} | {warm:.1f} |", flush=True)


if __name__ == "__main__":
    main()
