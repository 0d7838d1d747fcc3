"""Stores whose calls are spans, by the database conventions of OpenTelemetry. Made only while telemetry is on."""

import inspect
from collections.abc import Callable, Mapping, Sized
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from lexigraph import telemetry
from lexigraph.storage.protocols import ContentCache, DocumentStore, GraphStore, Registry, SearchRequest, VectorStore

_PROTOCOLS = {
    "graph": GraphStore,
    "vector": VectorStore,
    "documents": DocumentStore,
    "registry": Registry,
    "cache": ContentCache,
}
# names of systems; files are no database
_SYSTEMS = {
    "sqlite": "sqlite",
    "neptune-db": "aws.neptune",
    "aoss": "opensearch",
    "dynamodb": "aws.dynamodb",
    "s3": "aws.s3",
}
_NOT_CALLS = ("close", "lease")  # a lease lasts as long as the work under it


def traced(store: str, back_end: type, connection: str) -> type:
    """Return a back end whose calls are spans. ``store`` is its name in :attr:`Settings.connections`."""
    scheme, _, place = connection.partition("://")
    system = _SYSTEMS.get(scheme)
    about: dict[str, Any] = {"lexigraph.store": store}
    if system:
        about |= {"db.system.name": system, "db.namespace": store}
    if scheme == "dynamodb":
        about["db.collection.name"] = place.partition("?")[0]
    elif scheme in ("neptune-db", "aoss"):
        about["server.address"] = urlsplit(place if "://" in place else f"//{place}").hostname
    calls = {
        name: _call(f"{store}.{name}", {**about, **({"db.operation.name": name} if system else {})}, getattr(back_end, name))
        for name, function in vars(_PROTOCOLS[store]).items()
        if inspect.isfunction(function) and not name.startswith("_") and name not in _NOT_CALLS
    }
    return type(f"Traced{back_end.__name__}", (back_end,), {"__slots__": (), **calls})


def _call(name: str, about: Mapping[str, Any], method: Callable[..., Any]) -> Callable[..., Any]:
    from lexigraph.telemetry.live import inside

    kind: telemetry.Kind = "client" if "db.system.name" in about else "internal"

    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if inside(self):
            return method(self, *args, **options)
        with telemetry.span(name, kind) as span:
            if not span:
                return method(self, *args, **options)
            span.of = self
            span.set({**about, **_searched(args)})
            found = method(self, *args, **options)
            span.set({"db.response.returned_rows": rows(found)})
            return found

    return call


def _searched(args: tuple[Any, ...]) -> dict[str, Any]:
    """Return how many searches are asked for in one call, and in which index."""
    requests = args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else ()
    if not requests or not isinstance(requests[0], SearchRequest):
        return {}
    indexes = {request.index for request in requests}
    found: dict[str, Any] = {"db.collection.name": indexes.pop()} if len(indexes) == 1 else {}
    if len(requests) > 1:
        found["db.operation.batch.size"] = len(requests)
    return found


def rows(found: Any) -> int | None:
    """Return how many rows a call gave: of lists in a list, and of the parts of a result, together; None for none."""
    if isinstance(found, (str, bytes)):
        return None
    if isinstance(found, list) and found and all(type(one) is list for one in found):
        return sum(map(len, found))
    if is_dataclass(found) and not isinstance(found, type):
        parts = (getattr(found, field.name) for field in fields(found))
        sizes = [len(part) for part in parts if isinstance(part, Sized) and not isinstance(part, (str, bytes))]
        return sum(sizes) if sizes else 1
    return len(found) if isinstance(found, Sized) else None
