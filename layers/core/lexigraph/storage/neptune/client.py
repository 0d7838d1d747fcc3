"""The wire to Neptune: openCypher over the HTTPS data API, in batches, tried again, each query with its deadline."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from lexigraph.aws import code_of, config, credentials_remedy, not_reached, session, status_of
from lexigraph.model.errors import Conflict, LexigraphError, Misconfigured, StoreUnavailable
from lexigraph.retry import Retry, kind_of
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.views import bound

Row = dict[str, Any]
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
WRITE_SECONDS = 110.0  # below the cluster's own limit (neptune_query_timeout), which is 120 s by default
BATCH_ROWS = 200
RETRY = Retry(attempts=8, base=0.05, cap=5.0)
_GROWTH = 10
_SPARE_SECONDS = 1.0  # by which a limit may reach beyond the deadline, so that a try soon after its begin has the whole
_GRACE_SECONDS = 5.0  # the server ends a query at its deadline; the reply of that needs time to arrive
# as JSON escapes it; a backslash that is escaped itself begins no escape
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
# Codes of the data API (botocore's model of neptunedata), which Gremlin answers with, too.
_MOVED = "ReadOnlyViolationException"  # after a failover an open connection may still lead to the former writer
# Of two that MERGE one new id at once, one may be told that it is in use; the next try finds it
_CONFLICT = {"ConcurrentModificationException", "ConstraintViolationException", "DuplicateDataException"}
PASSING = _CONFLICT | {
    "ThrottlingException",
    "TooManyRequestsException",
    "CancelledByMaintenanceException",
    "InternalFailureException",
    "PreconditionsFailedException",
    "QueryLimitExceededException",
    "ServerShutdownException",
    _MOVED,
}
_TOO_MUCH = {"MemoryLimitExceededException", "TimeLimitExceededException", "QueryTooLargeException"}
_REMEDIES = {
    "MemoryLimitExceededException": "raise the cluster's largest capacity, or ask for less at once",
    "TimeLimitExceededException": "raise the time limit of the client or neptune_query_timeout, or ask for less at once",
    "QueryTooLargeException": "send less at once",
    # a query may not ask for more time than the cluster gives (user guide, StrictTimeoutValidation)
    "InvalidParameterException": f"let neptune_query_timeout of the cluster be {WRITE_SECONDS:g} s or more",
    "AccessDeniedException": "allow the role neptune-db:ReadDataViaQuery, WriteDataViaQuery and DeleteDataViaQuery on it",
    "ThrottlingException": "try later, or raise the cluster's largest capacity",
    "TooManyRequestsException": "try later, or raise the cluster's largest capacity",
    _MOVED: "give the address of the cluster's writer; the reader's belongs into read=",
}


class NeptuneClient:
    """Runs openCypher on one cluster; shared by threads.

    ``read_seconds`` and ``write_seconds`` are the deadline of one query with all its tries: what is left of it, rounded,
    travels as the query's own time limit. Errors of every method: ``StoreUnavailable`` when the cluster cannot be reached
    or refuses, ``Conflict`` when other writers stay in the way, ``Misconfigured`` without boto3, region or credentials. No
    message holds a query or a value.
    """

    def __init__(
        self,
        address: NeptuneAddress,
        *,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
        batch_rows: int = BATCH_ROWS,
        retry: Retry = RETRY,
    ) -> None:
        self.address = address
        self._retries = {"read": replace(retry, seconds=read_seconds), "write": replace(retry, seconds=write_seconds)}
        self._most_rows = batch_rows
        self._size = batch_rows
        self._lock = Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        self._session: Any = None

    @classmethod
    def connect(cls, connection: str, **options: Any) -> "NeptuneClient":
        """Return a client for a connection string (:class:`NeptuneAddress`); options as of the class."""
        return cls(NeptuneAddress.parse(connection), **options)

    def read(self, query: str, /, **parameters: Any) -> list[Row]:
        """Return the rows of a query that changes nothing, from a reader; it may lag behind the writer by milliseconds."""
        text, given = bound(query, parameters)
        return self._rows_of("read", self.address.read_endpoint, text, lambda: given)

    def read_latest(self, query: str, /, **parameters: Any) -> list[Row]:
        """Return the rows of a query that changes nothing, from the writer: all that was written is seen."""
        text, given = bound(query, parameters)
        return self._rows_of("read", self.address.endpoint, text, lambda: given)

    def read_in_parts(self, query: str, /, ids: Sequence[str], **parameters: Any) -> list[Row]:
        """Return what :meth:`read_latest` does of a query whose rows are those of each of its ``$ids``, in one query if it
        can: half as many, again and again, where memory or time does not suffice for them.
        """
        found: list[Row] = []
        begin, size = 0, len(ids)
        text, given = bound(query, parameters)

        def next_part() -> dict[str, Any]:
            return {**given, "ids": ids[begin : begin + size]}

        def shrink(error: Exception) -> bool:
            nonlocal size
            smaller = size > 1 and code_of(error) in _TOO_MUCH
            size = size // 2 if smaller else size
            return smaller  # another, smaller query

        while begin < len(ids):
            found += self._rows_of("read", self.address.endpoint, text, next_part, shrink)
            begin += size
        return found

    def write(self, query: str, /, rows: Sequence[Mapping[str, Any]] | None = None, **parameters: Any) -> list[Row]:
        """Run a query that changes the graph and return its rows. It must be safe to repeat: a lost reply repeats it.

        ``rows`` are given to the query as ``$rows`` in batches, each a transaction: smaller after conflicts and when
        memory or time did not suffice, slowly larger again. Rows that are sorted by id make conflicts rarer.
        """
        if rows is None:
            return self._rows_of("write", self.address.endpoint, query, lambda: parameters)
        found: list[Row] = []
        begin = 0
        part: Sequence[Mapping[str, Any]] = []

        def next_part() -> dict[str, Any]:
            nonlocal part
            part = rows[begin : begin + self._size]
            return {**parameters, "rows": part}

        def shrink(error: Exception) -> bool:
            code, several = code_of(error), len(part) > 1
            if several and code in _CONFLICT | _TOO_MUCH:
                self._size = min(self._size, len(part) // 2)
            return several and code in _TOO_MUCH  # another, smaller query

        while begin < len(rows):
            found += self._rows_of("write", self.address.endpoint, query, next_part, shrink)
            begin += len(part)
            if len(part) == self._size:
                self._size = min(self._most_rows, self._size + _GROWTH)
        return found

    def close(self) -> None:
        """Close the connections; the next query opens new ones."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _rows_of(
        self,
        kind: str,
        endpoint: str,
        query: str,
        parameters: Callable[[], Mapping[str, Any]],
        shrink: Callable[[Exception], bool] = lambda _: False,
    ) -> list[Row]:
        """Return the rows of a query, whose ``parameters`` are asked for before each try."""
        tries = self._retries[kind].begin()

        def send() -> list[Row]:
            client, given = self._client(kind, endpoint), _text_of(parameters())
            timed = f"USING QUERY:TIMEOUTMILLISECONDS {_limit(self._retries[kind].seconds, tries.left)} {query}"
            rows = client.execute_open_cypher_query(openCypherQuery=timed, **given).get("results")
            if not isinstance(rows, list):
                raise ConnectionError("the reply was cut off")  # botocore takes what is no whole JSON for an empty reply
            return rows

        def named(error: Exception) -> str:
            return code_of(error) or kind_of(error)

        try:
            return tries.call(send, self._wait, f"neptune {kind}", shrink=shrink, kind=named)
        except Exception as error:
            raise meaning_of(error, self._retries[kind].seconds) from error

    def _wait(self, error: Exception) -> float | None:
        if code_of(error) == _MOVED:
            self.close()  # the name of the writer leads to another machine now
        return 0.0 if _worth_another(error) else None

    def _client(self, kind: str, endpoint: str) -> Any:
        """Return the boto3 client for a kind of query, which waits as long for a reply as such a query may take."""
        with self._lock:
            if (kind, endpoint) not in self._clients:
                if self._session is None:
                    self._session = signing_session(self.address.region)
                # on an idle connection nobody would notice that the other side has gone
                settings = config(CONNECT_SECONDS, self._retries[kind].seconds + _GRACE_SECONDS, tcp_keepalive=True)
                made = self._session.client("neptunedata", config=settings, endpoint_url=endpoint)
                self._clients[kind, endpoint] = made
            return self._clients[kind, endpoint]


