"""Taking in what is on the server: at once, or with its steps as events (E-04 to E-34)."""

import math
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import ServerSentEvent

from lexigraph.api import sse
from lexigraph.api.access.auth import Writer, check_meant
from lexigraph.api.jobs.outcome import when_over
from lexigraph.api.jobs.relations_only import RelationsOnly, begin_relate
from lexigraph.api.jobs.uploads import check_whole
from lexigraph.api.limits import FLAG, NAME, NUMBER, TEXT
from lexigraph.api.openapi.document import errors, events
from lexigraph.api.schemas.ingest import IngestReply, IngestRequest, stage_of
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion.events import unread
from lexigraph.ingestion.jobs import RELATE, ingest_request
from lexigraph.ingestion.roots import inside
from lexigraph.model.errors import NotFound
from lexigraph.model.names import LONGEST, PATTERN
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord

router = APIRouter(tags=["ingest"])
_EVENTS = (
    'event: start\ndata: {}\n\nid: 1\ndata: {"stage":"scan_input","files":1}\n\n'
    'event: result\ndata: {"stage":"result","result":{"files_processed":1}}\n\ndata: {"stage":"done"}\n\n'
)
_OUTCOME = ("result", "done", "error")
Incremental = Annotated[bool, Query(description="skip chunks whose text has not changed (E-05)", examples=[True]), FLAG]
Refresh = Annotated[
    bool, Query(description="call the models again, including for unchanged text (E-06)", examples=[False]), FLAG
]
Checkpoint = Annotated[
    bool,
    Query(description="reuse earlier model results for the same text (E-32)", examples=[True]),
    FLAG,
]
RefreshRelations = Annotated[
    bool, Query(description="with refresh, also detect relations between chunks again (E-07)", examples=[True]), FLAG
]
Wait = Annotated[
    float,
    Query(
        ge=0, le=600, description="seconds to wait for completion before answering 202 with a job to poll", examples=[20.0]
    ),
    NUMBER,
]
Where = Annotated[
    str,
    Query(min_length=1, max_length=4_096, description="file or folder on the server", examples=["corpus/flow.md"]),
    TEXT,
]
Namespace = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LONGEST,
        pattern=PATTERN,
        description="namespace of the documents",
        examples=["default"],
    ),
    NAME,
]


@router.post(
    "/ingest",
    operation_id="ingest",
    summary="Ingest a file or folder",
    responses={202: {"model": IngestReply, "description": "in progress: poll the job"}, **errors(404)},
)
async def ingest(
    who: Writer,
    service: TheService,
    response: Response,
    body: IngestRequest,
    incremental: Incremental = False,
    refresh: Refresh = False,
    refresh_relations: RefreshRelations = True,
    checkpoint: Checkpoint = True,
    progress: Annotated[bool, Query(description="include the stages in the response", examples=[False]), FLAG] = False,
    wait: Wait = 20.0,
) -> IngestReply:
    """Ingest ``path``, inside the folder opened to the tenant, and respond when it is done.

    An interrupted run resumes where it stopped. ``failures`` lists what could not be read; 422 if nothing could.
    ``warnings`` reports chunks and pairs for which the language model returned nothing usable; 500 if it did so for all.
    """
    check_whole(who.tenant)
    how = {"refresh": refresh or not checkpoint, "relations": refresh_relations}
    start = partial(begin, service, who.tenant, body.path, body.namespace, incremental, **how)
    job = await when_over(service, who.tenant, start, wait, response)
    if not progress:
        return IngestReply.of(job)
    told = await service.run(lambda: list(service.stores.registry.events(who.tenant, job.id)))
    return IngestReply.of(job, [stage_of(event) for event in told if event.stage not in _OUTCOME])


_STREAM: dict[str, Any] = {
    "summary": "Ingest a file or folder and stream its events",
    "response_class": StreamingResponse,
    "responses": {200: events("`start`, the stages, `result`, `done`; a stage `error` ends it", _EVENTS), **errors(404)},
}


