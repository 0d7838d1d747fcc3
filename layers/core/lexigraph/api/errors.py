"""One error shape for every route and status: ``{"error", "message", "request_id", "hint"?}``.

:func:`as_api_error` maps errors of the core (a 422 is its ``InvalidInput``), :func:`handle_errors` those of the framework (a
422 is a request that does not fit its schema). Refusals of the API itself are raised as :class:`ApiError` where they arise.

A message names the field, the limit and the remedy. Nothing of a stack trace, a path of this machine or the text of a
question leaves: what the caller cannot mend is logged under the request id and answered in general words.
"""

import json
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastapi import FastAPI, Request, params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from lexigraph.model.errors import (
    Conflict,
    InvalidInput,
    LexigraphError,
    Misconfigured,
    ModelUnavailable,
    NotFound,
    StoreDamaged,
    StoreUnavailable,
    in_general,
)
from lexigraph.model.names import PATTERN, RULE

logger = logging.getLogger(__name__)

MAX_DEPTH = 16  # of JSON
RETRY_SECONDS = 5
_NAME_CHARS = 80  # of what was sent, in a message
# As JSON Schema and Python read them alike: there \w is of ASCII only, and white space another. The core refuses the rest.
A_WORD = r"[^\x00-/:-@\[-`{-\xa9]"
NOT_BLANK = r"[^\x00-\x20]"
# what a pattern of a field asks for, in words
_PATTERNS = {
    A_WORD: "must contain a letter or digit",
    NOT_BLANK: "must not be blank",
    PATTERN: RULE,
}
# those of ids and of kinds of nodes
_ID = re.compile(r"\^\(?(\w+[:_])?\[0-9a-f\](?:\{(\d+)\}|\+)\)?\??\$")
_KINDS_OF = re.compile(r"\^\(?\(([a-z|]+)\)(:)?")
# parts of a place that the framework adds, which of several types was tried, as JSON calls them
_TRIED = {"bool": "boolean", "int": "number", "float": "number", "str": "string", "none": "null", "ContextText": "object"}
_NO_NAMES = frozenset({*_TRIED, *"constrained-str constrained-int comparison membership combination".split()})
# what the framework says, in the words of JSON
_KINDS = {
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "missing": "is required",
}
_PHRASES = (
    (r"^Value error, ", ""),
    (r"^(?:Input|String|List|Dictionary|Tuple) should ", "must "),
    (r" after validation, not \d+$", ""),
)
# a value of Python's in a message of the core that is also the library's
_PYTHONS = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(r"(?<=[ =])(?:None|True|False)(?=[,:]|$| and )")
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
    422: "invalid_input",
    429: "rate_limited",
    501: "not_installed",
    503: "unavailable",
}


class ApiError(HTTPException):
    """An answer that is no success, made by the API itself."""

    def __init__(
        self, status: int, message: str, *, code: str = "", hint: str = "", headers: dict[str, str] | None = None
    ) -> None:
        # the framework lets its own kind of exception pass wherever it arises, also while a body is read
        super().__init__(status, message, headers or {})
        self.code, self.hint = code or CODES[status], hint


def error_body(code: str, message: str, request_id: str, hint: str = "") -> dict[str, str]:
    """Return the one shape."""
    return {"error": code, "message": message, "request_id": request_id, **({"hint": hint} if hint else {})}


