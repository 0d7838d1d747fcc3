"""One file on its way in: what every step is told, and which run may go on."""

from dataclasses import dataclass
from typing import Any, Self

from lexigraph.model.errors import LexigraphError, NotFound
from lexigraph.model.ids import content_hash, source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord, Registry


class Superseded(LexigraphError):
    """A newer state of the file came in meanwhile; the run that brings that in goes on, this one ends."""

    code = "superseded"


class Stale(LexigraphError):
    """The document changed between `chunk` and `build`: chunk everything again."""

    code = "stale"


@dataclass(frozen=True, slots=True)
class FileRun:
    """A file on its way in, as every step is told of it.

    ``type`` is one of the values of ``FILE_TYPES``, ``order`` that of its claim. ``fresh`` writes what has not changed once
    more, ``refresh`` asks the models anew about everything, with ``relations`` also how chunks are related.
    """

    tenant: Tenant
    namespace: str
    uri: str
    type: str
    job_id: str
    order: str
    fresh: bool = False
    relations: bool = True
    refresh: bool = False

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Self:
        """Read it from plain data."""
        return cls(**{**raw, "tenant": Tenant(raw["tenant"])})

    @property
    def key(self) -> str:
        """What is claimed: the id of the source that the file is, or would be."""
        return source_id(self.tenant, self.namespace, self.uri)


def begin(
    registry: Registry, tenant: Tenant, namespace: str, uri: str, type_: str, order: str, *, kind: str, job_id: str = ""
) -> FileRun | None:
    """Claim a file for a run, under a job that waits for it or a new one; None when a newer state is claimed.

    A job that waits and is not the one that brings the file in ends, and says which one does (``superseded_by``).
    Told of the same state again, return the same run: whoever was told first may have died before it began.
    """
    key = source_id(tenant, namespace, uri)
    before = registry.claimed(tenant, key)
    job = _job(registry, tenant, job_id)
    if before and before.order >= order:
        _give_up(registry, tenant, job, before.holder)
        job = _job(registry, tenant, before.holder) if before.order == order else None
    else:
        if job is None or job.status != "RUNNING":
            # resumable: no process that ends leaves it behind; killed before it has claimed, it finds the same job again
            asked = {"paths": [uri], "namespace": namespace, "incremental": True, "resumable": True}
            job = registry.start_job(tenant, kind, asked, job_id=content_hash(key, order)[:32])
        claim = registry.claim(tenant, key, order, job.id)
        if claim.holder != job.id:  # somebody was faster
            _give_up(registry, tenant, job, claim.holder)
            job = _job(registry, tenant, claim.holder) if claim.order == order else None
    if job is None:
        return None
    refresh, related = bool(job.request.get("refresh", False)), bool(job.request.get("relations", True))
    fresh = refresh or not job.request.get("incremental", True)
    return FileRun(tenant, namespace, uri, type_, job.id, order, fresh, related, refresh)


def _give_up(registry: Registry, tenant: Tenant, job: JobRecord | None, holder: str) -> None:
    if job and job.id != holder and job.status == "RUNNING":
        registry.finish_job(tenant, job.id, "FAILED", {"superseded_by": holder}, f"job {holder} is ingesting it")


def _job(registry: Registry, tenant: Tenant, job_id: str) -> JobRecord | None:
    try:
        return registry.job(tenant, job_id) if job_id else None
    except NotFound:
        return None
