"""Jobs of this server: begun at once, done one after another beside the requests, and gone on with after an interruption."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol

from lexigraph.ingestion.jobs import KIND, run_job
from lexigraph.ingestion.pipeline import job_lease
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import JobEvent, JobRecord, Registry

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_AGAIN_SECONDS = 1.0
_LEFT_SECONDS = 3_600.0  # an upload of another server begins its job long before


class Worker(Protocol):
    """Does a job whose lease is held; returns when it is over, whatever became of it."""

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Do a job."""

    def close(self) -> None:
        """Stop at once, in the middle of whatever is done."""


class ThreadWorker:
    """Works in this process: shares the processor with the readers."""

    def __init__(self, index: Callable[[], "LexicalGraphIndex"]) -> None:
        self._index = index

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Do a job."""
        run_job(self._index(), tenant, job, resumed=resumed)

    def close(self) -> None:
        """Let what is done end with the process."""


class ProcessWorker:
    """Works in a process of its own, started when first needed, which ends with this one, however this one ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._lock = Lock()

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Do a job."""
        process = self._started()
        if process.stdin is None or process.stdout is None:
            return
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"tenant": tenant, "job": job.id, "resumed": resumed}) + "\n")
            process.stdin.flush()
            process.stdout.readline()  # also at its end, when the process has died

    def close(self) -> None:
        """Stop the process."""
        with self._lock:
            if self._process:
                self._process.kill()
                self._process.wait()

    def _started(self) -> "subprocess.Popen[str]":
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                command = [sys.executable, "-m", "lexigraph.api.worker"]
                # out of reach of Ctrl-C, which the terminal sends to a whole group: its server ends it
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
                )
                if self._process.stdin:
                    self._process.stdin.write(self._settings.model_dump_json() + "\n")
            return self._process


class Jobs:
    """Begins jobs and waits for them. ``uploads`` is the folder where files wait until their job is over."""

    def __init__(self, registry: Registry, worker: Worker, uploads: Path) -> None:
        self._registry, self._worker, self.uploads = registry, worker, uploads
        self._pool = ThreadPoolExecutor(1, "jobs")
        self._closing = Event()

    def begin(self, tenant: Tenant, request: Mapping[str, Any]) -> JobRecord:
        """Start a job and return its record at once; it is worked on as soon as those before it are over."""
        job = self._registry.start_job(tenant, KIND, request)
        self._pool.submit(self._do, tenant, job)
        return job

    def resume(self) -> list[str]:
        """Go on with the jobs of a server that was interrupted; return their ids. Files nobody waits for are removed."""
        unfinished = self._registry.unfinished()
        mine = [(tenant, job) for tenant, job in unfinished if job.request.get("resumable")]
        for tenant, job in mine:
            self._pool.submit(self._do, tenant, job)
        # another server on the same folder may be at work, too
        waiting = {Path(job.request["upload"]["path"]).parent.name for _, job in unfinished if job.request.get("upload")}
        if self.uploads.is_dir():
            for folder in self.uploads.iterdir():
                with suppress(OSError):
                    if folder.name not in waiting and time.time() - folder.stat().st_mtime > _LEFT_SECONDS:
                        rmtree(folder)
        return [job.id for _, job in mine]

    def wait(self, tenant: Tenant, job_id: str, seconds: float) -> JobRecord:
        """Return a job when it is over, or as it stands after so many seconds. Raise ``NotFound``."""
        deadline = time.monotonic() + seconds
        while (job := self._registry.job(tenant, job_id)).status == "RUNNING" and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return job

    def events(self, tenant: Tenant, job_id: str, wanted: Callable[[], bool]) -> Iterator[JobEvent]:
        """Yield the events of a job from the first until it is over, or until they are not ``wanted`` any more."""
        after = 0
        while wanted():
            over = self._registry.job(tenant, job_id).status != "RUNNING"
            for event in self._registry.events(tenant, job_id, after=after):
                after = event.seq
                yield event
            if over:
                return
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Stop: what is done is interrupted, what waits is left to the next server."""
        self._closing.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._worker.close()

    def _do(self, tenant: Tenant, job: JobRecord) -> None:
        """Do a job when its turn has come, unless another server on the same stores does it or has done it."""
        try:
            # a lease is an open file: only what is worked on has one, not all that waits
            with self._registry.lease(tenant, [job_lease(job.id)]) as held:
                if not held or self._registry.job(tenant, job.id).status != "RUNNING":
                    return
                resumed = bool(self._registry.events(tenant, job.id))
                if resumed:
                    self._registry.add_events(tenant, job.id, [("resumed", {})])
                self._worker.run(tenant, job, resumed=resumed)
                if self._closing.is_set():
                    return
                if self._registry.job(tenant, job.id).status == "RUNNING":
                    reason = "the process that took the documents in has died; ask again, it goes on from there"
                    self._registry.finish_job(tenant, job.id, "FAILED", {}, reason)
                if upload := job.request.get("upload"):
                    rmtree(Path(upload["path"]).parent, ignore_errors=True)
        except StoreUnavailable as error:
            log.warning("job %s was interrupted and is tried again: %s", job.id, error)
            if not self._closing.wait(_AGAIN_SECONDS):
                with suppress(RuntimeError):  # the end came in between
                    self._pool.submit(self._do, tenant, job)
