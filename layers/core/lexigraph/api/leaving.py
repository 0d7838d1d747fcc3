"""Clients that leave before their answer is there: nobody works on for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

from lexigraph.api.errors import ApiError

T = TypeVar("T")
_LEFT = 499  # what others log for it; nobody reads it


async def unless_left(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns, and cancel it when the client has gone. For requests whose body has been read."""
    working = asyncio.ensure_future(work)
    left = False

    async def watch() -> None:
        nonlocal left
        while (await request.receive())["type"] != "http.disconnect":
            pass
        left = working.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        return await working
    except asyncio.CancelledError:
        if not left:  # by the server, which ends
            working.cancel()
            raise
        raise ApiError(_LEFT, "the client has gone", code="client_left") from None
    finally:
        watching.cancel()
