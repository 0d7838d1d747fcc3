"""`build`: writes the next versions of a part's documents to registry, graph and vectors; readers see none of it yet.

It also relates the new chunks of a document to others, and embeds records anew, which takes the same rights.
"""

from typing import Any

from functions.build.reembed import go_on
from functions.payloads import BuildEvent, Reembed, Relation
from functions.runtime import function, logger, told
from functions.work import step, steps
from lexigraph.ingestion.relations import NewChunks
from lexigraph.model.tenant import Tenant


@function(BuildEvent)
def handler(event: BuildEvent) -> dict[str, Any] | None:
    """Build a part, or relate; or return how far records of another embedding are."""
    if event.reembed:
        return _reembed(event.reembed)
    if event.relation:
        _relate(event.relation)
    elif event.run:
        with step("build", event.run) as (all_steps, run):
            all_steps.build(run, event.part)
    return None


def _reembed(asked: Reembed) -> dict[str, Any]:
    logger.append_keys(job_id=asked.job_id, tenant=asked.tenant, step="reembed")
    with told("reembed"):  # as below
        return go_on(asked, steps())


def _relate(asked: Relation) -> None:
    logger.append_keys(job_id=asked.job_id, tenant=asked.tenant, step="relate")
    with told("relate"):  # the job hears of it when no further try is left
        steps().relate(Tenant(asked.tenant), asked.job_id, asked.source_id, NewChunks(**asked.what))
