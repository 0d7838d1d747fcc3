"""What both clients do alike and without a network: addresses, what is sent, and what is tried again after how long."""

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from lexigraph.client.operations import OPERATIONS
from lexigraph.client.types import JobReply
from lexigraph.model.errors import InvalidInput, reason_of
from lexigraph.model.secrets import sent_key

HEADER = "X-API-Key"
LARGE_BYTES = 4_000_000  # in a deployment larger files are put into the bucket
_LONGEST = 30.0  # seconds between two tries
_FIRST = 0.5
# these change something when they are done twice; they are tried again only where nothing can have been done
ONCE = frozenset({"create_key", "decide", "hm_recall", "ingest", "ingest_and_stream", "upload_document"})
BROKEN = -1  # the connection broke after something was sent
_BUSY = frozenset({BROKEN, 502, 503, 504})


def address(base: str, operation: str, path: Mapping[str, str]) -> tuple[str, str]:
    """Return method and URL of an operation of docs/openapi.json. Raise ``InvalidInput`` for a part that leads elsewhere."""
    method, template = OPERATIONS[operation]
    for name, value in path.items():
        if value in ("", ".", ".."):
            raise InvalidInput(f"{name} must be the id or name of one, got {value!r}")
    return method, base + template.format(**{name: quote(value, safe=":") for name, value in path.items()})


def given(url: str | None, key: str | None) -> tuple[str, str]:
    """Return address and key, from the environment where they are not given. Raise ``InvalidInput``."""
    url = url or os.environ.get("LEXIGRAPH_URL") or "http://127.0.0.1:8010"
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(f"url must start with http:// or https://, got {url[:80]!r}")
    return url.rstrip("/"), sent_key("api_key", key or os.environ.get("LEXIGRAPH_API_KEY") or "")


def pause(operation: str, tried: int, attempts: int, status: int, told: str | None) -> float | None:
    """Return the seconds to wait before the next try, None to give up. ``status`` 0: the server was not reached.

    ``told`` is the header Retry-After. Without it full jitter: anything up to 0.5 s, 1 s, 2 s ... 30 s.
    """
    refused = status in (0, 429)  # nothing was done
    if tried >= attempts or not (refused or (status in _BUSY and operation not in ONCE)):
        return None
    if told and told.isdecimal():
        return min(float(told), _LONGEST)
    return random.uniform(0, min(_LONGEST, _FIRST * 2 ** (tried - 1)))  # noqa: S311  # spreads clients, no secret


def sent(**values: Any) -> dict[str, Any]:
    """Return what is given, without what is None."""
    return {name: value for name, value in values.items() if value is not None}


def parameters(**values: Any) -> dict[str, str]:
    """Return query parameters as text."""
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in sent(**values).items()}


def document(file: Path | str | tuple[str, bytes]) -> tuple[str, bytes]:
    """Return name and bytes of a file to send. Raise ``InvalidInput`` for one that cannot be read."""
    if isinstance(file, tuple):
        return file
    path = Path(file)
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"file {path}: {reason_of(error)}") from None


def inside(folder: Path) -> list[tuple[Path, str]]:
    """Return the files below a folder but hidden ones, each with its name there. Raise ``InvalidInput`` for what is none."""
    if not folder.is_dir():
        raise InvalidInput(f"folder {folder}: no such folder")
    files = [(path, path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(path, at.as_posix()) for path, at in files if not any(part.startswith(".") for part in at.parts)]


def refused(namespace: str, reason: str) -> JobReply:
    """Return what stands for the job of a file that the server rejected."""
    no_job = {"id": "", "uri": "", "created_at": "", "updated_at": ""}
    return cast(
        JobReply, {**no_job, "kind": "ingest", "namespace": namespace, "status": "FAILED", "reason": reason, "result": {}}
    )


def form(metadata: Mapping[str, object] | None, **fields: str) -> dict[str, str]:
    """Return the fields that go with a file."""
    return fields | ({"metadata": json.dumps(metadata)} if metadata else {})
