"""`parse`: reads the version of a file that S3 told of, and leaves its documents, in parts, in the artefact store."""

import tempfile
from pathlib import Path
from typing import Any

from functions.payloads import ParseEvent
from functions.runtime import function
from functions.work import inbox, step
from lexigraph.model.errors import InvalidInput

_LONGEST = 250  # bytes of a name that a disk takes


@function(ParseEvent)
def handler(event: ParseEvent) -> dict[str, Any]:
    """Return the number of parts."""
    with step("parse", event.run) as (steps, run), tempfile.TemporaryDirectory() as folder:
        located = inbox().located(event.object.bucket, event.object.key)
        if located.tenant != run.tenant:
            raise InvalidInput("object: belongs to another tenant than this run")
        path = Path(folder) / located.name.encode()[-_LONGEST:].decode(errors="ignore")
        inbox().fetch(event.object, path, most=steps.settings.max_file_bytes)
        return steps.parse(run, path)
