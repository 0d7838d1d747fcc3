"""What is answered of a job that is over and did not do what was asked for."""

from collections import Counter
from pathlib import PurePath

from lexigraph.api.errors import RETRY_SECONDS, ApiError
from lexigraph.model.errors import ModelUnavailable, StoreUnavailable
from lexigraph.storage.protocols import JobRecord

_PASSING = frozenset({StoreUnavailable.code, ModelUnavailable.code})
_SHOWN = 3


def check_over(job: JobRecord) -> None:
    """Raise ``ApiError`` for a job that failed: 503 for what passes, a lost store or model, 500 for the rest."""
    if job.status != "FAILED":
        return
    message, code = f"the job {job.id} failed: {job.reason}", str(job.result.get("error", ""))
    if code in _PASSING:
        hint, retry = "ask again in a few seconds, it goes on from there", {"Retry-After": str(RETRY_SECONDS)}
        raise ApiError(503, message, code=code, hint=hint, headers=retry)
    raise ApiError(500, message, code="ingest_failed")


def nothing_taken(job: JobRecord) -> bool:
    """Tell whether something could not be read, and nothing else was there."""
    kept = ("chunks_new", "chunks_skipped", "documents_new", "documents_updated", "documents_unchanged", "documents_removed")
    return bool(job.result.get("failures")) and not any(job.result.get(name) for name in kept)


def check_any_taken(job: JobRecord) -> None:
    """Raise ``ApiError`` 422 when nothing at all of a path could be taken in, with the first reasons."""
    if not nothing_taken(job):
        return
    failures = job.result["failures"]
    reasons = Counter(f"{PurePath(f['uri']).name}: {f['reason']}" for f in failures)
    told = "; ".join(list(reasons)[:_SHOWN])
    more = f"; and {len(reasons) - _SHOWN:,} more" if len(reasons) > _SHOWN else ""
    raise ApiError(422, f"path: nothing could be taken in: {told}{more}", hint=f"GET /jobs/{job.id} lists what failed")
