"""The wire to Neptune: openCypher over the HTTPS data API, in batches, tried again, each query with its deadline."""

import json
import logging
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from lexigraph.model.errors import Conflict, LexigraphError, Misconfigured, StoreUnavailable
from lexigraph.storage.common.aws import core_session
from lexigraph.storage.neptune.address import NeptuneAddress

logger = logging.getLogger(__name__)
Row = dict[str, Any]
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
WRITE_SECONDS = 110.0  # below the cluster's own limit (neptune_query_timeout), which is 120 s by default
BATCH_ROWS = 200
_GROWTH = 10
_GRACE_SECONDS = 5.0  # the server ends a query at its deadline; the reply of that needs time to arrive
_CONNECTIONS = 32
# as JSON escapes it; a backslash that is escaped itself begins no escape
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
# codes of the data API (botocore's model of neptunedata)
# of two that MERGE one new id at once, one may be told that it is in use; the next try finds it
_CONFLICT = {"ConcurrentModificationException", "ConstraintViolationException", "DuplicateDataException"}
_BUSY = {
    "ThrottlingException",
    "TooManyRequestsException",
    "CancelledByMaintenanceException",
    "InternalFailureException",
    "PreconditionsFailedException",
    "QueryLimitExceededException",
    "ServerShutdownException",
}
_TOO_MUCH = {"MemoryLimitExceededException", "TimeLimitExceededException", "QueryTooLargeException"}
_MOVED = "ReadOnlyViolationException"  # after a failover an open connection may still lead to the former writer
_REMEDIES = {
    "MemoryLimitExceededException": "raise the cluster's largest capacity, or ask for less at once",
    "TimeLimitExceededException": "raise the time limit of the client or neptune_query_timeout, or ask for less at once",
    "QueryTooLargeException": "send less at once",
    # a query may not ask for more time than the cluster gives (user guide, StrictTimeoutValidation)
    "InvalidParameterException": f"let neptune_query_timeout of the cluster be {WRITE_SECONDS:g} s or more",
    "AccessDeniedException": "allow the role neptune-db:ReadDataViaQuery, WriteDataViaQuery and DeleteDataViaQuery on it",
    "MissingAuthenticationTokenException": "renew the AWS credentials",
    "ThrottlingException": "try later, or raise the cluster's largest capacity",
    "TooManyRequestsException": "try later, or raise the cluster's largest capacity",
    _MOVED: "give the address of the cluster's writer; the reader's belongs into read=",
}


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often and how long to wait between tries: 0 to ``base * 2**n`` seconds, at most ``cap`` (full jitter).

    ``attempts`` counts the first try. ``sleep``, ``draw`` (0 to 1) and ``clock`` are there to be replaced by a test.
    """

    attempts: int = 8
    base: float = 0.05
    cap: float = 5.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait after try number ``attempt``, counted from 1."""
        longest: float = min(self.cap, self.base * 2 ** (attempt - 1))
        return self.draw() * longest


