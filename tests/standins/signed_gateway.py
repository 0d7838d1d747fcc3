"""API Gateway with AWS_IAM before a function: refuses what is not signed, or otherwise than for it, and says who signed.

The signature is computed anew from the request with the secret that the access key has, as AWS does it.
"""

import hmac
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "eu-west-1"
_EVENT = Path(__file__).parents[2] / "events" / "query.signed.json"
_SKEW_SECONDS = 300


@contextmanager
def signed_gateway(
    handler: Callable[[dict[str, Any], Any], dict[str, Any]], callers: Mapping[str, tuple[str, str]]
) -> Iterator[str]:
    """Serve a handler of proxy events on loopback; yield the address. ``callers``: secret and ARN by access key."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _answer(self, body: bytes) -> None:
            arn, refused = _checked(self.command, self.path, dict(self.headers.items()), body, callers)
            reply = {
                "statusCode": 401 if "Missing" in refused else 403,
                "headers": {},
                "body": json.dumps({"message": refused}),
            }
            if not refused:
                reply = handler(_event(self.command, self.path, dict(self.headers.items()), body, arn), None)
            sent = reply["body"].encode()
            self.send_response(reply["statusCode"])
            for name, value in {**reply["headers"], "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()


def _checked(
    method: str, path: str, headers: dict[str, str], body: bytes, callers: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    """Return the ARN of who signed, or why nobody did."""
    sent = {name.lower(): value for name, value in headers.items()}
    given = sent.get("authorization", "")
    if not given.startswith("AWS4-HMAC-SHA256 "):
        return "", "Missing Authentication Token"
    parts = dict(part.strip().split("=", 1) for part in given.partition(" ")[2].split(","))
    access, day, region, service, _ = parts["Credential"].split("/")
    if access not in callers or (region, service) != (REGION, "execute-api"):
        return "", "The security token included in the request is invalid."
    stamp = sent.get("x-amz-date", "")
    at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if abs((datetime.now(UTC) - at).total_seconds()) > _SKEW_SECONDS or not stamp.startswith(day):
        return "", "Signature expired"
    secret, arn = callers[access]
    names = parts["SignedHeaders"].split(";")
    if "host" not in names or "x-amz-date" not in names:
        return "", "'Host' must be a 'SignedHeader'"
    request = AWSRequest(method, f"http://{sent['host']}{path}", data=body, headers={n: sent[n] for n in names})
    request.context["timestamp"] = stamp
    auth = SigV4Auth(Credentials(access, secret), service, region)
    wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    if not hmac.compare_digest(wanted, parts["Signature"]):
        return "", "The request signature we calculated does not match the signature you provided."
    return arn, ""


def _event(method: str, path: str, headers: dict[str, str], body: bytes, arn: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(_EVENT.read_text("utf-8"))
    at = urlsplit(path).path
    event |= {"httpMethod": method, "path": at, "resource": at, "queryStringParameters": None}
    event |= {
        "multiValueQueryStringParameters": None,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
    }
    event |= {"body": body.decode() or None, "isBase64Encoded": False}
    event["requestContext"]["identity"]["userArn"] = arn
    return event
