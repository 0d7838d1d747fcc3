"""Files that clients send: written aside as they arrive, checked, and taken in by a job."""

import json
from collections.abc import Mapping
from functools import partial
from math import isfinite
from pathlib import PurePosixPath
from shutil import copyfileobj, rmtree
from typing import Annotated
from unicodedata import normalize
from urllib.parse import quote

from fastapi import Depends, File, Form, Query, Request, Response, UploadFile

from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.left import held_folder
from lexigraph.api.jobs.outcome import when_over
from lexigraph.api.limits import NUMBER, TEXT, check_once, whole
from lexigraph.api.service import Service
from lexigraph.ingestion.jobs import file_type, ingest_request
from lexigraph.ingestion.readers.parsed import MAX_VALUE_CHARS, scalars
from lexigraph.model.filters import MAX_KEY_CHARS
from lexigraph.model.graph import Scalar
from lexigraph.model.names import checked_name
from lexigraph.model.secrets import holds_secret
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.folders import translated
from lexigraph.storage.protocols import JobRecord

Wait = Annotated[
    float, Query(ge=0, le=600, description="seconds to wait for completion before answering 202", examples=[20.0]), NUMBER
]
_MAX_NAME = 200  # bytes, of a file or folder
_MAX_PATH = 500
_MAX_METADATA = 20_000
_MAX_WHOLE = 2**63 - 1
# what every document has anyway, and where it comes from
_OWN = {
    "namespace": "send it as the field `namespace` to POST /documents",
    "uri": "it is made of namespace and file name: choose these",
}


async def _only_file(
    request: Request,
    file: Annotated[
        UploadFile,
        File(
            description="txt, md, rst, adoc, html, pdf, docx, odt, pptx, odp, epub, eml, mbox, xlsx, xls, ods, csv, json, "
            "jsonl, ipynb, vtt, srt, log, man or source code; also compressed (.gz)",
            examples=["flow.md"],
        ),
    ],
) -> UploadFile:
    """Return the file of a form. Raise ``ApiError`` 422 for a field that was sent twice: the framework takes the last."""
    form = await request.form()  # read before, and kept
    for name in form:
        if (times := len(form.getlist(name))) > 1:
            raise ApiError(422, f"{name[:80]}: sent {times} times; send it once, and one file per request")
    return file


Upload = Annotated[UploadFile, Depends(_only_file)]


async def _metadata(
    metadata: Annotated[
        str,
        Form(
            max_length=_MAX_METADATA,
            description="JSON object of strings, numbers and booleans, available to filters; overrides metadata in the "
            "file, `title` its title",
            examples=['{"groups": "staff"}'],
        ),
        TEXT,
    ] = "",
) -> dict[str, Scalar]:
    """Return the metadata of a form. Raise ``ApiError`` 422 for what is no object of scalars, each with one name."""
    check_once(metadata, "metadata.")
    try:
        given = json.loads(metadata) if metadata else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not all(isinstance(value, (str, int, float, bool)) for value in given.values()):
        raise ApiError(422, 'metadata: must be a JSON object of strings, numbers and booleans, such as {"groups": "staff"}')
    for key, value in given.items():
        checked_name("metadata: a key", key, MAX_KEY_CHARS)
        if key in _OWN:
            raise ApiError(422, f"metadata.{key}: is no metadata; {_OWN[key]}")
        if isinstance(value, float) and not isfinite(value):
            raise ApiError(422, f"metadata.{key}: must be a finite number")
        if isinstance(value, int) and abs(value) > _MAX_WHOLE:  # no store keeps it as a number
            raise ApiError(422, f"metadata.{key}: a whole number must be between -(2^63 - 1) and 2^63 - 1; send it as text")
        if not isinstance(value, str):
            continue
        if len(value) > MAX_VALUE_CHARS:
            raise ApiError(422, f"metadata.{key}: must have at most {MAX_VALUE_CHARS:,} characters")
        if holds_secret(value):
            raise ApiError(422, f"metadata.{key}: must not contain an API key or private key")
        try:
            whole(value)
        except ValueError as error:
            raise ApiError(422, f"metadata.{key}: {error}") from None
    return scalars(given)


GivenMetadata = Annotated[dict[str, Scalar], Depends(_metadata)]


def check_whole(tenant: Tenant) -> None:
    """Raise ``ApiError`` 403 for a view where what is ingested is not looked at document by document."""
    if isinstance(tenant, View):
        raise ApiError(403, "keys with filters may not do this", hint="send documents to POST /documents")


def begin_upload(
    service: Service, tenant: Tenant, file: UploadFile, namespace: str, metadata: Mapping[str, Scalar] | None = None
) -> JobRecord:
    """Put a file aside and start the job that takes it in.

    Raise ``InvalidInput`` for a type that is not known, ``ApiError`` 413 for a file over ``max_file_bytes``, 429 when too
    much waits for the tenant, 403 and 422 for a view and metadata in a deployment.
    """
    name = file_name(file.filename or "")
    file_type(name)
    if service.handover:
        check_whole(tenant)
        if metadata:
            raise ApiError(422, "metadata: this deployment reads metadata only from the file itself; omit the field")
        _check_size(service, file.size or 0)
        return service.handover.send(tenant, namespace, name, file.file)
    with held_folder(service.jobs.uploads) as folder:
        path = folder / PurePosixPath(name).name
        try:
            with translated(folder), path.open("wb") as written:
                copyfileobj(file.file, written, 1 << 20)
            _check_size(service, size := path.stat().st_size)
            uri = f"upload://{quote(namespace, safe='')}/{quote(name)}"
            upload = {"path": str(path), "uri": uri, "bytes": size, **({"metadata": metadata} if metadata else {})}
            return service.jobs.begin(tenant, ingest_request([], namespace, incremental=True, upload=upload))
        except BaseException:
            rmtree(folder, ignore_errors=True)
            raise


async def take_upload(
    service: Service,
    tenant: Tenant,
    file: UploadFile,
    namespace: str,
    seconds: float,
    response: Response,
    metadata: Mapping[str, Scalar],
) -> JobRecord:
    """Take a file in as :func:`begin_upload` and :func:`when_over` say."""
    begin = partial(begin_upload, service, tenant, file, namespace, metadata)
    return await when_over(service, tenant, begin, seconds, response)


def _check_size(service: Service, size: int) -> None:
    if size > service.settings.max_file_bytes:
        raise ApiError(413, f"file: {size:,} bytes; at most {service.settings.max_file_bytes:,} are allowed")
    if not size:
        raise ApiError(422, "file: is empty")


def file_name(given: str, field: str = "file: its name") -> str:
    """Return a name with its folders, such as ``guide/index.md``; of a path that leads elsewhere only the last part.

    It is composed (NFC): macOS sends ``ü`` as two characters, which would be another document than the same name of others.
    Raise ``ApiError`` or ``InvalidInput`` for what cannot be the name of a ``field``.
    """
    path = PurePosixPath(normalize("NFC", given.replace("\\", "/")))
    parts = [part.strip() for part in path.parts]
    if path.is_absolute() or ".." in parts or not parts or parts[0].endswith(":"):
        parts = [path.name.strip()]
    if any(not part or part.startswith(".") or len(part.encode("utf-8", "replace")) > _MAX_NAME for part in parts):
        raise ApiError(422, f"{field} must have 1 to {_MAX_NAME} bytes and not begin with a full stop, as must its folders")
    return checked_name(field, "/".join(parts), _MAX_PATH)
