"""Where a client may put a file that is too large for a request; only where files are handed over."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from lexigraph.api.access.auth import Writer
from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.uploads import check_whole, file_name
from lexigraph.api.limits import NAME, Body, Name, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import TheService
from lexigraph.model.names import PATTERN

router = APIRouter(prefix="/documents", tags=["documents"])


class OfferRequest(Body):
    """The file to come."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=500, pattern=PATTERN, description="of the file", examples=["flow.md"]),
        NAME,
    ]
    namespace: Name = Field(description="namespace", default="default", examples=["default"])


class OfferReply(Reply):
    """Where to put it: ``PUT`` the bytes there, with these headers."""

    url: str = Field(description="good for some minutes, and for this file alone", examples=["https://inbox.s3.../flow.md"])
    headers: dict[str, str] = Field(description="to be sent with it", examples=[{"x-amz-meta-lexigraph-job": "0f6c2d1a"}])
    expires_sec: int = Field(description="how long the address is good", examples=[900])
    job_id: str = Field(description="job id, for /jobs", examples=["0f6c2d1a9b3e4f508172635445362718"])
    status_url: str = Field(description="where to ask", examples=["/jobs/0f6c2d1a9b3e4f508172635445362718"])


@router.post("/upload-url", operation_id="offer_upload", summary="Create an upload URL", responses=errors(404))
async def offer_upload(who: Writer, service: TheService, body: OfferRequest) -> OfferReply:
    """Create a job that waits for a file, and return the URL to upload it to."""
    handover = service.handover
    if handover is None:
        raise ApiError(404, "this server does not issue upload URLs", hint="POST /documents")
    check_whole(who.tenant)
    name = file_name(body.name, "name")
    job, offer = await service.run(lambda: handover.offer(who.tenant, body.namespace, name))
    return OfferReply(
        url=offer.url,
        headers=offer.headers,
        expires_sec=offer.seconds,
        job_id=job.id,
        status_url=f"/jobs/{job.id}",
    )
