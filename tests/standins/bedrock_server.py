"""Bedrock with a script: Converse, ConverseStream, InvokeModel, Rerank and batch jobs in their wire formats, for boto3.

A script takes the operation (``converse``, ``converse-stream``, ``invoke``, ``rerank``, ``model-invocation-job``), the model
id (of a job that is asked for its ARN, else nothing) and the request body, and returns the response body, a ``Fault``, or
for a stream a list of events (``("contentBlockDelta", {...})``).
"""

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from tests.standins.loopback import LoopbackServer, hang_up, send

Script = Callable[[str, str, dict[str, Any]], Any]


@dataclass(frozen=True)
class Fault:
    """An error of the service; status 0 closes the connection instead."""

    status: int
    code: str = ""
    message: str = ""


class BedrockServer(LoopbackServer):
    """Answers at ``url``, to be used as the endpoint of ``bedrock-runtime`` and ``bedrock-agent-runtime``."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = unquote(request.path).strip("/").split("/")
        operation, model = (parts[-1], "/".join(parts[1:-1])) if parts[0] == "model" else (parts[0], "/".join(parts[1:]))
        asked = json.loads(body) if body else {}
        self.record(request, {"operation": operation, "model": model, **asked})
        reply = self.script(operation, model, asked)
        if isinstance(reply, Fault) and not reply.status:
            return hang_up(request)
        if isinstance(reply, Fault):
            content = json.dumps({"message": reply.message}).encode()
            return send(request, reply.status, content, "application/json", x_amzn_ErrorType=f"{reply.code}:http://x/")
        if operation == "converse-stream":
            frames = b"".join(_frame(name, data) for name, data in reply)
            return send(request, 200, frames, "application/vnd.amazon.eventstream")
        return send(request, 200, json.dumps(reply).encode(), "application/json")


def message(text: str, stop: str = "end_turn") -> dict[str, Any]:
    """Return the response of Converse for a text."""
    return _reply([{"text": text}] if text else [], stop)


def tool_use(name: str, data: Any, stop: str = "tool_use") -> dict[str, Any]:
    """Return the response of Converse for the call of a tool."""
    return _reply([{"text": "Here it is."}, {"toolUse": {"toolUseId": "t1", "name": name, "input": data}}], stop)


def streamed(pieces: Sequence[str], stop: str = "end_turn") -> list[tuple[str, dict[str, Any]]]:
    """Return the events of ConverseStream for a text in pieces."""
    return [
        ("messageStart", {"role": "assistant"}),
        *(("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}) for piece in pieces),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": stop}),
        ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}}),
    ]


def _reply(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def _frame(name: str, data: dict[str, Any]) -> bytes:
    """Return one message of the AWS event stream encoding: prelude, headers, payload, each part with its CRC-32."""
    exception = name.endswith("Exception")
    headers = {
        ":message-type": "exception" if exception else "event",
        ":exception-type" if exception else ":event-type": name,
        ":content-type": "application/json",
    }
    encoded = b"".join(
        struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for key, value in headers.items()
    )
    payload = json.dumps(data).encode()
    prelude = struct.pack("!II", 16 + len(encoded) + len(payload), len(encoded))
    start = prelude + struct.pack("!I", crc32(prelude)) + encoded + payload
    return start + struct.pack("!I", crc32(start))
