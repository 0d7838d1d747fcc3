"""Tokens, money and minutes before an ingest."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter

from lexigraph.api.access.auth import Writer
from lexigraph.api.estimator import estimate_apart
from lexigraph.api.jobs.uploads import file_name
from lexigraph.api.openapi.document import errors
from lexigraph.api.schemas.estimate import EstimateReply, EstimateRequest
from lexigraph.api.service import Service, TheService
from lexigraph.ingestion.jobs import file_type, files_inside
from lexigraph.ingestion.load import FileItem
from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.database import translated

router = APIRouter(tags=["ingest"])
_SHARE = 0.9  # of the deadline


@router.post("/estimate", operation_id="estimate", summary="Tell what an ingest would take", responses=errors(404))
async def estimate_ingest(who: Writer, service: TheService, body: EstimateRequest) -> EstimateReply:
    """Read and cut documents, without any model, and tell what taking them in anew would need. Nothing is kept of them."""
    # the process ends before the answer is due, so that whoever waits for it can say so
    until = time.monotonic() + _SHARE * service.settings.api_deadline
    prices = body.model_dump(include={"usd_per_million_input", "usd_per_million_output"})

    def work() -> dict[str, Any]:
        with _files(service, who.tenant, body) as items:
            return estimate_apart(items, service.settings, prices, until)

    return EstimateReply.model_validate(await service.run(work, alone=True))


@contextmanager
def _files(service: Service, tenant: Tenant, body: EstimateRequest) -> Iterator[list[FileItem]]:
    """Give the files that are meant, as long as the block lasts."""
    if body.path is not None and service.handover is None:
        yield files_inside([body.path], service.settings)[0]
        return
    with TemporaryDirectory() as folder:
        if body.path is not None and service.handover:
            yield [service.handover.fetch(tenant, body.path, Path(folder))]
        else:
            file = Path(folder) / file_name(body.name)
            type_ = file_type(file.name)
            with translated(file):
                file.write_text(body.text or "", encoding="utf-8")
            yield [FileItem(file, file.as_uri(), type_)]
