"""Files that clients send: written aside as they arrive, checked, and taken in by a job."""

import re
from pathlib import Path
from shutil import copyfileobj, rmtree
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, File, Query, Request, Response, UploadFile

from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.left import held_folder
from lexigraph.api.jobs.outcome import nothing_taken, when_over
from lexigraph.api.limits import NUMBER
from lexigraph.api.service import Service
from lexigraph.ingestion.jobs import file_type, ingest_request
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.folders import translated
from lexigraph.storage.protocols import JobRecord

Wait = Annotated[float, Query(ge=0, le=600, description="seconds to wait for the end; then 202", examples=[20.0]), NUMBER]
_MAX_NAME = 200
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]")


async def _only_file(
    request: Request,
    file: Annotated[
        UploadFile,
        File(
            description="txt, md, rst, adoc, html, pdf, docx, pptx, epub, xlsx, csv, json, jsonl, log or source code",
            examples=["flow.md"],
        ),
    ],
) -> UploadFile:
    """Return the file of a form. Raise ``ApiError`` 422 for a field that was sent twice: the framework takes the last."""
    form = await request.form()  # read before, and kept
    for name in form:
        if (times := len(form.getlist(name))) > 1:
            raise ApiError(422, f"{name[:80]}: was sent {times} times; send it once, and each file in a request of its own")
    return file


Upload = Annotated[UploadFile, Depends(_only_file)]


def begin_upload(service: Service, tenant: Tenant, file: UploadFile, namespace: str) -> JobRecord:
    """Put a file aside and start the job that takes it in.

    Raise ``InvalidInput`` for a type that is not known, ``ApiError`` 413 for a file over ``max_file_bytes``.
    """
    name = file_name(file.filename or "")
    file_type(name)
    if service.handover:
        _check_size(service, file.size or 0)
        return service.handover.send(tenant, namespace, name, file.file)
    with held_folder(service.jobs.uploads) as folder:
        path = folder / name
        try:
            with translated(folder), path.open("wb") as written:
                copyfileobj(file.file, written, 1 << 20)
            _check_size(service, path.stat().st_size)
            upload = {"path": str(path), "uri": f"upload://{quote(namespace, safe='')}/{quote(name)}"}
            return service.jobs.begin(tenant, ingest_request([], namespace, incremental=True, upload=upload))
        except BaseException:
            rmtree(folder, ignore_errors=True)
            raise


async def take_upload(
    service: Service, tenant: Tenant, file: UploadFile, namespace: str, seconds: float, response: Response
) -> JobRecord:
    """Take a file in as :func:`begin_upload` and :func:`when_over` say.

    Raise ``ApiError`` when the job is over without having taken it in.
    """
    job = await when_over(service, tenant, lambda: begin_upload(service, tenant, file, namespace), seconds, response)
    if nothing_taken(job):
        raise ApiError(422, f"file: {job.result['failures'][0]['reason']}")
    return job


def _check_size(service: Service, size: int) -> None:
    if size > service.settings.max_file_bytes:
        raise ApiError(413, f"file: {size:,} bytes; at most {service.settings.max_file_bytes:,} are allowed")
    if not size:
        raise ApiError(422, "file: is empty; send the bytes of a document")


def file_name(given: str) -> str:
    """Return the last part of a name, safe as a name here. Raise ``ApiError`` for one that cannot be."""
    name = _UNSAFE.sub("_", Path(given.replace("\\", "/")).name).strip()
    if not name or name.startswith(".") or len(name.encode("utf-8", "replace")) > _MAX_NAME:
        raise ApiError(422, f"file: its name must have 1 to {_MAX_NAME} bytes and not begin with a full stop")
    return name
