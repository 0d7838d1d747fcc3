"""The workflow that brings a file in, or takes it out, as Amazon States Language: plain data, no CDK.

    Which -> Parse -> Chunk -> Extract (a Distributed Map over batches of chunks) -> Parts (Build, Finish) -> Close
          -> Remove
          -> Relate (new chunks of a document to others)
          -> Check (compares the stores, call by call until all is looked at)
          -> Named -> Reembed (embeds all records by another model, call by call until all are there)
          -> Load (starts Neptune's bulk loader and looks every two minutes until it is over)

From an upload to a searchable document, each function in ``functions/<name>/handler.py``, each step in
:class:`lexigraph.ingestion.workflow.steps.Steps`:

1. S3 tells EventBridge of the new object, a rule puts that into a queue (``stacks/ingestion.py``), and `start` claims the
   file for a run and starts an execution of this machine. `remove` takes out what came out of a file that was deleted.
2. `parse` reads the file into documents, `chunk` cuts them, `extract` asks the model about each batch of chunks: what they
   leave for the next step lies in the bucket of artefacts.
3. `build` writes a part of the documents to registry, graph and vectors, where no reader sees it yet; `finish` shows it,
   and after the last part closes the run: its job has succeeded.

What fails is tried again; in the end ``Failed`` records the reason and fails the execution. A redrive starts there: the
function then opens the job again and the workflow goes on, where finished steps cost nothing. An older run of a file that
a newer one has overtaken ends as ``Superseded``, which is no failure.
"""

from collections.abc import Mapping
from typing import Any

State = dict[str, Any]

FUNCTIONS = ("parse", "chunk", "extract", "build", "finish", "remove")
DAY_SECONDS = 86_400
LOOK_SECONDS = 120  # a look takes ten events of 25,000: three days
TASK_SECONDS = 920  # a little longer than the longest that Lambda lets a function run

_LAMBDA = [
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "Sandbox.Timedout",
    "States.Timeout",
]
# what passes within minutes after a deployment, or when a function was not called for weeks: interfaces, snapshots, its code
_NOT_READY = [
    "Lambda.EC2ThrottledException",
    "Lambda.ENINotReadyException",
    "Lambda.ResourceNotReadyException",
    "Lambda.SnapStartNotReadyException",
]
# what the functions raise, by the names of the classes
_BUSY = {"IntervalSeconds": 2, "BackoffRate": 2.0, "MaxAttempts": 6, "MaxDelaySeconds": 120, "JitterStrategy": "FULL"}
_HELD = {"IntervalSeconds": 10, "BackoffRate": 1.5, "MaxAttempts": 30, "MaxDelaySeconds": 60, "JitterStrategy": "FULL"}
# no environment is free: hours when thousands of files come at once
_CROWDED = {"IntervalSeconds": 2, "BackoffRate": 2.0, "MaxAttempts": 400, "MaxDelaySeconds": 120, "JitterStrategy": "FULL"}
_WAKING = {"IntervalSeconds": 15, "BackoffRate": 2.0, "MaxAttempts": 12, "MaxDelaySeconds": 120, "JitterStrategy": "FULL"}
RETRY = [
    {"ErrorEquals": ["Lambda.TooManyRequestsException"], **_CROWDED},
    {"ErrorEquals": _NOT_READY, **_WAKING},
    {"ErrorEquals": ["Conflict"], **_HELD},
    {"ErrorEquals": ["StoreUnavailable", "ModelUnavailable", "Refused", *_LAMBDA], **_BUSY},
]
_SUPERSEDED = {"ErrorEquals": ["Superseded"], "ResultPath": None, "Next": "Superseded"}
CATCH = [_SUPERSEDED, {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Failed"}]


def definition(arns: Mapping[str, str], *, concurrency: int = 10) -> State:
    """Return the definition. ``arns`` maps each of :data:`FUNCTIONS` to its ARN.

    ``concurrency`` batches of a file are extracted at the same time, with `extract_concurrency` requests each; how many
    of all files is for the function's own limit to say.
    """
    return {
        "Comment": "Brings a file into the lexical graph, or takes it out",
        "StartAt": "Which",
        "TimeoutSeconds": 7 * DAY_SECONDS,
        "States": {
            "Which": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.action", "StringEquals": "remove", "Next": "Remove"},
                    {"Variable": "$.action", "StringEquals": "relate", "Next": "Relate"},
                    {"Variable": "$.action", "StringEquals": "check", "Next": "Check"},
                    {"Variable": "$.action", "StringEquals": "reembed", "Next": "Named"},
                    {"Variable": "$.action", "StringEquals": "load", "Next": "Load"},
                ],
                "Default": "Parse",
            },
            "Parse": _task(arns["parse"], result="$.parsed", next_="Chunk"),
            "Chunk": _chunk(arns["chunk"], everything=False),
            "ChunkEverything": _chunk(arns["chunk"], everything=True),
            "Batches": {
                "Type": "Choice",
                "Choices": [{"Variable": "$.work.batches", "NumericEquals": 0, "Next": "Parts"}],
                "Default": "Extract",
            },
            "Extract": _extract(arns["extract"], concurrency),
            "Parts": _parts(arns["build"], arns["finish"]),
            "Close": _task(arns["finish"], {"run.$": "$.run"}),
            "Remove": _task(arns["remove"]),
            "Relate": _task(arns["build"]),
            # it belongs to no job: what fails it fails the execution, which goes on there when it is redriven
            **_repeated("Check", "Checked", _task(arns["remove"], result="$.check", next_="IsChecked", caught=False)),
            **_repeated(
                "Load",
                "Loaded",
                _task(arns["build"], result="$.load", next_="IsLoaded", caught=False),
                pause=LOOK_SECONDS,
            ),
            # nobody has begun a job for it: its id follows from this name, whichever call comes first
            "Named": {
                "Type": "Pass",
                "InputPath": "$$.Execution.Name",
                "ResultPath": "$.reembed.execution",
                "Next": "Reembed",
            },
            **_repeated("Reembed", "Reembedded", _task(arns["build"], result="$.reembed", next_="IsReembedded")),
            # tells the job and the documents why, and fails with that reason; driven on again, it returns
            "Failed": {**_task(arns["finish"], next_="Which"), "Retry": RETRY[:], "Catch": [_SUPERSEDED]},
            "Superseded": {"Type": "Succeed"},
        },
    }


