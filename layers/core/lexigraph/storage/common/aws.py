"""What the stores of AWS have in common: connection strings, clients that survive a fork, retries, errors with a remedy.

botocore's own retries are off (one attempt): it knows neither the items that a batch left unprocessed nor why a transaction
was cancelled, and two loops would multiply. :meth:`AwsClient.call` alone decides, with exponential back-off and full jitter
(https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
"""

import ipaddress
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from lexigraph.model.errors import InvalidInput, LexigraphError, Misconfigured, StoreUnavailable

T = TypeVar("T")
CONNECTIONS = 32
GIVE_UP_SECONDS = 30.0
_BASE_SECONDS, _CAP_SECONDS = 0.05, 3.0
_AWS_HOST = re.compile(r"[a-z0-9.-]+\.(amazonaws\.com|amazonaws\.com\.cn|api\.aws)")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d")
_BUSY = {
    "BandwidthLimitExceeded",
    "InternalError",
    "InternalServerError",
    "LimitExceededException",
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingError",
    "ThrottlingException",
    "TransactionConflict",
    "TransactionConflictException",
    "TransactionInProgressException",
}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedAccess", "403"}
_CREDENTIALS = {
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_MISSING = {"ResourceNotFoundException", "NoSuchBucket"}


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
        return bool(self.endpoint) and _is_loopback(urlsplit(self.endpoint).hostname or "")


def parse_place(connection: str, scheme: str, name: re.Pattern[str], example: str) -> Place:
    """Read a connection string. ``name`` is what the name must match, ``example`` is shown in errors.

    An endpoint is https://...amazonaws.com, or on this machine: credentials and documents go nowhere else.
    Raise ``Misconfigured``; no message repeats the string, which may hold a secret.
    """
    wrong = f"{scheme} connection: expected {example}[?region=REGION&endpoint=URL]"
    try:
        parts = urlsplit(connection)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise Misconfigured(wrong) from None
    given = dict(options)
    known = set(given) <= {"region", "endpoint"} and len(given) == len(options)
    if parts.scheme != scheme or parts.fragment or not known or not name.fullmatch(parts.netloc):
        raise Misconfigured(wrong)
    region, endpoint = given.get("region", ""), given.get("endpoint", "")
    if "region" in given and not _REGION.fullmatch(region):
        raise Misconfigured(f"{scheme} connection: region must look like eu-west-1")
    if "endpoint" in given and not _is_allowed(endpoint):
        raise Misconfigured(
            f"{scheme} connection: endpoint must be https://...amazonaws.com, or http on this machine (127.0.0.1, localhost)"
        )
    return Place(scheme, parts.netloc, parts.path.strip("/"), region, endpoint)


def _is_allowed(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
        return False
    if _is_loopback(host):
        return parts.scheme in ("http", "https")
    return parts.scheme == "https" and bool(_AWS_HOST.fullmatch(host))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
        self._service, self._place, self._seconds = service, place, seconds
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
        pauses = self.pauses()
        while True:
            try:
                with self._errors():
                    return action()
            except _Busy as error:
                if next(pauses, None) is None:
                    remedy = "try again later, or raise its limits"
                    raise StoreUnavailable(f"{self._where}: {error}; {remedy}") from error.__cause__

    def pauses(self) -> Iterator[int]:
        """Sleep between tries, ever longer on average, and count them; end when the time of a request is over."""
        give_up = time.monotonic() + self._seconds
        attempt = 0
        while True:
            pause = random.uniform(0, min(_CAP_SECONDS, _BASE_SECONDS * 2**attempt))  # noqa: S311  # full jitter
            if time.monotonic() + pause > give_up:
                return
            time.sleep(pause)
            attempt += 1
            yield attempt

    def close(self) -> None:
        """Close the connections. The next call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def _where(self) -> str:
        return f"{self._place.scheme}://{self._place.name}"

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
        """Tell errors worth another try (:class:`_Busy`) from the others, and name place and remedy."""
        try:
            yield
        except LexigraphError:
            raise
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{self._where}: text holds a lone surrogate, which is no character") from error
        except Exception as error:
            from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError
            from botocore.exceptions import ConnectionError as NotReached
            from urllib3.exceptions import HTTPError

            if isinstance(error, ClientError):
                refused = self._refused(error)
                status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
                if refused.code in _BUSY or status == 429 or status >= 500 or _only_busy(error.response):
                    raise _Busy(refused.code) from refused
                raise refused from error
            if isinstance(error, (NotReached, HTTPClientError, IncompleteReadError, HTTPError, OSError)):
                raise _Busy(f"cannot be reached ({type(error).__name__})") from error
            if isinstance(error, BotoCoreError):
                # the message names a parameter or a profile, and no value
                kind = type(error).__name__
                raise StoreUnavailable(f"{self._where}: {kind}{_remedy_of(kind)}") from error
            raise

    def _refused(self, error: Any) -> Refused:
        detail = error.response.get("Error", {})
        code = str(detail.get("Code", ""))
        return Refused(f"{self._where}: {code}{_remedy(code)}", code, error.response)


class _Busy(Exception):
    """Another try may help. Never leaves this module."""


def _only_busy(response: dict[str, Any]) -> bool:
    """Whether a transaction was cancelled for nothing but others' work and limits."""
    codes = {reason.get("Code", "None") for reason in response.get("CancellationReasons", ())} - {"None"}
    return bool(codes) and codes <= _BUSY


def _client(service: str, place: Place) -> Any:
    try:
        import boto3  # type: ignore[import-untyped]  # boto3 carries no types
    except ImportError as error:
        raise Misconfigured(f'{place.scheme} connections need boto3; run: pip install "lexigraph[aws]"') from error
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(
        connect_timeout=3,
        read_timeout=20,
        max_pool_connections=CONNECTIONS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        # what S3 is offered for is else signed in a way that buckets of today do not take
        signature_version="s3v4" if service == "s3" else None,
        s3={"addressing_style": _addressing(place)},
    )
    try:
        session = boto3.session.Session(botocore_session=core_session(), region_name=place.region or None)
        return session.client(service, config=config, endpoint_url=place.endpoint or None)
    except BotoCoreError as error:
        kind = type(error).__name__
        raise Misconfigured(f"{place.scheme}://{place.name}: {kind}{_remedy_of(kind)}") from error


def core_session() -> Any:
    """Return a new session of botocore, under a new one of boto3, which reads no description of a service twice."""
    import botocore.session

    core = botocore.session.Session()
    core.register_component("data_loader", _loader())
    return core


@cache
def _loader() -> Any:
    """Return what reads the descriptions of services: read once, they serve all clients."""
    from botocore.loaders import create_loader

    return create_loader()


def _remedy(code: str) -> str:
    if code in _DENIED:
        return ": allow the role to use it"
    if code in _CREDENTIALS:
        return ": renew the AWS credentials"
    if code in _MISSING:
        return ": does not exist in this region and account; check the connection string, or deploy it"
    return ""


def _remedy_of(kind: str) -> str:
    if "Credentials" in kind or "Token" in kind or kind == "ProfileNotFound":
        return ": give AWS credentials: aws configure, AWS_PROFILE or a role"
    if kind == "NoRegionError":
        return ": add ?region=REGION to the connection string, or set AWS_REGION"
    return ""


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
