"""`finish`: shows a part that was built; closes a run; or records why one failed.

A failure that is recorded is raised as :class:`IngestFailed`, so that the execution fails with its reason. When that is
redriven the function is called once more: then it opens the job again and returns, and the workflow goes on. What the
state machine cannot catch, an execution that was stopped or took too long, EventBridge tells.
"""

from contextlib import suppress

from functions.payloads import Ended, FinishEvent
from functions.runtime import function, logger, metrics, registry
from functions.work import reason_of, step, steps
from lexigraph.ingestion.workflow.file_run import Superseded
from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.tenant import Tenant


class IngestFailed(Exception):  # operators see this name
    """A run failed; the message is what its job says."""


@function(FinishEvent)
def handler(event: FinishEvent) -> None:
    """Finish a part, close a run, or record a failure."""
    if event.detail:
        _ended(event.detail)
    elif event.error:
        _fail(event, reason_of(event.error))
    elif event.run:
        with step("finish", event.run) as (all_steps, run):
            if event.part is None:
                all_steps.close(run)
            else:
                all_steps.finish(run, event.part)


def _ended(told: Ended) -> None:
    asked, reason = told.input, f"the execution ended: {told.error or told.status}"
    if asked.run and registry().job(Tenant(asked.run.tenant), asked.run.job_id).status == "RUNNING":
        with suppress(Superseded):  # its job says so by then
            steps().fail(asked.run.file_run(), reason)
    again = asked.reembed and asked.reembed.model_copy(update={"execution": told.name})
    if job := asked.removal or asked.relation or again:
        with suppress(NotFound, InvalidInput):  # it ended before it had a job, or is of a tenant that cannot be
            if registry().job(Tenant(job.tenant), job.job_id).status == "RUNNING":
                steps().fail_job(Tenant(job.tenant), job.job_id, reason)


def _fail(event: FinishEvent, reason: str) -> None:
    if event.run:
        recorded = steps().fail(event.run.file_run(), reason)
    elif job := event.removal or event.relation or event.reembed:
        try:
            recorded = steps().fail_job(Tenant(job.tenant), job.job_id, reason)
        except NotFound:  # it failed before it had one: its execution alone says why
            recorded = True
    else:
        recorded = False
    if recorded:
        logger.error("ingest failed", extra={"reason": reason})
        metrics.add_metric(name="IngestFailed", unit="Count", value=1)
        raise IngestFailed(reason)
