"""`chunk`: cuts the documents, and lists the batches of chunks that have to be extracted for the state machine's map."""

from typing import Any

from functions.payloads import ChunkEvent
from functions.runtime import function
from functions.work import step


@function(ChunkEvent)
def handler(event: ChunkEvent) -> dict[str, Any]:
    """Return the parts, the number of batches, and where the list of batches lies."""
    with step("chunk", event.run) as (steps, run):
        work = steps.chunk(run, everything=event.everything)
        return {**work, "items": steps.batches_at(run)}
