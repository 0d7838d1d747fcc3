"""`parse`: reads the version of a file that S3 told of, and leaves its documents, in parts, in the artefact store."""

import tempfile
from pathlib import Path
from typing import Any

from functions.payloads import ParseEvent
from functions.runtime import function
from functions.work import inbox, step
from lexigraph.ingestion.workflow import Object


@function(ParseEvent)
def handler(event: ParseEvent) -> dict[str, Any]:
    """Return the number of parts."""
    with step("parse", event.run) as (steps, run), tempfile.TemporaryDirectory() as folder:
        found = Object(event.object.bucket, event.object.key, event.object.version_id)
        path = Path(folder) / inbox().located(found.bucket, found.key).name
        inbox().fetch(found, path)
        return steps.parse(run, path)
