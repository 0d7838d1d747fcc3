"""Replies that are not sent again to who has them: each has an ``ETag``, a hash of what it says."""

from collections.abc import Callable, Coroutine
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.routing import APIRoute

_HERE = "private, no-cache"  # for whoever asked, who asks each time whether it still holds


class _Tagged(APIRoute):
    """A route whose replies to GET have tags. What it costs to make a reply it still costs; sending it again, nothing."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def tagged(request: Request) -> Response:
            reply = await answer(request)
            if request.method != "GET" or reply.status_code != 200:
                return reply
            # of what is said, and so of nothing that the caller does not see
            tag = f'"{blake2b(bytes(reply.body), digest_size=16).hexdigest()}"'
            if _knows(request.headers.get("if-none-match", ""), tag):
                reply = Response(status_code=304)
            reply.headers.update({"ETag": tag, "Cache-Control": _HERE})
            return reply

        return tagged


async def _known(
    _: Annotated[
        str,
        Header(
            alias="If-None-Match",
            description="`ETag` of an earlier response; 304 if it is still current",
            examples=['"9f86d0"'],
        ),
    ] = "",
) -> None:
    """Document the header, which the route reads itself."""


def tagged_router(prefix: str, tag: str) -> APIRouter:
    """Return a router whose replies to GET have tags."""
    unchanged: dict[int | str, dict[str, Any]] = {304: {"description": "not modified"}}
    return APIRouter(prefix=prefix, tags=[tag], route_class=_Tagged, dependencies=[Depends(_known)], responses=unchanged)


def _knows(known: str, tag: str) -> bool:
    return "*" in (tags := {each.strip().removeprefix("W/") for each in known.split(",")}) or tag in tags
