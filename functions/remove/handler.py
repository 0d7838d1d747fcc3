"""`remove`: takes out what came out of a file that is gone, or documents that somebody wants removed.

A schedule has it take away what writers left that lost their leases and were killed, and operators have it compare stores.
"""

from typing import Any

from functions.payloads import RemoveEvent
from functions.remove.check import go_on
from functions.runtime import function, told
from functions.work import step, steps
from lexigraph.model.tenant import Tenant


@function(RemoveEvent)
def handler(event: RemoveEvent) -> dict[str, Any]:
    """Return how many documents were removed or late writers seen to, or how far a comparison is and what it found."""
    if event.action == "tend":
        with told("tend"):
            return steps().tend()
    if event.action == "check":
        with told("check"):
            return go_on(event.check, steps())
    if event.removal:
        asked = event.removal
        return steps().remove_documents(Tenant(asked.tenant), asked.job_id, asked.source_ids)
    if event.run is None:
        return {"documents_removed": 0}
    with step("remove", event.run) as (all_steps, run):
        return all_steps.remove(run)
