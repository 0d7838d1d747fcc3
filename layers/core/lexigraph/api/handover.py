"""Handing over what is to be taken in or removed to whoever does it elsewhere; without that a server does it itself."""

from typing import Any, BinaryIO, Protocol
from urllib.parse import urlsplit

from lexigraph.ingestion.file_run import begin
from lexigraph.ingestion.jobs import KIND, file_type
from lexigraph.ingestion.workflow import Inbox, Offer, Workflow
from lexigraph.model.errors import InvalidInput, LexigraphError, NotFound, in_general
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import JobRecord, Registry

NO_CLAIM = "0" * 32


class Handover(Protocol):
    """Begins jobs that are done elsewhere; the registry tells how they stand."""

    def send(self, tenant: Tenant, namespace: str, name: str, file: BinaryIO) -> JobRecord:
        """Hand over a file that a client sent."""

    def offer(self, tenant: Tenant, namespace: str, name: str) -> tuple[JobRecord, Offer]:
        """Let a client put a file itself, for the job that waits for it."""

    def ingest(self, tenant: Tenant, namespace: str, path: str, *, incremental: bool, relations: bool) -> JobRecord:
        """Have a file taken in that lies there already. Raise ``InvalidInput`` for another place, ``NotFound``."""

    def remove(self, tenant: Tenant, document_id: str) -> JobRecord:
        """Have a document removed. Raise ``NotFound``."""


class WorkflowHandover:
    """Hands over to the inbox, whose events begin the workflow, and to the workflow itself."""

    def __init__(self, registry: Registry, inbox: Inbox, workflow: Workflow) -> None:
        self._registry, self._inbox, self._workflow = registry, inbox, workflow

    def send(self, tenant: Tenant, namespace: str, name: str, file: BinaryIO) -> JobRecord:
        """Put a file into the inbox."""
        job, key = self._awaited(tenant, namespace, name)
        try:
            self._inbox.put(key, file, job.id)
        except LexigraphError as error:
            self._registry.finish_job(tenant, job.id, "FAILED", {}, in_general(error))
            raise
        return job

    def offer(self, tenant: Tenant, namespace: str, name: str) -> tuple[JobRecord, Offer]:
        """Let a client put a file into the inbox."""
        file_type(name)
        job, key = self._awaited(tenant, namespace, name)
        return job, self._inbox.offer(key, job.id)

    def ingest(self, tenant: Tenant, namespace: str, path: str, *, incremental: bool, relations: bool) -> JobRecord:
        """Run the workflow over a file of the inbox: ``s3://BUCKET/[PREFIX/]TENANT/NAMESPACE/NAME``."""
        parts = urlsplit(path)
        key = path.removeprefix(f"s3://{parts.netloc}/")
        at = self._inbox.located(parts.netloc, key) if parts.scheme == "s3" else None
        if at is None or at.tenant != tenant:
            raise InvalidInput(f"path: name a file of the inbox, s3://{self._inbox.place.name}/{tenant}/NAMESPACE/NAME")
        if namespace not in ("default", at.namespace):
            raise InvalidInput("namespace: a file of the inbox has that of its path; leave it out")
        if (found := self._inbox.found(key)) is None:
            raise NotFound("path: no such file")
        asked = {**_request(at.uri, at.namespace), "incremental": incremental, "relations": relations}
        job = self._registry.start_job(tenant, KIND, asked)
        # as new as the newest claim, and after it; a change that S3 tells of later is newer
        claim = self._registry.claimed(tenant, source_id(tenant, at.namespace, at.uri))
        order = (claim.order if claim else NO_CLAIM) + "~"
        run = begin(self._registry, tenant, at.namespace, at.uri, file_type(at.name), order, kind=KIND, job_id=job.id)
        if run and run.job_id == job.id:
            self._workflow.ingest(run, found)
        return self._registry.job(tenant, job.id)

    def remove(self, tenant: Tenant, document_id: str) -> JobRecord:
        """Remove a document, and its file from the inbox, lest it be taken in once more."""
        record = self._registry.document(tenant, document_id)
        if record is None:
            raise NotFound(f"no document {document_id!r}")
        job = self._registry.start_job(tenant, "remove", {"source_ids": [document_id], "resumable": True})
        if key := self._inbox.key_of(record.uri):
            self._inbox.delete(key)
        self._workflow.remove_documents(tenant, job.id, [document_id])
        return job

    def _awaited(self, tenant: Tenant, namespace: str, name: str) -> tuple[JobRecord, str]:
        """Start the job that waits for a file; return where that belongs."""
        key = self._inbox.key(tenant, namespace, name)
        uri = self._inbox.located(self._inbox.place.name, key).uri
        request = {**_request(uri, namespace), "incremental": True, "upload": {"path": "", "uri": uri}}
        return self._registry.start_job(tenant, KIND, request), key


def _request(uri: str, namespace: str) -> dict[str, Any]:
    # resumable: no process that ends leaves it behind
    return {"paths": [uri], "namespace": namespace, "resumable": True}