def as_api_error(error: BaseException) -> ApiError:
    """Return what the caller is told of an error of the core, or of any other."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, NotFound):
        return ApiError(404, str(error))
    if isinstance(error, Conflict):
        return ApiError(409, str(error))
    if isinstance(error, StoreDamaged):
        return ApiError(503, in_general(error), code=error.code, hint="whoever runs it finds the damage by lexigraph doctor")
    if isinstance(error, StoreUnavailable) and not error.passes:
        return ApiError(503, in_general(error), code=error.code, hint="whoever runs it finds the reason in its log")
    for kind in (StoreUnavailable, ModelUnavailable):
        if isinstance(error, kind):
            return try_again(in_general(error), kind.code, "try again in a few seconds")
    if isinstance(error, Misconfigured):
        return ApiError(503, in_general(error), code="misconfigured", hint="whoever runs it finds the reason in its log")
    if isinstance(error, InvalidInput):
        return ApiError(422, _PYTHON.sub(lambda found: _PYTHONS[found[0]], str(error)))
    code = error.code if isinstance(error, LexigraphError) else "internal_error"
    return ApiError(500, "internal error: search the log of the server for the request id", code=code)


def try_again(message: str, code: str, hint: str) -> ApiError:
    """Return what is told of something that passes."""
    return ApiError(503, message, code=code, hint=hint, headers={"Retry-After": str(RETRY_SECONDS)})


def too_late(seconds: float) -> ApiError:
    """Return what is told of an answer that took longer than so many seconds."""
    return try_again(f"no answer within {seconds:g} s", "deadline_exceeded", "ask again, or for less")


def ending() -> ApiError:
    """Return what is told of a request that was under way when the server was told to end."""
    return try_again("the server is ending", CODES[503], "ask again when it is back")


def respond(request: Request, error: ApiError) -> JSONResponse:
    """Return the response for an error."""
    body = error_body(error.code, error.detail, request_id(request), error.hint)
    return JSONResponse(body, error.status_code, headers=error.headers)


def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Return the response for whatever went wrong; what the caller cannot mend is logged."""
    told = as_api_error(error)
    if isinstance(error, StoreDamaged):
        request.app.state.service.damaged = True
    if told.status_code >= 500:
        log_error(request_id(request), error)
    return respond(request, told)


def log_error(request: str, error: Exception) -> None:
    """Log an error under the id of its request."""
    # the message of an unknown error may hold text of documents: only its kind is logged, with where it arose
    logger.error("request %s: %s", request, _where(error))


def request_id(request: Request) -> str:
    """Return the id under which a request is logged."""
    found: str = request.scope.get("lexigraph.request_id", "")
    return found


def handle_errors(app: FastAPI) -> None:
    """Let the application answer every error in the one shape."""

    def of_framework(request: Request, error: Exception) -> JSONResponse:
        error = cast(HTTPException, error)
        if error.status_code == 400 and error.__cause__ and (unread := unread_body(error.__cause__)):
            return respond(request, unread)
        code, headers = CODES.get(error.status_code, "error"), dict(error.headers or {})
        message, hint = error.detail, ""
        if error.status_code == 404:
            message, hint = "there is no such route", _other_path(request)
        if error.status_code == 405:
            message, methods = "this route takes other methods", _methods(request)
            hint, headers["Allow"] = f"use {' or '.join(methods)}", ", ".join([*methods, *["HEAD"] * ("GET" in methods)])
        return respond(request, ApiError(error.status_code, message, code=code, hint=hint, headers=headers))

    def of_validation(request: Request, error: Exception) -> JSONResponse:
        error = cast(RequestValidationError, error)
        if wanted := _other_type(request, error):
            return respond(request, ApiError(415, f"content-type: must be {wanted}"))
        return respond(request, ApiError(422, first_problem(error.errors())))

    app.add_exception_handler(LexigraphError, answer_error)
    app.add_exception_handler(ApiError, answer_error)
    app.add_exception_handler(HTTPException, of_framework)
    app.add_exception_handler(RequestValidationError, of_validation)


def _other_path(request: Request) -> str:
    """Return what may have been meant by a path that is none."""
    path = request.scope["path"]
    near = path.rstrip("/") if path.endswith("/") else f"{path}/"
    return f"use {near[:_NAME_CHARS]}" if _methods(request, near) else "GET /docs shows all routes"


def _methods(request: Request, path: str = "") -> list[str]:
    """Return the methods of a path, that asked for by default; the framework names those of the first route only."""
    if "app_root_path" in request.scope:  # within a folder of files
        return [] if path else ["GET"]
    asked = {**request.scope, **({"path": path} if path else {})}

    def allowed(method: str) -> bool:
        return any(route.matches({**asked, "method": method})[0] == Match.FULL for route in request.app.routes)

    return [method for method in ("DELETE", "GET", "PATCH", "POST", "PUT") if allowed(method)]


