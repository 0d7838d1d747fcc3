"""`remove`: takes out what came out of a file that is gone, or documents that somebody wants removed."""

from typing import Any

from functions.payloads import RemoveEvent
from functions.runtime import function
from functions.work import step, steps


@function(RemoveEvent)
def handler(event: RemoveEvent) -> dict[str, Any]:
    """Return how many documents were removed."""
    if event.removal:
        asked = event.removal
        return steps().remove_documents(asked.owner(), asked.job_id, asked.source_ids)
    if event.run is None:
        return {"documents_removed": 0}
    with step("remove", event.run) as (all_steps, run):
        return all_steps.remove(run)
