"""Estimates in a process of their own, which is ended when it takes too long: reading computes, and may do so for minutes.

``python -m lexigraph.api.estimator`` reads one request from its input and writes the answer: ``{"estimate": ...}``, or
``{"error": code, "message": ...}``.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.estimate import estimate
from lexigraph.ingestion.load import FileItem
from lexigraph.model.errors import InvalidInput, LexigraphError, StoreUnavailable, code_of, in_general
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from lexigraph.api.errors import ApiError

_LEAST_SECONDS = 0.1  # for what has waited until there was hardly any time left
_RAISED: dict[str, type[LexigraphError]] = {kind.code: kind for kind in (InvalidInput, StoreUnavailable)}


@dataclass(frozen=True, slots=True)
class Prices:
    """Of the language model, in dollars a million tokens; None is not known."""

    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None


def estimate_apart(items: Sequence[FileItem], settings: Settings, prices: Prices, until: float) -> dict[str, Any]:
    """Return what ``estimate`` finds, as plain data; ``until`` is a time of ``time.monotonic`` at which it is ended.

    Raise ``ApiError`` 503 then, ``LexigraphError`` for a process that died, and what ``estimate`` raises.
    """
    asked = {
        "settings": settings.model_dump_json(),
        "items": [[str(item.path), item.uri, item.type] for item in items],
        "prices": [prices.usd_per_million_input, prices.usd_per_million_output],
    }
    began = time.monotonic()
    command = [sys.executable, "-m", "lexigraph.api.estimator"]
    # it reads strangers' files, for which it needs no credentials; the packages may lie anywhere
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    env = {**own, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            env=env,
            timeout=max(_LEAST_SECONDS, until - began),
            start_new_session=True,  # out of reach of Ctrl-C, which the terminal sends to a whole group
        )
    except subprocess.TimeoutExpired:
        raise _too_long(time.monotonic() - began) from None
    except OSError as error:
        raise LexigraphError(f"no process could be started to read the documents ({type(error).__name__})") from None
    if done.returncode or not done.stdout:
        raise LexigraphError(f"the process that read the documents died ({done.returncode})")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise _RAISED.get(answer["error"], LexigraphError)(answer["message"])
    found: dict[str, Any] = answer["estimate"]
    return found


def main() -> None:
    """Answer one request."""
    asked = json.loads(sys.stdin.read())
    try:
        items = [FileItem(Path(path), uri, type_) for path, uri, type_ in asked["items"]]
        priced = dict(zip(("usd_per_million_input", "usd_per_million_output"), asked["prices"], strict=True))
        found = estimate(items, Settings.model_validate_json(asked["settings"]), **priced)
        told: dict[str, Any] = {"estimate": found.to_dict()}
    except Exception as error:  # noqa: BLE001  # its text may be that of a document
        told = {"error": code_of(error), "message": in_general(error)}
    sys.stdout.write(json.dumps(told))


def _too_long(seconds: float) -> "ApiError":
    from lexigraph.api.errors import RETRY_SECONDS, ApiError  # the process itself needs no web framework

    hint, retry = "send a part as text, or name fewer files", {"Retry-After": str(RETRY_SECONDS)}
    told = f"the documents could not be read within {seconds:.1f} s"
    return ApiError(503, told, code="deadline_exceeded", hint=hint, headers=retry)


if __name__ == "__main__":
    main()
