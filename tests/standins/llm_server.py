"""A chat model with a script, behind the OpenAI chat completions protocol (which Ollama, vLLM and others speak too).

    with ScriptedLLMServer(lambda body: "Paris") as server:
        settings = load_settings(llm="openai:any", llm_options={"base_url": server.base_url})
        ...
        assert len(server.requests) == 1

A script takes the request body and returns the reply: a text, data (sent as JSON text), a ``Reply`` for everything else
(``refused``, ``truncated``, ``Reply(hang_up_after=2)``, ``Reply(raw=b"<html>")``), or an exception, for a lost connection.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any

from tests.standins.loopback import LoopbackServer, hang_up, send

Answer = Any
Script = Callable[[dict[str, Any]], Answer]


@dataclass(frozen=True)
class Reply:
    """What the server sends. ``hang_up_after`` pieces of a stream the connection is closed (0: before the first).

    Seconds: ``delay`` before it begins, ``pause`` after each piece of a stream.
    """

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    error: Mapping[str, Any] = field(default_factory=dict)
    retry_after: float | None = None
    hang_up_after: int | None = None
    raw: bytes | None = None
    delay: float = 0.0
    pause: float = 0.0


def refused(status: int, message: str = "refused", *, code: str | None = None, retry_after: float | None = None) -> Reply:
    """Return an error of the server: 429 for throttling, 400 for a bad request, 503 for an overloaded one."""
    return Reply(status=status, error={"message": message, "type": "error", "code": code}, retry_after=retry_after)


def truncated(text: str) -> Reply:
    """Return a reply that ran out of tokens."""
    return Reply(text, finish_reason="length")


def in_turn(*answers: Answer) -> Script:
    """Return a script that gives the answers one after the other, the last one from then on."""
    left, lock = list(answers), Lock()

    def script(_: dict[str, Any]) -> Answer:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


def said(body: Mapping[str, Any], role: str = "user") -> str:
    """Return what a request says in a role, all its messages together."""
    return "\n".join(message["content"] for message in body["messages"] if message["role"] == role)


class ScriptedLLMServer(LoopbackServer):
    """Serves ``POST /v1/chat/completions`` (JSON and server-sent events) and ``GET /v1/models``."""

    def __init__(self, script: Script | str | Mapping[str, Any] | Sequence[Any] | Reply, model: str = "scripted") -> None:
        super().__init__()
        self.script: Script = script if callable(script) else lambda _: script
        self.model = model

    @property
    def base_url(self) -> str:
        """What ``llm_options.base_url`` is set to."""
        return f"{self.url}/v1"

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.command == "GET" and request.path == "/v1/models":
            listed = {"object": "list", "data": [{"id": self.model, "object": "model"}]}
            return send(request, 200, json.dumps(listed).encode(), "application/json")
        if request.path != "/v1/chat/completions":
            return send(request, 404, b'{"error": {"message": "no such path"}}', "application/json")
        asked = json.loads(body)
        self.record(request, asked)
        reply = _as_reply(self.script(asked))
        time.sleep(reply.delay)
        if reply.status != 200 or reply.raw is not None:
            wait = {} if reply.retry_after is None else {"Retry_After": f"{reply.retry_after:g}"}
            content = reply.raw if reply.raw is not None else json.dumps({"error": dict(reply.error)}).encode()
            return send(request, reply.status, content, "application/json", **wait)
        if asked.get("stream"):
            return self._stream(request, asked, reply)
        if reply.hang_up_after is not None:
            return hang_up(request)
        message = {"role": "assistant", "content": reply.text}
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        whole = {"id": "c1", "object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": _USED}
        return send(request, 200, json.dumps(whole).encode(), "application/json; charset=utf-8")

    def _stream(self, request: BaseHTTPRequestHandler, asked: Mapping[str, Any], reply: Reply) -> None:
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

        def write(text: str) -> None:
            data = text.encode()
            request.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        def event(delta: Mapping[str, Any], finish: str | None = None) -> None:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            write(
                f"data: {json.dumps({'object': 'chat.completion.chunk', 'model': asked['model'], 'choices': choices})}\n\n"
            )

        write(": a comment, as servers send to keep a connection alive\n\n")
        event({"role": "assistant", "content": ""})
        for number, piece in enumerate(re.findall(r"\s*\S+|\s+$", reply.text)):
            if number == reply.hang_up_after:
                break
            event({"content": piece})
            time.sleep(reply.pause)
        if reply.hang_up_after is not None:
            hang_up(request)
            return
        event({}, reply.finish_reason)
        if asked.get("stream_options", {}).get("include_usage"):
            write(f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [], 'usage': _USED})}\n\n")
        write("data: [DONE]\n\n")
        request.wfile.write(b"0\r\n\r\n")


_USED = {"prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128}


def _as_reply(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, BaseException):
        return Reply(hang_up_after=0)
    return Reply(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
