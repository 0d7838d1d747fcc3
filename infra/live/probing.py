"""Has functions of a deployment probe what they depend on: ``functions/probes/run.py``, called by their names.

They run with the roles, the network and the settings that they have. Whoever calls them needs lambda:InvokeFunction; no
address of the API leads there.
"""

import base64
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from infra.live.drive import Cloud
from infra.live.told import say, table
from lexigraph.aws import code_of

# by function, in order: `build`, `query` and `remove` are inside the VPC, `extract` outside; `remove` takes all out again
PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "build",
        (
            *("registry.read", "registry.write", "registry.refused", "objects.documents", "graph.status", "graph.write"),
            *("vectors.write", "vectors.large", "models.embed", "models.converse"),
        ),
    ),
    ("extract", ("registry.read", "registry.cache", "objects.artefacts", "models.embed", "models.converse")),
    (
        "query",
        (
            *("registry.session", "graph.status", "graph.read", "vectors.read"),
            *("models.embed", "models.stream", "models.rerank"),
        ),
    ),
    ("remove", ("graph.remove", "vectors.remove", "registry.owners")),
)
_ONLY_ON_AWS = {
    "registry.refused": "the emulator refuses nothing",
    "vectors.large": "a database on this machine has no such limit",
}
_REPORT = re.compile(r"(Init Duration|Restore Duration|Max Memory Used): ([\d.]+ \w+)")
_NOT_CALLED = {
    "AccessDeniedException": "your own credentials need lambda:InvokeFunction on it",
    "TooManyRequestsException": "no execution is left: ask for more (Lambda, concurrent executions) in Service Quotas",
    "ResourceNotFoundException": "the function is gone: deploy again",
}
_TRY_AGAIN = "try again; when it stays, look at the function's log"
_LATE = "nothing answered in time: look at the endpoints, the routes and the security groups of the VPC"
_BROKEN = "look at the function's log; when it lacks modules, build the layers again: make layers"
_SEE = "docs/operate.md#when-a-probe-fails"


@dataclass
class Row:
    """A line of the report: which function found what; ``status`` is ok, failed or skipped."""

    job: str
    name: str
    status: str
    ms: int
    what: str
    error: str = ""
    remedy: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


def probe(cloud: Cloud, prefix: str, *, aws: bool, least_engine: str = "") -> Iterator[Row]:
    """Yield what the functions of the deployment ``prefix`` (as ``lexigraph-dev``) find, group by group."""
    functions, client = _functions(cloud, prefix), cloud.client("lambda")
    for job, groups in PLAN:
        if job not in functions:
            yield Row(job, "function", "failed", 0, "the function is there", "it is not", "deploy again")
            continue
        started: dict[str, str] = {}
        for group in groups:
            if not aws and group in _ONLY_ON_AWS:
                yield Row(job, group, "skipped", 0, "", _ONLY_ON_AWS[group])
                continue
            asked = {"probe": {"groups": [group], "least_engine": least_engine}}
            rows, told = _asked(client, functions[job], job, group, asked)
            started = {**told, **started}
            yield from rows
        if aws:
            yield Row(job, "function.start", "ok", 0, ", ".join(f"{k} {v}" for k, v in started.items()), detail={**started})


def show(rows: list[Row]) -> None:
    """Print a table, and of what failed the error and what to do."""
    table(
        [
            (row.status, row.job, row.name, f"{row.ms / 1_000:.1f} s", row.what if row.status == "ok" else row.error)
            for row in rows
        ]
    )
    for row in rows:
        if row.status == "failed":
            say(f"\n{row.job} {row.name}: {row.error}\n  do: {row.remedy}\n  see: {_SEE}")


def as_json(rows: list[Row], **more: Any) -> str:
    """Return the report as JSON."""
    return json.dumps(
        {**more, "failed": sum(r.status == "failed" for r in rows), "rows": [asdict(r) for r in rows]}, indent=2
    )


def _asked(
    client: Any, function: Mapping[str, str], job: str, group: str, event: dict[str, Any]
) -> tuple[list[Row], dict[str, str]]:
    """Call a function; return what it found, and what Lambda says of its start."""
    began = time.monotonic()

    def failed(error: str, remedy: str) -> tuple[list[Row], dict[str, str]]:
        return [Row(job, group, "failed", round((time.monotonic() - began) * 1_000), "", error, remedy)], {}

    try:
        reply = client.invoke(**function, Payload=json.dumps(event).encode(), LogType="Tail")
        told = json.loads(reply["Payload"].read() or b"null")
    except Exception as error:  # noqa: BLE001  # botocore's many: whatever it is, it is what was found
        code = code_of(error)
        return failed(": ".join(filter(None, (type(error).__name__, code))), _NOT_CALLED.get(code, _TRY_AGAIN))
    if reply.get("FunctionError"):
        kind, message = str(told.get("errorType", "")), str(told.get("errorMessage", ""))[:300]
        late = "timed out" in message or kind == "Sandbox.Timedout"
        return failed(f"{kind}: {message}", _LATE if late else _BROKEN)
    log = base64.b64decode(reply.get("LogResult", "")).decode("utf-8", "replace")
    return [Row(job, **result) for result in told["results"]], dict(_REPORT.findall(log))


def _functions(cloud: Cloud, prefix: str) -> dict[str, dict[str, str]]:
    """Return the functions by job, in the version that others call."""
    client, found = cloud.client("cloudformation"), dict[str, dict[str, str]]()
    for stack in ("ingestion", "api"):
        pages = client.get_paginator("list_stack_resources").paginate(StackName=f"{prefix}-{stack}")
        resources = [r for page in pages for r in page["StackResourceSummaries"]]
        aliased = {
            r["LogicalResourceId"].partition("Live")[0] for r in resources if r["ResourceType"] == "AWS::Lambda::Alias"
        }
        for resource in resources:
            if resource["ResourceType"] == "AWS::Lambda::Function":
                job = re.sub(r"[0-9A-F]{8}$", "", resource["LogicalResourceId"])
                live = {"Qualifier": "live"} if job in aliased else {}
                found[job.lower()] = {"FunctionName": resource["PhysicalResourceId"], **live}
    return found
