"""`authorize`: lets a request in by its API key, and says whose it is.

The gateway caches the answer by the key for at most a minute: as long may a revoked key still open. The policy is for the
whole API, since the next request with the same key asks for something else; what a key may, the application checks.
"""

from typing import Any

from functions.payloads import AuthorizerEvent
from functions.runtime import function, registry, settings
from lexigraph.api.access.keys import HEADER, LONGEST, PREFIX, context_of, digest

DENIED = "denied"


@function(AuthorizerEvent)
def handler(event: AuthorizerEvent) -> dict[str, Any]:
    """Return a policy; with a known key also the tenant, what the key may, and the key of the usage plan."""
    sent = {name.lower(): value for name, value in (event.headers or {}).items()}.get(HEADER.lower(), "")
    key = registry().key(digest(sent)) if sent.startswith(PREFIX) and len(sent) <= LONGEST else None
    stage = "/".join(event.method_arn.split("/")[:2])  # arn:...:API/STAGE
    if key is None:
        return _policy(DENIED, "Deny", stage)
    context = context_of(key)
    plans = settings().usage_keys
    usage = plans.get(key.tenant) or plans.get("*")
    return {**_policy(key.id, "Allow", stage), "context": context, **({"usageIdentifierKey": usage} if usage else {})}


def _policy(who: str, effect: str, stage: str) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": f"{stage}/*"}
    return {"principalId": who, "policyDocument": {"Version": "2012-10-17", "Statement": [statement]}}
