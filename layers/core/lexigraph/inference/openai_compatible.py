"""Chat models behind the OpenAI chat completions protocol: OpenAI itself, Ollama, vLLM, llama.cpp, LM Studio and others.

The standard library's HTTP client is all it takes: two kinds of request, one of them read line by line.
"""

import json
import logging
import re
import socket
import ssl
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from lexigraph import telemetry
from lexigraph.inference.chat import not_empty, out_of_tokens, parse_json, streamed, turns, with_schema
from lexigraph.inference.line import connected, still_wanted
from lexigraph.inference.protocols import Prompt, ReplyCut, Standing
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.secrets import sent_key
from lexigraph.retry import Retry

_LENGTH = "length"  # why a reply ended: its tokens ran out
MAX_REPLY_BYTES = 32_000_000
_BYTES_A_TOKEN = 2_000  # of an event of a stream, many times over: it comes with ids, and thoughts count as tokens
_BYTES_BESIDE = 1_000_000
_NETWORK = (OSError, HTTPException)


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Server:
    """Where models are served. ``key_name`` is the environment variable of the key, ``start`` how to get it going."""

    base_url: str
    key: str = field(default="", repr=False)
    key_name: str = "OPENAI_API_KEY"
    start: str = "check llm_options.base_url"


class OpenAICompatible:
    """A chat model served over HTTP; ``model`` is the server's name for it, ``timeout`` seconds without a byte.

    ``options`` are further fields of the request (``top_p``, ``seed``, ``reasoning_effort``, ...). Where a server refuses
    ``max_tokens``, ``temperature`` or a JSON schema, the request is put in its other form once and remembered.
    Throttling (408, 429, 5xx), broken connections and time-outs are retried; what has begun to stream is not.
    """

    def __init__(
        self,
        model: str,
        server: Server,
        *,
        name: str = "",
        options: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        retry: Retry | None = None,
    ) -> None:
        """Raise ``InvalidInput`` when the server's base URL is no HTTP address, and for a key that no header takes."""
        if any(mark in server.base_url for mark in "@?#"):  # what may be a secret: it is not told
            raise InvalidInput(
                f"llm_options.base_url: must not contain a user, password or query; set {server.key_name} to the key"
            )
        address = urlsplit(server.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidInput(f"llm_options.base_url {server.base_url!r}: use http://HOST[:PORT]/v1 or https://HOST/v1")
        self._key = sent_key(server.key_name, server.key)
        self._place = address.netloc
        self.name = name or f"openai:{model}"
        self.model = model
        self.server = server
        self.options = dict(options or {})
        self.timeout = timeout
        self.retry = retry or Retry()
        self._opener = _opener(address.hostname)
        self._quirks: frozenset[str] = frozenset()

    def complete(self, prompt: Prompt) -> str:
        text, finish = self._reply(prompt)
        text = not_empty(text, self.name, cut=finish == _LENGTH)
        if finish == _LENGTH:
            raise out_of_tokens(self.name, prompt, text)
        return text

    def stream(self, prompt: Prompt) -> Iterator[str]:
        with self._errors():
            yield from streamed(self.name, lambda: self._pieces(self._send(prompt, stream=True), prompt), self._try)

    def structured(self, prompt: Prompt, schema: Mapping[str, Any], name: str = "reply") -> Any:
        """Return JSON asked for with ``response_format`` json_schema, or in words where the server knows no schema."""
        text, finish = self._reply(prompt, schema, name)
        return parse_json(text, self.name, truncated=finish == _LENGTH)

    def standing(self, seconds: float) -> Standing:
        """Ask ``GET /models``; Ollama's names end in a tag."""
        try:
            with self._opener.open(self._request("models"), timeout=seconds) as response:
                names = {str(one["id"]) for one in _json(response.read(MAX_REPLY_BYTES))["data"]}
        except HTTPError as error:
            with error:  # one without a list answers, one that is busy or refuses the key does not
                return Standing(answers=error.code in (404, 405, 501))
        except TimeoutError:  # it was reached, and may be at work
            return Standing()
        except _NETWORK:
            return Standing(answers=False)
        except (_Refused, KeyError, TypeError):
            return Standing(answers=True)
        return Standing(True, bool({self.model, f"{self.model}:latest"} & names))

    def _request(self, path: str, body: Mapping[str, Any] | None = None) -> Request:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body).encode()
        return Request(f"{self.server.base_url.rstrip('/')}/{path}", data, headers)  # noqa: S310  # scheme checked

    def _reply(self, prompt: Prompt, schema: Mapping[str, Any] | None = None, name: str = "") -> tuple[str, str]:
        def asked() -> Any:
            with self._send(prompt, schema=schema, schema_name=name) as response:
                most = _most_bytes(prompt)
                whole = response.read(most + 1)
                if len(whole) > most:
                    raise self._cut(most)
                return _json(whole)

        reply = self._try(asked)
        with self._shape():
            choice = reply["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason") or ""
            _count(reply, finish)
            text, refusal = _text(message.get("content")), message.get("refusal")
        if refusal:
            raise ModelUnavailable(f"{self.name} refused to answer", public="the model refused to answer")
        return text, finish

    @contextmanager
    def _shape(self) -> Iterator[None]:
        """Tell data that have another shape than the protocol says."""
        try:
            yield
        except (KeyError, IndexError, TypeError, AttributeError):
            told = "reply is no chat completion"
            raise ModelUnavailable(f"{self.name}: its {told}", public=f"the model's {told}") from None

    def _send(
        self, prompt: Prompt, *, schema: Mapping[str, Any] | None = None, schema_name: str = "", stream: bool = False
    ) -> HTTPResponse:
        while True:
            quirks = self._quirks
            try:
                return self._post(self._body(prompt, schema, schema_name, stream))
            except _Refused as error:
                quirk = error.quirk(schema is not None)
                if quirk is None or quirk in quirks:
                    raise
                self._quirks |= {quirk}

    def _body(self, prompt: Prompt, schema: Mapping[str, Any] | None, schema_name: str, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"temperature": prompt.temperature} | self.options
        if _NO_TEMPERATURE in self._quirks:
            del body["temperature"]
        if schema is not None and _NO_SCHEMA in self._quirks:
            prompt = with_schema(prompt, schema)
        elif schema is not None:
            form = {"name": schema_name, "schema": schema, "strict": _is_strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        system = [("system", prompt.system)] if prompt.system else []
        body["model"] = self.model
        body["messages"] = [{"role": role, "content": content} for role, content in (*system, *turns(prompt))]
        body["max_completion_tokens" if _NEW_MAX_TOKENS in self._quirks else "max_tokens"] = prompt.max_tokens
        if stream:
            body["stream"] = True
            if telemetry.on() and _NO_USAGE not in self._quirks:
                body["stream_options"] = {"include_usage": True}
        return body

    def _post(self, body: Mapping[str, Any]) -> HTTPResponse:
        try:
            response: HTTPResponse = self._opener.open(self._request("chat/completions", body), timeout=self.timeout)
        except HTTPError as error:
            with error:
                raise _Refused.of(error.code, error.read(100_000), error.headers.get("Retry-After")) from None
        return response

    def _pieces(self, response: HTTPResponse, prompt: Prompt) -> Generator[str, None, None]:
        ended = spoke = False
        why = ""
        left = most = _most_bytes(prompt)
        with response:
            while line := response.readline(left + 1):
                still_wanted()
                left -= len(line)
                if left < 0:
                    raise self._cut(most)
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    ended = True
                    break
                event = _json(data)
                if event.get("error"):
                    raise _Refused.of(500, data, None)
                with self._shape():
                    choices = event.get("choices") or ()
                    said = [_text((choice.get("delta") or {}).get("content")) for choice in choices]
                    finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), "")
                    ended, why = ended or bool(finish), finish or why
                    if telemetry.on():
                        _count(event, finish)
                spoke = spoke or any(said)
                yield from filter(None, said)
        if not ended:
            raise ConnectionResetError("the stream ended before the reply did")
        if spoke and why == _LENGTH:
            raise out_of_tokens(self.name, prompt)

    def _cut(self, most: int) -> ReplyCut:
        return ReplyCut(f"{self.name}: the reply has more than {most:,} bytes: it was not read to its end")

    def _try(self, action: Callable[[], Any]) -> Any:
        with self._errors():
            return self.retry.call(action, _wait, self.name)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what the server and the connection raise into ``ModelUnavailable`` with the remedy."""
        try:
            yield
        except (_Refused, *_NETWORK) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        where = self.name  # the reason comes to those who use the API, too: the address is for the log
        logger.info("%s at %s: %s", self.name, self._place, type(error).__name__)
        cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
        if isinstance(error, _Refused):
            public = f"the model's server: {_STATUSES.get(error.status, '')}{error}"
            if error.status in (401, 403):
                told = f"{where}: access refused ({error}): set {self.server.key_name} to a valid key"
            elif error.status == 404:
                told = f"{where}: not found ({error}): {self.server.start}, and check the model's name"
            else:
                told = f"{where}: {error}"
            return ModelUnavailable(told, public=public)
        if isinstance(cause, TimeoutError):
            return ModelUnavailable(
                f"{where}: no reply within {self.timeout:g} s: raise LEXIGRAPH_MODEL_TIMEOUT",
                public=f"the model's server: no reply within {self.timeout:g} s",
            )
        # what HTTP finds wrong it quotes
        why = type(cause).__name__ if isinstance(cause, HTTPException) else cause or type(cause).__name__
        told = f"{where}: connection failed ({why}): {self.server.start}"
        return ModelUnavailable(told, public="the model's server: connection failed")


_NO_TEMPERATURE: Final = "no temperature"
_NEW_MAX_TOKENS: Final = "max_completion_tokens"
_NO_SCHEMA: Final = "no schema"
_NO_USAGE: Final = "no stream_options"
_STATUSES: Final = {401: "access refused, ", 403: "access refused, ", 404: "not found, ", 429: "too many requests, "}
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class _Refused(Exception):
    """An answer of the server that is an error. Its text tells the status and the code.

    The server's own ``message`` is for decisions here: it may repeat the prompt, and what is raised is logged.
    """

    def __init__(self, status: int, message: str, code: str, retry_after: float) -> None:
        super().__init__(f"HTTP {status}, {code}" if _CODE.fullmatch(code) else f"HTTP {status}")
        self.status, self.message, self.code, self.retry_after = status, message, code, retry_after

    @classmethod
    def of(cls, status: int, body: bytes, retry_after: str | None) -> "_Refused":
        # {"error": {"message", "code"}} at OpenAI, {"error": "text"} or plain text elsewhere
        text, code = body.decode(errors="replace"), ""
        with suppress(ValueError, KeyError, TypeError):
            error = json.loads(text)["error"]
            told = error if isinstance(error, dict) else {"message": error}
            text, code = str(told["message"]), str(told.get("code") or told.get("type") or "")
        try:
            wait = max(0.0, float(retry_after or 0))
        except ValueError:
            wait = 0.0  # a date: the jitter must do
        return cls(status, " ".join(text.split())[:300], code, wait)

    def quirk(self, with_schema: bool) -> str | None:
        if self.status not in (400, 422):
            return None
        said = self.message.lower()
        if "stream_options" in said or "include_usage" in said:
            return _NO_USAGE
        if "max_completion_tokens" in said:
            return _NEW_MAX_TOKENS
        if "temperature" in said:
            return _NO_TEMPERATURE
        return _NO_SCHEMA if with_schema and ("response_format" in said or "schema" in said) else None


class _Unusable(_Refused):
    """A reply with a good status whose body is empty, cut or no JSON: asked for again like a fault of the server."""

    def __init__(self, body: bytes) -> None:
        super().__init__(500, "", "", 0.0)
        self.args = ("a reply that is no JSON, or was cut" if body.strip() else "an empty reply",)


def _count(reply: Mapping[str, Any], finish: str) -> None:
    """Note the tokens that a reply, or an event of one, says it took; not every server tells."""
    used = reply.get("usage") or {}
    if used or finish:
        telemetry.usage(used.get("prompt_tokens"), used.get("completion_tokens"), finish, str(reply.get("model") or ""))


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST would arrive as a GET, and the key at another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Connection(HTTPConnection):
    """Can be hung up, from the first moment on."""

    def connect(self) -> None:
        still_wanted()
        super().connect()
        connected(self.sock)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Handler(HTTPHandler, HTTPSHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, req, context=self._context)  # type: ignore[attr-defined]  # as its base class does


def _opener(host: str) -> OpenerDirector:
    # a proxy set for the internet does not know this machine's own ports
    local = host in ("localhost", "127.0.0.1", "::1")
    return build_opener(_NoRedirect, _Handler, *([ProxyHandler({})] if local else []))


def _wait(error: Exception) -> float | None:
    if isinstance(error, _Refused):
        if error.code == "insufficient_quota":  # paid for, not passing
            return None
        return error.retry_after if error.status in (408, 429) or error.status >= 500 else None
    cause = error.reason if isinstance(error, URLError) else error
    # nobody listens, no such host, no trust: a few seconds change nothing
    useless = isinstance(cause, (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError))
    return 0.0 if isinstance(cause, _NETWORK) and not useless else None


def _most_bytes(prompt: Prompt) -> int:
    """Return how long a reply may be as it comes over the network."""
    return min(MAX_REPLY_BYTES, _BYTES_BESIDE + _BYTES_A_TOKEN * prompt.max_tokens)


def _json(data: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(data), dict):
            return found
    raise _Unusable(data)


def _text(content: Any) -> str:
    """Return the text of a message's content: a string, nothing, or a list of parts, of which those of text count."""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    if not isinstance(content, str | None):
        raise TypeError
    return content or ""


def _is_strict(schema: Any) -> bool:
    """Whether the schema keeps the rules under which servers enforce it: closed objects, every property required."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) or schema.get("type") == "object":
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(properties or ()):
                return False
        return all(_is_strict(value) for value in schema.values())
    return all(_is_strict(value) for value in schema) if isinstance(schema, (list, tuple)) else True
