"""Handing over what is to be ingested or removed to a deployment's workflow; without that a server does it itself."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from lexigraph import telemetry
from lexigraph.ingestion.jobs import KIND, RELATE, file_type
from lexigraph.ingestion.load import FileItem
from lexigraph.ingestion.relations import NewChunks
from lexigraph.ingestion.workflow.aws import OFFERED_SECONDS, Inbox, Located, Object, Offer, Workflow
from lexigraph.ingestion.workflow.file_run import begin
from lexigraph.model.errors import InvalidInput, LexigraphError, NotFound, in_general
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord, Registry

NO_CLAIM = "0" * 32
MAX_FETCHED_BYTES = 10_000_000


class Handover:
    """Begins jobs that are done elsewhere; the registry tells how they stand.

    It hands over to the inbox, whose events begin the workflow, and to the workflow itself.
    """

    def __init__(self, registry: Registry, inbox: Inbox, workflow: Workflow) -> None:
        self._registry, self._inbox, self._workflow = registry, inbox, workflow

    def send(self, tenant: Tenant, namespace: str, name: str, file: BinaryIO) -> JobRecord:
        """Put a file that a client sent into the inbox."""
        job, key = self._awaited(tenant, namespace, name)
        with self._or_failed(tenant, job):
            self._inbox.put(key, file, job.id)
        return job

    def offer(self, tenant: Tenant, namespace: str, name: str) -> tuple[JobRecord, Offer]:
        """Let a client put a file into the inbox itself, for the job that waits for it."""
        file_type(name)
        job, key = self._awaited(tenant, namespace, name, seconds=OFFERED_SECONDS)
        return job, self._inbox.offer(key, job.id)

    def ingest(
        self, tenant: Tenant, namespace: str, path: str, *, incremental: bool, relations: bool, refresh: bool = False
    ) -> JobRecord:
        """Run the workflow over a file of the inbox: ``s3://BUCKET/[PREFIX/]TENANT/NAMESPACE/NAME``.

        Raise ``InvalidInput`` for another place, ``NotFound`` when nothing lies there.
        """
        at, key = self._named(tenant, path)
        _check_namespace(namespace, at)
        how = {"incremental": incremental, "refresh": refresh, "relations": relations}
        asked = {**_request(at.uri, at.namespace), **how}
        while True:
            if (found := self._inbox.found(key)) is None:
                raise NotFound("path: no such file")
            asked["version"] = found.version_id
            if same := self._under_way(tenant, at, asked):
                return same
            job = self._begun(tenant, at, asked, found)
            if not (holder := job.result.get("superseded_by")):
                return job
            # somebody was faster, in the same moment: perhaps with what is asked for here
            other = self._registry.job(tenant, holder)
            if other.kind == KIND and _effect(other.request) == _effect(asked):
                return other

    def relate(self, tenant: Tenant, namespace: str, path: str, what: NewChunks) -> JobRecord:
        """Have the new chunks of a document related to others: of that id, or taken in from a file of the inbox, whether it
        still lies there or not. Raise as :meth:`ingest`.
        """
        document = path
        if not is_id(path):
            at, _ = self._named(tenant, path)
            _check_namespace(namespace, at)
            document = source_id(tenant, at.namespace, at.uri)
        record = self._registry.document(tenant, document)
        if record is None:
            raise NotFound("path: no document was ingested from there")
        asked = {"namespace": record.namespace, "resumable": True, RELATE: {"name": record.uri, "what": asdict(what)}}
        job = self._registry.start_job(tenant, KIND, asked)
        with self._or_failed(tenant, job):
            self._workflow.relate(tenant, job.id, document, asdict(what))
        return job

    def fetch(self, tenant: Tenant, path: str, folder: Path) -> FileItem:
        """Read a file of the inbox into a folder. Raise as :meth:`ingest`, and for one that is too large."""
        at, key = self._named(tenant, path)
        type_ = file_type(at.name)
        if (found := self._inbox.found(key)) is None:
            raise NotFound("path: no such file")
        if found.size > MAX_FETCHED_BYTES:
            raise InvalidInput(
                f"path: {found.size:,} bytes; at most {MAX_FETCHED_BYTES:,} are allowed: send a part as text, "
                "or use a local server"
            )
        file = folder / at.name[-60:]
        self._inbox.fetch(found, file)
        return FileItem(file, at.uri, type_)

    def remove(self, tenant: Tenant, document_id: str) -> JobRecord:
        """Remove a document, and its file from the inbox, lest it be ingested once more. Raise ``NotFound``."""
        record = self._registry.document(tenant, document_id)
        if record is None:
            raise NotFound(f"no document {document_id!r}")
        job = self._registry.start_job(tenant, "remove", {"source_ids": [document_id], "resumable": True})
        with self._or_failed(tenant, job):
            if key := self._inbox.key_of(record.uri):
                self._inbox.delete(key)
            self._workflow.remove_documents(tenant, job.id, [document_id])
        return job

    def _under_way(self, tenant: Tenant, at: Located, asked: Mapping[str, Any]) -> JobRecord | None:
        """Return the job that was asked for the same, of the same version of the file, and is not over."""
        claim = self._registry.claimed(tenant, source_id(tenant, at.namespace, at.uri))
        if claim is None or not asked["version"]:
            return None
        with suppress(NotFound):
            job = self._registry.job(tenant, claim.holder)
            alike = job.request.get("version") == asked["version"] and _effect(job.request) == _effect(asked)
            return job if alike and job.status == "RUNNING" else None
        return None

    def _begun(self, tenant: Tenant, at: Located, asked: dict[str, Any], found: Object) -> JobRecord:
        """Start a job over a file; ``superseded_by`` in its result when another one was claimed meanwhile."""
        job = self._registry.start_job(tenant, KIND, asked)
        # as new as the newest claim, and after it; a change that S3 tells of later is newer
        claim = self._registry.claimed(tenant, source_id(tenant, at.namespace, at.uri))
        order = (claim.order if claim else NO_CLAIM) + "~"
        run = begin(self._registry, tenant, at.namespace, at.uri, file_type(at.name), order, kind=KIND, job_id=job.id)
        if run and run.job_id == job.id:
            with self._or_failed(tenant, job):
                self._workflow.ingest(run, found)
        return self._registry.job(tenant, job.id)

    def _named(self, tenant: Tenant, path: str) -> tuple[Located, str]:
        """Return what lies at a path of the inbox, and its key. Raise ``InvalidInput`` for another place."""
        bucket, _, key = path.removeprefix("s3://").partition("/")
        at = None
        with suppress(InvalidInput):
            at = self._inbox.located(bucket, key) if path.startswith("s3://") else None
        if at is None or at.tenant != tenant:
            raise InvalidInput(f"path must name a file in the inbox, s3://{self._inbox.place.name}/{tenant}/NAMESPACE/NAME")
        return at, key

    @contextmanager
    def _or_failed(self, tenant: Tenant, job: JobRecord) -> Iterator[None]:
        """Let a job that cannot be begun say so: nobody else will."""
        try:
            with telemetry.span("handover") as span:
                span.set({"lexigraph.job.id": job.id})
                yield
        except LexigraphError as error:
            self._registry.finish_job(tenant, job.id, "FAILED", {"error": error.code}, in_general(error))
            raise

    def _awaited(self, tenant: Tenant, namespace: str, name: str, *, seconds: int = 0) -> tuple[JobRecord, str]:
        """Start the job that waits for a file, one to be sent within so many seconds; return where that belongs."""
        key = self._inbox.key(tenant, namespace, name)
        uri = self._inbox.located(self._inbox.place.name, key).uri
        waits = {"until": time.time() + seconds, "seconds": seconds} if seconds else {}
        request = {**_request(uri, namespace), "incremental": True, "upload": {"path": "", "uri": uri, **waits}}
        return self._registry.start_job(tenant, KIND, request), key


def is_id(path: str) -> bool:
    """Whether a document is named by its id instead of where it was ingested from."""
    return path.startswith("source:")


def _check_namespace(namespace: str, at: Located) -> None:
    if namespace not in ("default", at.namespace):
        raise InvalidInput("namespace: omit it, the path of the file contains the namespace")


def _effect(request: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    """Return what a request does to a file; relations are looked at anew only with all the rest."""
    refresh = bool(request.get("refresh", False))
    return bool(request.get("incremental", True)), refresh, refresh and bool(request.get("relations", True))


def _request(uri: str, namespace: str) -> dict[str, Any]:
    # resumable: no process that ends leaves it behind
    return {"paths": [uri], "namespace": namespace, "resumable": True}
