"""A collection of OpenSearch Serverless over HTTPS: where it is, signed requests, and patience with it.

A collection that scaled to zero takes 10 to 30 seconds to wake; a changed access policy takes up to a minute to hold; a
busy one says so for single items inside a reply that is otherwise fine. All of that is waited for here, within a deadline.
Messages and logs name the kinds of errors only: the reasons that OpenSearch gives may quote documents.
"""

import json
import logging
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from lexigraph.aws import credentials_of, session
from lexigraph.model.batches import packed
from lexigraph.model.errors import InvalidInput, Misconfigured, StoreUnavailable
from lexigraph.retry import Retry
from lexigraph.storage.common.connection import is_region, read_connection, read_endpoint, region_in

Json = dict[str, Any]

_MOST_BYTES = 8 * 2**20  # of a request; the service takes 10 MiB
_MOST_ACTIONS = 1_000
_ONE_TRY = 35.0  # seconds: a collection wakes within 30
FORM = "aoss://https://HOST[:PORT][?region=REGION&indexes=N]"
_WHAT = "aoss connection"
_MOST_INDEXES = 64  # of a kind; a collection has 1,000 at most, and there are 5 kinds, 3 of them again for another embedding


@dataclass(frozen=True, slots=True)
class Place:
    """Where a collection is. ``indexes``: how many of each kind it has, None when that is left to the collection."""

    host: str
    port: int
    secure: bool
    region: str
    indexes: int | None = None


def parse_place(connection: str) -> Place:
    """Read a connection string; the region follows from the host, or from ``AWS_REGION``, where it is not given.

    Raise ``Misconfigured``.
    """
    where, options = read_connection(connection, FORM)
    server = read_endpoint(where, _WHAT)
    known = options.get("region"), region_in(server.host), os.environ.get("AWS_REGION"), os.environ.get("AWS_DEFAULT_REGION")
    region = next((name for name in known if name and is_region(name)), None)
    if region is None:
        raise Misconfigured(f"{_WHAT}: the region of the collection is unknown; add ?region=REGION")
    return Place(server.host, server.port, server.protocol == "https", region, _indexes(options.get("indexes")))


def _indexes(given: str | None) -> int | None:
    if given is None:
        return None
    if not re.fullmatch(r"[1-9]\d?", given) or int(given) > _MOST_INDEXES:
        raise Misconfigured(f"{_WHAT}: indexes must be 1 to {_MOST_INDEXES}, how many a new collection has of each kind")
    return int(given)