class NeptuneClient:
    """Runs openCypher on one cluster; shared by threads.

    ``endpoint`` is ``https://HOST:PORT`` of the writer, ``read_endpoint`` of the readers (the writer when None);
    ``http://`` only on loopback. ``read_seconds`` and ``write_seconds`` are the deadline of one query with all its tries:
    what is left of it travels as the query's own time limit. Errors of every method: ``StoreUnavailable`` when the
    cluster cannot be reached or refuses, ``Conflict`` when other writers stay in the way, ``Misconfigured`` without
    boto3, region or credentials. No message holds a query or a value.
    """

    def __init__(
        self,
        endpoint: str,
        read_endpoint: str | None = None,
        region: str | None = None,
        *,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
        batch_rows: int = BATCH_ROWS,
        backoff: Backoff | None = None,
    ) -> None:
        self.address = NeptuneAddress.of(endpoint, read_endpoint, region)
        self._seconds = {"read": read_seconds, "write": write_seconds}
        self._backoff = backoff or Backoff()
        self._most_rows = batch_rows
        self._rows = batch_rows
        self._lock = Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        self._session: Any = None

    @classmethod
    def connect(cls, connection: str, **options: Any) -> "NeptuneClient":
        """Return a client for ``neptune-db://HOST[:PORT][?region=..&read=HOST[:PORT]]``; options as of the class."""
        address = NeptuneAddress.parse(connection)
        return cls(address.endpoint, address.read_endpoint, address.region, **options)

    def read(self, query: str, /, **parameters: Any) -> list[Row]:
        """Return the rows of a query that changes nothing, from a reader; it may lag behind the writer by milliseconds."""
        return self._ask("read", self.address.read_endpoint, query, parameters)

    def read_latest(self, query: str, /, **parameters: Any) -> list[Row]:
        """Return the rows of a query that changes nothing, from the writer: all that was written is seen."""
        return self._ask("read", self.address.endpoint, query, parameters)

    def write(self, query: str, /, rows: Sequence[Mapping[str, Any]] | None = None, **parameters: Any) -> list[Row]:
        """Run a query that changes the graph and return its rows. It must be safe to repeat: a lost reply repeats it.

        ``rows`` are given to the query as ``$rows`` in batches, each a transaction: smaller after conflicts and when
        memory or time did not suffice, slowly larger again. Rows that are sorted by id make conflicts rarer.
        """
        if rows is None:
            return self._ask("write", self.address.endpoint, query, parameters)
        found: list[Row] = []
        begin = 0
        while begin < len(rows):
            taken, answer = self._batch(query, rows, begin, parameters)
            found += answer
            begin += taken
        return found

    def status(self) -> Row:
        """Return what the writer says of itself: ``status``, ``role``, ``dbEngineVersion`` and more."""
        reply = self._tried("read", self.address.endpoint, lambda client, _: client.get_engine_status())
        return {key: value for key, value in reply.items() if key != "ResponseMetadata"}

    def close(self) -> None:
        """Close the connections; the next query opens new ones."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _ask(self, kind: str, endpoint: str, query: str, parameters: Mapping[str, Any]) -> list[Row]:
        results: list[Row] = self._tried(kind, endpoint, _sender(query, parameters))["results"]
        return results

    def _batch(
        self, query: str, rows: Sequence[Mapping[str, Any]], begin: int, parameters: Mapping[str, Any]
    ) -> tuple[int, list[Row]]:
        """Write as many rows from ``begin`` as pass at once; return how many those are, and the rows of the answer."""
        tries = self._tries("write")
        while True:
            part = rows[begin : begin + self._rows]
            try:
                reply = self._once(tries, self.address.endpoint, _sender(query, {**parameters, "rows": part}))
            except Exception as error:  # noqa: BLE001  # judged: raised again as our own unless another try is worth it
                code = code_of(error)
                if len(part) > 1 and code in _CONFLICT | _TOO_MUCH:
                    self._rows = min(self._rows, len(part) // 2)
                if len(part) > 1 and code in _TOO_MUCH:
                    tries = self._tries("write")  # another, smaller query, with a time of its own
                else:
                    tries.again(error)
            else:
                if len(part) == self._rows:
                    self._rows = min(self._most_rows, self._rows + _GROWTH)
                results: list[Row] = reply["results"]
                return len(part), results

    def _tried(self, kind: str, endpoint: str, send: "Send") -> Any:
        tries = self._tries(kind)
        while True:
            try:
                return self._once(tries, endpoint, send)
            except Exception as error:  # noqa: BLE001  # judged: raised again as our own unless another try is worth it
                tries.again(error)

    def _tries(self, kind: str) -> "Tries":
        return Tries(kind, self._seconds[kind], self._backoff)

    def _once(self, tries: "Tries", endpoint: str, send: "Send") -> Any:
        client = self._client(tries.kind, endpoint)
        try:
            return send(client, tries.milliseconds())
        except Exception as error:
            if code_of(error) == _MOVED:
                self.close()  # the name of the writer leads to another machine now
            raise

    def _client(self, kind: str, endpoint: str) -> Any:
        """Return the boto3 client for a kind of query, which waits as long for a reply as such a query may take."""
        with self._lock:
            if (kind, endpoint) not in self._clients:
                if self._session is None:
                    self._session = signing_session(self.address.region)
                self._clients[kind, endpoint] = _new_client(self._session, endpoint, self._seconds[kind])
            return self._clients[kind, endpoint]


Send = Callable[[Any, int], Any]


class Tries:
    """The tries of one query: how many, until when, and what becomes of the last error."""

    def __init__(self, kind: str, seconds: float, backoff: Backoff) -> None:
        self.kind = kind
        self._seconds = seconds
        self._backoff = backoff
        self._end = backoff.clock() + seconds
        self._attempt = 1

    def milliseconds(self) -> int:
        """Return what is left of the time, at least 1."""
        return max(1, int((self._end - self._backoff.clock()) * 1000))

    def again(self, error: Exception) -> None:
        """Wait before another try, or raise what the error means when there is none."""
        delay = self._backoff.wait(self._attempt)
        in_time = self._backoff.clock() + delay < self._end
        if not _worth_another(error) or self._attempt >= self._backoff.attempts or not in_time:
            raise meaning_of(error, self._seconds) from error
        logger.info("neptune %s (%s): try %d in %.2f s", self.kind, _name(error), self._attempt + 1, delay)
        self._attempt += 1
        self._backoff.sleep(delay)


def code_of(error: BaseException) -> str:
    """Return the service's code of an error, empty when the service did not say one."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def meaning_of(error: Exception, seconds: float) -> LexigraphError:
    """Return the error of this package for one of botocore's; ``seconds`` was the deadline."""
    if isinstance(error, LexigraphError):
        return error
    code, kind = code_of(error), type(error).__name__
    if code in _CONFLICT:
        return Conflict(f"neptune: {code}: other writers keep changing the same part of the graph; try again")
    if code == "TimeLimitExceededException" or "ReadTimeout" in kind:
        return StoreUnavailable(f"neptune: no answer within {seconds:g} s; {_REMEDIES['TimeLimitExceededException']}")
    if code:
        return StoreUnavailable(f"neptune: {code}{f'; {_REMEDIES[code]}' if code in _REMEDIES else ''}")
    if "Credential" in kind or "Token" in kind or kind == "ProfileNotFound":
        return Misconfigured(f"neptune: {kind}; give AWS credentials: aws configure, AWS_PROFILE or a role")
    return StoreUnavailable(f"neptune: {kind}; check the endpoint, the network and the security group")


