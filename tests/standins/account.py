"""An AWS account on loopback, as whoever deploys sees it: each operation in the wire format of its service, for boto3.

What is asked is told apart by the service that the request is signed for. Answers are plain data, made into the service's
format by botocore's own description of it; what no answer was given for is refused, as is what a test takes away.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.standins.loopback import LoopbackServer, hang_up, send

_SIGNED = re.compile(r"Credential=[^/]+/\d{8}/[a-z0-9-]+/([a-z0-9-]+)/aws4_request")
# by the name that is signed for, where that of botocore's description is another
_SERVICES = {
    "rds": "neptune",
    "aoss": "opensearchserverless",
    "bedrock": "bedrock-runtime",
    "events": "events",
    "servicequotas": "service-quotas",
}
# of what is signed for by one name and described by two: the operations of the other one
_OTHERS = {"DescribeAccountAttributes": "rds"}
_PATHS = (
    ("converse", "Converse"),
    ("invoke", "InvokeModel"),
    ("account-settings", "GetAccountSettings"),
    ("invocations", "Invoke"),
)

Answer = Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Refusal:
    """An error of the service; status 0 closes the connection instead."""

    code: str
    message: str = "as the test wants"
    status: int = 400


class AccountServer(LoopbackServer):
    """``answers`` are by service and operation, as ``"neptune DescribeDBClusters"``; ``asked`` is what was, in order."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__()
        self.answers: dict[str, Any] = dict(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        signed = _SIGNED.search(request.headers.get("Authorization", ""))
        service = _SERVICES.get(signed[1], signed[1]) if signed else ""
        operation, given = _operation(request, body)
        service = _OTHERS.get(operation, service)
        self.asked.append((f"{service} {operation}", given))
        answer = self.answers.get(f"{service} {operation}", Refusal("AccessDeniedException", "no answer was given", 403))
        try:
            told = answer(given) if callable(answer) else answer
        except RefusedError as error:
            told = error.refusal
        if not isinstance(told, Refusal):
            return self._told(request, service, operation, told or {})
        return hang_up(request) if not told.status else _refuse(request, _model(service).metadata["protocol"], told)

    def _told(self, request: BaseHTTPRequestHandler, service: str, operation: str, told: Mapping[str, Any]) -> None:
        from moto.core.serialize import get_serializer_class

        model = _model(service)
        made = get_serializer_class(service, model.metadata["protocol"])(model.operation_model(operation)).serialize(told)
        content = made["body"]
        headers = {name.replace("-", "_"): str(value) for name, value in made["headers"].items() if name != "Content-Type"}
        data = content.encode() if isinstance(content, str) else bytes(content)
        send(request, made["status_code"], data, made["headers"].get("Content-Type", "application/json"), **headers)


class RefusedError(Exception):
    """Raised by an answer that refuses."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


@cache
def _model(service: str) -> Any:
    from moto.core.utils import get_service_model

    return get_service_model(service)


def _operation(request: BaseHTTPRequestHandler, body: bytes) -> tuple[str, dict[str, Any]]:
    if target := request.headers.get("X-Amz-Target"):
        return target.rpartition(".")[2], json.loads(body or b"{}")
    path = urlsplit(request.path).path.strip("/")
    if not path:
        given = dict(parse_qsl(body.decode()))
        return given.pop("Action", ""), given
    last = path.rpartition("/")[2]
    given = json.loads(body) if body[:1] == b"{" else {}
    return next((name for end, name in _PATHS if last == end), last), {**given, "path": unquote(path)}


def _refuse(request: BaseHTTPRequestHandler, protocol: str, told: Refusal) -> None:
    code, message = escape(told.code), escape(told.message)
    if protocol == "ec2":
        content = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
        return send(request, told.status, content.encode(), "text/xml")
    if protocol == "query":
        content = f"<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
        return send(request, told.status, content.encode(), "text/xml")
    data = json.dumps({"__type": told.code, "message": told.message}).encode()
    return send(request, told.status, data, "application/json", x_amzn_ErrorType=told.code)
