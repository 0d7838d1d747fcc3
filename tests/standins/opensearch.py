"""A collection of OpenSearch Serverless: the part of its REST API that the store uses, refusing what the service refuses.

Nothing is shown to searches at once when ``delay`` says so: a write is seen after that many more searches, in an index
named in ``slower`` after as many as it says; documents are not let into a new index until it was asked for ``unknown``
times, nor with a field just added until ``late`` of them were refused. An index takes ``most_bytes``. A collection of the
``classic`` generation takes no document ids, as it takes no mapping for ``nextgen``; a ``plain`` one refuses in plain words,
as what stands before OpenSearch does. Faults are given one request each, or come from a script.
"""

import copy
import hashlib
import json
import re
from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler
from typing import Literal

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.loopback import LoopbackServer, hang_up, send
from tests.standins.opensearch_index import MOST_BYTES, Index, Json, Refusal, invalid
from tests.standins.script import Script

KEY, SECRET = ENVIRONMENT.values()
MOST_OF_A_REQUEST = 10 * 2**20
_MOST_INDEXES = 1_000  # of a collection
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/aoss/aws4_request, SignedHeaders=([^,]+), Signature=(\w{64})"
)


@dataclass(frozen=True)
class Fault:
    """What goes wrong with the next request whose path ends with ``path``.

    ``status`` alone is an error of the whole request; ``item`` one of that item of a bulk or multi-search request, the
    others going well; ``cut`` half a reply, after which the connection is gone; ``lost`` likewise without a byte.
    """

    path: str = ""
    status: int = 503
    item: int | None = None
    cut: bool = False
    lost: bool = False


