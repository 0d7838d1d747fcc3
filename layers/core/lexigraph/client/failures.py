"""Errors raised for error responses, with everything the server reported."""

import json
from collections.abc import Mapping
from typing import Any

from lexigraph.model.errors import (
    Conflict,
    InvalidInput,
    LexigraphError,
    ModelUnavailable,
    NotFound,
    StoreUnavailable,
)


class ApiFailure(LexigraphError):
    """An error response, or no response at all (``status`` 0).

    ``code`` is stable and machine-readable, ``message`` names the field, the limit and the remedy, ``hint`` adds what to do,
    and ``request_id`` identifies the request in the server's log.
    """

    def __init__(self, status: int, code: str, message: str, request_id: str = "", hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.status, self.code, self.message, self.request_id, self.hint = status, code, message, request_id, hint


class Unauthorized(ApiFailure):
    """The key is missing, wrong or revoked (401)."""


class Forbidden(ApiFailure):
    """The key lacks the permission (403)."""


class RateLimited(ApiFailure):
    """Too many requests, even after all retries (429)."""


class Unreachable(ApiFailure):
    """The server cannot be reached, or the connection broke (status 0)."""


class _Invalid(ApiFailure, InvalidInput):
    pass


class _Missing(ApiFailure, NotFound):
    pass


class _Conflicting(ApiFailure, Conflict):
    pass


class _NoModel(ApiFailure, ModelUnavailable):
    pass


class _NoStore(ApiFailure, StoreUnavailable):
    passes = True


_BY_CODE = {"model_unavailable": _NoModel, "store_unavailable": _NoStore, "store_damaged": _NoStore}
_BY_STATUS = {
    400: _Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: _Missing,
    409: _Conflicting,
    413: _Invalid,
    415: _Invalid,
    422: _Invalid,
    429: RateLimited,
}


def decoded(body: str | bytes) -> Any:
    """Return what JSON says. Raise ``ApiFailure`` for what is none, such as the page of a proxy."""
    try:
        return json.loads(body)
    except ValueError:
        raise ApiFailure(200, "unexpected", f"the server sent what is not valid JSON: {body[:200]!r}") from None


def failure_of(status: int, body: bytes) -> ApiFailure:
    """Return the error for a reply. A body that is not the API's own, as a proxy's, is quoted in part."""
    try:
        told = json.loads(body)
    except ValueError:
        told = None
    if not isinstance(told, Mapping) or "error" not in told:
        text = body[:200].decode(errors="replace").strip()
        told = {"error": "unexpected", "message": f"the server answered {status}" + (f": {text}" if text else "")}
    return failure_from(status, told)


def failure_from(status: int, told: Mapping[str, object]) -> ApiFailure:
    """Return the error for what the API said."""
    code = str(told.get("error") or "error")
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, ApiFailure)
    return kind(
        status, code, str(told.get("message") or code), str(told.get("request_id") or ""), str(told.get("hint") or "")
    )
