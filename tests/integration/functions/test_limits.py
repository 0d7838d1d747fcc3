"""Large files through the state machine, within what Step Functions gives an execution: 256 KiB of data, 25,000 events."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.state_machine import FUNCTIONS, definition
from lexigraph.ingestion.workflow import steps
from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.model.tenant import Tenant
from tests.functions import EVENTS, Deployed, deployed, invoke, message
from tests.standins.states import Execution, Limits, TaskFailed

pytestmark = pytest.mark.slow
OWNER = Tenant("default")
KEY = "default/default/places.jsonl"


def call(name: str, asked: Any) -> Any:
    try:
        return invoke(name, asked)
    except Exception as error:
        told = {"errorType": type(error).__name__, "errorMessage": str(error)}
        raise TaskFailed(type(error).__name__, json.dumps(told)) from error


def brought_in(made: Deployed, text: str, limits: Limits) -> Execution:
    """Bring a jsonl file in by the state machine; return the execution, which is over."""

    def read(bucket: str, key: str) -> list[Any]:
        found: list[Any] = json.loads(made.cloud.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
        return found

    invoke("start", message("start.created", key=KEY, version_id=made.put(text, KEY)))
    machine = definition({job: job for job in FUNCTIONS})
    execution = Execution(machine, made.started()[-1], invoke=call, read=read, wait=lambda _: None, limits=limits)
    execution.run()
    return execution


def lines(documents: int) -> str:
    """Return documents of a chunk each."""
    return "\n".join(json.dumps({"id": str(n), "text": f"Room {n} has {n % 7} boards of Oak."}) for n in range(documents))


@pytest.mark.parametrize("chunks", [1_000, pytest.param(100_000, marks=pytest.mark.soak)], ids=["small", "full"])
def test_a_file_of_many_chunks_stays_within_what_an_execution_may_use(tmp_path: Path, chunks: int) -> None:
    """In full with the limits of the service; small with limits that are smaller in proportion, but for what is fixed."""
    share = chunks / 100_000
    limits = Limits(max(2_048, int(Limits().bytes * share)), max(200, int(Limits().events * share)))
    with deployed(tmp_path / "data", words=True) as made:
        execution = brought_in(made, lines(chunks), limits)
        assert (execution.status, execution.error) == ("SUCCEEDED", "")
        job = made.stores.registry.job(OWNER, execution.given["run"]["job_id"])
        assert (job.status, job.result["documents_new"], job.result["chunks_new"]) == ("SUCCEEDED", chunks, chunks)


def test_a_file_of_more_parts_than_a_history_has_room_for_is_refused_before_anything_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MOST_PARTS", 2)
    with deployed(tmp_path / "data", words=True) as made:
        execution = brought_in(made, lines(1_001), Limits())
        run = FileRun.of(execution.given["run"])
        job, chunked = made.stores.registry.job(OWNER, run.job_id), made.steps.artefacts(run).get("chunked")
    assert (execution.status, job.status, chunked) == ("FAILED", "FAILED", None)
    assert "split the file" in job.reason


@pytest.mark.parametrize(("parts", "status"), [(steps.MOST_PARTS, "SUCCEEDED"), (2_100, "FAILED")])
def test_the_most_parts_that_a_file_may_have_fit_into_a_history_with_room_for_retries(parts: int, status: str) -> None:
    def invoke(name: str, _: Any) -> Any:
        return {"batches": 0, "parts": list(range(parts))} if name == "chunk" else None

    machine = definition({job: job for job in FUNCTIONS})
    given = json.loads((EVENTS / "parse.json").read_text("utf-8"))
    execution = Execution(machine, given, invoke=invoke, read=lambda *_: [], wait=lambda _: None)
    assert execution.run() == status
    assert execution.error == ("" if status == "SUCCEEDED" else "States.Runtime")
    if status == "SUCCEEDED":
        assert execution.limits.noted < 0.75 * execution.limits.events
