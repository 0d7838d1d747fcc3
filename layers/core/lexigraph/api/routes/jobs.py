"""Jobs and their events, as often as one likes: a reply that was lost is found here."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from lexigraph.api.access.auth import ReaderOrWriter
from lexigraph.api.jobs.outcome import standing
from lexigraph.api.limits import WHOLE
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.ingest import EventList, EventReply, JobList, JobReply
from lexigraph.api.service import TheService

router = APIRouter(prefix="/jobs", tags=["jobs"])
JobId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=64,
        pattern="^[0-9a-f]+$",
        description="as the ingest answered it",
        examples=["0f6c2d1a9b3e4f508172635445362718"],
    ),
]


@router.get("", operation_id="list_jobs", summary="List jobs", responses=errors())
async def list_jobs(
    who: ReaderOrWriter,
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=1_000, description="at most so many", examples=[50]), WHOLE] = 50,
) -> JobList:
    """Return the latest jobs, newest first."""
    found = await service.run(lambda: service.stores.registry.jobs(who.tenant, limit=limit))
    return JobList(jobs=[JobReply.of(standing(job)) for job in found])


@router.get("/{job_id}", operation_id="get_job", summary="Tell how a job stands", responses=errors(404))
async def get_job(who: ReaderOrWriter, service: TheService, job_id: JobId) -> JobReply:
    """Return a job with its result."""
    return JobReply.of(standing(await service.run(lambda: service.stores.registry.job(who.tenant, job_id))))


@router.get("/{job_id}/events", operation_id="job_events", summary="List what a job did", responses=errors(404))
async def job_events(
    who: ReaderOrWriter,
    service: TheService,
    job_id: JobId,
    after: Annotated[
        int, Query(ge=0, le=2**53, description="events after the one with this number", examples=[0]), WHOLE
    ] = 0,
) -> EventList:
    """Return the steps of a job, in order."""

    def work() -> EventList:
        registry = service.stores.registry
        job = registry.job(who.tenant, job_id)
        return EventList(events=[EventReply.of(e) for e in registry.events(who.tenant, job.id, after=after)])

    return await service.run(work)