def _repeated(name: str, ended: str, task: State, *, pause: int = 0) -> State:
    """Return the states of a task that is called until it says that its last part is done, and ends the execution.

    ``pause`` are the seconds between two calls.
    """
    done = {"Variable": f"{task['ResultPath']}.at.part", "StringEquals": "done", "Next": ended}
    again = {"Type": "Choice", "Choices": [done], "Default": f"{name}Waits" if pause else name}
    waits = {f"{name}Waits": {"Type": "Wait", "Seconds": pause, "Next": name}} if pause else {}
    return {name: task, task["Next"]: again, **waits, ended: {"Type": "Succeed"}}


def _task(
    arn: str,
    parameters: State | None = None,
    *,
    result: str | None = None,
    next_: str = "",
    caught: bool = True,
    last: bool = False,
) -> State:
    """Return a task. Its result is put at a path of its input, or dropped.

    One that is the ``last`` of a map's iteration hands on nothing: a map gathers what its iterations hand on, and ends the
    execution, past every catch, when that is more than 256 KiB.
    """
    state: State = {"Type": "Task", "Resource": arn, "TimeoutSeconds": TASK_SECONDS, "ResultPath": result, "Retry": RETRY}
    if last:
        state["OutputPath"] = None
    if parameters:
        state["Parameters"] = parameters
    if caught:
        state["Catch"] = CATCH
    return {**state, **({"Next": next_} if next_ else {"End": True})}


def _chunk(arn: str, *, everything: bool) -> State:
    return _task(arn, {"run.$": "$.run", "everything": everything}, result="$.work", next_="Batches")


def _extract(arn: str, concurrency: int) -> State:
    return {
        "Type": "Map",
        "ItemReader": {
            "Resource": "arn:aws:states:::s3:getObject",
            "ReaderConfig": {"InputType": "JSON"},
            "Parameters": {"Bucket.$": "$.work.items.bucket", "Key.$": "$.work.items.key"},
        },
        "ItemSelector": {"run.$": "$.run", "batch.$": "$$.Map.Item.Value.batch"},
        "MaxConcurrency": concurrency,
        "ItemProcessor": {
            # an express child ends after five minutes, which a throttled model may take for one batch
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "ExtractBatch",
            "States": {"ExtractBatch": _task(arn, caught=False, last=True)},
        },
        "ResultPath": None,
        "Catch": CATCH,
        "Next": "Parts",
    }


def _parts(build: str, finish: str) -> State:
    return {
        "Type": "Map",
        "ItemsPath": "$.work.parts",
        "ItemSelector": {"run.$": "$.run", "part.$": "$$.Map.Item.Value"},
        "MaxConcurrency": 1,
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"},
            "StartAt": "Build",
            "States": {
                "Build": _task(build, next_="Finish", caught=False),
                "Finish": _task(finish, caught=False, last=True),
            },
        },
        "ResultPath": None,
        "Catch": [{"ErrorEquals": ["Stale"], "ResultPath": None, "Next": "ChunkEverything"}, *CATCH],
        "Next": "Close",
    }
