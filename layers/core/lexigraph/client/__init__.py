"""A client of the HTTP API, typed, over httpx: ``Client`` and ``AsyncClient`` with the same methods.

    pip install "lexigraph[client]"

Replies are plain dictionaries, described in ``types``; fields that a newer server adds are passed on. A reply that is no
success raises :class:`ApiFailure` and the fitting error of ``lexigraph.model.errors`` at once, so that either can be caught.
"""

from lexigraph.client.failures import ApiFailure
from lexigraph.client.streams import Answer, AsyncAnswer, Event

try:
    from lexigraph.client.asynchronous import AsyncClient
    from lexigraph.client.synchronous import Client
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ModuleNotFoundError('the client needs httpx: pip install "lexigraph[client]"', name="httpx") from None

__all__ = ["Answer", "ApiFailure", "AsyncAnswer", "AsyncClient", "Client", "Event"]
