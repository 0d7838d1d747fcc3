"""`extract`: asks the language model about a batch of chunks, and embeds what it finds."""

from functions.payloads import ExtractEvent
from functions.runtime import function
from functions.work import step


@function(ExtractEvent)
def handler(event: ExtractEvent) -> None:
    """Leave the results in the artefact store; the reply stays empty, since a map gathers all replies."""
    with step("extract", event.run) as (steps, run):
        steps.extract(run, event.batch)
