"""Tokens, money and minutes before an ingest."""

from fastapi import APIRouter

from lexigraph.api.auth import Writer
from lexigraph.api.openapi import errors
from lexigraph.api.schemas.estimate import EstimateReply, EstimateRequest
from lexigraph.api.service import TheService
from lexigraph.ingestion.estimate import Estimate, estimate
from lexigraph.ingestion.jobs import files_inside

router = APIRouter(tags=["ingest"])


@router.post("/estimate", operation_id="estimate", summary="Tell what an ingest would take", responses=errors(404))
async def estimate_ingest(who: Writer, service: TheService, body: EstimateRequest) -> EstimateReply:  # noqa: ARG001
    """Read and cut the documents, without any model, and tell what taking them in anew would need."""

    def work() -> Estimate:
        items, _ = files_inside([body.path], service.settings)
        return estimate(
            items,
            service.settings,
            usd_per_million_input=body.usd_per_million_input,
            usd_per_million_output=body.usd_per_million_output,
        )

    return EstimateReply.model_validate((await service.run(work)).to_dict())
