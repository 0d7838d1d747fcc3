"""DynamoDB and S3 on loopback: moto's behind real HTTP, so that processes share a store; faults on request.

Requests are carried out one at a time: moto copies a table before a transaction and puts the copy back when it is cancelled,
which would undo what others wrote meanwhile.
"""

import copy
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lexigraph.storage.dynamodb.table import BILLING_MODE, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from tests.standins.loopback import LoopbackServer, hang_up, send
from tests.standins.script import Script

REGION = "eu-west-1"
ACCOUNT = "123456789012"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}  # of clients that tests start
_WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
_JSON = "application/x-amz-json-1.0"
_MOST_EXPRESSION = 4_096  # bytes
# of requests, in which bytes are a third longer as Base64 than DynamoDB counts them
_MOST_WRITES, _MOST_BATCH_BYTES, _MOST_TRANSACTION_BYTES = 25, 16 * 2**20 * 4 // 3, 4 * 2**20 * 4 // 3


@dataclass
class Fault:
    """What happens to the next ``times`` requests of an operation.

    ``cut`` carries a request out and closes the connection without a reply, ``drop`` does not carry it out; ``unprocessed``
    carries out the first item of a batch only; ``conflict`` cancels a transaction because of another. Any other word is the
    code of an error, with ``status``, and nothing is carried out.
    """

    operation: str
    kind: str
    times: int
    status: int


@dataclass(frozen=True)
class Saved:
    """What a table and a bucket held."""

    table: str
    bucket: str
    items: Any
    objects: dict[str, bytes]


