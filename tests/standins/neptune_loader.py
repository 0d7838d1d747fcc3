"""Neptune's bulk loader behind the stand-in: openCypher CSV out of S3 into the same FalkorDB.

A job begins at the second question about its status, as if it had waited in the queue, and is over at the third. It reads
node files before relationship files, each file a transaction.

What is refused, as by Neptune: a role that the cluster does not have, another region than the cluster's, another format,
``updateSingleCardinalityProperties`` (not for openCypher), a second job that is not to be queued; a file with unknown,
missing, or repeated system columns, an unknown type, another number of columns, text that is no UTF-8, a value that is not
of its column's type; a relationship whose ends are not there. Stricter than Neptune, which loads one of them: two
relationships of a load with one id. What is there already is not changed, but gets properties that it lacks.
``keeps_empty`` says what becomes of an empty text, which AWS's guide does not say of this format: by default no property.
"""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from tests.standins.loopback import send
from tests.standins.neptune_dialect import ID, NATIVE, literal
from tests.standins.neptune_falkor import falkor

_NODE, _EDGE = {":ID", ":LABEL"}, {":ID", ":START_ID", ":END_ID", ":TYPE"}
_WHOLE = {"Byte": 7, "Short": 15, "Int": 31, "Long": 63}
_TYPES = {*_WHOLE, "Bool", "Boolean", "Float", "Double", "String", "DateTime"}
_ROWS = 500
_FAILED = "LOAD_FAILED"


class BadFile(Exception):
    """An error of a file; ``code`` as in the loader's messages."""

    def __init__(self, code: str, message: str, record: int = 0) -> None:
        super().__init__(message)
        self.code, self.record = code, record


@dataclass
class Job:
    """A load; ``looks`` counts how often its status was asked."""

    id: str
    asked: dict[str, Any]
    status: str = "LOAD_IN_QUEUE"
    looks: int = 0
    records: int = 0
    duplicates: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


