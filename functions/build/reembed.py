"""`lexigraph reembed` inside a deployment, as a step that the state machine repeats to the end.

The step belongs to a job whose id follows from the execution's name. A try that fails leaves it running, for the next;
when no try is left `finish` records the reason, as for all that runs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from functions.payloads import Reembed
from lexigraph.inference.bedrock_client import Refused
from lexigraph.inference.factory import make_embedder
from lexigraph.ingestion.upkeep.reembed import embedding_of, reembed_from, settings_with, side_by_side
from lexigraph.ingestion.upkeep.reembed_progress import ReembedReport
from lexigraph.ingestion.workflow.workbench import Workbench
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tenant import Tenant
from lexigraph.settings import KNOWN_DIMENSIONS, Settings


def go_on(asked: Reembed, work: Workbench) -> dict[str, Any]:
    """Bring a tenant's records to another embedding for a while; return what was asked with how far it is."""
    # the first of all, so that whatever fails has a job to be told; resumable: no process that ends leaves it behind
    request = {**asked.model_dump(include={"model", "from_", "drop_old"}, by_alias=True), "resumable": True}
    job = work.registry.start_job(Tenant(asked.tenant), "reembed", request, job_id=asked.job_id)
    target = _target(asked, work.settings)
    source = embedding_of(asked.from_) if asked.from_ else work.settings.embedding
    report = asked.report or ReembedReport(source.label, target.embedding.label, job.id)
    if asked.drop_old:
        _refuse_loss(asked, report, work.settings)
    with side_by_side(work.settings, source, target.embedding) as (old, new), _explained(asked):
        at = reembed_from(
            work.stores,
            old,
            new,
            make_embedder(target),
            asked.at,
            report,
            tenant=asked.tenant,
            drop_old=asked.drop_old,
            seconds=asked.seconds,
        )
    return {**asked.model_dump(by_alias=True), "at": asdict(at), "report": asdict(report)}


@contextmanager
def _explained(asked: Reembed) -> Iterator[None]:
    """Say what is to be done where the function may not ask the new model; trying again would not help."""
    try:
        yield
    except Refused as error:
        if asked.model and error.code == "AccessDeniedException":
            raise InvalidInput(
                f"reembed.model: may not be asked: deploy with -c next_embedding_model={asked.model}, and open the model "
                "for the account in the Bedrock console of this region"
            ) from error
        raise


def _target(asked: Reembed, settings: Settings) -> Settings:
    """Return the settings with the new model."""
    if not asked.model and (asked.dimension is not None or asked.options):
        raise InvalidInput("reembed.dimension and reembed.options: belong to a new model; give reembed.model")
    made = settings_with(settings, asked.model, asked.dimension, asked.options) if asked.model else settings
    if asked.model and asked.dimension is None and made.embedding_model not in KNOWN_DIMENSIONS:
        raise InvalidInput(f"reembed.dimension: give that of {asked.model}, which is not known")
    return made


def _refuse_loss(asked: Reembed, report: ReembedReport, settings: Settings) -> None:
    """Raise ``InvalidInput`` where records would go that readers use, or that are nowhere else."""
    if settings.embedding.label != report.target:
        raise InvalidInput(
            f"reembed.drop_old: the functions use {settings.embedding.label}, whose records would go: deploy with the new "
            "embedding_model first, then name the old label in reembed.from"
        )
    if asked.at.part == "old" and report.missing:
        raise InvalidInput(
            f"reembed.drop_old: {report.missing:,} records are neither in {report.source} nor in {report.target}, so "
            "nothing was dropped: ingest their documents again first; run the action `check` to list them"
        )