@dataclass(frozen=True, slots=True)
class Action:
    """One change of a bulk request."""

    kind: Literal["index", "update", "delete"]
    index: str
    id: str
    body: Json | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a multi-search, over an index, several with commas between, or a pattern."""

    index: str
    body: Json


class Refused(StoreUnavailable):
    """The service understood and declined; ``kind`` and ``reason`` are its words, the second never to be shown."""

    def __init__(self, message: str, kind: str, reason: str) -> None:
        super().__init__(message)
        self.kind, self.reason = kind, reason


class _Busy(Exception):
    """Items of a reply say that the same may go well later."""


class Collection:
    """Speaks to one collection. ``patience``: seconds that a request is repeated for. May be shared by threads."""

    def __init__(self, place: Place, *, patience: float) -> None:
        credentials = credentials_of(session(place.region, "aoss connections"), "OpenSearch Serverless")
        try:
            import opensearchpy
        except ImportError as error:
            raise Misconfigured('aoss connections need opensearch-py; run: pip install "lexigraph[aws]"') from error
        # what they say below errors holds whole requests
        for name in ("opensearch", "opensearchpy.trace"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self.place, self._errors = place, opensearchpy.exceptions
        self._retry = Retry(math.inf, patience, base=0.1, cap=5.0)
        self._proven = False
        self._client = opensearchpy.OpenSearch(
            hosts=[{"host": place.host, "port": place.port}],
            use_ssl=place.secure,
            http_auth=opensearchpy.Urllib3AWSV4SignerAuth(credentials, place.region, "aoss"),
            connection_class=opensearchpy.Urllib3HttpConnection,
            max_retries=0,
            pool_maxsize=16,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # ------------------------------------------------------------ indexes

    def mapping(self, index: str) -> Json | None:
        """Return the mapping of an index, None when there is no such index."""
        answer = self._request("GET", f"/{index}/_mapping", absent=True)
        return None if answer is None else cast(Json, answer[index]["mappings"])

    def create(self, index: str, body: Json) -> Json:
        """Create an index and return its mapping, also of one that another process made just now.

        Raise ``Refused`` for a mapping that is not taken.
        """
        try:
            self._request("PUT", f"/{index}", body)
        except Refused as error:
            if error.kind != "resource_already_exists_exception":
                raise
            return self.mapping(index) or {}
        return cast(Json, body["mappings"])

    def put_mapping(self, index: str, body: Json) -> None:
        """Add to the mapping of an index. A new index may be unknown for a while: that is waited for."""
        self._request("PUT", f"/{index}/_mapping", body, unknown_is_busy=True)

    # ------------------------------------------------------------ documents

    def search(self, searches: Sequence[Search]) -> list[Json]:
        """Return the ``hits`` of each search, all in one request as long as it stays under the limit of the service.

        An index that does not exist holds nothing.
        """
        lines = [_line({"index": s.index}) + _line(s.body) for s in searches]
        found: list[Json] = []
        for batch in packed(lines, len, _MOST_BYTES):
            answer = self._request("POST", "/_msearch", b"".join(batch), items=_search_problem)
            found += [item.get("hits", {"hits": []}) for item in cast(Json, answer)["responses"]]
        return found

    def bulk(self, actions: Sequence[Action]) -> None:
        """Make all changes; what is to be updated or deleted and is not there is passed over.

        Items that the service has no room for are sent again. Raise ``Refused`` when an item is refused.
        """
        for batch in packed([_action_lines(action) for action in actions], len, _MOST_BYTES, _MOST_ACTIONS):
            self._bulk(batch)

    def _bulk(self, waiting: list[bytes]) -> None:
        """Send lines until none is left."""

        def take(answer: Json) -> str:
            problem, sent = "", waiting.copy()
            waiting.clear()
            for line, item in zip(sent, answer["items"], strict=True):
                ((kind, told),) = item.items()
                status = told["status"]
                if status < 300 or (kind != "index" and status == 404):
                    continue
                waiting.append(line)
                error = told.get("error")
                if not (_passing(status) or _unheard_of(status, error)):
                    raise _refused("an item of a bulk request", status, error)
                problem = f"{status}"
            return problem

        self._request("POST", "/_bulk", lambda: b"".join(waiting), items=take)

    # ------------------------------------------------------------ requests

    def _request(
        self,
        method: str,
        path: str,
        body: Json | bytes | Callable[[], bytes] | None = None,
        *,
        absent: bool = False,
        unknown_is_busy: bool = False,
        items: Callable[[Json], str] | None = None,
    ) -> Json | None:
        """Send a request, again and again while what went wrong may pass. ``absent``: not found is None.

        ``items`` looks into a reply and names what in it may pass, if anything.
        """
        tries = self._retry.begin()

        def send() -> Json:
            content = body() if callable(body) else body
            kind = {"content-type": "application/x-ndjson" if isinstance(content, bytes) else "application/json"}
            seconds = max(1.0, min(_ONE_TRY, tries.left))
            answer: Json = self._client.transport.perform_request(method, path, body=content, headers=kind, timeout=seconds)
            if problem := items(answer) if items else "":
                raise _Busy(f"items say {problem}")
            return answer

        def wait(error: Exception) -> float | None:
            return 0.0 if self._may_pass(error, unknown_is_busy=unknown_is_busy) else None

        try:
            answer = tries.call(send, wait, f"OpenSearch {method} {path}", kind=_status)
        except (_Busy, self._errors.SerializationError, self._errors.TransportError) as error:
            if absent and _status(error) == 404:
                return None
            # what stands before OpenSearch may refuse in plain words, without OpenSearch's form of an error
            told = getattr(error, "info", None) or getattr(error, "error", None)
            patience = "" if wait(error) is None else f", for {self._retry.seconds:.0f} s"
            raise _refused(f"{method} {path}{patience}", _status(error), told) from None
        self._proven = True
        return answer

    def _may_pass(self, error: Exception, *, unknown_is_busy: bool) -> bool:
        known = (_Busy, self._errors.SerializationError, self._errors.TransportError)
        if not isinstance(error, known) or isinstance(error, self._errors.SSLError):
            return False
        status = _status(error)
        if status in (401, 403):  # an access policy may not hold yet; once anything went well, it does
            return not self._proven
        return not isinstance(status, int) or _passing(status) or (status == 404 and unknown_is_busy)


def _status(error: Exception) -> Any:
    """Return the HTTP status of an error, or what went wrong in words."""
    return str(error) if isinstance(error, _Busy) else getattr(error, "status_code", "an unreadable reply")


def _passing(status: int) -> bool:
    return status in (409, 429) or status >= 500


def _unheard_of(status: int, error: object) -> bool:
    """Tell whether a new index, or a field just added, is not known yet to who took an item: not all hear of it at once."""
    kind = error.get("type") if isinstance(error, Mapping) else None
    return status == 404 or (status == 400 and kind == "strict_dynamic_mapping_exception")


def _search_problem(answer: Json) -> str:
    """Return what may pass in a reply to a multi-search; raise for what will not."""
    for item in answer["responses"]:
        status, error = item.get("status", 200), item.get("error")
        if error is None and (item.get("timed_out") or item.get("_shards", {}).get("failed")):
            return "a search was cut short"
        if error is None or (status == 404 and error.get("type") == "index_not_found_exception"):
            continue
        if _passing(status):
            return f"{status}"
        raise _refused("a search", status, error)
    return ""


def _refused(what: str, status: object, info: object) -> Refused:
    """Make the error for what the service said; its reasons stay inside."""
    error = info.get("error", info) if isinstance(info, Mapping) else info or {}
    kind = str(error.get("type", "")) if isinstance(error, Mapping) else ""
    advice = "; check the data access policy and aoss:APIAccessAll of the role" if status in (401, 403) else ""
    known = f" ({kind[:80]})" if re.fullmatch(r"[a-z_]+", kind) else ""
    return Refused(f"OpenSearch: {what}: {status}{known}{advice}", kind, json.dumps(error, default=str))


def _line(data: Json) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"


def _action_lines(action: Action) -> bytes:
    body = {"doc": action.body} if action.kind == "update" else action.body
    lines = _line({action.kind: {"_index": action.index, "_id": action.id}}) + (b"" if body is None else _line(body))
    if len(lines) > _MOST_BYTES:
        raise InvalidInput(f"a record takes {len(lines)} bytes with its vector; at most {_MOST_BYTES} are allowed")
    return lines
