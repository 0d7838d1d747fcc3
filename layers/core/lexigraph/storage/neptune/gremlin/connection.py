"""The wire to Neptune for walks: Gremlin over a signed web socket, in threads of its own."""

import json
import logging
from asyncio import CancelledError, all_tasks
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock, Thread, local
from typing import Any, TypeVar

from lexigraph.aws import credentials_of
from lexigraph.model.errors import LexigraphError, Misconfigured, StoreUnavailable
from lexigraph.retry import Retry, Tries, kind_of
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import PASSING, signing_session

T = TypeVar("T")
logger = logging.getLogger(__name__)
RETRY = Retry(attempts=4, base=0.05, cap=5.0)
WALK_SECONDS = 30.0
_GRACE_SECONDS = 5.0
_CONNECTIONS = 4
# a connection that rested longer is opened anew: a frozen Lambda does not learn that the other side gave it up
_IDLE_SECONDS = 120.0
_LARGEST_REPLY = 64 * 1024 * 1024
_CLOSE_SECONDS = 10.0
_OPEN_SECONDS = 3.0  # for a handshake: what lets nothing through often does not say so
_OF_THE_WALK = (LexigraphError, LookupError, StopIteration, TypeError)  # raised as they are


class NoWebSocket(StoreUnavailable):
    """No web socket could be opened, or none stays open: whatever it was to ask may be asked in another way."""


class GremlinWalks:
    """Runs Gremlin traversals that change nothing, on the readers of a cluster; shared by threads, ``connections`` at once.

    gremlinpython drives an event loop, which a thread that runs one already cannot; so every walk runs in a thread of this
    object. A connection is signed when it is opened; one that broke, or whose signature is no longer taken, is opened and
    signed anew. ``seconds`` is the deadline of one walk with all its tries; several can share one (:meth:`begin`).
    """

    def __init__(
        self,
        address: NeptuneAddress,
        *,
        seconds: float = WALK_SECONDS,
        connections: int = _CONNECTIONS,
        retry: Retry = RETRY,
    ) -> None:
        self.address = address
        self._retry = replace(retry, seconds=seconds)
        self._workers = ThreadPoolExecutor(connections, thread_name_prefix="gremlin")
        self._mine = local()
        self._open: set[Any] = set()
        self._lock = Lock()

    def begin(self) -> "Walks":
        """Return what runs the walks of one question, all of them within the deadline of one."""
        return Walks(self, self._retry.begin())

    def run(self, walk: Callable[[Any], T], seconds: float | None = None) -> T:
        """Return what ``walk`` returns for the traversal source ``g``; it ends its traversals itself, as by ``to_list()``.

        ``seconds`` is its deadline, by default that of the object. ``walk`` may be called more than once; its own mistakes
        (``TypeError``, ``LookupError``) are raised as they are. Raise ``NoWebSocket`` when the cluster cannot be reached,
        ``StoreUnavailable`` when it refuses or does not answer in time, ``Misconfigured`` without gremlinpython, region or
        credentials.
        """
        within = self._retry.seconds if seconds is None else max(seconds, 0.001)
        try:
            walking = self._workers.submit(self._tried, walk, within)
        except RuntimeError as error:
            raise StoreUnavailable("neptune walk: the store is closed") from error
        try:
            return walking.result(within + _GRACE_SECONDS)
        except TimeoutError as error:
            walking.cancel()  # it may not have begun yet
            raise StoreUnavailable(self._too_late()) from error

    def close(self) -> None:
        """Close the connections. The object cannot be used afterwards."""
        self._workers.shutdown(cancel_futures=True)
        with self._lock:
            connections, self._open = self._open, set()
        # a thread of its own, as the caller's may run an event loop
        closer = Thread(target=_close, args=connections, daemon=True)
        closer.start()
        closer.join(_CLOSE_SECONDS)

    def _tried(self, walk: Callable[[Any], T], seconds: float) -> T:
        tries = replace(self._retry, seconds=seconds).begin()

        def walked() -> T:
            return walk(self._source(max(1, int(tries.left * 1000))))

        try:
            return tries.call(walked, self._wait, "neptune walk", kind=lambda error: _code(error) or kind_of(error))
        except _OF_THE_WALK:
            raise
        except Exception as error:
            raise self._meaning(error) from error

    def _wait(self, error: Exception) -> float | None:
        if isinstance(error, _OF_THE_WALK):
            return None
        code = _code(error)
        if code is None or code in PASSING:
            self._drop()
        silent = isinstance(error, TimeoutError) or isinstance(error.__cause__, CancelledError)
        return 0.0 if code in PASSING or (code is None and not silent) else None

    def _source(self, milliseconds: int) -> Any:
        """Return the traversal source over this thread's connection, with the time that is left."""
        try:
            from gremlin_python.process.anonymous_traversal import traversal  # type: ignore[import-untyped]  # has no types
        except ImportError as error:
            raise Misconfigured('walks in neptune-db need gremlinpython; run: pip install "lexigraph[aws]"') from error
        now = self._retry.clock()
        if now - getattr(self._mine, "used", now) > _IDLE_SECONDS:
            self._drop()
        self._mine.used = now
        connection = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._connect()
            with self._lock:
                self._open.add(connection)
        return traversal().with_remote(connection).with_("evaluationTimeout", milliseconds)

    def _connect(self) -> Any:
        from gremlin_python.driver import driver_remote_connection as driver  # type: ignore[import-untyped]  # has no types

        logging.getLogger("gremlinpython").setLevel(logging.CRITICAL)  # its log of an error holds the whole reply
        return driver.DriverRemoteConnection(
            self.address.gremlin,
            "g",
            pool_size=1,
            headers=signed_headers(self.address),
            transport_factory=_transport_factory(self._retry.seconds),
            max_content_length=_LARGEST_REPLY,
        )

    def _drop(self) -> None:
        connection, self._mine.connection = getattr(self._mine, "connection", None), None
        if connection is not None:
            with self._lock:
                self._open.discard(connection)
            _close(connection)

    def _meaning(self, error: Exception) -> StoreUnavailable:
        code = _code(error)
        if code == "TimeLimitExceededException" or isinstance(error, TimeoutError):
            return StoreUnavailable(self._too_late())
        if code is None:
            said = f"{kind_of(error)}; check the endpoint, the network, the security group and the role's rights"
            return NoWebSocket(f"neptune walk: {said}")
        return StoreUnavailable(f"neptune walk: {code}")

    def _too_late(self) -> str:
        return f"neptune walk: no answer within {self._retry.seconds:g} s; ask for a smaller neighbourhood"


