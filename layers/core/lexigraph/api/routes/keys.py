"""Keys of the API, for whoever administers a tenant: which there are, making one, revoking one. A key gives no more than it
has itself, and none that has filters gives any.
"""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import Field

from lexigraph.api.access.auth import Admin
from lexigraph.api.access.keys import MOST_FILTER, Principal, new_key
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import Body, Name, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.search import AnyFilter
from lexigraph.api.service import Service, TheService
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import parse_filter, plain_filter
from lexigraph.model.tenant import View
from lexigraph.storage.protocols import ApiKey, Scope

router = APIRouter(prefix="/keys", tags=["service"])
_BY_OPERATOR = "whoever runs it makes and revokes keys with `lexigraph keys`"


class NewKey(Body):
    """Properties of a new key."""

    name: Name | None = Field(None, description="name", examples=["newsroom"])
    scopes: list[Scope] = Field(
        default_factory=lambda: list[Scope](("read",)),
        min_length=1,
        max_length=3,
        description="scopes",
        examples=[["read"]],
    )
    databases: list[Name] = Field(
        default_factory=list, max_length=100, description="allowed values of `db_name`; empty: any", examples=[[]]
    )
    rate: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="requests per minute, at most those of your key; 0: as your key, or the configured default",
        examples=[0],
    )
    filters: AnyFilter | None = Field(
        None,
        description="filter on the documents it can see",
        examples=[{"key": "groups", "operator": "in", "value": ["staff"]}],
    )


class KeyReply(Reply):
    """A key, without its secret."""

    id: str = Field(description="key id", examples=["lxk_5554b5e1"])
    name: str = Field(description="name", examples=["newsroom"])
    scopes: list[Scope] = Field(description="scopes", examples=[["read"]])
    databases: list[str] = Field(description="allowed values of `db_name`; empty: any", examples=[[]])
    rate: int = Field(description="requests per minute; 0: the configured default", examples=[0])
    filters: dict[str, Any] | None = Field(description="filter on the documents it can see", examples=[None])
    created_at: str = Field(description="time, UTC", examples=["2026-11-22T06:08:27.123+00:00"])
    revoked_at: str = Field(description="time of revocation, UTC; empty while valid", examples=[""])

    @classmethod
    def of(cls, key: ApiKey) -> "KeyReply":
        """Return the reply for a key."""
        return cls(**_told(key))


class MadeKey(KeyReply):
    """A new key with its secret."""

    key: str = Field(description="the secret; shown only once", examples=["lxk_5554b5e1_x1f..."])


class KeyList(Reply):
    """The keys of a tenant, including revoked ones, oldest first."""

    keys: list[KeyReply] = Field(description="oldest first")


@router.get("", operation_id="list_keys", summary="List keys")
async def list_keys(who: Admin, service: TheService, response: Response) -> KeyList:
    """Return the tenant's keys, including revoked ones, without their secrets."""
    _check_may(service, who)
    response.headers["Cache-Control"] = "no-store"
    found = await service.run(lambda: service.stores.registry.keys(who.tenant))
    return KeyList(keys=[KeyReply.of(key) for key in found])


@router.post("", operation_id="create_key", summary="Create a key", status_code=201)
async def create_key(who: Admin, service: TheService, response: Response, body: NewKey) -> MadeKey:
    """Create a key for the tenant and return its secret once. Only its hash is stored.

    Creating the first key makes an open server require keys: it must have the scope `admin` and no filters.
    """
    _check_may(service, who)
    response.headers["Cache-Control"] = "no-store"
    if beyond := sorted(set(body.scopes) - who.scopes):
        raise ApiError(
            403, f"scopes: your key does not have the scope {beyond[0]!r}", hint="a key can grant only its own scopes"
        )
    if who.databases and not (body.databases and set(body.databases) <= set(who.databases)):
        raise ApiError(403, "databases: your key does not allow all of these", hint="choose from the databases of your key")
    if who.rate and body.rate > who.rate:
        raise ApiError(403, f"rate: your key is limited to {who.rate:,} a minute", hint="choose no more, or leave it out")
    rights = parse_filter(body.filters.model_dump() if body.filters else None)
    if rights and len(json.dumps(plain_filter(rights), ensure_ascii=False)) > MOST_FILTER:
        raise ApiError(
            413, f"filters must have at most {MOST_FILTER:,} characters as JSON", hint="filter by groups, not documents"
        )
    if not who.key_id and not await service.run(service.stores.registry.any_key):
        _check_first(body)
    limits = {"databases": tuple(body.databases), "rate": body.rate or who.rate, "filters": rights}
    secret, key = new_key(who.tenant, body.scopes, name=body.name or "", **limits)

    def work() -> ApiKey:
        registry = service.stores.registry
        registry.add_key(key)
        return next(kept for kept in registry.keys(who.tenant) if kept.id == key.id)

    return MadeKey(**_told(await service.run(work)), key=secret)


@router.delete("/{key_id}", operation_id="revoke_key", summary="Revoke a key", responses=errors(404, 409))
async def revoke_key(
    who: Admin,
    service: TheService,
    key_id: Annotated[str, Path(pattern="^lxk_[0-9a-f]{8}$", description="key id", examples=["lxk_5554b5e1"])],
) -> KeyReply:
    """Revoke a key, effective immediately. A key cannot revoke itself."""
    _check_may(service, who)
    if key_id == who.key_id:
        raise ApiError(409, "a key cannot revoke itself", code="conflict", hint="use another key")
    return KeyReply.of(await service.run(lambda: service.stores.registry.revoke_key(who.tenant, key_id)))


def _check_may(service: Service, who: Principal) -> None:
    """Raise ``ApiError`` 403 for a key with filters, and in a deployment, no function of which may write keys."""
    if service.settings.workflow:
        raise ApiError(403, "keys cannot be managed through this API", hint=_BY_OPERATOR)
    if isinstance(who.tenant, View):
        raise ApiError(403, "keys with filters cannot manage keys", hint=_BY_OPERATOR)


def _check_first(body: NewKey) -> None:
    """Raise ``InvalidInput`` for a first key after which nobody could manage keys here: it closes an open server."""
    if "admin" not in body.scopes:
        told = "without it, nobody could create or revoke keys through this API"
        raise InvalidInput(f'scopes: must contain "admin" for the first key: {told}')
    if body.filters:
        raise InvalidInput("filters: must be omitted for the first key: keys with filters cannot manage keys")


def _told(key: ApiKey) -> dict[str, Any]:
    names = ("id", "name", "scopes", "databases", "rate", "created_at", "revoked_at")
    return {**{name: getattr(key, name) for name in names}, "filters": plain_filter(key.filters) if key.filters else None}
