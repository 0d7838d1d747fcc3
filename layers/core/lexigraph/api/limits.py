"""What a request may be: how long its body, how deep its JSON, which text, and which names; the rest is a 422 or 413."""

import asyncio
import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from email.message import EmailMessage
from typing import Annotated, Any

import anyio
from fastapi import Request, Response, params
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lexigraph.api.errors import MAX_DEPTH, ApiError, answer_error, ending, respond
from lexigraph.model.errors import InvalidInput
from lexigraph.model.names import LONGEST, PATTERN, visible
from lexigraph.retrieval.stages.args import check_names

MAX_BODY_BYTES = 1_000_000
_FORM_BYTES = 100_000  # that a form may have besides its file
_FORM_FIELDS, _FORM_FILES = 20, 10  # more than any route knows, so that which is wrong can be told
_FILE_ROUTES = ("/documents", "/unstructured/upload_document")  # whose bodies may be as long as a file
MAX_VALUES = 20_000
_NAME_CHARS = 80  # of what was sent, in a message
_NAMES = 50  # unknown ones of a body that are compared with those that are known
_NULL = {"type": "null"}
_ABOUT = {"title", "description", "default", "examples"}  # of a schema: not what a value may be
_LAST_WORDS_SECONDS = 1.0
# of a body that was refused, read and thrown away: clients that write all before they read hear why only then
_LINGER_SECONDS = 10.0
_LINGER_BYTES = 200_000_000


class Body(BaseModel):
    """Base of what clients send: unknown fields are refused, so that a misspelt one is not silently without effect.

    Null in a field that may be omitted is as if it were: clients that fill in every field send it for what they do not have.
    A value has the type that the schema names: ``"5"`` and ``true`` are no numbers; ``5.0`` is a whole one in JSON.
    """

    model_config = ConfigDict(extra="forbid", str_max_length=100_000, strict=True, regex_engine="python-re")

    @model_validator(mode="before")
    @classmethod
    def _is_reasonable(cls, given: Any) -> Any:
        checked(given)
        if not isinstance(given, dict):
            return given
        # the framework neither tells the nearest name nor lists those that are known
        names = [name for name in given if name not in cls.model_fields][:_NAMES]
        if any(field.is_required() and name not in given for name, field in cls.model_fields.items()):
            # perhaps it is misspelt; else that it is missing says more
            names = [name for name in names if get_close_matches(name[:_NAME_CHARS], cls.model_fields, n=1)]
        only_known(names, tuple(cls.model_fields))
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {name: _as_whole(value) for name, value in given.items() if value is not None or name not in optional}

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(core_schema)
        schema = handler.resolve_ref_schema(made)
        for name, field in schema["properties"].items():
            if name not in schema.get("required", ()) and _NULL not in field.get("anyOf", ()):
                types = field.pop("anyOf", None) or [{part: field.pop(part) for part in [*field] if part not in _ABOUT}]
                field["anyOf"] = [*types, _NULL]
        return made


