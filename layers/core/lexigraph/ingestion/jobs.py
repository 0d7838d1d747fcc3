"""Ingests that were asked for and are done elsewhere, by whoever holds the job's lease; interrupted, they are done again.

A job's ``request`` says all that is needed: ``paths`` on this machine, or the ``upload`` that was put aside, with the
``namespace``; or ``relate``, the document whose new chunks are to be related. What was finished before an interruption
is not done again.
"""

import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lexigraph.ingestion.events import Failure
from lexigraph.ingestion.load import FileItem, Rejected, known_endings, known_type, passed_over, scan
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.relations import NewChunks
from lexigraph.model.errors import InvalidInput, LexigraphError, NotFound, code_of, in_general
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import JobRecord

logger = logging.getLogger(__name__)

KIND = "ingest"
RELATE = "relate"  # in a request: relate the new chunks of a document, and do nothing else
OUTSIDE = "lies outside the folders that may be taken in (ingest_roots)"


def ingest_request(
    paths: Sequence[str],
    namespace: str,
    *,
    incremental: bool,
    refresh: bool = False,
    upload: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the request of a job. ``upload`` has ``path`` where the file was put aside, and its ``uri``."""
    how = {"incremental": incremental, "refresh": refresh}
    asked = {"paths": list(paths), "namespace": namespace, **how, "resumable": True}
    return {**asked, "upload": dict(upload)} if upload else asked


def run_job(index: LexicalGraphIndex, tenant: Tenant, job: JobRecord, *, resumed: bool = False) -> None:
    """Do what a job asks for; its record and events say how it went. The caller holds the job's lease.

    ``resumed``: it was begun before, and what it finished is skipped; what models are to be asked anew, of those it has
    asked, is written once more.
    """
    request = job.request
    try:
        if related := request.get(RELATE):
            index.relate(related["name"], NewChunks(**related["what"]), tenant=tenant, job=job)
            return
        skipped: Counter[str] = Counter()
        items, outside = _items(index, request, skipped)
        report = index.ingest(
            items,
            tenant=tenant,
            namespace=request["namespace"],
            incremental=bool(request.get("incremental", True)) or resumed,
            refresh=bool(request.get("refresh", False)),
            refresh_relations=bool(request.get("relations", True)),
            job=job,
        )
        if outside or skipped:
            report.failures += [Failure(r.path, r.reason) for r in outside]
            report.skipped += passed_over(skipped)
            ended = index.stores.registry.job(tenant, job.id)
            index.stores.registry.finish_job(tenant, job.id, ended.status, report.to_dict(), ended.reason)
    except LexigraphError as error:
        logger.warning("job %s failed: %s", job.id, error)
        _fail(index, tenant, job, error)
    except Exception as error:  # noqa: BLE001  # a job must not stay open for ever; its text may be that of a document
        _fail(index, tenant, job, error)


def inside(path: str | Path, settings: Settings) -> Path:
    """Return the path, a relative one in the first of ``ingest_roots``, with its links followed.

    Raise ``InvalidInput``, there or not, when it leaves the roots or is where files wait that others sent.
    """
    roots = settings.ingest_roots
    try:
        found = (roots[0] / path if roots else Path(path)).expanduser().resolve()
    except (OSError, ValueError, RuntimeError):
        raise InvalidInput(f"path: {OUTSIDE}") from None
    allowed = any(found.is_relative_to(root.expanduser().resolve()) for root in roots)
    if not allowed or found.is_relative_to(settings.uploads):
        raise InvalidInput(f"path: {OUTSIDE}")
    return found


def files_inside(
    paths: Sequence[str], settings: Settings, skipped: Counter[str] | None = None
) -> tuple[list[FileItem], list[Rejected]]:
    """Return the files at and below ``paths``, and those that may or can not be read.

    Those of no known type are counted in ``skipped``, as by ``scan``. Raise ``InvalidInput`` for a path outside the roots,
    ``NotFound`` when nothing is there.
    """
    items: list[FileItem] = []
    outside: list[Rejected] = []
    named = [inside(path, settings) for path in paths]
    if not all(map(os.path.exists, named)):  # also False for what no file can be called
        raise NotFound("path: no such file or folder")
    for found in scan(named, skipped, own=settings.data):
        if isinstance(found, Rejected):
            outside.append(found)
            continue
        if found.path.is_relative_to(settings.uploads):
            continue  # not even the names of what others sent
        try:
            inside(found.path, settings)
        except InvalidInput:
            outside.append(Rejected(found.path.name, OUTSIDE))
        else:
            items.append(found)
    return items, outside


def file_type(name: str) -> str:
    """Return the type of a file by its name. Raise ``InvalidInput`` for one that is not known."""
    found = known_type(name)
    if not found:
        raise InvalidInput(f"file: of no known type; use one of {known_endings()}")
    return found


def _items(
    index: LexicalGraphIndex, request: Mapping[str, Any], skipped: Counter[str]
) -> tuple[list[FileItem], list[Rejected]]:
    if upload := request.get("upload"):
        path = Path(upload["path"])
        if not path.is_file():
            raise NotFound("the uploaded file is gone: upload it again")
        return [FileItem(path, upload["uri"], file_type(path.name))], []
    return files_inside(request["paths"], index.settings, skipped)


def _fail(index: LexicalGraphIndex, tenant: Tenant, job: JobRecord, error: Exception) -> None:
    with suppress(LexigraphError):
        if index.stores.registry.job(tenant, job.id).status == "RUNNING":
            index.stores.registry.finish_job(tenant, job.id, "FAILED", {"error": code_of(error)}, in_general(error))
