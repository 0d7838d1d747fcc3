"""`start`: begins a run for each change of the inbox that S3 tells of, in whatever order, however often.

A message that fails comes again alone. Twice the same event begins one run: remembered in a table for a day, after that
by the claim on the file. What comes after it, up to a searchable document: ``infra/state_machine.py``.
"""

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.parser.models import S3EventNotificationEventBridgeModel

from functions.payloads import ObjectMessage
from functions.runtime import failed, function, logger, registry
from functions.start.once import once
from functions.work import inbox, workflow
from lexigraph import telemetry
from lexigraph.ingestion.jobs import file_type
from lexigraph.ingestion.workflow.file_run import begin
from lexigraph.model.errors import InvalidInput
from lexigraph.model.names import checked_name


class _Messages(BatchProcessor):
    """Logs why a message failed, as nothing else does: it comes again, and at last lies among the dead letters."""

    def failure_handler(self, record: Any, exception: Any) -> Any:
        known = isinstance(record, ObjectMessage)
        failed("start", exception[1], **({"key": record.body.detail.object.key} if known else {}))
        return super().failure_handler(record, exception)


processor = _Messages(event_type=EventType.SQS, model=ObjectMessage, raise_on_entire_batch_failure=False)


@function(dict[str, Any])
def handler(event: dict[str, Any]) -> Any:
    """Return the messages that failed."""
    return process_partial_response(event, record_handler=_message, processor=processor, context=None)


def _message(record: ObjectMessage) -> None:
    detail, created = record.body.detail, record.body.detail_type == "Object Created"
    # what S3 tells by its event, without ids of its delivery
    told = {"bucket": detail.bucket.name, "key": detail.object.key, "order": order_of(detail.object.sequencer or "")}
    once(lambda: _begin(record.body, created), {**told, "created": created})


def order_of(sequencer: str) -> str:
    """Return a sequencer in a form that compares as text: S3's are hexadecimal, shorter ones filled up to the right."""
    return sequencer.upper().ljust(32, "0")


def _begin(event: S3EventNotificationEventBridgeModel, created: bool) -> None:
    detail = event.detail
    try:
        at = inbox().located(detail.bucket.name, detail.object.key)
        file_type(at.name)
        if created:  # what was ingested before goes, whatever it is called
            checked_name("key: its namespace", at.namespace)
            checked_name("key: the name of the file", at.name, len(at.name))
    except InvalidInput as error:
        logger.warning("passed over", extra={"reason": str(error)})
        return
    # a version deleted for good uncovers the one before it, or was not the newest
    found = inbox().found(detail.object.key, detail.object.version_id or "") if created else inbox().found(detail.object.key)
    kind, type_ = ("ingest", file_type(at.name)) if found else ("remove", "")
    if created and found is None:
        return  # gone again; its removal is told, too
    order, waiting = order_of(detail.object.sequencer or ""), found.job_id if found else ""
    run = begin(registry(), at.tenant, at.namespace, at.uri, type_, order, kind=kind, job_id=waiting)
    logger.info("told", extra={"kind": kind, "order": order, "job_id": run.job_id if run else "", "begins": bool(run)})
    if not run:
        return
    with telemetry.span("start") as span:
        span.set({"lexigraph.job.id": run.job_id})
        workflow().ingest(run, found) if found else workflow().remove(run)