class Walks:
    """The walks of one question."""

    def __init__(self, walks: GremlinWalks, tries: Tries) -> None:
        self._walks, self._tries = walks, tries

    def run(self, walk: Callable[[Any], T]) -> T:
        """Run one, as :meth:`GremlinWalks.run` does, in what is left of the time."""
        return self._walks.run(walk, self._tries.left)


def signed_headers(address: NeptuneAddress) -> dict[str, str]:
    """Return the SigV4 headers that open the web socket. Raise ``Misconfigured`` without region or credentials."""
    session = signing_session(address.region)
    credentials = credentials_of(session, "neptune").get_frozen_credentials()
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest("GET", address.gremlin.replace("ws", "http", 1))
    SigV4Auth(credentials, "neptune-db", session.region_name).add_auth(request)
    return {str(name): str(value) for name, value in request.headers.items()}


def _transport_factory(seconds: float) -> Callable[[], Any]:
    """Return what makes web sockets that wait ``seconds`` at most, and close what they opened when the server refuses."""
    from gremlin_python.driver.aiohttp.transport import AiohttpTransport  # type: ignore[import-untyped]  # has no types

    class Transport(AiohttpTransport):  # type: ignore[misc]  # has no types
        def connect(self, url: str, headers: Any = None) -> None:
            timer = self._loop.call_later(_OPEN_SECONDS, lambda: [task.cancel() for task in all_tasks(self._loop)])
            try:
                super().connect(url, headers)
            except (Exception, CancelledError) as error:
                timer.cancel()
                self.close()
                raise ConnectionError("the web socket was not opened") from error
            timer.cancel()

    limits = {"read_timeout": seconds + _GRACE_SECONDS, "write_timeout": seconds, "max_content_length": _LARGEST_REPLY}
    return lambda: Transport(**limits)


def _code(error: Exception) -> str | None:
    """Return the service's code of an error that the server answered with; None when the connection is at fault."""
    from gremlin_python.driver.protocol import GremlinServerError  # type: ignore[import-untyped]  # has no types

    if not isinstance(error, GremlinServerError) or "disconnected" in error.status_message:
        return None  # gremlinpython makes a server's error of a connection that ended, too
    try:
        said = json.loads(str(error.status_message))
    except ValueError:
        return "TimeLimitExceededException" if error.status_code == 598 else str(error.status_code)
    return str(said.get("code", error.status_code)) if isinstance(said, dict) else str(error.status_code)


def _close(*connections: Any) -> None:
    for connection in connections:
        try:
            connection.close()
        except Exception as error:  # noqa: BLE001  # it is broken already, or another thread reads from it
            logger.debug("closing a connection: %s", type(error).__name__)