class Reply(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(serialize_by_alias=True)


def checked(given: Any) -> Any:
    """Return JSON data as it is. Raise ``ValueError`` when it is nested too deeply, too long, or holds half characters."""
    left = MAX_VALUES
    waiting = [(given, 0)]
    while waiting:
        value, depth = waiting.pop()
        left -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep: send flatter JSON")
        if left < 0:
            raise ValueError(f"more than {MAX_VALUES:,} values: send less at once")
        if isinstance(value, dict):
            waiting += [(part, depth + 1) for pair in value.items() for part in pair]
        elif isinstance(value, (list, tuple)):
            waiting += [(part, depth + 1) for part in value]
        elif isinstance(value, str):
            whole(value)
    return given


def only_known(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise ``InvalidInput`` for the first name that is not known, with the nearest that is."""
    check_names({name[:_NAME_CHARS]: None for name in given}, known)


def _as_whole(value: Any) -> Any:
    if isinstance(value, dict):  # as of parameters
        return {name: _as_whole(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def whole(text: str) -> str:
    """Return a text as it is. Raise ``ValueError`` when it cannot be UTF-8: half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text must not contain an unpaired surrogate") from None
    return text


def _written(pattern: str, what: str) -> Callable[[Any], Any]:
    """Return what lets a query parameter pass in one spelling only, where the framework would take many."""

    def check(given: Any) -> Any:
        if isinstance(given, str) and not re.fullmatch(pattern, given):
            raise ValueError(f"must be {what}")
        return given

    return check


# the last part of a parameter's annotation, behind its limits, which would be missing in the OpenAPI document otherwise
TEXT = AfterValidator(whole)
NAME = AfterValidator(visible)  # behind ``pattern=names.PATTERN``, which the document shows
Name = Annotated[str, Field(min_length=1, max_length=LONGEST, pattern=PATTERN), NAME]  # in a body
# Python's client writes True, others 1 or yes; what they mean is beyond doubt
FLAG = BeforeValidator(_written("(?i:true|false|yes|no|on|off|1|0)", "true or false"))
WHOLE = BeforeValidator(_written(r"-?[0-9]{1,18}(\.0{1,9})?", "a whole number"))
NUMBER = BeforeValidator(_written(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][-+]?[0-9]{1,2})?", "a number"))


def sends_file(scope: Scope) -> bool:
    """Tell whether a request is a form for a route that takes a file."""
    form = dict(scope["headers"]).get(b"content-type", b"").startswith(b"multipart/form-data")
    return bool(form and scope["method"] == "POST" and scope["path"].rstrip("/").endswith(_FILE_ROUTES))


class FormRoute(APIRoute):
    """A route whose form has few and small fields besides its file: the framework holds them in memory, 1 MB of each."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        if not isinstance(self.body_field and self.body_field.field_info, params.Form):
            return answer

        async def limited(request: Request) -> Response:
            # kept by the request, and so not read again
            await request.form(max_fields=_FORM_FIELDS, max_files=_FORM_FILES, max_part_size=_FORM_BYTES)
            return await answer(request)

        return limited


async def only_declared(request: Request) -> None:
    """Raise ``InvalidInput`` for a name of the query, or a field of a body, that the route would pass over."""
    query, form, filled = set(), set(), set()
    reads_json = False
    for each in _with_all(request.scope["route"].dependant):
        query |= {field.alias for field in each.query_params}
        fields = [field for field in each.body_params if isinstance(field.field_info, params.Form)]
        form |= {field.alias for field in fields}
        reads_json |= len(fields) < len(each.body_params)
        filled |= {field.alias for field in fields if any(getattr(m, "min_length", 0) for m in field.field_info.metadata)}
    _check_place(request.query_params, query, form, "a field of the form, not of the query")
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if times > 1:  # the framework would take the last
            raise InvalidInput(f"{name}: is given {times} times; pass it once")
    if reads_json:
        check_once(await request.body())  # read before, and kept
    if form and request.headers.get("content-type", "").startswith("multipart/form-data"):  # another is refused as such
        sent = await request.form()  # read before, and kept
        _check_place(sent, form, query, "of the query, not a field of the form")
        for name in filled & sent.keys():
            if sent[name] == "":  # the framework would take the default
                raise InvalidInput(f"{name}: is empty; send a name, or omit it for the default")


def check_once(body: bytes | str, field: str = "") -> None:
    """Raise ``InvalidInput`` for JSON with an object that holds a name twice: the framework would take the last."""
    again: list[tuple[str, int]] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            again.extend(Counter(name for name, _ in pairs).most_common(1))

    with suppress(ValueError, RecursionError):  # what is no JSON is told elsewhere
        json.loads(body, object_pairs_hook=note)
    for name, times in again:
        told = name[:_NAME_CHARS].encode(errors="replace").decode()
        raise InvalidInput(f"{field}{told}: is given {times} times; send it once")


def _check_place(given: Iterable[str], known: set[str], elsewhere: set[str], where: str) -> None:
    for name in given:
        if name in elsewhere - known:
            raise InvalidInput(f"{name}: is {where}: send it there")
        only_known([name], sorted(known))


def _with_all(dependant: Dependant) -> Iterator[Dependant]:
    """Yield what a route depends on, itself first."""
    yield dependant
    for each in dependant.dependencies:
        yield from _with_all(each)


class Requests:
    """The outermost middleware: gives each request an id, answers HEAD as GET without the body, and refuses bodies over the
    limit while they arrive.
    """

    def __init__(self, app: ASGIApp, *, max_file_bytes: int) -> None:
        self._app, self._file = app, max_file_bytes
        self._under_way: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, self._until_all_have_ended(receive), send)
        elif scope["type"] == "http" and (task := asyncio.current_task()):
            self._under_way.add(task)
            try:
                await self._answer(scope, receive, send)
            finally:
                self._under_way.discard(task)
        else:
            await self._app(scope, receive, send)

    def _until_all_have_ended(self, receive: Receive) -> Receive:
        """Let requests that the ending server has cancelled say so before stores and connections are closed."""

        async def wait() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown" and self._under_way:
                await asyncio.wait(self._under_way, timeout=_LAST_WORDS_SECONDS)
            return message

        return wait

    def _too_large(self, upload: bool) -> ApiError:
        if upload:
            message, hint = f"file: has more than {self._file:,} bytes", "split the file"
        else:
            message = f"the body has more than {MAX_BODY_BYTES:,} bytes"
            hint = "upload a file as multipart/form-data, or send less at once"
        return ApiError(413, message, hint=hint, headers={"Connection": "close"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["lexigraph.request_id"] = name = secrets.token_hex(8)
        if head := scope["method"] == "HEAD":
            scope = {**scope, "method": "GET", "lexigraph.head": True}
        headers = dict(scope["headers"])
        upload = sends_file(scope)
        limit = self._file + _FORM_BYTES if upload else MAX_BODY_BYTES
        took = 0
        begun = ended = too_large = False

        async def count() -> Message:
            nonlocal took, ended, too_large
            message = await receive()
            ended = not message.get("more_body")
            took += len(message.get("body", b""))
            if took > limit:
                too_large = True
                raise self._too_large(upload)
            return message

        async def note(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", []), (b"x-request-id", name.encode())]
            elif too_large and not ended and not message.get("more_body"):
                await send({**message, "more_body": True})
                await _linger(receive)
                message = {"type": "http.response.body"}
            await send({**message, "body": b""} if head and message["type"] == "http.response.body" else message)

        try:
            if b"transfer-encoding" in headers and b"content-length" in headers:
                raise _two_lengths()
            length = headers.get(b"content-length", b"0")
            if length.isdigit() and int(length) > limit:
                too_large = True
                raise self._too_large(upload)
            _check_coding(headers)
            await self._app(scope, count, note)
        except asyncio.CancelledError:  # the server ends: nobody else cancels a request
            if begun:
                raise
            await respond(Request(scope), ending())(scope, receive, note)
        except Exception as error:
            if begun:
                raise
            # here, because the framework's last resort logs what an error says and ends the connection
            await answer_error(Request(scope), error)(scope, receive, note)


def _two_lengths() -> ApiError:
    # whoever stands in front may have gone by the other one, and take the rest for another's request (RFC 9112, 6.1)
    message = "a request has Content-Length or Transfer-Encoding, not both"
    return ApiError(400, message, headers={"Connection": "close"})


def _check_coding(headers: Mapping[bytes, bytes]) -> None:
    """Raise ``ApiError`` 415 for a body that would have to be unpacked first, or for JSON that is not in UTF-8."""
    if headers.get(b"content-encoding", b"").strip().lower() not in (b"", b"identity"):
        raise ApiError(
            415,
            "content-encoding: must be omitted; send the body uncompressed",
            headers={"Accept-Encoding": "identity"},
        )
    if b"charset" in (type_ := headers.get(b"content-type", b"")).lower():
        said = EmailMessage()
        said["content-type"] = type_.decode("latin-1")
        if said.get_content_subtype().endswith("json") and said.get_content_charset() not in ("utf-8", "utf8", "us-ascii"):
            raise ApiError(415, "content-type: charset must be utf-8; send JSON in UTF-8")


async def _linger(receive: Receive) -> None:
    """Read on, within bounds: a connection that is closed on unread bytes takes the answer with it."""
    left = _LINGER_BYTES
    with anyio.move_on_after(_LINGER_SECONDS):
        while left > 0:
            message = await receive()
            if not message.get("more_body"):  # the end, or the client has gone
                return
            left -= len(message["body"])
