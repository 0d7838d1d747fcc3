"""Requests to the API of a deployment: whole replies, and events as they come."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from email.message import Message
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Event(NamedTuple):
    """An event of a stream: its name, its data, and the seconds after which it came."""

    name: str
    data: Any
    seconds: float


def fetch(
    url: str, headers: Mapping[str, str], body: dict[str, Any] | None = None, *, seconds: float, method: str = ""
) -> tuple[int, Message, bytes]:
    """Send a request, by default a POST when it has a body; return the status, the headers and the body of the reply."""
    with _sent(url, headers, body, seconds, method) as reply:
        return reply.status, reply.headers, reply.read()


def ask(url: str, key: str = "", body: dict[str, Any] | None = None, *, seconds: float, method: str = "") -> tuple[int, Any]:
    """Send a request with a key; return the status and the JSON of the reply."""
    status, _, reply = fetch(url, _headers(key), body, seconds=seconds, method=method)
    return status, json.loads(reply or "null")


def stream(url: str, key: str, body: dict[str, Any], *, seconds: float) -> tuple[int, list[Event]]:
    """Send a request that is answered by events; return the status and these."""
    began, events, name = time.monotonic(), list[Event](), ""
    with _sent(url, _headers(key), body, seconds) as reply:
        for line in reply:
            what, _, told = line.decode("utf-8").rstrip("\n").partition(": ")
            if what == "event":
                name = told
            elif what == "data":
                events.append(Event(name, json.loads(told), time.monotonic() - began))
        return reply.status, events


def _headers(key: str) -> dict[str, str]:
    return {"X-API-Key": key, "Content-Type": "application/json"}


@contextmanager
def _sent(
    url: str, headers: Mapping[str, str], body: dict[str, Any] | None, seconds: float, method: str = ""
) -> Iterator[HTTPResponse]:
    at = urlsplit(url)
    kind = HTTPSConnection if at.scheme == "https" else HTTPConnection
    with closing(kind(at.netloc, timeout=seconds)) as connection:
        usual, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method or usual, f"{at.path}{'?' if at.query else ''}{at.query}", data, dict(headers))
        yield connection.getresponse()
