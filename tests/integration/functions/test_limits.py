"""Large files through the state machine, within what Step Functions gives an execution: 256 KiB of data, 25,000 events.

And that the stand-ins have the limits of the services, those that moto has not.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.state_machine import FUNCTIONS, definition
from lexigraph.ingestion.workflow import steps
from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.model.tenant import Tenant
from tests.functions import EVENTS, Deployed, deployed, invoke, message
from tests.standins.aws_server import AwsServer
from tests.standins.lambda_runtime import TooLarge, payload
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


@pytest.mark.nightly
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


def walked(machine: dict[str, Any], batches: int, parts: int) -> Execution:
    """Carry out a state machine whose functions do nothing; they say that there are so many batches and parts."""

    def invoke(name: str, _: Any) -> Any:
        at = {"bucket": "artefacts", "key": "work/batches.json"}
        return {"batches": batches, "parts": list(range(parts)), "items": at} if name == "chunk" else None

    given = json.loads((EVENTS / "parse.json").read_text("utf-8"))
    listed = [{"batch": n} for n in range(batches)]
    execution = Execution(machine, given, invoke=invoke, read=lambda *_: listed, wait=lambda _: None)
    execution.run()
    return execution


def test_what_the_map_over_100_000_chunks_would_gather_ends_an_execution_unless_it_is_nothing() -> None:
    machine, batches = definition({job: job for job in FUNCTIONS}), 100_000 // steps.BATCH_CHUNKS
    found = walked(machine, batches, 200)
    assert (found.status, found.limits.largest) == ("SUCCEEDED", 3 * batches + 1)
    del machine["States"]["Extract"]["ItemProcessor"]["States"]["ExtractBatch"]["OutputPath"]
    found = walked(machine, batches, 200)
    assert (found.status, found.error) == ("FAILED", "States.DataLimitExceeded")
    assert found.limits.largest > 5 * found.limits.bytes


@pytest.mark.parametrize(("parts", "error"), [(steps.MOST_PARTS, ""), (2_100, "States.Runtime")])
def test_the_most_parts_that_a_file_may_have_fit_into_a_history_with_room_for_retries(parts: int, error: str) -> None:
    found = walked(definition({job: job for job in FUNCTIONS}), 0, parts)
    assert found.error == error
    assert error or found.limits.noted < 0.75 * found.limits.events


# ------------------------------------------------------------ the stand-ins


def machine_of(**last: Any) -> dict[str, Any]:
    """Return a state machine of a map over the input, and what comes after it when it is caught."""
    task = {"Type": "Task", "Resource": "do", "ResultPath": "$.did", "Retry": [], "End": True, **last}
    everything = [{"ErrorEquals": ["States.ALL"], "ResultPath": None, "Next": "Caught"}]
    around = {
        "Type": "Map",
        "ItemsPath": "$.items",
        "ItemSelector": {"n.$": "$$.Map.Item.Value"},
        "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "Do", "States": {"Do": task}},
        "ResultPath": None,
        "Catch": everything,
        "End": True,
    }
    return {"StartAt": "Map", "States": {"Map": around, "Caught": {"Type": "Succeed"}}}


@pytest.mark.parametrize(
    ("items", "reply", "last", "error"),
    [
        (2_000, "x" * 200, {}, "States.DataLimitExceeded"),  # gathered
        (2_000, "x" * 200, {"OutputPath": None}, ""),
        (1, "x" * 300_000, {"OutputPath": None}, "States.DataLimitExceeded"),  # a task's own
        (1, "x" * 200_000, {"OutputPath": None}, ""),
        (3_600, "", {"OutputPath": None}, "States.Runtime"),  # seven events each
        (3_500, "", {"OutputPath": None}, ""),
    ],
)
def test_an_execution_ends_past_what_step_functions_gives_it_and_no_catch_helps(
    items: int, reply: str, last: dict[str, Any], error: str
) -> None:
    given = {"items": list(range(items))}
    execution = Execution(machine_of(**last), given, invoke=lambda *_: reply, read=lambda *_: [], wait=lambda _: None)
    assert execution.run() == ("FAILED" if error else "SUCCEEDED")
    assert execution.error == error


def test_step_functions_and_lambda_take_no_more_than_they_do_on_aws(tmp_path: Path) -> None:
    with deployed(tmp_path / "data") as made:
        states = made.cloud.client("stepfunctions")
        for size, taken in ((256 * 1024, True), (256 * 1024 + 1, False)):
            text = json.dumps({"x": "y" * (size - len(json.dumps({"x": ""})))})
            if taken:
                states.start_execution(stateMachineArn=made.arn, input=text)
            else:
                with pytest.raises(ClientError, match="ValidationException"):
                    states.start_execution(stateMachineArn=made.arn, input=text)
    assert payload({"x": "y" * 6_000_000})
    with pytest.raises(TooLarge):
        payload({"x": "y" * 6_300_000})


@pytest.mark.parametrize(
    ("operation", "asked", "said"),
    [
        ("batch_write_item", {"writes": 26}, "at most 25"),
        ("transact_write_items", {"puts": 20, "size": 300_000}, "Transaction size exceeded"),
        ("put_item", {"size": 401 * 1024}, "Item size has exceeded"),
        ("put_item", {"size": 1, "ConditionExpression": " OR ".join(["attribute_not_exists(pk)"] * 200)}, "Expression size"),
    ],
)
def test_dynamodb_refuses_what_it_refuses_on_aws(operation: str, asked: dict[str, Any], said: str) -> None:
    with AwsServer() as server:
        table = "limits"
        server.dynamodb(table)
        size = asked.pop("size", 10)

        def item(n: int) -> dict[str, Any]:
            return {"pk": {"S": f"p{n}"}, "sk": {"S": "s"}, "v": {"B": b"x" * size}}

        puts = [{"Put": {"TableName": table, "Item": item(n)}} for n in range(asked.pop("puts", 0))]
        writes = [{"PutRequest": {"Item": item(n)}} for n in range(asked.pop("writes", 0))]
        request = {"TransactItems": puts} if puts else {"RequestItems": {table: writes}} if writes else {"Item": item(0)}
        named = {} if puts or writes else {"TableName": table}
        with pytest.raises(ClientError, match=said) as refused:
            getattr(server.client("dynamodb"), operation)(**request, **named, **asked)
        server.client("dynamodb").delete_table(TableName=table)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