def meaning_of(error: Exception, seconds: float) -> LexigraphError:
    """Return the error of this package for one of botocore's; ``seconds`` was the deadline."""
    if isinstance(error, LexigraphError):
        return error
    code, kind = code_of(error), kind_of(error)
    if code in _CONFLICT:
        return Conflict(f"neptune: {code}: other writers keep changing the same part of the graph; try again")
    if code == "TimeLimitExceededException" or "ReadTimeout" in kind:
        return StoreUnavailable(f"neptune: no answer within {seconds:g} s; {_REMEDIES['TimeLimitExceededException']}")
    remedy = _REMEDIES.get(code) or credentials_remedy(error)
    if code:
        return StoreUnavailable(f"neptune: {code}{remedy and f'; {remedy}'}")
    if remedy:
        return Misconfigured(f"neptune: {kind}; {remedy}")
    return StoreUnavailable(f"neptune: {kind}; check the endpoint, the network and the security group")


def signing_session(region: str | None) -> Any:
    """Return a boto3 session with a region. Raise ``Misconfigured`` without boto3 or when no region is known."""
    made = session(region, "neptune-db connections")
    if made.region_name is None:
        raise Misconfigured("neptune: the region is unknown; add ?region=REGION to the connection, or set AWS_REGION")
    return made


def _limit(seconds: float, left: float) -> int:
    """Return the time limit of a try, in milliseconds: what is left, as the whole deadline or a half, a quarter of it...

    Neptune keeps plans by the text of a query, which the limit is part of: with any number in it no two texts are equal.
    """
    halvings = math.ceil(math.log2(seconds / max(left + min(_SPARE_SECONDS, seconds / 10), 0.001)))
    return max(1, int(seconds * 1000 / 2 ** max(halvings, 0)))


def _text_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters, if any, as the field of a request, in JSON.

    NUL, which no string in Neptune holds (user guide, "Amazon Neptune Limits"), becomes U+FFFD.
    """
    text = json.dumps(parameters, ensure_ascii=False)
    return {"parameters": _NUL.sub("\\1\ufffd", text) if "\\u0000" in text else text} if parameters else {}


def _worth_another(error: Exception) -> bool:
    if isinstance(error, LexigraphError):
        return False
    if code := code_of(error):
        unnamed = code.isdigit() or code == "Unknown"  # of a balancer or a proxy: all there is is the status
        status = status_of(error)
        return code in PASSING or (unnamed and (status == 429 or status >= 500))
    from botocore.exceptions import ReadTimeoutError, SSLError
    from botocore.parsers import ResponseParserError

    never = (ReadTimeoutError, SSLError)  # the time is over; the certificate stays what it is
    return (not_reached(error) or isinstance(error, ResponseParserError)) and not isinstance(error, never)
