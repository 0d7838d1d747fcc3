"""What registries keep of documents and keys, in whatever back end: columns that queries ask for, the rest as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from lexigraph.model.curation import Decision
from lexigraph.model.errors import Conflict, InvalidInput, NotFound
from lexigraph.model.filters import parse_filter, plain_filter
from lexigraph.storage.protocols import ApiKey, DocumentRecord

DOCUMENT = ("source_id", "uri", "namespace", "state", "fingerprint", "updated_at")
KEY = tuple(f.name for f in fields(ApiKey))
_REST = tuple(f.name for f in fields(DocumentRecord) if f.name not in DOCUMENT)
_LISTS = ("scopes", "databases")


def columns_of(record: DocumentRecord, now: str) -> dict[str, str]:
    """Return the columns of a document that is saved now, in the order of ``DOCUMENT``."""
    return {name: getattr(record, name) for name in DOCUMENT} | {"updated_at": now}


def rest_of(record: DocumentRecord) -> dict[str, Any]:
    """Return what is kept of a document beside its columns."""
    return {name: getattr(record, name) for name in _REST}


def document_of(columns: Mapping[str, Any], rest: Mapping[str, Any]) -> DocumentRecord:
    """Return the document of its columns (there may be more) and the rest."""
    known = {name: value for name, value in rest.items() if name in _REST}
    return DocumentRecord(**{name: columns[name] for name in DOCUMENT}, **known | {"intended": tuple(known["intended"])})


def key_columns(key: ApiKey) -> dict[str, Any]:
    """Return the columns of a new key, created now."""
    lists = {name: json.dumps(getattr(key, name)) for name in _LISTS}
    filters = {"filters": ""}
    if key.filters:
        # a release that knows no filters finds a key that may do nothing
        filters = {"filters": json.dumps({"filters": plain_filter(key.filters), "scopes": key.scopes}), "scopes": "[]"}
    return {name: getattr(key, name) for name in KEY} | lists | filters | {"created_at": now_text(), "revoked_at": ""}


def key_of(columns: Mapping[str, Any]) -> ApiKey:
    """Return the key of its columns; there may be more."""
    lists: dict[str, Any] = {name: tuple(json.loads(columns[name])) for name in _LISTS}
    if filtered := columns.get("filters"):  # keys of earlier releases have none
        told = json.loads(filtered)
        lists |= {"filters": parse_filter(told["filters"]), "scopes": tuple(told["scopes"])}
    return ApiKey(**{name: columns[name] for name in KEY if name != "filters"} | lists)


def decision_json(decision: Decision) -> str:
    """Return a decision as a registry keeps it."""
    told = asdict(decision)
    if not decision.documents:
        del told["documents"]
    return as_json(told, f"decision {decision.id}")


def decision_of(text: str) -> Decision:
    """Read what :func:`decision_json` made."""
    told = json.loads(text)
    documents = tuple((namespace, uri) for namespace, uri in told.get("documents", ()))
    return Decision(**{**told, "others": tuple(told["others"]), "documents": documents})


def as_json(value: Mapping[str, Any] | Sequence[Any], what: str) -> str:
    """Return a value as JSON. Raise ``InvalidInput`` naming ``what`` for a value that JSON does not know."""
    try:
        return json.dumps(value, separators=(",", ":"), default=_mapping)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what}: cannot be kept as JSON: {error}") from error


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no text, number, true/false, list or object")


def now_text() -> str:
    """Return the time in UTC as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def check_limit(limit: int) -> None:
    """Raise ``InvalidInput`` for a limit below 1."""
    if limit < 1:
        raise InvalidInput(f"limit must be at least 1, got {limit}")


def no_job(job_id: str) -> NotFound:
    """Return the error for a job that nobody knows."""
    return NotFound(f"job {job_id[:80]!r} does not exist")


def no_key(key_id: str) -> NotFound:
    """Return the error for a key that the tenant has not."""
    return NotFound(f"key {key_id[:80]!r} does not exist; `lexigraph keys list` shows all")


def key_exists(key_id: str) -> Conflict:
    """Return the error for a key whose id or digest is taken."""
    return Conflict(f"key {key_id!r} exists already: make another one")
