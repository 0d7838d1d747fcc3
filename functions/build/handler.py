"""`build`: writes the next versions of a part's documents to registry, graph and vectors; readers see none of it yet.

It also relates the new chunks of a document to others, embeds records anew, and has Neptune load files, which takes the same
rights.
"""

from typing import Any

from functions.build import load, reembed
from functions.payloads import BuildEvent, Load, Reembed, Relation
from functions.runtime import function, logger, settings, told
from functions.work import step, steps
from lexigraph.ingestion.relations import NewChunks
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.loader import NeptuneLoader


@function(BuildEvent)
def handler(event: BuildEvent) -> dict[str, Any] | None:
    """Build a part, or relate; or return how far records of another embedding, or a bulk load, are."""
    if event.reembed:
        return _reembed(event.reembed)
    if event.load:
        return _load(event.load)
    if event.relation:
        _relate(event.relation)
    elif event.run:
        with step("build", event.run) as (all_steps, run):
            all_steps.build(run, event.part)
    return None


def _reembed(asked: Reembed) -> dict[str, Any]:
    logger.append_keys(job_id=asked.job_id, tenant=asked.tenant, step="reembed")
    with told("reembed"):  # as below
        return reembed.go_on(asked, steps())


def _load(asked: Load) -> dict[str, Any]:
    logger.append_keys(step="load")
    with told("load"):
        return load.go_on(asked, NeptuneLoader(settings().connections["graph"]))


def _relate(asked: Relation) -> None:
    logger.append_keys(job_id=asked.job_id, tenant=asked.tenant, step="relate")
    with told("relate"):  # the job hears of it when no further try is left
        steps().relate(Tenant(asked.tenant), asked.job_id, asked.source_id, NewChunks(**asked.what))