@dataclass
class Loader:
    """The loader of a cluster. ``s3`` is a client of boto3, ``role`` what the cluster may assume, ``region`` where it is.

    ``before`` is called ahead of each file that is loaded, with its key.
    """

    s3: Any
    role: str
    region: str
    graph: Callable[[], str]
    keeps_empty: bool = False
    before: Callable[[str], None] = lambda _: None
    jobs: dict[str, Job] = field(default_factory=dict)
    loaded: dict[str, set[str]] = field(default_factory=dict)  # files by source
    _turn: Lock = field(default_factory=Lock)

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[str, str] | None:
        """Answer one request; return code and message of an error."""
        where = urlsplit(request.path)
        id_ = where.path.removeprefix("/loader").strip("/")
        if request.command == "POST":
            return self._start(request, json.loads(body))
        if not id_:
            active = [job.id for job in self.jobs.values() if job.status in ("LOAD_IN_QUEUE", "LOAD_IN_PROGRESS")]
            return _reply(request, {"loadIds": active})
        if id_ not in self.jobs:
            return "BulkLoadIdNotFoundException", f"load id {id_} does not exist"
        job = self.jobs[id_]
        if request.command == "DELETE":
            job.status = "LOAD_CANCELLED_BY_USER"
            return _reply(request, {})
        with self._turn:  # who asked for the last status may be gone, and the load going on
            self._go_on(job)
        options = {name: values[0] for name, values in parse_qs(where.query).items()}
        return _reply(request, self._told(job, options))

    def _start(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> tuple[str, str] | None:
        for name in ("source", "format", "region", "iamRoleArn"):
            if not asked.get(name):
                return "MissingParameterException", f"{name} is missing"
        if asked["format"] != "opencypher":
            return "InvalidParameterException", f"format {asked['format']} is not that of these files"
        if asked["iamRoleArn"] != self.role:
            return "InvalidParameterException", "the role is not attached to the cluster"
        if asked["region"] != self.region:
            return "InvalidParameterException", "the region of the bucket is not that of the cluster"
        if "updateSingleCardinalityProperties" in asked:
            return "InvalidParameterException", "updateSingleCardinalityProperties is not supported for openCypher"
        if any(job.status in ("LOAD_IN_QUEUE", "LOAD_IN_PROGRESS") for job in self.jobs.values()) and not asked.get(
            "queueRequest"
        ):
            return "BadRequestException", "Failed to start load because max concurrent load limit breached"
        if unknown := set(asked.get("dependencies", ())) - self.jobs.keys():
            return "InvalidParameterException", f"dependencies: unknown {unknown}"
        job = Job(str(uuid4()), asked)
        self.jobs[job.id] = job
        return _reply(request, {"loadId": job.id})

    def _go_on(self, job: Job) -> None:
        states = {self.jobs[i].status for i in job.asked.get("dependencies", ())}
        if job.status == "LOAD_IN_QUEUE" and states - {"LOAD_IN_QUEUE", "LOAD_IN_PROGRESS", "LOAD_COMPLETED"}:
            job.status = "LOAD_FAILED_BECAUSE_DEPENDENCY_NOT_SATISFIED"
        if states - {"LOAD_COMPLETED"}:
            return
        job.looks += 1
        if job.status == "LOAD_IN_QUEUE" and job.looks == 2:
            job.status = "LOAD_IN_PROGRESS"
        elif job.status == "LOAD_IN_PROGRESS":
            job.status = self._run(job)

    def _run(self, job: Job) -> str:
        source = job.asked["source"]
        bucket, _, prefix = source.removeprefix("s3://").partition("/")
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
        if job.asked.get("mode") == "NEW":
            self.loaded.pop(source, None)
        done = self.loaded.setdefault(source, set())
        tables: list[tuple[str, list[str], csv.DictReader[str]]] = []
        edges: set[str] = set()
        if not keys:
            return _FAILED  # as where a prefix is mistyped
        for key in sorted(keys):
            try:
                header, rows = self._opened(bucket, key)
                tables.append((key, header, rows))
            except BadFile as error:
                self._note(job, bucket, key, error)
                if job.asked.get("failOnError", True):
                    return _FAILED
        for key, header, rows in sorted(tables, key=lambda table: ":START_ID" in table[1]):
            if key in done:
                continue
            try:
                self.before(key)
                self._load(job, header, rows, edges)
                done.add(key)
            except BadFile as error:
                self._note(job, bucket, key, error)
                if job.asked.get("failOnError", True):
                    return _FAILED
        return _FAILED if job.errors else "LOAD_COMPLETED"

    def _note(self, job: Job, bucket: str, key: str, error: BadFile) -> None:
        told = {"errorCode": error.code, "errorMessage": str(error), "fileName": f"s3://{bucket}/{key}"}
        job.errors.append({**told, "recordNum": error.record})
        job.files[key] = _FAILED

    def _opened(self, bucket: str, key: str) -> tuple[list[str], "csv.DictReader[str]"]:
        data = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        try:
            text = (gzip.decompress(data) if key.endswith(".gz") else data).decode()
        except ValueError as error:
            raise BadFile("PARSING_ERROR", "the file is no UTF-8") from error
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True, restkey="more")
        header = list(rows.fieldnames or ())
        system = [name for name in header if name.startswith(":")]
        if len(set(header)) < len(header) or set(system) not in (_NODE, _EDGE):
            raise BadFile("PARSING_ERROR", f"Invalid header {header}")
        for name in header:
            if not name.startswith(":") and name.partition(":")[2] not in _TYPES:
                raise BadFile("PARSING_ERROR", f"unknown type in header {name}")
        return header, rows

    def _load(self, job: Job, header: list[str], rows: "csv.DictReader[str]", edges: set[str]) -> None:
        graph, relationships = falkor().select_graph(self.graph()), ":TYPE" in header
        kept: dict[str, list[dict[str, Any]]] = {}
        count = 0
        for number, row in enumerate(rows, 1):
            values = self._row(header, row, number)
            if relationships and values["id"] in edges:
                raise BadFile("DUPLICATE_EDGE_ID", f"edge id {values['id']} comes twice", number)
            if relationships:
                edges.add(values["id"])
            kept.setdefault(row[":TYPE" if relationships else ":LABEL"], []).append(values)
            count += 1
        job.records += count
        names = [name.partition(":")[0] for name in header if not name.startswith(":")]
        for label, all_rows in kept.items():
            for at in range(0, len(all_rows), _ROWS):
                part = all_rows[at : at + _ROWS]
                if relationships:
                    self._edges(graph, label, names, part)
                else:
                    filled = "".join(f" SET n.`{k}` = coalesce(n.`{k}`, row.`{k}`)" for k in names)
                    graph.query(
                        f"CYPHER rows={literal(part)} UNWIND $rows AS row "
                        f"MERGE (n:{NATIVE} {{{ID}: row.id}}) SET n:{label}{filled}"
                    )

    def _edges(self, graph: Any, type_: str, names: list[str], part: list[dict[str, Any]]) -> None:
        ends = Counter(end for row in part for end in (row["from"], row["to"]))
        found = graph.query(f"CYPHER ids={literal(list(ends))} UNWIND $ids AS id MATCH (n:{NATIVE} {{{ID}: id}}) RETURN id")
        if missing := ends.keys() - {row[0] for row in found.result_set}:
            raise BadFile("FROM_OR_TO_VERTEX_ARE_MISSING", f"{len(missing)} nodes are not there")
        filled = "".join(f" SET r.`{k}` = coalesce(r.`{k}`, row.`{k}`)" for k in names)
        graph.query(
            f"CYPHER rows={literal(part)} UNWIND $rows AS row MATCH (a:{NATIVE} {{{ID}: row.from}}) "
            f"MATCH (b:{NATIVE} {{{ID}: row.to}}) MERGE (a)-[r:{type_} {{{ID}: row.id}}]->(b){filled}"
        )

    def _row(self, header: list[str], row: dict[str, Any], number: int) -> dict[str, Any]:
        if "more" in row or None in row.values():
            raise BadFile("PARSING_ERROR", "another number of columns than the header", number)
        values = {"id": row[":ID"], "from": row.get(":START_ID"), "to": row.get(":END_ID")}
        if not values["id"]:
            raise BadFile("PARSING_ERROR", "no id", number)
        for name in header:
            property_, _, type_ = name.partition(":")
            if property_:
                try:
                    values[property_] = self._value(row[name], type_)
                except ValueError as error:
                    raise BadFile("DATATYPE_MISMATCH", f"{name}: no {type_}", number) from error
        return values

    def _value(self, text: str, type_: str) -> Any:
        if type_ == "String":
            return text if text or self.keeps_empty else None
        if text == "":
            return None
        if type_ in _WHOLE:
            value = int(text)
            if not -(2 ** _WHOLE[type_]) <= value < 2 ** _WHOLE[type_]:
                raise ValueError(text)
            return value
        return float(text) if type_ in ("Float", "Double") else text.lower() == "true"

    def _told(self, job: Job, options: dict[str, str]) -> dict[str, Any]:
        counts = {
            "fullUri": job.asked["source"],
            "runNumber": 1,
            "retryNumber": 0,
            "status": job.status,
            "totalTimeSpent": 1,
            "startTime": 1,
            "totalRecords": job.records,
            "totalDuplicates": job.duplicates,
            "parsingErrors": sum(error["errorCode"] == "PARSING_ERROR" for error in job.errors),
            "datatypeMismatchErrors": sum(error["errorCode"] == "DATATYPE_MISMATCH" for error in job.errors),
            "insertErrors": sum("VERTEX" in error["errorCode"] or "EDGE" in error["errorCode"] for error in job.errors),
        }
        told: dict[str, Any] = {"feedCount": [{job.status: max(1, len(job.files))}], "overallStatus": counts}
        if options.get("errors", "").lower() == "true":
            page, size = int(options.get("page", 1)), int(options.get("errorsPerPage", 10))
            logs = job.errors[(page - 1) * size : page * size]
            told["errors"] = {"startIndex": 1, "endIndex": len(logs), "loadId": job.id, "errorLogs": logs}
        return told


def _reply(request: BaseHTTPRequestHandler, payload: dict[str, Any]) -> None:
    send(request, 200, json.dumps({"status": "200 OK", "payload": payload}).encode(), "application/json")


def files_at(s3: Any, source: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a source, with their keys."""
    bucket, _, prefix = source.removeprefix("s3://").partition("/")
    for found in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", ()):
        yield found["Key"], s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
