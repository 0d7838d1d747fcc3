"""What services need of the roles that they take for us, as the templates say: no process of ours makes these calls."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.infra.templates import Templates
from tests.rights.calls import Call
from tests.rights.needs import ACCOUNT, REGION, Need, Needs

_INTERFACES = ("CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface", "DescribeSubnets")
_DELIVERY = (
    *("CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery", "ListLogDeliveries"),
    *("PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups"),
)
_TRACES, _SAMPLING = ("PutTraceSegments", "PutTelemetryRecords"), ("GetSamplingRules", "GetSamplingTargets")


def assumed(templates: Templates, needs: Needs) -> Iterator[Need]:
    """Yield what Lambda, Step Functions and the network ask for in the name of our roles."""
    for job, properties in templates.functions.items():
        yield from _function(job, properties)
    for r in templates.resources:
        if r.kind == "AWS::Lambda::EventSourceMapping":
            yield from _queue(templates, needs, r.properties)
        elif r.kind == "AWS::Lambda::EventInvokeConfig":
            yield from _destination(needs, r.properties)
        elif r.kind == "AWS::StepFunctions::StateMachine":
            yield from _machine(templates, needs, r.properties)
        elif r.kind == "Custom::S3BucketNotifications":
            maker = templates.one("Lambda::Function", _name(r.properties["ServiceToken"])).properties
            bucket = r.properties["BucketName"]
            yield Need(_name(maker["Role"]), "s3:PutBucketNotification", bucket, "the events of a bucket, turned on")
        elif r.kind == "AWS::EC2::FlowLog":
            role, group = _name(r.properties["DeliverLogsPermissionArn"]), r.properties["LogGroupName"]
            for action in ("CreateLogStream", "PutLogEvents", "DescribeLogStreams"):
                yield Need(role, f"logs:{action}", group, "the log of the network")
        elif r.kind == "AWS::Scheduler::Schedule":
            target = r.properties["Target"]
            action = target["Arn"].rpartition(":")[2]
            cluster = json.loads(target["Input"])["DbClusterIdentifier"]
            arn = f"arn:aws:rds:{REGION}:{ACCOUNT}:cluster:{cluster}"
            role = _name(target["RoleArn"])
            yield Need(role, f"rds:{action[0].upper()}{action[1:]}", arn, "the hours of the graph")
            if letters := target.get("DeadLetterConfig"):
                yield from _sent(needs, role, letters["Arn"], "a start or stop of the graph that failed")


def on_behalf(call: Call, needs: Needs) -> Iterator[Need]:
    """Yield what the role that a call hands over needs for it: batch inference its files and its model, a load its files."""
    made: list[Call] = []
    if call["operation"] == "CreateModelInvocationJob":
        why = "a job of batch inference"
        made = [_file("GetObject", call["input"]), _file("PutObject", call["output"])]
        made += [{"service": "bedrock-runtime", "operation": "InvokeModel", "model": call["model"]}]
    elif call["operation"] == "StartLoaderJob":
        why = "a bulk load"
        made = [_file("ListObjectsV2", call["source"]), _file("GetObject", f"{call['source']}rows.csv.gz")]
    for need in (need for one in made for need in needs.of({"function": _name(call["role"]), **one})):
        # a loader lists before it reads, and never reads what is not there, for which a read needs to list the bucket
        of_read = need.action == "s3:ListBucket" and "s3:prefix" not in dict(need.context)
        if not (of_read and call["operation"] == "StartLoaderJob"):
            yield replace(need, why=why, through="")


def _file(operation: str, address: str) -> Call:
    bucket, key = _place(address)
    return {"service": "s3", "operation": operation, "bucket": bucket, "key": key, "prefix": key}


def _function(job: str, properties: Mapping[str, Any]) -> Iterator[Need]:
    for action in ("CreateLogStream", "PutLogEvents"):
        yield Need(job, f"logs:{action}", properties["LoggingConfig"]["LogGroup"], "the log of a function")
    if properties.get("TracingConfig", {}).get("Mode") == "Active":
        yield from (Need(job, f"xray:{action}", "*", "traces of a function") for action in _TRACES)
    if "VpcConfig" in properties:
        yield from (Need(job, f"ec2:{action}", "*", "a function in the VPC") for action in _INTERFACES)


def _queue(templates: Templates, needs: Needs, properties: Mapping[str, Any]) -> Iterator[Need]:
    queue, function = properties["EventSourceArn"], properties["FunctionName"]
    job = next(name for name in templates.functions if _name(function).lower() == name)
    for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes"):
        yield Need(job, f"sqs:{action}", queue, "the queue that calls a function", "", (("aws:SecureTransport", "true"),))
    if key := needs.encrypted.get(queue):
        via = (("kms:ViaService", f"sqs.{REGION}.amazonaws.com"),)
        yield Need(job, "kms:Decrypt", key, "the queue that calls a function", "", via)


def _destination(needs: Needs, properties: Mapping[str, Any]) -> Iterator[Need]:
    """Yield what Lambda needs to put what a function failed at into a queue (developer guide, asynchronous invocation)."""
    job, queue = _name(properties["FunctionName"]).lower(), properties["DestinationConfig"]["OnFailure"]["Destination"]
    yield from _sent(needs, job, queue, "what an asynchronous call failed at")


def _sent(needs: Needs, role: str, queue: str, why: str) -> Iterator[Need]:
    yield Need(role, "sqs:SendMessage", queue, why, "", (("aws:SecureTransport", "true"),))
    if key := needs.encrypted.get(queue):
        via = (("kms:ViaService", f"sqs.{REGION}.amazonaws.com"),)
        yield from (Need(role, f"kms:{action}", key, why, "", via) for action in ("Decrypt", "GenerateDataKey"))


def _machine(templates: Templates, needs: Needs, properties: Mapping[str, Any]) -> Iterator[Need]:
    role, name = _name(properties["RoleArn"]), properties["StateMachineName"]
    states = list(_states(json.loads(properties["DefinitionString"])))
    for arn in sorted({s["Resource"] for s in states if s["Type"] == "Task"}):
        yield Need(role, "lambda:InvokeFunction", arn, "a task of the state machine")
    if any(s.get("ItemProcessor", {}).get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED" for s in states):
        own, why = f"arn:aws:states:{REGION}:{ACCOUNT}", "a distributed map"
        yield Need(role, "states:StartExecution", f"{own}:stateMachine:{name}", why)
        for action in ("DescribeExecution", "StopExecution", "RedriveExecution"):
            for execution in (f"{name}:one", f"{name}/Map:one"):  # both forms stand in AWS's guide
                yield Need(role, f"states:{action}", f"{own}:execution:{execution}", why)
    if any("ItemReader" in s for s in states):
        place = templates.functions["chunk"]["Environment"]["Variables"]["LEXIGRAPH_ARTEFACT_STORE"]
        bucket, prefix = _place(place)
        read: Call = {
            "function": role,
            "service": "s3",
            "operation": "GetObject",
            "bucket": bucket,
            "key": f"{prefix}/batches",
        }
        yield from (replace(need, why="the items of a map", through="") for need in needs.of(read))
    if properties.get("LoggingConfiguration"):
        yield from (Need(role, f"logs:{action}", "*", "the log of the state machine") for action in _DELIVERY)
    if properties.get("TracingConfiguration", {}).get("Enabled"):
        yield from (Need(role, f"xray:{action}", "*", "traces of the state machine") for action in (*_TRACES, *_SAMPLING))


def _states(machine: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for state in machine["States"].values():
        yield state
        if "ItemProcessor" in state:
            yield from _states(state["ItemProcessor"])


def _name(reference: str) -> str:
    return reference.strip("<>").split("/")[1].split(".")[0]


def _place(uri: str) -> tuple[str, str]:
    """Return the bucket of an address, which is a reference, and the key."""
    bucket, _, key = uri.removeprefix("s3://").partition(">/")
    return f"{bucket}>", key