@router.post("/ingest/stream", operation_id="ingest_and_stream", **_STREAM)
@router.get("/ingest/stream", operation_id="ingest_stream", **_STREAM)
async def ingest_stream(
    request: Request,
    who: Writer,
    service: TheService,
    path: Where,
    relations_only: RelationsOnly,
    namespace: Namespace = "default",
    incremental: Incremental = False,
    refresh: Refresh = False,
    refresh_relations: RefreshRelations = True,
    checkpoint: Checkpoint = True,
) -> StreamingResponse:
    """Start a job and stream its events from the first: ``start``, the stages, ``result``, ``done``.

    The job continues if the client disconnects, and ``/jobs/{id}/events`` returns the remaining events; the header
    ``X-Job-Id`` holds the job id. If the server stops following the job early, the last stage is ``job_continues``. With
    ``inc_rel_only`` only the new chunks of a document ingested from ``path`` are related to other chunks.
    GET is for clients that cannot send POST; a server without keys then requires the header ``X-API-Key``, with any value.
    """
    check_meant(request, who)
    check_whole(who.tenant)

    def work() -> JobRecord:
        if relations_only:
            return begin_relate(service, who.tenant, path, relations_only, namespace=namespace, refresh=refresh)
        how = {"refresh": refresh or not checkpoint, "relations": refresh_relations}
        return begin(service, who.tenant, path, namespace, incremental, **how)

    with ExitStack() as turn:
        turn.enter_context(service.streaming(who.tenant))
        job = await service.run(work)
        stream = sse.stream(lambda tell: _tell(service, who.tenant, job, tell), _error_event, turn=turn.pop_all())
    stream.headers["X-Job-Id"] = job.id
    return stream


def begin(
    service: Service,
    tenant: Tenant,
    path: str,
    namespace: str,
    incremental: bool,
    *,
    refresh: bool = False,
    relations: bool = True,
) -> JobRecord:
    """Start a job for a path. Raise ``InvalidInput`` outside the tenant's root, ``NotFound`` when nothing is there."""
    incremental = incremental and not refresh
    if service.handover:
        how = {"incremental": incremental, "refresh": refresh, "relations": relations}
        return service.handover.ingest(tenant, namespace, path, **how)
    found = inside(tenant, path, service.settings)
    if not os.path.exists(found):  # noqa: PTH110  # Path.exists fails on a name too long for this system
        raise NotFound("path: no such file or folder")
    request = ingest_request([str(found)], namespace, incremental=incremental, refresh=refresh)
    return service.jobs.begin(tenant, {**request, "relations": relations})


def _tell(service: Service, tenant: Tenant, job: JobRecord, tell: sse.Tell) -> None:
    tell(sse.event({}, "start"))
    until, seen = time.monotonic() + (service.settings.api_follow or math.inf), 0
    # what nobody hears keeps no thread; the job goes on
    for event in service.jobs.events(tenant, job.id, lambda: tell.heard and time.monotonic() < until):
        seen = event.seq
        if event.stage not in _OUTCOME:
            tell(sse.event(stage_of(event), id_=str(event.seq)))
    over = service.stores.registry.job(tenant, job.id)
    if over.status == "RUNNING":
        at = f"/jobs/{job.id}"
        told = {"job_id": job.id, "status_url": at, "events_url": f"{at}/events?after={seen}"}
        tell(sse.event({"stage": "job_continues", **told}))
        return
    if over.status in ("FAILED", "CANCELLED"):
        tell(sse.event({"stage": "error", "error": f"path: {over.reason}" if unread(over.result) else over.reason}))
        return
    result = dict(over.result) if RELATE in over.request else IngestReply.of(over).model_dump()
    tell(sse.event({"stage": "result", "result": result}, "result"))
    tell(sse.event({"stage": "done"}))


def _error_event(told: Mapping[str, str]) -> ServerSentEvent:
    return sse.event({"stage": "error", "error": told["message"]})