def signing_session(region: str | None) -> Any:
    """Return a boto3 session with a region. Raise ``Misconfigured`` without boto3 or when no region is known."""
    try:
        import boto3  # type: ignore[import-untyped]  # boto3 carries no types
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise Misconfigured('neptune-db needs boto3; run: pip install "lexigraph[aws]"') from error
    try:
        session = boto3.session.Session(botocore_session=core_session(), region_name=region)
    except BotoCoreError as error:
        raise meaning_of(error, 0) from error
    if session.region_name is None:
        raise Misconfigured("neptune: no region is known; add ?region=REGION to the connection, or set AWS_REGION")
    return session


def _new_client(session: Any, endpoint: str, seconds: float) -> Any:
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=seconds + _GRACE_SECONDS,
        max_pool_connections=_CONNECTIONS,
        retries={"total_max_attempts": 1, "mode": "standard"},  # botocore would repeat a write that still runs
        tcp_keepalive=True,
    )
    return session.client("neptunedata", config=config, endpoint_url=endpoint)


def _sender(query: str, parameters: Mapping[str, Any]) -> Send:
    request = {"parameters": _text_of(parameters)} if parameters else {}

    def send(client: Any, milliseconds: int) -> Any:
        timed = f"USING QUERY:TIMEOUTMILLISECONDS {milliseconds} {query}"
        reply = client.execute_open_cypher_query(openCypherQuery=timed, **request)
        if not isinstance(reply.get("results"), list):
            raise ConnectionError("the reply was cut off")  # botocore takes what is no whole JSON for an empty reply
        return reply

    return send


def _text_of(parameters: Mapping[str, Any]) -> str:
    """Return parameters as JSON; NUL, which no string in Neptune holds (user guide, "Amazon Neptune Limits"), as U+FFFD."""
    text = json.dumps(parameters, ensure_ascii=False)
    return _NUL.sub("\\1\ufffd", text) if "\\u0000" in text else text


def _worth_another(error: Exception) -> bool:
    if code := code_of(error):
        unnamed = code.isdigit() or code == "Unknown"  # of a balancer or a proxy: all there is is the status
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)  # type: ignore[attr-defined]  # as code_of
        return code in _BUSY | _CONFLICT | {_MOVED} or (unnamed and (status == 429 or status >= 500))
    from botocore.exceptions import ConnectionError as NoConnection
    from botocore.exceptions import HTTPClientError, ReadTimeoutError, SSLError
    from botocore.parsers import ResponseParserError

    never = (ReadTimeoutError, SSLError)  # the time is over; the certificate stays what it is
    return isinstance(error, (HTTPClientError, NoConnection, ResponseParserError, OSError)) and not isinstance(error, never)


def _name(error: Exception) -> str:
    return code_of(error) or type(error).__name__
