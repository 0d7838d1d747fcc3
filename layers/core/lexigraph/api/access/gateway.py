"""Who asks, by the word of a gateway: its authorizer has looked a key up, or it has checked a signature itself.

That word comes with the request, and not from the client. ``gateway``: in the event of a proxy integration, which Mangum
hands on in the scope. ``adapter``: in a header that Lambda Web Adapter writes over whatever the client sent; a request that
has it twice is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

from lexigraph.api.access.keys import HEADER, Principal
from lexigraph.api.errors import ApiError
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, parse_filter
from lexigraph.model.tenant import Tenant, View

Source = Literal["gateway", "adapter"]
CONTEXT_HEADER = b"x-amzn-request-context"


def asked_by(scope: Mapping[str, Any], source: Source) -> Principal | None:
    """Return the principal of a request, None on a route without an authorizer. Raise ``ApiError`` 401 for nonsense."""
    context = _of_event(scope) if source == "gateway" else _of_header(scope)
    said = context.get("authorizer")
    if not said:
        return None
    try:
        databases = json.loads(said.get("databases") or "[]")
        tenant, scopes = Tenant(said["tenant"]), said["scopes"].split()
        if told := said.get("filtered"):
            filtered = json.loads(told)
            tenant, scopes = View(tenant, _filters_of(filtered)), filtered["scopes"]
        return Principal(
            tenant, frozenset(scopes), said["key_id"], tuple(str(name) for name in databases), int(said.get("rate") or 0)
        )
    except (KeyError, TypeError, ValueError, AttributeError, InvalidInput):
        raise _unreadable() from None


def signed_by(scope: Mapping[str, Any], source: Source) -> str:
    """Return the ARN of who signed the request, where the gateway asked for a signature (AWS_IAM); empty otherwise."""
    context = _of_event(scope) if source == "gateway" else _of_header(scope)
    identity = context.get("identity")
    arn = identity.get("userArn") if isinstance(identity, dict) else None
    return arn if isinstance(arn, str) else ""


def _filters_of(told: Mapping[str, Any]) -> Filter:
    """Return the filters of a key. Raise ``InvalidInput`` where there are none."""
    if found := parse_filter(told["filters"]):
        return found
    raise InvalidInput("the key has no filters")


def _of_event(scope: Mapping[str, Any]) -> Mapping[str, Any]:
    found = scope.get("aws.event", {}).get("requestContext", {})
    return found if isinstance(found, dict) else {}


def _of_header(scope: Mapping[str, Any]) -> Mapping[str, Any]:
    sent = [value for name, value in scope["headers"] if name.lower() == CONTEXT_HEADER]
    if len(sent) > 1:
        raise _unreadable()
    try:
        found = json.loads(sent[0]) if sent else {}
    except ValueError:
        raise _unreadable() from None
    return found if isinstance(found, dict) else {}


def _unreadable() -> ApiError:
    return ApiError(401, "what the gateway says of the caller cannot be read", hint=f"send a key in the header {HEADER}")
