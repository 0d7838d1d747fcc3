"""Ingests that were asked for and are done elsewhere, by whoever holds the job's lease; interrupted, they are done again.

A job's ``request`` says all that is needed: ``paths`` on this machine, or the ``upload`` that was put aside, with the
``namespace``; or ``relate``, the document whose new chunks are to be related. ``trace`` are headers that continue the trace
of whoever asked. What was finished before an interruption is not done again.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexigraph import telemetry
from lexigraph.ingestion.events import Failure, ending
from lexigraph.ingestion.load import FileItem, Rejected, known_endings, known_type, passed_over
from lexigraph.ingestion.roots import files_inside
from lexigraph.model.errors import Cancelled, InvalidInput, LexigraphError, NotFound, code_of, in_general
from lexigraph.model.filters import parse_filter
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.views import RIGHTS
from lexigraph.storage.protocols import JobRecord

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

logger = logging.getLogger(__name__)

KIND = "ingest"
RELATE = "relate"  # in a request: relate the new chunks of a document, and do nothing else
TRACE = "trace"


def ingest_request(
    paths: Sequence[str],
    namespace: str,
    *,
    incremental: bool,
    refresh: bool = False,
    upload: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the request of a job. ``upload`` has ``path`` where the file lies, its ``uri``, ``bytes``, ``metadata``."""
    how = {"incremental": incremental, "refresh": refresh}
    asked = {"paths": list(paths), "namespace": namespace, **how, "resumable": True}
    return {**asked, "upload": dict(upload)} if upload else asked


def run_job(index: "LexicalGraphIndex", tenant: Tenant, job: JobRecord, *, resumed: bool = False) -> None:
    """Do what a job asks for; its record and events say how it went. The caller holds the job's lease.

    ``resumed``: it was begun before, and what it finished is skipped; what models are to be asked anew, of those it has
    asked, is written once more.
    """
    request = job.request
    rights = parse_filter(request.get(RIGHTS))
    with telemetry.joined(request.get(TRACE, {})):
        try:
            if related := request.get(RELATE):
                from lexigraph.ingestion.relations import NewChunks

                index.relate(related["name"], NewChunks(**related["what"]), tenant=tenant, job=job)
                return
            skipped: Counter[str] = Counter()
            items, outside = _items(index, tenant, request, skipped)
            report = index.ingest(
                items,
                tenant=View(tenant, rights) if rights else tenant,
                namespace=request["namespace"],
                incremental=bool(request.get("incremental", True)) or resumed,
                refresh=bool(request.get("refresh", False)),
                refresh_relations=bool(request.get("relations", True)),
                job=job,
            )
            if outside or skipped:
                report.failures += [Failure(r.path, r.reason) for r in outside]
                report.skipped += passed_over(skipped)
                index.stores.registry.finish_job(tenant, job.id, *ending(report.to_dict()))
        except Cancelled:
            logger.info("job %s was cancelled", job.id)
        except LexigraphError as error:
            logger.warning("job %s failed: %s", job.id, error)
            _fail(index, tenant, job, error)
        except Exception as error:  # noqa: BLE001  # a job must not stay open for ever; its text may be that of a document
            _fail(index, tenant, job, error)


def file_type(name: str, field: str = "file") -> str:
    """Return the type of a file by its name, of a ``field``. Raise ``InvalidInput`` for one that is not known."""
    found = known_type(name)
    if not found:
        raise InvalidInput(f"{field}: unsupported type; use one of {known_endings()}")
    return found


def _items(
    index: "LexicalGraphIndex", tenant: Tenant, request: Mapping[str, Any], skipped: Counter[str]
) -> tuple[list[FileItem], list[Rejected]]:
    if upload := request.get("upload"):
        path = Path(upload["path"])
        if not path.is_file():
            raise NotFound("the uploaded file no longer exists: upload it again")
        return [FileItem(path, upload["uri"], file_type(path.name), upload.get("metadata") or {})], []
    return files_inside(tenant, request["paths"], index.settings, skipped)


def _fail(index: "LexicalGraphIndex", tenant: Tenant, job: JobRecord, error: Exception) -> None:
    with suppress(LexigraphError):
        if index.stores.registry.job(tenant, job.id).status == "RUNNING":
            index.stores.registry.finish_job(tenant, job.id, "FAILED", {"error": code_of(error)}, in_general(error))
