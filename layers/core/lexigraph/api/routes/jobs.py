"""Jobs and their events, as often as one likes: a reply that was lost is found here."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from lexigraph.api.access.auth import ReaderOrWriter, Writer
from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.outcome import standing
from lexigraph.api.limits import WHOLE, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import TheService
from lexigraph.storage.protocols import JobEvent, JobRecord, JobStatus

router = APIRouter(prefix="/jobs", tags=["jobs"])
JobId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=64,
        pattern="^[0-9a-f]+$",
        description="job id",
        examples=["0f6c2d1a9b3e4f508172635445362718"],
    ),
]


class JobReply(Reply):
    """A job with its status and result."""

    id: str = Field(description="job id", examples=["0f6c2d1a9b3e4f508172635445362718"])
    kind: str = Field(description="kind of job", examples=["ingest"])
    status: JobStatus = Field(description="status of the job", examples=["SUCCEEDED"])
    created_at: str = Field(description="start time, UTC", examples=["2026-11-22T06:08:27.123+00:00"])
    updated_at: str = Field(description="time of the last change, UTC", examples=["2026-11-22T06:08:29.533+00:00"])
    namespace: str = Field(description="namespace", examples=["default"])
    uri: str = Field(description="URI of the one file of an upload; else empty", examples=["upload://default/flow.md"])
    result: dict[str, Any] = Field(description="result of the job", examples=[{"chunks_new": 12}])
    reason: str = Field(description="reason of the failure", examples=[""])

    @classmethod
    def of(cls, job: JobRecord) -> "JobReply":
        """Return the reply for a job."""
        namespace = job.request.get("namespace", "default")
        result = {name: value for name, value in job.result.items() if name != "job_id"}
        return cls(
            id=job.id,
            kind=job.kind,
            status=job.status,
            created_at=job.created_at,
            updated_at=job.updated_at,
            namespace=namespace,
            uri=(job.request.get("upload") or {}).get("uri", ""),
            result=result,
            reason=job.reason,
        )


class JobList(Reply):
    """Jobs, newest first."""

    jobs: list[JobReply] = Field(description="newest first")


class EventReply(Reply):
    """An event of a job; ``seq`` starts at 1."""

    seq: int = Field(description="sequence number, starting at 1", examples=[1])
    stage: str = Field(description="stage", examples=["scan_input"])
    at: str = Field(description="time, UTC", examples=["2026-11-22T06:08:27.123+00:00"])
    data: dict[str, Any] = Field(description="figures of the stage", examples=[{"files": 1}])

    @classmethod
    def of(cls, event: JobEvent) -> "EventReply":
        """Return the reply for an event."""
        return cls(seq=event.seq, stage=event.stage, at=event.at, data=dict(event.data))


class EventList(Reply):
    """Events of a job, in order."""

    events: list[EventReply] = Field(description="in order")


@router.get("", operation_id="list_jobs", summary="List jobs")
async def list_jobs(
    who: ReaderOrWriter,
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=1_000, description="maximum number", examples=[50]), WHOLE] = 50,
) -> JobList:
    """Return the most recent jobs, newest first."""
    found = await service.run(lambda: service.stores.registry.jobs(who.tenant, limit=limit))
    return JobList(jobs=[JobReply.of(standing(job)) for job in found])


@router.get("/{job_id}", operation_id="get_job", summary="Get a job", responses=errors(404))
async def get_job(who: ReaderOrWriter, service: TheService, job_id: JobId) -> JobReply:
    """Return a job with its result."""
    return JobReply.of(standing(await service.run(lambda: service.stores.registry.job(who.tenant, job_id))))


@router.get("/{job_id}/events", operation_id="job_events", summary="List a job's events", responses=errors(404))
async def job_events(
    who: ReaderOrWriter,
    service: TheService,
    job_id: JobId,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="only events after this sequence number", examples=[0]), WHOLE
    ] = 0,
) -> EventList:
    """Return the events of a job, in order."""

    def work() -> EventList:
        registry = service.stores.registry
        job = registry.job(who.tenant, job_id)
        return EventList(events=[EventReply.of(e) for e in registry.events(who.tenant, job.id, after=after)])

    return await service.run(work)


@router.post(
    "/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel an ingest",
    responses={202: {"model": JobReply, "description": "cancelling: poll the job"}, **errors(404, 409)},
)
async def cancel_job(who: Writer, service: TheService, response: Response, job_id: JobId) -> JobReply:
    """Cancel an ingest. Finished documents are kept, unfinished ones are discarded.

    A queued job ends immediately. A running job stops at its next step: after the file being read,
    or the model calls under way. Not available in a deployment: stop the execution in Step Functions.
    """

    def work() -> JobRecord:
        if service.settings.workflow:
            hint = f"stop the execution {job_id} in Step Functions"
            raise ApiError(409, "a deployment's jobs cannot be cancelled by this route", hint=hint)
        return service.jobs.cancel(who.tenant, job_id)

    job = await service.run(work)
    response.status_code = 202 if job.status == "RUNNING" else 200
    return JobReply.of(standing(job))
