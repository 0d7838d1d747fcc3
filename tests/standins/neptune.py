"""Neptune's HTTPS data API on loopback, over a real FalkorDB, for a real boto3 client.

``POST /openCypher`` (JSON as boto3 sends it, or a form), ``POST /openCypher/explain``, ``GET /status``,
``/loader`` when there is one (tests/standins/neptune_loader.py), and the web socket ``/gremlin`` when a Gremlin Server is
given. Two ports: the writer's, and the readers', which refuses updates.

What is refused, as by Neptune: requests without a SigV4 header for ``neptune-db`` (403), updates at the readers
(ReadOnlyViolation), requests over the size limit, a property that is a list or a map, an id that another node has already
(DuplicateData), a property ``~id`` beside the id, ``DELETE`` of a node that has relationships, label alternatives, updates
in a UNION or inside CALL {}, an importing WITH that does more than name variables, SKIP and LIMIT that are neither a number
nor a parameter, procedures, FOREACH, LOAD CSV, EXISTS {} and COUNT {}, ``^``, a property of ``list[index]``, and functions
outside the list in Neptune's user guide (no any, all, none, single, shortestPath; reduce only came with engine 1.4.6.0),
reserved words as variables or parameters, NUL in a string. Stricter than Neptune: a node created without a label (Neptune
names it ``vertex``) or without ``~id`` (Neptune draws one), ``SET n = map``, SET on what an OPTIONAL MATCH may leave null or
another OPTIONAL MATCH from there, and a property of what comes out of a computed list before a MATCH has named it. Less
strict: two relationships may have one id when their ends differ. Refused though Neptune knows it: what FalkorDB lacks
(``exists(pattern)``, ``removeKeyFromMap``, ``join``, dates).

What is rewritten on the way to FalkorDB:

* ``~id`` is the property ``native_id``, in queries, parameters and results; ``id(n)`` becomes ``n.native_id``, ``id(r)``
  of a relationship without an id of its own ``edge-NUMBER``, ``id(startNode(r))`` the like.
* A node pattern that names an id gets the further label ``Native``, on which index and unique constraint lie; ``labels(n)``
  and nodes in results come without it, ``keys(n)`` and ``properties(n)`` without the id (inside a query the latter cannot
  be taken apart).
* ``USING QUERY:TIMEOUTMILLISECONDS n`` is taken off and given to FalkorDB as its time limit.
* Parameters become literals; ``CALL { WITH x ... }`` stays as it is, and reads only (engine release 1.4.1.0).
* Nodes, relationships and paths come back as Neptune's JSON objects (``~id``, ``~entityType``, ``~labels``,
  ``~properties``, ``~start``, ``~end``, ``~type``), columns without an alias under the text of the query that was asked.
* Values of SET, CREATE and MERGE are wrapped into a CASE that makes FalkorDB fail on a list or a map; before DELETE of a
  node goes a WITH that fails when the node has relationships. FalkorDB undoes what a failing query did.

Gremlin is not rewritten: a Gremlin Server runs it, over the same graph (tests/standins/neptune_gremlin.py).
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler
from socket import SHUT_RDWR, socket
from threading import Lock
from typing import Any, Self
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from redis.exceptions import RedisError

from tests.standins.loopback import LoopbackServer, hang_up, send
from tests.standins.neptune_dialect import ID, Answer, Translated, Unsupported, column, edge_ends, literal, translate
from tests.standins.neptune_falkor import copy_of, falkor, new_graph
from tests.standins.neptune_gremlin import load, not_native, traversal_of, tunnel
from tests.standins.neptune_loader import Loader
from tests.standins.script import Script

REGION = "eu-central-1"
_BUSY = {"write": "ConcurrentModificationException", "read": "ThrottlingException"}
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}


@dataclass
class Fault:
    """What goes wrong with the next ``times`` requests of a kind (``read``, ``write``, or both when empty).

    ``code`` is an error of the data API; ``hang_up`` closes the connection before the query is run, ``lose`` after it,
    ``cut`` sends half of the reply. ``seconds`` is a delay before all of it. ``least_rows`` spares smaller batches.
    """

    code: str = ""
    kind: str = ""
    times: int = 1
    hang_up: bool = False
    lose: bool = False
    cut: bool = False
    seconds: float = 0.0
    least_rows: int = 0


@dataclass(frozen=True)
class Call:
    """One round trip: ``kind`` is read, write, handshake or gremlin, ``port`` writer or reader.

    ``code`` is empty when it passed, ``lost`` when no whole reply was sent, else the error. ``peer`` is the port of the
    client's connection. ``records`` are those that the steps of a read produced, where these are counted (``profiled``).
    """

    kind: str
    port: str
    query: str = ""
    rows: int = 0
    milliseconds: int | None = None
    code: str = ""
    peer: int = 0
    records: int = 0


class Refused(Exception):
    """An error of the data API."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NeptuneStandIn:
    """A cluster with a graph of its own, for the time of a ``with`` block, which also gives AWS credentials of nobody.

    ``connection`` is the connection string, ``calls`` what was asked, ``counts`` how often by kind. ``conflicts`` is the
    part of writes that meets a ConcurrentModificationException, drawn from ``seed``; of two writes at once that name the
    same id the later always does; a ``script`` says what becomes of single requests. ``largest`` is in bytes a request,
    ``seconds`` the cluster's limit of a query. With ``gremlin_port``, of a Gremlin Server, walks work, too; ``not_native``
    are those of their steps that Neptune's engine does not run. While it is ``profiled``, each read is run once more to
    count what it looks through.
    """

    def __init__(
        self,
        *,
        conflicts: float = 0.0,
        seed: int = 0,
        largest: int = 157_286_400,
        seconds: float = 120.0,
        gremlin_port: int | None = None,
    ) -> None:
        self.gremlin_port = gremlin_port
        self.loader: Loader | None = None
        self.graph = f"g{uuid4().hex}"
        self.faults: list[Fault] = []
        self.script: Script | None = None
        self.calls: list[Call] = []
        self.largest, self.seconds = largest, seconds
        self.engine, self.health = "1.4.8.0", "healthy"
        self.denied: set[str] = set()  # of ``status`` and ``explain``
        self.written = 0
        self.profiled = False
        self.not_native: list[str] = []
        self._conflicts, self._random = conflicts, random.Random(seed)
        self._lock = Lock()
        self._held: Counter[str] = Counter()
        self.writer, self.reader = _Port(self, "writer"), _Port(self, "reader")

    @property
    def connection(self) -> str:
        """The connection string with both ports."""
        ends = f"127.0.0.1:{self.writer.port}?region={REGION}&read=127.0.0.1:{self.reader.port}&tls=off"
        return f"neptune-db://{ends}{'' if self.gremlin_port else '&gremlin=off'}"

    @property
    def counts(self) -> Counter[str]:
        """How many round trips there were of each kind since the last :meth:`forget`."""
        return Counter(call.kind for call in self.calls)

    def forget(self) -> None:
        """Begin counting anew."""
        self.calls.clear()

    def renew(self) -> None:
        """Go on with an empty graph of another name, without calls and faults."""
        falkor().select_graph(self.graph).delete()
        self.graph = f"g{uuid4().hex}"
        new_graph(self.graph)
        self.faults.clear()
        self.forget()

    def restore(self, graph: str) -> None:
        """Go on with a copy of a graph (:func:`~tests.standins.neptune_falkor.copy_of`)."""
        falkor().select_graph(self.graph).delete()
        self.graph = copy_of(graph)

    def __enter__(self) -> Self:
        new_graph(self.graph)
        self._account = account()
        self._account.__enter__()
        self.writer.__enter__()
        self.reader.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._account.__exit__(*error)
        self.reader.cut_walks()
        self.writer.cut_walks()
        try:
            self.reader.__exit__(*error)
        finally:
            self.writer.__exit__(*error)
            falkor().select_graph(self.graph).delete()

    def call(self, port: str, query: str, parameters: dict[str, Any], request: BaseHTTPRequestHandler) -> None:
        """Run one query and answer it, or go wrong as told. What was asked is noted before the answer leaves."""
        try:
            asked = translate(query)
        except Unsupported as error:
            self.calls.append(Call("read", port, query, code=error.code))
            return _refuse(request, error.code, str(error))
        kind = "write" if asked.writes else "read"
        rows = parameters.get("rows")
        count = len(rows) if isinstance(rows, list) else 0
        fault = self._fault(kind, count)
        time.sleep(fault.seconds)
        refused: Refused | None = None
        results: list[dict[str, Any]] = []
        try:
            if fault.code:
                raise Refused(fault.code, "told so")
            if asked.writes and port == "reader":
                raise Refused("ReadOnlyViolationException", "openCypher update attempted on a read-only replica")
            if not fault.hang_up:
                results = self._run(asked, parameters)
        except Refused as error:
            refused = error
        code = refused.code if refused else "lost" if fault.hang_up or fault.lose or fault.cut else ""
        records = self._records(asked, parameters) if self.profiled and kind == "read" and not code else 0
        self.calls.append(Call(kind, port, query, count, asked.milliseconds, code, request.client_address[1], records))
        if refused:
            return _refuse(request, refused.code, str(refused))
        if fault.hang_up or fault.lose:
            return hang_up(request)
        body = json.dumps({"results": results}).encode()
        return _send_half(request, body) if fault.cut else send(request, 200, body, "application/json")

    def _fault(self, kind: str, rows: int) -> Fault:
        if word := self.script.next(f"Neptune {kind}") if self.script else "":
            codes = {"busy": _BUSY[kind], "denied": "AccessDeniedException"}
            return Fault(codes.get(word, ""), hang_up=word == "drop", lose=word == "cut")
        with self._lock:
            for fault in self.faults:
                if fault.times and fault.kind in ("", kind) and rows >= fault.least_rows:
                    fault.times -= 1
                    return fault
            if kind == "write" and self._random.random() < self._conflicts:
                return Fault("ConcurrentModificationException")
        return Fault()

    def _run(self, asked: Translated, parameters: dict[str, Any]) -> list[dict[str, Any]]:
        limit = min(asked.milliseconds or 1 << 40, int(self.seconds * 1000))
        if not asked.writes:
            return self._query(asked, parameters, limit)
        # what looks like one of our ids: ``kind:`` and hexadecimal digits, or an edge's
        with self._holding({text for text in _texts(parameters) if ":" in text[:16] and " " not in text}):
            try:
                return self._query(asked, parameters, limit)
            finally:
                with self._lock:
                    self.written += 1  # afterwards: what was loaded meanwhile for walks is old

    def _query(self, asked: Translated, parameters: dict[str, Any], limit: int) -> list[dict[str, Any]]:
        graph = falkor().select_graph(self.graph)
        try:
            result = graph.query(_whole(asked, parameters), timeout=max(1, limit))
        except RedisError as error:
            raise _as_neptune(str(error), asked) from error
        ends = sorted({end for row in result.result_set for end in edge_ends(row)})
        ids: dict[int, str] = {}
        if ends:
            found = graph.query(f"MATCH (n) WHERE id(n) IN {ends} RETURN id(n), n.{ID}")
            ids = dict(found.result_set)
        answer = Answer(ids)
        columns = [column(header[1], asked.names) for header in result.header]
        return [dict(zip(columns, map(answer.value, row), strict=True)) for row in result.result_set]

    def _records(self, asked: Translated, parameters: dict[str, Any]) -> int:
        plan = falkor().select_graph(self.graph).profile(_whole(asked, parameters))
        steps, records = [plan.structured_plan], 0
        while steps:
            step = steps.pop()
            steps += step.children
            records += step.profile_stats.records_produced if step.profile_stats else 0
        return records

    @contextmanager
    def _holding(self, ids: set[str]) -> Iterator[None]:
        """Refuse a write that names an id which another holds at this moment."""
        with self._lock:
            if any(self._held[i] for i in ids):
                raise Refused("ConcurrentModificationException", "Operation failed due to conflicting concurrent operations")
            self._held.update(ids)
        try:
            yield
        finally:
            with self._lock:
                self._held.subtract(ids)
                self._held += Counter()


