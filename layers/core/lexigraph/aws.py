"""What all clients of AWS have in common, those of models and those of stores: sessions, and what an error says.

botocore's own retries are off (one attempt): it knows neither the items that a batch left unprocessed nor why a transaction
was cancelled, it would repeat a write that still runs, and two loops would multiply. :mod:`lexigraph.retry` alone decides.
"""

import os
from functools import cache
from typing import Any

from lexigraph.model.errors import LexigraphError, Misconfigured

CONNECTIONS = 32
_GIVE_CREDENTIALS = "set AWS credentials with `aws configure`, AWS_PROFILE or a role"
# Codes of what may pass that come with another status than 429 and 5xx, or without one: in the events of a stream, which
# write them with a small initial, and among the reasons for which a transaction was cancelled.
_BUSY = {
    "dependencyfailedexception",
    "internalserverexception",
    "limitexceededexception",
    "modeltimeoutexception",
    "provisionedthroughputexceeded",
    "provisionedthroughputexceededexception",
    "requestlimitexceeded",
    "requesttimeout",
    "requesttimeoutexception",
    "servicequotaexceededexception",
    "serviceunavailableexception",
    "throttledexception",
    "throttling",
    "throttlingerror",
    "throttlingexception",
    "transactionconflict",
    "transactionconflictexception",
    "transactioninprogressexception",
}
_CREDENTIALS = {
    "expiredtoken",
    "expiredtokenexception",
    "incompletesignature",
    "invalidaccesskeyid",
    "invalidclienttokenid",
    "invalidsignatureexception",
    "missingauthenticationtoken",
    "missingauthenticationtokenexception",
    "signaturedoesnotmatch",
    "unrecognizedclientexception",
}


def session(region: str | None, what: str, unavailable: type[LexigraphError] = Misconfigured, *, extra: str = "aws") -> Any:
    """Return a new session of boto3, by default in ``AWS_REGION``.

    Raise ``unavailable``, which names ``what`` needs it, where there can be none.
    """
    try:
        import boto3  # type: ignore[import-untyped]  # boto3 carries no types
        import botocore.session
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise unavailable(f'{what} need boto3; run: pip install "lexigraph[{extra}]"') from error
    core = botocore.session.Session()
    core.register_component("data_loader", _loader())
    try:
        return boto3.session.Session(botocore_session=core, region_name=region or region_set())
    except BotoCoreError as error:
        raise unavailable(f"{what}: {type(error).__name__}; {_GIVE_CREDENTIALS}") from error  # there is no such profile


def region_set() -> str | None:
    """Return ``AWS_REGION``, which boto3 does not read: it knows ``AWS_DEFAULT_REGION`` and the profile's."""
    return os.environ.get("AWS_REGION") or None


def credentials_of(made: Any, what: str) -> Any:
    """Return the credentials with which a session signs. Raise ``Misconfigured`` where there are none to be had."""
    from botocore.exceptions import BotoCoreError

    try:
        if found := made.get_credentials():
            found.get_frozen_credentials()  # renewed, if that is due
    except BotoCoreError as error:
        raise Misconfigured(f"{what}: {type(error).__name__}; {_GIVE_CREDENTIALS}") from error
    if found is None:
        raise Misconfigured(f"{what}: no credentials; {_GIVE_CREDENTIALS}")
    return found


@cache
def _loader() -> Any:
    """Return what reads the descriptions of services: read once, they serve all clients."""
    from botocore.loaders import create_loader

    return create_loader()


def config(connect_seconds: float, read_seconds: float, **more: Any) -> Any:
    """Return botocore's settings of a client; ``read_seconds`` are those without a byte."""
    from botocore.config import Config

    once = {"total_max_attempts": 1, "mode": "standard"}
    timeouts = {"connect_timeout": connect_seconds, "read_timeout": read_seconds}
    return Config(**timeouts, max_pool_connections=CONNECTIONS, retries=once, **more)


def code_of(error: BaseException) -> str:
    """Return the service's code of an error, empty when the service did not say one."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def status_of(error: BaseException) -> int:
    """Return the HTTP status of an error that a service answered with, otherwise 0."""
    response = getattr(error, "response", None)
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) if isinstance(response, dict) else 0


def is_busy(code: str) -> bool:
    """Whether a code of a service says that the same may go well later."""
    return code.lower() in _BUSY


def may_pass(error: BaseException) -> bool:
    """Whether another try may help: the service is busy or failing, or was not reached, or its reply broke off."""
    if isinstance(error, LexigraphError):
        return False
    from botocore.exceptions import ClientError

    if isinstance(error, ClientError):
        return is_busy(code_of(error)) or status_of(error) == 429 or status_of(error) >= 500
    return not_reached(error)


def not_reached(error: BaseException) -> bool:
    """Whether the connection is at fault."""
    from botocore.exceptions import ConnectionError as NoConnection
    from botocore.exceptions import HTTPClientError, IncompleteReadError
    from urllib3.exceptions import HTTPError

    return isinstance(error, (NoConnection, HTTPClientError, IncompleteReadError, HTTPError, OSError))


def credentials_remedy(error: BaseException) -> str:
    """Return what to do about credentials when they are what an error of boto3 is about, otherwise nothing."""
    if code := code_of(error):
        return "renew the AWS credentials" if code.lower() in _CREDENTIALS else ""
    kind = type(error).__name__
    return _GIVE_CREDENTIALS if "Credential" in kind or "Token" in kind or kind == "ProfileNotFound" else ""
