"""A typed client of the HTTP API, built on httpx: ``Client`` and ``AsyncClient`` with the same methods.

    pip install "lexigraph[client]"

Responses are plain dictionaries, described in ``types``; fields added by a newer server are included. Error responses raise
a subclass of both :class:`ApiFailure` and the corresponding error of ``lexigraph.model.errors``, so you can catch either.
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