class OpenSearchServer(LoopbackServer):
    """Answers at ``url``. ``requests`` are method, path and the parsed lines or body of each, those refused too."""

    def __init__(self, generation: Literal["nextgen", "classic"] = "nextgen", *, delay: int = 0) -> None:
        super().__init__()
        self.generation, self.delay = generation, delay
        self.indexes: dict[str, Index] = {}
        self.slower: dict[str, int] = {}  # by the beginning of an index's name
        self.unknown, self.late, self.plain = 0, 0, False
        self.most_bytes = MOST_BYTES
        self.loses_vectors = False  # of what is updated in part, as a service would that makes the record anew
        self.faults: deque[Fault] = deque()
        self.script: Script | None = None
        self._coming: deque[tuple[int, Index, str, Json | None]] = deque()
        self._searches = 0

    @property
    def connection(self) -> str:
        """The connection string of the collection."""
        return f"aoss://{self.url}?region={REGION}"

    def asked(self, path: str) -> list[Json]:
        """The requests to a path so far."""
        return [request for request in self.requests if request["path"] == path]

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        compressed = "Content-Encoding" in request.headers
        lines = [] if compressed else [json.loads(line) for line in body.split(b"\n") if line]
        self.record(request, {"method": request.command, "path": request.path, "lines": lines, "bytes": len(body)})
        fault = self._scripted(request.path)
        with self._lock:
            if fault is None and self.faults and request.path.endswith(self.faults[0].path):
                fault = self.faults.popleft()
            try:
                self._check_signature(request, body)
                if fault and fault.lost:
                    return hang_up(request)
                if fault and fault.item is None and not fault.cut:
                    raise Refusal(fault.status, "injected_exception", "so says the test")
                status, reply = 200, self._route(request.command, request.path, lines, body, fault)
            except Refusal as error:
                status, reply = error.status, {"error": error.error, "status": error.status}
                if self.plain:
                    return send(request, status, error.error["reason"].encode(), "text/plain")
        content = json.dumps(reply).encode()
        if fault and fault.cut:
            request.send_response(status)
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            request.wfile.write(content[: len(content) // 2])
            return hang_up(request)
        return send(request, status, content, "application/json")

    # ------------------------------------------------------------ requests

    def _scripted(self, path: str) -> Fault | None:
        """Return what the script has for a request; the busy take turns with the ways there are to be busy."""
        word = self.script.next(f"OpenSearch {path.rpartition('/')[2]}") if self.script else ""
        several, turn = path in ("/_bulk", "/_msearch"), len(self.requests) % 3
        faults = {
            "drop": Fault(lost=True),
            "cut": Fault(cut=True),
            "busy": Fault(status=429, item=0) if several and turn else Fault(status=(429, 503, 409)[turn]),
            "denied": Fault(status=400),
        }
        return faults[word] if word else None

    def _check_signature(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Refuse what is not signed for ``aoss`` with our key, down to the last byte of the body."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        match = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
        if not match or match[1] != KEY or match[3] != REGION:
            raise Refusal(403, "security_exception", "the request is not signed for aoss")
        if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            raise Refusal(403, "security_exception", "x-amz-content-sha256 is not that of the body")
        if "content-encoding" in headers:
            raise Refusal(403, "security_exception", "Request Content Checksum Verification Failed")
        signed = {name: headers.get(name, "") for name in match[4].split(";")}
        again = AWSRequest(request.command, f"{self.url}{request.path}", headers=signed, data=body)
        again.context["timestamp"] = headers["x-amz-date"]
        signer = SigV4Auth(Credentials(KEY, SECRET), "aoss", REGION)
        if signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again) != match[5]:
            raise Refusal(403, "security_exception", "the signature does not match")

    def _route(self, method: str, path: str, lines: list[Json], body: bytes, fault: Fault | None) -> Json:
        if len(body) > MOST_OF_A_REQUEST:
            raise Refusal(413, "request_too_large_exception", "at most 10 MiB")
        match method, path.strip("/").split("/"):
            case "POST", ["_msearch"]:
                return self._msearch(lines, fault)
            case "POST", ["_bulk"]:
                return self._bulk(deque(lines), fault)
            case "PUT", [name] if not name.startswith("_"):
                return self._create(name, lines[0])
            case "GET", [name, "_mapping"]:
                return {name: {"mappings": self._index(name).mappings}}
            case "PUT", [name, "_mapping"] if lines[0].keys() == {"properties"}:
                index = self._index(name)
                known = set(index.fields)
                index.add(lines[0]["properties"])
                index.late |= dict.fromkeys(index.fields.keys() - known, self.late)
                return {"acknowledged": True}
            case (("PUT" | "POST"), [_, ("_doc" | "_create" | "_update"), _]):
                # AWS's list of operations has these "for search collection types only", and `_bulk` for all
                raise invalid("Document ID is not supported in create/index operation request", "illegal_argument_exception")
        # _refresh, _delete_by_query, _update_by_query, _cluster and all that the store has no need of
        raise Refusal(404, "not_found", f"{method} {path} is not supported")

    def _index(self, name: str) -> Index:
        if name not in self.indexes:
            raise Refusal(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indexes[name]

    def _create(self, name: str, body: Json) -> Json:
        if name in self.indexes:
            raise invalid(f"index [{name}] already exists", "resource_already_exists_exception")
        if name != name.lower() or re.search(r'[\\/*?"<>| ,#:]', name) or name[0] in "_-+":
            raise invalid(f"Invalid index name [{name}]", "invalid_index_name_exception")
        if len(self.indexes) >= _MOST_INDEXES:
            raise invalid(f"at most {_MOST_INDEXES} indexes in a collection", "validation_exception")
        self.indexes[name] = index = Index(name, body, self.generation)
        index.unknown, index.most_bytes = self.unknown, self.most_bytes
        return {"acknowledged": True, "index": name}

    # ------------------------------------------------------------ documents

    def _put(self, name: str, id_: str, source: Json) -> Json:
        index = self._index(name)
        if index.unknown:
            index.unknown -= 1
            raise Refusal(404, "index_not_found_exception", f"no such index [{name}]")
        if self.generation == "classic":
            reason = "Document ID is not supported in create/index operation request"
            raise invalid(reason, "illegal_argument_exception")
        index.check(source)
        index.keep(id_, source)
        self._write(index, id_, source)
        return {"_index": name, "_id": id_, "result": "created"}

    def _write(self, index: Index, id_: str, source: Json | None) -> None:
        delay = next((d for begin, d in self.slower.items() if index.name.startswith(begin)), self.delay)
        self._coming.append((self._searches + delay, index, id_, source))

    def _bulk(self, lines: deque[Json], fault: Fault | None) -> Json:
        items: list[Json] = []
        while lines:
            ((kind, target),) = lines.popleft().items()
            body = lines.popleft() if kind != "delete" else {}
            status, told = 200, {"_index": target["_index"], "_id": target["_id"]}
            try:
                if fault and fault.item == len(items):
                    raise Refusal(fault.status, "injected_exception", "so says the test")
                told |= self._change(kind, target, body)
            except Refusal as error:
                status, told = error.status, {**told, "error": error.error}
            items.append({kind: {**told, "status": status}})
        return {"errors": any("error" in told for item in items for told in item.values()), "items": items}

    def _change(self, kind: str, target: Json, body: Json) -> Json:
        name, id_ = target["_index"], target["_id"]
        if kind == "index":
            return self._put(name, id_, body)
        index = self._index(name)
        if id_ not in index.live:
            raise Refusal(404, "document_missing_exception", f"[{id_}]: document missing")
        if kind == "delete":
            index.keep(id_, None)
            self._write(index, id_, None)
        elif kind == "update" and body.keys() == {"doc"}:
            index.check(body["doc"])
            kept = {k: v for k, v in index.live[id_].items() if k != "vector" or not self.loses_vectors}
            index.keep(id_, {**kept, **body["doc"]})
            self._write(index, id_, index.live[id_])
        else:
            raise invalid(f"[{kind}] with {sorted(body)} is not supported")
        return {"_id": id_, "result": f"{kind}d"}

    # ------------------------------------------------------------ searches

    def _msearch(self, lines: list[Json], fault: Fault | None) -> Json:
        self._searches += 1
        self._show(self._searches)
        responses: list[Json] = []
        for header, body in zip(lines[::2], lines[1::2], strict=True):
            try:
                if fault and fault.item == len(responses):
                    raise Refusal(fault.status, "injected_exception", "so says the test")
                found = [index.search(body) for index in self._expanded(header["index"])]
                hits = [hit for f in found for hit in f["hits"]]
                if len(found) > 1 and set().union(*(by.values() for by in body.get("sort", ()))) == {"asc"}:
                    hits.sort(key=lambda hit: hit["sort"])  # indexes are merged by what each is sorted by
                hits = hits[: body.get("size", 10)]
                total = sum(f.get("total", {"value": 0})["value"] for f in found)
                response = {"status": 200, "timed_out": False, "_shards": {"failed": 0}}
                responses.append({**response, "hits": {"total": {"value": total, "relation": "eq"}, "hits": hits}})
            except Refusal as error:
                responses.append({"error": error.error, "status": error.status})
        return {"responses": responses}

    def _show(self, until: float) -> None:
        coming, self._coming = self._coming, deque()
        for due, index, id_, source in coming:
            if due < until:
                index.show(id_, source)
            else:
                self._coming.append((due, index, id_, source))

    def show_all(self) -> None:
        """Let searches see all that was written."""
        with self._lock:
            self._show(float("inf"))

    def saved(self) -> dict[str, Index]:
        """Return what the collection holds, all of it shown."""
        self.show_all()
        return copy.deepcopy(self.indexes)

    def restore(self, saved: dict[str, Index]) -> None:
        """Hold again what was saved."""
        with self._lock:
            self._coming.clear()
            self.indexes = copy.deepcopy(saved)

    def _expanded(self, names: str) -> list[Index]:
        return [
            index
            for name in names.split(",")
            for index in (
                [self.indexes[known] for known in sorted(self.indexes) if fnmatchcase(known, name)]
                if "*" in name
                else [self._index(name)]
            )
        ]
