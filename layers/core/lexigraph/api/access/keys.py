"""API keys: how they look, how they are made, by what they are known, and for whom one stands."""

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import plain_filter
from lexigraph.model.names import checked_name
from lexigraph.model.secrets import KEY_PREFIX
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import SCOPES, ApiKey

HEADER = "X-API-Key"
PREFIX = KEY_PREFIX
LONGEST = 200
MOST_FILTER = 4_000  # characters of the filters of a key, which a gateway's authorizer hands on


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, and what they may: of the ``tenant``, or of the view of it that the key opens.

    ``databases`` are the labels they may name, any when empty.
    """

    tenant: Tenant
    scopes: frozenset[str]
    key_id: str = ""
    databases: tuple[str, ...] = ()
    rate: int = 0


def new_key(tenant: str, scopes: Iterable[str], *, name: str = "", **limits: Any) -> tuple[str, ApiKey]:
    """Return a secret, which nobody can see again, and the key to keep.

    Raise ``InvalidInput`` for an unknown scope, and for a name or a database that cannot be one.
    """
    for field, given in (("name", name), *(("database", each) for each in limits.get("databases", ()))):
        if given or field == "database":
            checked_name(field, given)
    wanted = set(scopes)
    granted = tuple(scope for scope in SCOPES if scope in wanted)
    if unknown := sorted(wanted - set(granted)):
        raise InvalidInput(f"scope {unknown[0][:40]!r} is unknown: use {', '.join(SCOPES)}")
    if not granted:
        raise InvalidInput(f"scopes must contain at least one of {', '.join(SCOPES)}")
    key_id = f"{PREFIX}{secrets.token_hex(4)}"
    secret = f"{key_id}_{secrets.token_urlsafe(32)}"
    return secret, ApiKey(key_id, digest(secret), Tenant(tenant), granted, name, **limits)


def digest(secret: str) -> str:
    """Return what is kept of a key. Its 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def context_of(key: ApiKey) -> dict[str, str | int]:
    """Return what an authorizer says of a key: what the application reads.

    Scopes of a key with filters go with these, so that an application that knows no filters lets it do nothing.
    """
    scopes = {"scopes": " ".join(key.scopes)}
    if key.filters:
        scopes = {"scopes": "", "filtered": json.dumps({"filters": plain_filter(key.filters), "scopes": key.scopes})}
    return {"tenant": key.tenant, **scopes, "key_id": key.id, "databases": json.dumps(key.databases), "rate": key.rate}
