"""What is answered of a job: how it stands, and when it is over and did not do what was asked for."""

import time
from collections.abc import Callable
from dataclasses import replace

from fastapi import Response

from lexigraph.api.errors import ApiError, try_again
from lexigraph.api.service import Service
from lexigraph.ingestion.events import unread
from lexigraph.model.errors import Cancelled, ModelUnavailable, NotFound, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord

_PASSING = frozenset({StoreUnavailable.code, ModelUnavailable.code})
UPLOAD_GRACE_SECONDS = 900.0  # for a file that was begun to be sent at the last moment, and for the news of it


async def when_over(
    service: Service, tenant: Tenant, begin: Callable[[], JobRecord], seconds: float, response: Response
) -> JobRecord:
    """Begin a job and return it when it is over, or as it stands after so many seconds: ``response`` is 202 then.

    Raise as ``begin`` and :func:`check_over` do.
    """

    def work() -> JobRecord:
        until = time.monotonic() + min(seconds, service.settings.api_deadline - 1)
        return service.jobs.wait(tenant, begin().id, until - time.monotonic())

    job = await service.run(work, waits=tenant.whole)
    check_over(job)
    response.status_code = 202 if job.status == "RUNNING" else 200
    return job


def standing(job: JobRecord, now: float | None = None) -> JobRecord:
    """Return a job as it stands at a time (seconds since the epoch; default now).

    One that waits for a file has failed when that did not come while its address was good, with a grace. Nothing is
    written: a file that comes all the same is ingested, and the job goes on.
    """
    until = (job.request.get("upload") or {}).get("until")
    if until is None or job.status != "RUNNING" or job.seq:
        return job
    if (time.time() if now is None else now) < until + UPLOAD_GRACE_SECONDS:
        return job
    within = round((job.request["upload"]["seconds"] + UPLOAD_GRACE_SECONDS) / 60)
    reason = f"the upload did not arrive within {within} minutes: request a new upload URL"
    return replace(job, status="FAILED", result={"error": NotFound.code}, reason=reason)


def check_over(job: JobRecord) -> None:
    """Raise ``ApiError`` for a job that failed: 422 when nothing could be read, 503 for what passes, a lost store or model,
    500 for the rest; 409 for one that was cancelled.
    """
    if job.status == "CANCELLED":
        raise ApiError(409, f"the job {job.id} was cancelled", code=Cancelled.code)
    if job.status != "FAILED":
        return
    if unread(job.result):
        if "upload" in job.request:
            raise ApiError(422, f"file: {job.result['failures'][0]['reason']}")
        raise ApiError(422, f"path: {job.reason}", hint=f"GET /jobs/{job.id} lists what failed")
    message, code = f"the job {job.id} failed: {job.reason}", str(job.result.get("error", ""))
    if code in _PASSING:
        raise try_again(message, code, "repeat the request in a few seconds to continue")
    raise ApiError(500, message, code="ingest_failed")
