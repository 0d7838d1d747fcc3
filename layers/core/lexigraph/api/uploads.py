"""Files that clients send: written aside as they arrive, checked, and taken in by a job."""

import re
import secrets
from pathlib import Path
from shutil import copyfileobj, rmtree
from typing import Annotated
from urllib.parse import quote

from fastapi import File, Query, UploadFile

from lexigraph.api.errors import ApiError
from lexigraph.api.limits import NUMBER
from lexigraph.api.service import Service
from lexigraph.ingestion.jobs import file_type, ingest_request
from lexigraph.model.tenant import Tenant
from lexigraph.storage.embedded import translated
from lexigraph.storage.protocols import JobRecord

Upload = Annotated[UploadFile, File(description="txt, md, html, pdf, docx, json, jsonl, csv or xlsx", examples=["flow.md"])]
Wait = Annotated[float, Query(ge=0, le=600, description="seconds to wait for the end; then 202", examples=[20.0]), NUMBER]
_MAX_NAME = 200
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")


def begin_upload(service: Service, tenant: Tenant, file: UploadFile, namespace: str) -> JobRecord:
    """Put a file aside and start the job that takes it in.

    Raise ``InvalidInput`` for a type that is not known, ``ApiError`` 413 for a file over ``max_file_bytes``.
    """
    name = _file_name(file.filename or "")
    file_type(name)
    folder = service.jobs.uploads / secrets.token_hex(16)
    path = folder / name
    try:
        with translated(folder):
            folder.mkdir(mode=0o700, parents=True)
            with path.open("wb") as written:
                copyfileobj(file.file, written, 1 << 20)
        size = path.stat().st_size
        if size > service.settings.max_file_bytes:
            raise ApiError(413, f"file: {size:,} bytes; at most {service.settings.max_file_bytes:,} are allowed")
        if not size:
            raise ApiError(422, "file: is empty; send the bytes of a document")
        upload = {"path": str(path), "uri": f"upload://{quote(namespace, safe='')}/{quote(name)}"}
        return service.jobs.begin(tenant, ingest_request([], namespace, incremental=True, upload=upload))
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise


def check_taken(job: JobRecord) -> None:
    """Raise ``ApiError`` when the job of an upload is over without having taken the file in."""
    failures = job.result.get("failures") or []
    if job.status == "FAILED":
        raise ApiError(500, f"the job {job.id} failed: {job.reason}", code="ingest_failed")
    if failures and not (job.result.get("chunks_new") or job.result.get("chunks_skipped")):
        raise ApiError(422, f"file: {failures[0]['reason']}")


def new_namespace() -> str:
    """Return a namespace for one document (H-04)."""
    return f"document_upload_{secrets.token_hex(4)}"


def _file_name(given: str) -> str:
    """Return the last part of a name, safe as a name here. Raise ``ApiError`` for one that cannot be."""
    name = _UNSAFE.sub("_", Path(given.replace("\\", "/")).name).strip()
    if not name or name.startswith(".") or len(name.encode("utf-8", "replace")) > _MAX_NAME:
        raise ApiError(422, f"file: its name must have 1 to {_MAX_NAME} bytes and not begin with a full stop")
    return name
