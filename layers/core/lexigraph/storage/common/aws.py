"""Clients of AWS for stores: places of connection strings, clients that survive a fork, retries, errors with a remedy."""

import math
import os
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from lexigraph.aws import code_of, config, credentials_remedy, is_busy, may_pass, session, status_of
from lexigraph.model.errors import InvalidInput, LexigraphError, Misconfigured, StoreUnavailable
from lexigraph.retry import Retry, Tries
from lexigraph.storage.common.connection import read_connection, read_endpoint

T = TypeVar("T")
GIVE_UP_SECONDS = 30.0
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedAccess", "403"}
_MISSING = {"ResourceNotFoundException", "NoSuchBucket"}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"(?:[A-Za-z0-9!_.*'()-]+/)*[A-Za-z0-9!_.*'()-]+|")
MAX_PREFIX_BYTES = 300  # a key has 1,024; a name becomes up to 600, and tenant and source 98


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: ``SCHEME://NAME/PATH?region=REGION&endpoint=URL``. Region and endpoint may be empty."""

    scheme: str
    name: str
    path: str
    region: str
    endpoint: str

    @property
    def local(self) -> bool:
        """Whether the endpoint is on this machine."""
        return bool(self.endpoint) and read_endpoint(self.endpoint, "endpoint").local


def parse_place(connection: str, form: str, name: re.Pattern[str]) -> Place:
    """Read ``SCHEME://NAME`` or ``SCHEME://NAME/PATH``, whichever is the form, with its options; ``name`` must match.

    An endpoint is https://...amazonaws.com, or on this machine: credentials and documents go nowhere else.
    """
    where, options = read_connection(connection, f"{form}[?region=REGION&endpoint=URL]")
    scheme, (found, _, path) = form.partition(":")[0], where.partition("/")
    if not name.fullmatch(found) or (path.strip("/") and form.count("/") == 2):
        raise Misconfigured(f"{scheme} connection: expected {form}")
    endpoint = options.get("endpoint", "")
    if endpoint:
        server = read_endpoint(endpoint, f"endpoint of the {scheme} connection")
        if not (server.local or server.of_aws):
            raise Misconfigured(
                f"{scheme} connection: endpoint must be https://...amazonaws.com, or on this machine (127.0.0.1, localhost)"
            )
    return Place(scheme, found, path.strip("/"), options.get("region", ""), endpoint)


def bucket_place(connection: str) -> Place:
    """Read ``s3://BUCKET[/PREFIX][?region=REGION&endpoint=URL]``."""
    place = parse_place(connection, "s3://BUCKET/PREFIX", _BUCKET)
    if len(place.path) > MAX_PREFIX_BYTES or not _PREFIX.fullmatch(place.path):
        raise Misconfigured(
            f"s3 connection: the prefix may have {MAX_PREFIX_BYTES} letters, digits and !_.*'()- between single slashes"
        )
    return place


class Refused(StoreUnavailable):
    """The service found fault with a request; ``code`` is the service's own, ``response`` all it said."""

    def __init__(self, message: str, code: str, response: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.response = response


class AwsClient:
    """A boto3 client of one service, made when first used, anew in a forked child: sockets must not be shared.

    Safe between threads.
    """

    _client: Any

    def __init__(self, service: str, place: Place, *, seconds: float = GIVE_UP_SECONDS) -> None:
        """``seconds`` is how long a request is tried."""
        self._service, self._place = service, place
        self._where = f"{place.scheme}://{place.name}"
        self._retry = Retry(math.inf, seconds, base=0.05, cap=3.0)
        self._forget()
        _CLIENTS.add(self)

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Return the response of one request, tried again while the service is busy or not reached.

        A request whose reply was lost may have been carried out: callers make it safe to repeat. Raise
        :class:`Refused` for what another try cannot help, ``StoreUnavailable`` for what did not get better.
        """
        return self.retry(lambda: getattr(self._made(), operation)(**request))

    def retry(self, action: Callable[[], T]) -> T:
        """Call ``action`` as :meth:`call` calls an operation."""
        with self._errors():
            return self._retry.call(action, _wait, self._where)

    def tries(self) -> Tries:
        """Return the tries of who repeats requests himself, for as long as one is tried."""
        return self._retry.begin()

    def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._client = None

    def _made(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _client(self._service, self._place)
            return self._client

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what boto3 and the connection raise into errors with place and remedy."""
        try:
            yield
        except LexigraphError:
            raise
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{self._where}: the text contains a lone surrogate, which is not a valid character"
            ) from error
        except Exception as error:
            from botocore.exceptions import BotoCoreError, ClientError

            code, kind = code_of(error), type(error).__name__
            if _wait(error) is not None:
                told = f"{code or f'cannot be reached ({kind})'}; try again later, or raise its limits"
                raise StoreUnavailable(f"{self._where}: {told}") from error
            if isinstance(error, ClientError):  # a proxy's answer has no code
                said = _told(code or f"HTTP {status_of(error)}", error)
                raise Refused(self._where + said, code, error.response) from error
            if isinstance(error, BotoCoreError):  # its message names a parameter, and no value
                raise StoreUnavailable(self._where + _told(kind, error)) from error
            raise


def _wait(error: Exception) -> float | None:
    return 0.0 if may_pass(error) or _only_busy(error) else None


def _only_busy(error: Any) -> bool:
    """Whether a transaction was cancelled for nothing but others' work and limits."""
    reasons = getattr(error, "response", {}).get("CancellationReasons", ())
    codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
    return bool(codes) and all(map(is_busy, codes))


def _told(kind: str, error: Exception) -> str:
    """Return ``kind`` of an error with what to do, as the end of a message."""
    remedy = credentials_remedy(error)
    if kind in _DENIED:
        remedy = "allow the role to use it"
    elif kind in _MISSING:
        remedy = "does not exist in this region and account; check the connection string, or deploy it"
    elif kind == "NoRegionError":
        remedy = "add ?region=REGION to the connection string, or set AWS_REGION"
    return f": {kind}: {remedy}" if remedy else f": {kind}"


def _client(service: str, place: Place) -> Any:
    # what S3 is offered for is else signed in a way that buckets of today do not take
    s3 = {"signature_version": "s3v4", "s3": {"addressing_style": _addressing(place)}} if service == "s3" else {}
    made = session(place.region or None, f"{place.scheme} connections")
    from botocore.exceptions import BotoCoreError

    try:
        return made.client(service, config=config(3, 20, **s3), endpoint_url=place.endpoint or None)
    except BotoCoreError as error:  # no region, no such profile, half a pair of keys
        raise Misconfigured(f"{place.scheme}://{place.name}{_told(type(error).__name__, error)}") from error


_CLIENTS: weakref.WeakSet[AwsClient] = weakref.WeakSet()


def _forget_inherited() -> None:
    for client in list(_CLIENTS):
        client._forget()


os.register_at_fork(after_in_child=_forget_inherited)


def _addressing(place: Place) -> str:
    """Return how S3 is to be addressed: at AWS by the name of the bucket in its own region, which holds for offers, too."""
    if place.local:
        return "path"
    elsewhere = place.endpoint or any(os.environ.get(name) for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"))
    return "auto" if elsewhere or "." in place.name else "virtual"