class _Port(LoopbackServer):
    """One endpoint of the cluster."""

    def __init__(self, cluster: NeptuneStandIn, name: str) -> None:
        super().__init__()
        self.cluster, self.name = cluster, name
        self.sockets: list[socket] = []

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        path = urlsplit(request.path).path.lower()
        if not _is_signed(request):
            return _refuse(request, "AccessDeniedException", "Missing Authentication Token")
        if len(body) > self.cluster.largest:
            return _refuse(
                request, "BadRequestException", f"Request size exceeds max allowed value of {self.cluster.largest} bytes."
            )
        if path == "/gremlin" and "websocket" in request.headers.get("Upgrade", "").lower():
            return self._walks(request)
        if path == "/status" and request.command == "GET":
            return self._status(request)
        if path == "/opencypher" and request.command == "POST":
            return self._query(request, body)
        if path == "/opencypher/explain" and request.command == "POST":
            return self._explain(request, json.loads(body))
        if path.startswith("/loader") and self.cluster.loader:
            refused = self.cluster.loader.answer(request, body)
            self.cluster.written += 1
            return _refuse(request, *refused) if refused else None
        return _refuse(request, "BadRequestException", f"no such path: {path}")

    def _status(self, request: BaseHTTPRequestHandler) -> None:
        if "status" in self.cluster.denied:
            return _refuse(request, "AccessDeniedException", "not authorized to perform: neptune-db:GetEngineStatus")
        told = {
            "status": self.cluster.health,
            "startTime": "Mon Nov 23 08:00:00 UTC 2026",
            "dbEngineVersion": self.cluster.engine,
            "role": self.name,
            "opencypher": {"version": "Neptune-9.0.20190305-1.0"},
        }
        return send(request, 200, json.dumps(told).encode(), "application/json")

    def _explain(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        """Answer with FalkorDB's plan, as text; nothing is run."""
        if "explain" in self.cluster.denied:
            return _refuse(request, "AccessDeniedException", "not authorized to perform: neptune-db:ReadDataViaQuery")
        if asked.get("explain") not in ("static", "dynamic", "details"):
            return _refuse(request, "InvalidParameterException", "explain is none of static, dynamic, details")
        given = "".join(f"`{n}`={literal(v)} " for n, v in json.loads(asked.get("parameters") or "{}").items())
        try:
            text = translate(asked["query"]).text
            plan = falkor().select_graph(self.cluster.graph).explain(f"CYPHER {given}{text}" if given else text)
        except Unsupported as error:
            return _refuse(request, error.code, str(error))
        except RedisError as error:
            return _refuse(request, "MalformedQueryException", str(error))
        return send(request, 200, f"Query:\n{asked['query']}\n\n{plan}\n".encode(), "text/plain")

    def _walks(self, request: BaseHTTPRequestHandler) -> None:
        cluster = self.cluster
        if cluster.gremlin_port is None:
            cluster.calls.append(Call("refused", self.name))
            return _refuse(request, "UnsupportedOperationException", "the stand-in was given no Gremlin Server")

        def before(message: bytes) -> None:
            if (asked := traversal_of(message)) is not None:
                cluster.not_native += not_native(asked)
            cluster.calls.append(Call("gremlin", self.name))
            load(port, cluster.graph, cluster.written)

        port = cluster.gremlin_port
        cluster.calls.append(Call("handshake", self.name))
        self.sockets.append(request.connection)
        return tunnel(request, port, before)

    def cut_walks(self, *, politely: bool = False) -> None:
        """Break every web socket that is open, as a failover does; ``politely`` with a closing frame before."""
        while self.sockets:
            with suppress(OSError):
                opened = self.sockets.pop()
                if politely:
                    opened.sendall(b"\x88\x02\x03\xe9")  # final frame, close, two bytes: 1001, going away
                opened.shutdown(SHUT_RDWR)

    def _query(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded"):
            asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        else:
            asked = json.loads(body)
        if not asked.get("query"):
            return _refuse(request, "MissingParameterException", "query is missing")
        try:
            parameters = json.loads(asked.get("parameters") or "{}")
        except ValueError:
            return _refuse(request, "InvalidParameterException", "parameters is no JSON object")
        if any("\x00" in text for text in _texts(parameters)):
            return _refuse(request, "BadRequestException", "null characters are not supported")
        return self.cluster.call(self.name, asked["query"], parameters, request)


@contextmanager
def account() -> Iterator[None]:
    """Credentials of nobody, and no configuration of this machine."""
    gone = ["AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"]
    new = {**_CREDENTIALS, "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    with patch.dict(os.environ, new):
        for name in gone:
            os.environ.pop(name, None)
        yield


def _is_signed(request: BaseHTTPRequestHandler) -> bool:
    said = request.headers.get("Authorization", "")
    return said.startswith("AWS4-HMAC-SHA256 ") and f"/{REGION}/neptune-db/aws4_request" in said and "Signature=" in said


@cache
def _status(code: str) -> int:
    """Return the HTTP status of an error of the data API."""
    from botocore.session import Session

    if code == "DuplicateDataException":  # in the user guide, not in the model
        return 400
    return int(Session().get_service_model("neptunedata").shape_for(code).metadata["error"]["httpStatusCode"])


def _refuse(request: BaseHTTPRequestHandler, code: str, message: str) -> None:
    said = {"code": code, "detailedMessage": message, "requestId": str(uuid4())}
    send(request, _status(code), json.dumps(said).encode(), "application/json")


def _whole(asked: Translated, parameters: dict[str, Any]) -> str:
    given = "".join(f"`{name}`={literal(value)} " for name, value in parameters.items())
    return (f"CYPHER {given}" if given else "") + asked.text


def _send_half(request: BaseHTTPRequestHandler, body: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body[: len(body) // 2])
    hang_up(request)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _as_neptune(message: str, asked: Translated) -> Refused:
    if "but was Map" in message and "native_alone" in asked.text:
        return Refused("BadRequestException", "Cannot delete node, because it still has relationships.")
    if "timed out" in message:
        return Refused("TimeLimitExceededException", "Operation terminated (deadline exceeded)")
    if "unique constraint" in message:
        return Refused("DuplicateDataException", "id already in use")
    if "Property values can only be" in message or "but was List" in message:
        return Refused("MalformedQueryException", "Property value must be a simple literal")
    return Refused("MalformedQueryException", f"{message} IN {asked.text}")
