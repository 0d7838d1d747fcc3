"""`finish`: shows a part that was built; closes a run; or records why one failed.

A failure that is recorded is raised as :class:`IngestFailed`, so that the execution fails with its reason. When that is
redriven the function is called once more: then it opens the job again and returns, and the workflow goes on.
"""

from functions.payloads import FinishEvent
from functions.runtime import function, logger, metrics
from functions.work import reason_of, step, steps


class IngestFailed(Exception):  # operators see this name
    """A run failed; the message is what its job says."""


@function(FinishEvent)
def handler(event: FinishEvent) -> None:
    """Finish a part, close a run, or record a failure."""
    if event.error:
        _fail(event, reason_of(event.error))
    elif event.run:
        with step("finish", event.run) as (all_steps, run):
            if event.part is None:
                all_steps.close(run)
            else:
                all_steps.finish(run, event.part)


def _fail(event: FinishEvent, reason: str) -> None:
    if event.run:
        recorded = steps().fail(event.run.file_run(), reason)
    elif event.removal:
        recorded = steps().fail_job(event.removal.owner(), event.removal.job_id, reason)
    else:
        recorded = False
    if recorded:
        logger.error("ingest failed", extra={"reason": reason})
        metrics.add_metric(name="IngestFailed", unit="Count", value=1)
        raise IngestFailed(reason)
