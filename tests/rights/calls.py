"""What a request to AWS says of rights: service, operation, and what it names, without any content.

A call is a plain dictionary, so that a process can note it as a line of JSON: ``service`` and ``operation`` as botocore has
them, and by service what :mod:`tests.rights.needs` reads.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

Call = dict[str, Any]
_EQUALS = re.compile(r"([#\w]+) *= *(:\w+)")
_WRITES = ("CREATE", "MERGE", "SET", "DELETE", "REMOVE")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|//[^\n]*")


def of_botocore(service: str, operation: str, given: Mapping[str, Any]) -> list[Call]:
    """Return what a request of a botocore client names; a transaction or a batch is a call for each of its items."""
    read = _READ.get(service, lambda *_: iter([_short(given)]))
    return [{"service": service, "operation": operation, **found} for found in read(operation, given)]


def of_signed(service: str, method: str, url: str, body: bytes) -> list[Call]:
    """Return what a request names that no botocore client made: OpenSearch's, or a web socket of Neptune."""
    path = unquote(urlsplit(url).path)
    if service == "neptune-db":
        return [{"service": "neptunedata", "operation": "Gremlin", "clauses": []}]
    indexes = sorted(_indexes(path, body))
    return [{"service": service, "operation": f"{method} /{_general(path)}", "index": index} for index in indexes]


# ---------------------------------------------------------------- by service


def _dynamodb(operation: str, given: Mapping[str, Any]) -> Iterator[Call]:
    if operation == "TransactWriteItems":
        for kind, told in (pair for item in given["TransactItems"] for pair in item.items()):
            yield {"table": told["TableName"], "item": kind, "key": _leading(told.get("Item") or told["Key"])}
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table, wanted in given["RequestItems"].items():
            keys = wanted["Keys"] if operation == "BatchGetItem" else [_written(write) for write in wanted]
            yield from ({"table": table, "key": _leading(key)} for key in keys)
    elif operation == "Query":
        names, values = given.get("ExpressionAttributeNames", {}), given["ExpressionAttributeValues"]
        for name, value in _EQUALS.findall(given["KeyConditionExpression"]):
            yield {"table": given["TableName"], "key": _leading({names.get(name, name): values[value]})}
    else:
        yield {"table": given["TableName"], "key": _leading(given.get("Key") or given.get("Item") or {})}


def _written(write: Mapping[str, Any]) -> Mapping[str, Any]:
    (told,) = write.values()
    return dict(told.get("Item") or told["Key"])


def _leading(item: Mapping[str, Any]) -> str:
    """Return the partition key of an item; in tables of ours it is called pk or id."""
    for name in ("pk", "id"):
        if name in item:
            value = item[name]
            return str(next(iter(value.values())) if isinstance(value, Mapping) else value)
    return ""


def _s3(operation: str, given: Mapping[str, Any]) -> Iterator[Call]:
    bucket, version = given.get("Bucket", ""), bool(given.get("VersionId"))
    if "CopySource" in given:
        source = given["CopySource"]
        there, _, key = source.partition("/") if isinstance(source, str) else (source["Bucket"], "", source["Key"])
        yield {"bucket": there, "key": unquote(key), "source": True}
    if operation == "DeleteObjects":
        for named in given["Delete"]["Objects"]:
            yield {"bucket": bucket, "key": named["Key"], "version": bool(named.get("VersionId"))}
        return
    yield {"bucket": bucket, "key": given.get("Key", ""), "prefix": given.get("Prefix", ""), "version": version}


def _neptune(operation: str, given: Mapping[str, Any]) -> Iterator[Call]:
    query = _TEXT.sub("", given.get("openCypherQuery", "")).upper()
    clauses = [word for word in _WRITES if re.search(rf"\b{word}\b", query)]
    load = {"role": given["iamRoleArn"], "source": given["source"]} if operation == "StartLoaderJob" else {}
    yield {"clauses": clauses, **load}


def _bedrock(operation: str, given: Mapping[str, Any]) -> Iterator[Call]:
    if operation == "Rerank":
        found = given["rerankingConfiguration"]["bedrockRerankingConfiguration"]["modelConfiguration"]["modelArn"]
        yield {"model": found}
    else:
        yield {"model": given.get("modelId") or given.get("modelIdentifier") or given.get("inferenceProfileIdentifier", "")}


def _jobs(operation: str, given: Mapping[str, Any]) -> Iterator[Call]:
    if operation != "CreateModelInvocationJob":
        yield from _bedrock(operation, given)
        return
    at = given["inputDataConfig"]["s3InputDataConfig"]["s3Uri"], given["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"]
    yield {"model": given["modelId"], "role": given["roleArn"], "input": at[0], "output": at[1]}


def _short(given: Mapping[str, Any]) -> Call:
    """Return the values of a request that may be names."""
    return {name: value for name, value in given.items() if isinstance(value, str) and len(value) < 300}


_READ: Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Call]]] = {
    "dynamodb": _dynamodb,
    "s3": _s3,
    "neptunedata": _neptune,
    "bedrock-runtime": _bedrock,
    "bedrock-agent-runtime": _bedrock,
    "bedrock": _jobs,
    "stepfunctions": lambda _, given: iter([{"machine": given.get("stateMachineArn", "")}]),
}


def _indexes(path: str, body: bytes) -> set[str]:
    """Return the indexes that a request to OpenSearch names, in its path or in the lines of its body."""
    first = path.strip("/").partition("/")[0]
    if not first.startswith("_"):
        return set(first.split(","))
    found: set[str] = set()
    for line in body.split(b"\n"):
        if line.startswith((b'{"index"', b'{"update"', b'{"delete"', b'{"create"')):
            told = json.loads(line)
            (value,) = told.values() if len(told) == 1 else ("",)
            found.add(value if isinstance(value, str) else value["_index"])
    return {one for many in found for one in many.split(",")}


def _general(path: str) -> str:
    """Return a path with INDEX and ID instead of names."""
    parts = path.strip("/").split("/")
    if parts[0] and not parts[0].startswith("_"):
        parts[0] = "INDEX"
    return "/".join(["ID" if at == 2 else part for at, part in enumerate(parts)])