class _CopyOnce:
    """moto's ``copy``: moto copies the whole table once for each item of a transaction; here, once a request."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def begin(self) -> None:
        self._copies.clear()

    def deepcopy(self, value: Any) -> Any:
        if type(value).__name__ != "Table":
            return copy.deepcopy(value)
        if id(value) not in self._copies:
            self._copies[id(value)] = copy.deepcopy(value)
        return self._copies[id(value)]


# moto's tables and buckets are those of all servers of a process
_ONE_AT_A_TIME, _COPY = Lock(), _CopyOnce()


class AwsServer(LoopbackServer):
    """moto's DynamoDB and S3 at ``url``. ``calls`` counts requests: DynamoDB's operations, ``S3 PUT``, ``S3 GET list``.

    What a ``script`` says of a request goes before the faults announced to :meth:`failing`. A write to a partition key of
    DynamoDB that has had ``most_writes`` in this second, as many as the service allows, is refused; ``writes`` are those of
    each key by second, a transaction's double.
    """

    def __init__(self, *, most_writes: int = 1_000) -> None:
        super().__init__()
        self.most_writes = most_writes
        self.writes: dict[str, Counter[int]] = defaultdict(Counter)
        from moto.core.botocore_stubber import BotocoreStubber
        from moto.dynamodb import models

        self.calls: Counter[str] = Counter()
        self.script: Script | None = None
        self._faults: list[Fault] = []
        self._made: set[str] = set()
        self._moto = BotocoreStubber()
        models.copy = _COPY  # type: ignore[assignment]  # a module, of which one function is used
        self._clients: dict[str, Any] = {}

    def dynamodb(self, table: str) -> str:
        """The connection string of a table, which is made when there is none of that name."""
        if table not in self._made:
            kinds = {PARTITION_KEY: "HASH", SORT_KEY: "RANGE"}
            self.client("dynamodb").create_table(
                TableName=table,
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in kinds],
                KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in kinds.items()],
                BillingMode=BILLING_MODE,
            )
            expiry = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
            self.client("dynamodb").update_time_to_live(TableName=table, TimeToLiveSpecification=expiry)
            self._made.add(table)
        return f"dynamodb://{table}?region={REGION}&endpoint={self.url}"

    def s3(self, bucket: str, prefix: str = "") -> str:
        """The connection string of a bucket, which is made when there is none of that name."""
        if f"s3 {bucket}" not in self._made:
            there = {"LocationConstraint": REGION}
            self.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration=there)
            self._made.add(f"s3 {bucket}")
        return f"s3://{bucket}/{prefix}?region={REGION}&endpoint={self.url}"

    def stores(self) -> dict[str, str]:
        """Return the settings by which registry, cache, documents and artefacts lie here, under names of this server."""
        registry, bucket = self.dynamodb(f"lexigraph-{self.port}"), f"artefacts-{self.port}"  # moto keeps them
        return {
            "LEXIGRAPH_REGISTRY": registry,
            "LEXIGRAPH_CACHE": registry,
            "LEXIGRAPH_DOCUMENT_STORE": self.s3(bucket, "documents"),
            "LEXIGRAPH_ARTEFACT_STORE": self.s3(bucket, "work"),
        }

    def client(self, service: str) -> Any:
        """A boto3 client, for what a test looks at behind the stores."""
        if service not in self._clients:
            self._clients[service] = _session().client(service, endpoint_url=self.url)
        return self._clients[service]

    def items(self, table: str) -> list[dict[str, Any]]:
        """All items of a table."""
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        return [item for page in pages for item in page["Items"]]

    def saved(self, table: str, bucket: str) -> "Saved":
        """Return all that a table and a bucket hold."""
        s3 = self.client("s3")
        listed = s3.list_objects_v2(Bucket=bucket).get("Contents", ())
        objects = {o["Key"]: s3.get_object(Bucket=bucket, Key=o["Key"])["Body"].read() for o in listed}
        return Saved(table, bucket, copy.deepcopy(self._table(table).items), objects)

    def restore(self, saved: "Saved") -> None:
        """Hold again what was saved."""
        s3 = self.client("s3")
        for there in s3.list_objects_v2(Bucket=saved.bucket).get("Contents", ()):
            if there["Key"] not in saved.objects:
                s3.delete_object(Bucket=saved.bucket, Key=there["Key"])
        for key, data in saved.objects.items():
            s3.put_object(Bucket=saved.bucket, Key=key, Body=data)
        from moto.dynamodb.models.dynamo_type import Item

        with _ONE_AT_A_TIME:
            Item.instances_tracked.clear()  # moto would keep each that there ever was
            self._table(saved.table).items = copy.deepcopy(saved.items)

    def _table(self, name: str) -> Any:
        from moto.dynamodb.models import dynamodb_backends

        return dynamodb_backends[ACCOUNT][REGION].tables[name]

    @contextmanager
    def failing(self, operation: str, kind: str, times: int = 1, status: int = 400) -> Iterator[Fault]:
        """Let requests of an operation fail; all that were announced must have happened at the end."""
        fault = Fault(operation, kind, times, status)
        self._faults.append(fault)
        try:
            yield fault
        finally:
            self._faults.remove(fault)
        assert fault.times == 0, f"{fault.times} more requests of {operation} were to fail"

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        operation = _operation(request)
        fault = self.scripted(operation)
        with _ONE_AT_A_TIME:
            self.calls[operation] += 1
            if fault is None:
                fault = next((f for f in self._faults if f.operation == operation and f.times > 0), None)
            if fault:
                fault.times -= 1
            elif self._is_too_much(operation, body):
                self.calls["throttled"] += 1
                fault = Fault(operation, "ProvisionedThroughputExceededException", 0, 400)
        if fault is None and (reason := _beyond(operation, body)):
            told = json.dumps({"__type": "com.amazon.coral.validate#ValidationException", "message": reason})
            send(request, 400, told.encode(), _JSON)
        elif fault is None:
            self._reply(request, *self._carry_out(request, body))
        elif fault.kind == "cut":
            self._carry_out(request, body)
            hang_up(request)
        elif fault.kind == "drop":
            hang_up(request)
        elif fault.kind == "unprocessed":
            self._reply(request, *self._first_of_batch(request, body))
        elif operation.startswith("S3"):
            told = f"<Error><Code>{fault.kind}</Code><Message>as the test wants</Message></Error>"
            send(request, fault.status, told.encode(), "application/xml")
        else:
            cancelled = fault.kind == "conflict"
            kind = "TransactionCanceledException" if cancelled else fault.kind
            reasons = {"CancellationReasons": [{"Code": "None"}, {"Code": "TransactionConflict"}]} if cancelled else {}
            told = json.dumps({"__type": f"com.amazonaws.dynamodb#{kind}", "message": "as the test wants", **reasons})
            send(request, fault.status, told.encode(), _JSON)

    def _is_too_much(self, operation: str, body: bytes) -> bool:
        """Count the writes of a request, unless one of its keys has had its share of this second."""
        if operation not in _WRITES:
            return False
        second, units = int(time.monotonic()), 2 if operation.startswith("Transact") else 1
        keys = Counter(_keys_written(json.loads(body)))
        if any(self.writes[key][second] + units * count > self.most_writes for key, count in keys.items()):
            return True
        for key, count in keys.items():
            self.writes[key][second] += units * count
        return False

    def scripted(self, operation: str) -> Fault | None:
        """Return what the script has for a request; the busy take turns with the ways there are to be busy."""
        word = self.script.next(operation) if self.script else ""
        of_s3, odd = operation.startswith("S3"), self.calls[operation] % 2
        kinds = {
            "denied": ("AccessDenied", 403) if of_s3 else ("AccessDeniedException", 400),
            "busy": ("SlowDown", 503) if of_s3 else ("ProvisionedThroughputExceededException", 400),
        }
        kind, status = kinds.get(word, (word, 400))
        if word == "busy" and odd and operation.startswith("Batch"):
            kind = "unprocessed"
        if word == "busy" and odd and operation.startswith("Transact"):
            kind = "conflict"
        return Fault(operation, kind, 1, status) if word else None

    def _carry_out(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any], bytes]:
        from botocore.awsrequest import AWSPreparedRequest
        from botocore.compat import HTTPHeaders

        service = "dynamodb" if "X-Amz-Target" in request.headers else "s3"
        host = f"{service}.{REGION}.amazonaws.com"
        headers = HTTPHeaders()
        for name, value in request.headers.items():
            headers[name] = host if name.lower() == "host" else value
        asked = AWSPreparedRequest(request.command, f"https://{host}{request.path}", headers, body, False)
        with _ONE_AT_A_TIME:
            _COPY.begin()
            answered = self._moto.process_request(asked)
        assert answered is not None, request.path
        status, told, reply = answered
        return int(status), dict(told), reply.encode() if isinstance(reply, str) else bytes(reply)

    def _reply(self, request: BaseHTTPRequestHandler, status: int, headers: dict[str, Any], body: bytes) -> None:
        request.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "server", "date", "connection"):
                request.send_header(name, str(value))
        # to HEAD the length of what is not sent
        length = {name.lower(): value for name, value in headers.items()}.get("content-length", len(body))
        request.send_header("Content-Length", str(length if request.command == "HEAD" else len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _first_of_batch(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any], bytes]:
        asked = json.loads(body)
        ((table, wanted),) = asked["RequestItems"].items()
        get = "Keys" in wanted
        first, rest = (
            ({**wanted, "Keys": part} if get else part)
            for part in ((wanted["Keys"] if get else wanted)[:1], (wanted["Keys"] if get else wanted)[1:])
        )
        status, headers, reply = self._carry_out(request, json.dumps({**asked, "RequestItems": {table: first}}).encode())
        left = {"UnprocessedKeys" if get else "UnprocessedItems": {table: rest}}
        headers.pop("x-amz-crc32", None)
        return status, headers, json.dumps(json.loads(reply) | left).encode()


@cache  # each would read the descriptions of the services again
def _session() -> Any:
    import boto3

    return boto3.session.Session(*ENVIRONMENT.values(), region_name=REGION)


def _beyond(operation: str, body: bytes) -> str:
    """Return which limit of DynamoDB a request is over of those that moto lets pass; empty for none."""
    if operation == "BatchWriteItem":
        writes = sum(len(of_table) for of_table in json.loads(body)["RequestItems"].values())
        if writes > _MOST_WRITES:
            return f"Value at 'requestItems' failed to satisfy constraint: at most {_MOST_WRITES} members, got {writes}"
        return f"Request size exceeded {_MOST_BATCH_BYTES}" if len(body) > _MOST_BATCH_BYTES else ""
    if operation == "TransactWriteItems" and len(body) > _MOST_TRANSACTION_BYTES:
        return f"Transaction size exceeded {_MOST_TRANSACTION_BYTES}"
    asked = json.loads(body) if operation in ("PutItem", "UpdateItem", "DeleteItem", "Query", "TransactWriteItems") else {}
    for each in (asked, *(one for part in asked.get("TransactItems", ()) for one in part.values())):
        if any(len(value.encode()) > _MOST_EXPRESSION for name, value in each.items() if name.endswith("Expression")):
            return f"Expression size has exceeded the maximum allowed size of {_MOST_EXPRESSION}"
    return ""


def _keys_written(asked: dict[str, Any]) -> Iterator[str]:
    """Yield the partition keys of the items that a request writes, or whose conditions it looks at in a transaction."""
    for item in [asked, *(what for action in asked.get("TransactItems", ()) for what in action.values())]:
        key = item.get("Item") or item.get("Key") or {}
        if PARTITION_KEY in key:  # a request without it is refused by moto, with the service's words
            yield key[PARTITION_KEY]["S"]


def _operation(request: BaseHTTPRequestHandler) -> str:
    if target := request.headers.get("X-Amz-Target"):
        return target.rpartition(".")[2]
    query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
    return f"S3 {request.command}{' list' if 'list-type' in query else ' delete' if 'delete' in query else ''}"
