"""Neptune's bulk loader inside a deployment, as a step that the state machine repeats until it is over.

It belongs to no job: nothing of a load is shown before documents are ingested. What fails it fails the execution.
"""

import os
from typing import Any

from functions.payloads import Load, LoadPlace
from lexigraph.model.errors import LexigraphError
from lexigraph.storage.neptune.loader import NeptuneLoader


class LoadFailed(LexigraphError):
    """The loader gave up; the message says why. Another execution goes on."""

    code = "load_failed"


def go_on(asked: Load, loader: NeptuneLoader) -> dict[str, Any]:
    """Start the loader, or look how far it is; return what was asked with that."""
    if asked.at.part == "begin":
        where = asked.source, asked.role, os.environ["AWS_REGION"]
        ids = loader.start_all(*where, parallelism=asked.parallelism, anew=asked.anew)
        return asked.model_copy(update={"load_ids": ids, "at": LoadPlace(part="loading")}).model_dump()
    found = loader.status_of(asked.load_ids)
    if found.over and not found.loaded:
        remedy = " and with anew" if found.detached else ""
        raise LoadFailed(f"{found.why()}; start it again{remedy}")
    at = LoadPlace(part="done" if found.loaded else "loading")
    return asked.model_copy(update={"status": found.status, "records": found.records, "at": at}).model_dump()
