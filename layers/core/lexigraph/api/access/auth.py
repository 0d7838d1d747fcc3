"""Who asks: a principal for every request, from one middleware. Keys are known by their SHA-256 only.

``key``: the caller sends ``X-API-Key``. ``open``: who sends no key of ours is the default tenant with every scope, who sends
one is whom it stands for; for a server on loopback, which then answers only requests that name a loopback host and come
from its own pages or none, and through no proxy. A server may be open until the first key is made, whoever's it is.
``gateway``, ``adapter``: a gateway's authorizer has looked the key up, or the gateway says who signed the request with
IAM, for whom the registry has a key (:mod:`lexigraph.api.access.gateway`).
Headers by which a gateway would say who asks are dropped: nobody but the gateway's own adapter may.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from anyio import to_thread
from fastapi import Depends, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from lexigraph.api.access.gateway import Source, asked_by, signed_by
from lexigraph.api.access.keys import HEADER, LONGEST, PREFIX, Principal, digest
from lexigraph.api.access.rates import RateLimit
from lexigraph.api.access.signers import Signers
from lexigraph.api.errors import ApiError, answer_error
from lexigraph.api.startup import LOOPBACK, UNTIL_KEY, Openness
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import SCOPES, ApiKey, Registry
from lexigraph.storage.protocols import Scope as KeyScope

if TYPE_CHECKING:
    from lexigraph.api.shared import Shared

PUBLIC = frozenset({"/health", "/docs", "/openapi.json", "/"})
EXPLORER = "/explorer"
_OWN_PAGES = (None, "same-origin", "none")  # of Sec-Fetch-Site, which browsers write and pages cannot; none: typed in
# how headers begin by which proxies say that they are one, or for whom they ask
_PROXIES = (
    *("forwarded", "x-forwarded", "x-original-", "x-real-ip", "via", "cdn-loop", "x-envoy-", "cf-", "fly-", "fastly-"),
    *("true-client-ip", "client-ip", "x-client-ip", "x-cluster-client-ip", "x-azure-", "x-amz-cf-", "x-cloud-trace-"),
)


class Principals:
    """The middleware: finds the principal of a request, or answers 401, 403 or 429 instead of the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        registry: Callable[[], Registry],
        tenant: str,
        open_: Openness,
        rate: int,
        shared: "Shared | None" = None,
        source: Source | None = None,
    ) -> None:
        self._app, self._registry, self._rate, self._shared = app, registry, rate, shared
        self._open = Principal(Tenant(tenant), frozenset(SCOPES)) if open_ else None
        self._until_key = open_ == UNTIL_KEY
        self._limit, self._source, self._signers = RateLimit(), source, Signers(registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = {**scope}
        scope = {**scope, "headers": _without_context(scope["headers"])}
        try:
            who = await self._told(said, self._source) if self._source else await self._principal(scope)
            # a gateway has let the caller in, and counts the requests of all; a limit of the key's own it does not know
            if who and who.rate and self._source:
                await self._limited(who)
            scope["lexigraph.principal"] = who
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told in the one shape
            await answer_error(Request(scope), error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _told(self, said: Scope, source: Source) -> Principal | None:
        """Return who asks by the word of a gateway."""
        arn = "" if is_public(said["path"]) else signed_by(said, source)
        if (who := asked_by(said, source)) or not arn:
            return who
        key = await to_thread.run_sync(self._signers.find, arn)
        if key is None:
            hint = "`lexigraph keys create --principal ARN` lets a role or a user in"
            raise ApiError(403, f"no API key exists for {arn[:200]}", hint=hint)
        return _stands_for(key)

    async def _principal(self, scope: Scope) -> Principal | None:
        headers = Headers(scope=scope)
        public = is_public(scope["path"])
        if self._open:
            _check_own(scope, headers, public=public)
        if public:
            return None
        given = headers.get(HEADER, "")
        # another tenant's key, or one that was revoked, never reads or writes as the default tenant
        if not given.startswith(PREFIX) and (anybody := await self._anybody()):
            return await self._limited(anybody)
        key = None
        if given.startswith(PREFIX) and len(given) <= LONGEST:
            key = await to_thread.run_sync(self._registry().key, digest(given))
        if key is None:
            raise ApiError(
                401,
                f"{HEADER} is missing or invalid",
                hint=f"send a key in the header {HEADER}; `lexigraph keys create` makes one",
                headers={"WWW-Authenticate": "ApiKey"},
            )
        return await self._limited(_stands_for(key))

    async def _anybody(self) -> Principal | None:
        """Return who asks without a key; None when one is needed."""
        if self._open and self._until_key and await to_thread.run_sync(self._registry().any_key):
            self._open = None  # for good
        return self._open

    async def _limited(self, principal: Principal) -> Principal:
        rate = principal.rate or self._rate
        if seconds := await self._wait(principal.key_id, rate):
            wait = str(max(1, round(seconds + 0.5)))
            raise ApiError(
                429,
                f"rate limit of {rate} requests per minute exceeded",
                hint=f"wait {wait} s",
                headers={"Retry-After": wait},
            )
        return principal

    async def _wait(self, key: str, rate: int) -> float:
        if self._shared and rate:
            # without the file that is shared, each process limits on its own
            with suppress(StoreUnavailable):
                return await to_thread.run_sync(self._shared.wait, key, rate)
        return self._limit.wait(key, rate)


def _stands_for(key: ApiKey) -> Principal:
    return Principal(key.opens, frozenset(key.scopes), key.id, key.databases, key.rate)


def is_public(path: str) -> bool:
    """Tell whether a path is open to all."""
    return path in PUBLIC or f"{path}/".startswith(("/static-offline-docs/", f"{EXPLORER}/"))


def principal(request: Request) -> Principal:
    """Return who asks. Raise ``ApiError`` 401 on a route that is open to all."""
    found = request.scope.get("lexigraph.principal")
    if not isinstance(found, Principal):
        raise ApiError(401, f"{HEADER} is missing")
    return found


def _with_scope(*scopes: KeyScope) -> Callable[[Request], Awaitable[Principal]]:
    # async, as the framework would run it in a thread otherwise
    async def check(request: Request) -> Principal:
        who = principal(request)
        check_scope(who, *scopes)
        return who

    return check


def check_scope(who: Principal, *scopes: KeyScope) -> None:
    """Raise ``ApiError`` 403 for a key that has none of the scopes."""
    if who.scopes.isdisjoint(scopes):
        raise ApiError(403, f"the key lacks the scope {scopes[0]!r}", hint=f"use a key with the scope {scopes[0]!r}")


Reader = Annotated[Principal, Depends(_with_scope("read"))]
Writer = Annotated[Principal, Depends(_with_scope("ingest"))]
ReaderOrWriter = Annotated[Principal, Depends(_with_scope("read", "ingest"))]
Admin = Annotated[Principal, Depends(_with_scope("admin"))]


def check_meant(request: Request, who: Principal) -> None:
    """Raise ``ApiError`` 403 for a GET that changes something, when a page of another origin could have made a browser send
    it: without a key nothing else tells. Such a page can set no header that is not simple. 405 for its HEAD, which may
    change nothing.
    """
    if request.scope.get("lexigraph.head"):
        raise ApiError(405, "a HEAD may change nothing: use GET or POST", headers={"Allow": "GET, POST"})
    own = HEADER in request.headers or request.headers.get("sec-fetch-site") == "same-origin"
    if request.method == "GET" and not who.key_id and not own:
        hint = f"send it as POST, or with the header {HEADER}, which may hold anything on a server without keys"
        raise ApiError(403, "a GET that changes something needs a header that no other page can send", hint=hint)


def check_database(who: Principal, name: str) -> None:
    """Raise ``ApiError`` 403 for a database label that the key may not name (H-03)."""
    if who.databases and name not in who.databases:
        raise ApiError(403, "db_name: the API key may not use this database", hint="use a key that allows it")


def _check_own(scope: Scope, headers: Headers, *, public: bool) -> None:
    """Refuse what a page of another origin, or a name that points here, makes a browser send, and what a proxy hands on."""
    # nginx as it comes adds no header, names this machine as the host, and speaks HTTP/1.0, which no browser does
    if any(name.startswith(_PROXIES) for name in headers) or scope.get("http_version") == "1.0":
        raise _closed("nothing that came through a proxy")
    host = headers.get("host", "")
    if _hostname(host) not in LOOPBACK:
        raise _closed("hosts of this machine only")
    if headers.get("origin", own := f"{scope['scheme']}://{host}") != own:
        raise _closed("no page of another origin")
    # an image or a link of another site comes without an origin
    if not public and headers.get("sec-fetch-site") not in _OWN_PAGES:
        raise _closed("no page of another origin")


def _closed(what: str) -> ApiError:
    return ApiError(403, f"this server runs without keys and answers {what}", hint="`lexigraph serve --keys` asks for keys")


def _hostname(value: str) -> str | None:
    try:
        return urlsplit(value if "//" in value else f"//{value}").hostname
    except ValueError:
        return None


def _without_context(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = MutableHeaders(raw=list(headers))
    for name in {key for key in kept if key.startswith(("x-lexigraph-", "x-amzn-request-context", "x-amzn-lambda-context"))}:
        del kept[name]
    return kept.raw
