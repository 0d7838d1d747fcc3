"""The HTTP API as a function behind the gateway: `query` and `manage` are the same application with other rights.

`curate` is a part of it.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from functions.runtime import function, settings
from lexigraph.api.app import create_app
from lexigraph.api.errors import error_body
from lexigraph.api.service import Service
from lexigraph.model.errors import LexigraphError

MOST_BYTES = 6_000_000  # of a reply; what is longer Lambda refuses, and the gateway answers that the service failed


def proxied(*only: str) -> Callable[[dict[str, Any], Any], Any]:
    """Return a handler of the events of a proxy integration; ``only`` names the routes that it serves, default all."""
    service = Service(settings(), decides="decisions" in only)
    # before the first call, or in the snapshot that all start from; what cannot be opened is told to who asks
    with suppress(LexigraphError):
        _ = service.stores
    # all that is answered is text; as anything else the gateway would hand it on in Base64
    text = [*DEFAULT_TEXT_MIME_TYPES, "image/svg+xml"]
    adapter = Mangum(create_app(settings(), service, only=only), lifespan="off", text_mime_types=text)

    @function(dict[str, Any])
    def handler(event: dict[str, Any]) -> Any:
        reply = adapter(event, None)  # type: ignore[arg-type]  # the application asks nothing of the context
        return _too_large(reply) if _size(reply) > MOST_BYTES else reply

    return handler


def _size(reply: Any) -> int:
    """Return how many bytes a reply takes as JSON, or less where it is far from too many: each character is 6 at most."""
    return len(json.dumps(reply, ensure_ascii=False).encode()) if len(reply["body"]) * 6 > MOST_BYTES else 0


def _too_large(reply: dict[str, Any]) -> dict[str, Any]:
    name = reply.get("headers", {}).get("x-request-id", "")
    message = f"the answer has more than {MOST_BYTES:,} bytes, the most that can be answered here"
    body = error_body("too_large", message, name, "ask for less: a smaller limit, or a stretch of a document")
    kept = {"content-type": "application/json", "x-request-id": name}
    return {"statusCode": 413, "headers": kept, "multiValueHeaders": {}, "body": json.dumps(body), "isBase64Encoded": False}
