"""`build`: writes the next versions of a part's documents to registry, graph and vectors; readers see none of it yet."""

from functions.payloads import BuildEvent
from functions.runtime import function
from functions.work import step


@function(BuildEvent)
def handler(event: BuildEvent) -> None:
    """Build a part."""
    with step("build", event.run) as (steps, run):
        steps.build(run, event.part)