def _other_type(request: Request, error: RequestValidationError) -> str:
    """Return the content type that the route reads, when the body was sent as another; else nothing."""
    body = getattr(request.scope.get("route"), "body_field", None)
    if body is None or not any(problem["loc"][0] == "body" for problem in error.errors()):
        return ""
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = "multipart/form-data" if isinstance(body.field_info, (params.Form, params.File)) else "application/json"
    empty = request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers
    right = sent == wanted or (wanted == "application/json" and sent.endswith("+json"))
    return "" if right or (empty and not sent) else wanted


def unread_body(error: BaseException) -> ApiError | None:
    """Return what is told of a body that is no JSON, or none that is read; None when the error says something else."""
    if isinstance(error, RecursionError):
        return ApiError(422, f"the body: nested more than {MAX_DEPTH} deep: send flatter JSON")
    if isinstance(error, UnicodeDecodeError):
        return ApiError(422, f"the body is not valid UTF-8 at byte {error.start:,}: send JSON in UTF-8")
    if isinstance(error, json.JSONDecodeError):
        return ApiError(422, f"the body is not valid JSON: {error.msg}")
    if isinstance(error, ValueError) and "digits" in str(error):
        return ApiError(422, f"the body: numbers must have at most {sys.get_int_max_str_digits():,} digits")
    return None


def first_problem(problems: Sequence[Mapping[str, Any]]) -> str:
    """Return what is wrong with the first field that is, without what was given for it."""
    # of a value that may be this or that, the limit of its own type says more than that it is not of the others
    first = next((p for p in problems if not p["type"].endswith("_type")), problems[0])
    place = ".".join(str(part)[:_NAME_CHARS] for part in first["loc"][1:] if part not in _NO_NAMES)
    said = _KINDS.get(first["type"], str(first["msg"]))
    for pattern, words in _PHRASES:
        said = re.sub(pattern, words, said)
    types = [str(p["loc"][-1]).removeprefix("constrained-") for p in problems if p["loc"][:-1] == first["loc"][:-1]]
    if first["type"].endswith("_type") and len(types) > 1 and _TRIED.keys() >= set(types):
        return f"{place}: must be one of {', '.join(dict.fromkeys(_TRIED[each] for each in types))}"
    if first["type"] == "string_pattern_mismatch":
        pattern = first["ctx"]["pattern"]
        said = "must be `next` of the previous page" if place in ("after", "cursor") else _in_words(pattern)
    if said.startswith("Expected UploadFile"):
        said = "must be a file with a name"
    if first["type"] == "json_invalid":
        return f"the body is not valid JSON: {(first.get('ctx') or {}).get('error', said)}"
    # an error of the core names its field itself
    return said if place and said.startswith(place) else f"{place or 'the body'}: {said}"


def _in_words(pattern: str) -> str:
    """Return what a pattern of a field asks for; the pattern itself where nobody said it in words."""
    if told := _PATTERNS.get(pattern):
        return told
    if one := _ID.fullmatch(pattern):
        prefix, digits = one.groups()
        return f"must be an id: {f'{prefix} and ' if prefix else ''}{f'{digits} ' if digits else ''}hexadecimal digits"
    if kinds := _KINDS_OF.match(pattern):
        listed = kinds[1].replace("|", ", ")
        return (
            f"must be the id of one of {listed}, such as entity:..."
            if kinds[2]
            else f"must be some of {listed}, with commas"
        )
    return f"must match {pattern}"


def _where(error: BaseException) -> str:
    steps, trace = [], error.__traceback__
    while trace:
        steps.append(f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}")
        trace = trace.tb_next
    kept = str(error) if isinstance(error, LexigraphError) else type(error).__name__
    return f"{type(error).__name__} at {' < '.join(reversed(steps[-6:]))} ({kept})"
