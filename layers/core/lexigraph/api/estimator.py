"""Estimates in a process of their own, which is ended when it takes too long: reading computes, and may do so for minutes.

``python -P -m lexigraph.api.estimator`` reads one request from its input and writes the answer: ``{"estimate": ...}``, or
``{"error": code, "message": ...}``.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lexigraph.ingestion.load import FileItem
from lexigraph.model.errors import InvalidInput, LexigraphError, StoreUnavailable, code_of, in_general
from lexigraph.model.secrets import SECRET_NAME
from lexigraph.settings import MAY_HOLD_KEYS, Settings

_LEAST_SECONDS = 0.1  # for what has waited until there was hardly any time left
_RAISED: dict[str, type[LexigraphError]] = {kind.code: kind for kind in (InvalidInput, StoreUnavailable)}


def estimate_apart(
    items: Sequence[FileItem], settings: Settings, prices: Mapping[str, float | None], until: float
) -> dict[str, Any]:
    """Return what ``estimate`` finds with these ``prices``, its arguments, as plain data.

    ``until`` is a time of ``time.monotonic`` at which it is ended.
    Raise ``ApiError`` 503 then, ``LexigraphError`` for a process that died, and what ``estimate`` raises.
    """
    asked = {
        "settings": settings.model_dump_json(exclude={*MAY_HOLD_KEYS}),
        "items": [[str(item.path), item.uri, item.type] for item in items],
        "prices": prices,
    }
    began = time.monotonic()
    # -P: what lies in the current folder is no program
    command = [sys.executable, "-P", "-m", "lexigraph.api.estimator"]
    # the packages may lie anywhere
    env = {**without_credentials(os.environ), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
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
        from lexigraph.api.errors import try_again  # the process itself needs no web framework

        told = f"the documents could not be read within {time.monotonic() - began:.1f} s"
        raise try_again(told, "deadline_exceeded", "send part of it as text, or choose fewer files") from None
    except OSError as error:
        raise LexigraphError(f"no process could be started to read the documents ({type(error).__name__})") from None
    if done.returncode or not done.stdout:
        raise LexigraphError(f"the process that read the documents died ({done.returncode})")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise _RAISED.get(answer["error"], LexigraphError)(answer["message"])
    found: dict[str, Any] = answer["estimate"]
    return found


def without_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that reads strangers' files, for which it needs no credentials."""
    return {n: value for n, value in environment.items() if not (n.startswith("AWS_") or SECRET_NAME.search(n))}


def main() -> None:
    """Answer one request."""
    from lexigraph.ingestion.estimate import estimate  # the server that starts this process needs none of it

    asked = json.loads(sys.stdin.read())
    try:
        items = [FileItem(Path(path), uri, type_) for path, uri, type_ in asked["items"]]
        found = estimate(items, Settings.model_validate_json(asked["settings"]), **asked["prices"])
        told: dict[str, Any] = {"estimate": asdict(found)}
    except Exception as error:  # noqa: BLE001  # its text may be that of a document
        told = {"error": code_of(error), "message": in_general(error)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
