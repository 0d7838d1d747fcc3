"""The HTTP API as a function behind the gateway: `query` and `manage` are the same application with other rights."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from functions.runtime import function, settings
from lexigraph.api.app import create_app
from lexigraph.api.service import Service
from lexigraph.model.errors import LexigraphError


def proxied() -> Callable[[dict[str, Any], Any], Any]:
    """Return a handler of the events of a proxy integration."""
    service = Service(settings())
    # before the first call, or in the snapshot that all start from; what cannot be opened is told to who asks
    with suppress(LexigraphError):
        _ = service.stores
    # all that is answered is text; as anything else the gateway would hand it on in Base64
    text = [*DEFAULT_TEXT_MIME_TYPES, "image/svg+xml"]
    adapter = Mangum(create_app(settings(), service), lifespan="off", text_mime_types=text)

    @function(dict[str, Any])
    def handler(event: dict[str, Any]) -> Any:
        return adapter(event, None)  # type: ignore[arg-type]  # the application asks nothing of the context

    return handler
