"""Jobs of this server: begun at once, done beside the requests, and gone on with after an interruption.

Tenants take turns, and of each one job is done at a time, in the order in which they were asked for.
"""

import json
import logging
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol

from lexigraph import telemetry
from lexigraph.api.errors import ApiError
from lexigraph.api.jobs.left import remove_left
from lexigraph.ingestion.events import CANCEL
from lexigraph.ingestion.jobs import KIND, RELATE, TRACE, run_job
from lexigraph.ingestion.load import unchanged_since
from lexigraph.ingestion.pipeline import close_dead_jobs, job_lease
from lexigraph.model.errors import Cancelled, StoreUnavailable, code_of, in_general
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import JobEvent, JobRecord, Registry

if TYPE_CHECKING:
    from lexigraph.ingestion.pipeline import LexicalGraphIndex

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_AGAIN_SECONDS = 1.0
_COME_BACK_SECONDS = 10
_TRIES = 2  # of a job whose process dies: what killed it may have been another one's hunger for memory
_LOOKED_AT = 100  # jobs of the tenant, the latest, among which the same one is looked for


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
        run_job(self._index(), tenant, job, resumed=resumed)

    def close(self) -> None:
        """Let what is done end with the process."""


class ProcessWorker:
    """Works in processes, one a job at work, started when needed; they end with this one, however this one ends.

    One of them stays when nothing is to be done: it has its models loaded.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._all: set[subprocess.Popen[str]] = set()
        self._idle: subprocess.Popen[str] | None = None
        self._closed = False
        self._lock = Lock()

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        process = self._taken()
        if process is None or process.stdin is None or process.stdout is None:
            return
        answer = ""
        with suppress(OSError):  # its end is broken
            process.stdin.write(json.dumps({"tenant": tenant, "job": job.id, "resumed": resumed}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()  # nothing when the process has died
        with self._lock:
            if answer and self._idle is None and not self._closed:
                self._idle = process
                return
            self._all.discard(process)
        _end(process)

    def close(self) -> None:
        with self._lock:
            self._closed, self._idle = True, None
            left, self._all = self._all, set()
        for process in left:
            _end(process)

    def _taken(self) -> "subprocess.Popen[str] | None":
        with self._lock:
            if self._closed:
                return None
            process, self._idle = self._idle, None
            if process is not None and process.poll() is not None:  # it has died meanwhile
                self._all.discard(process)
                process = None
            if process is None:
                process = self._started()
                self._all.add(process)
            return process

    def _started(self) -> "subprocess.Popen[str]":
        # -P: what lies in the current folder is no program
        command = [sys.executable, "-P", "-m", "lexigraph.api.jobs.worker", str(logging.getLogger("lexigraph").level)]
        # out of reach of Ctrl-C, which the terminal sends to a whole group: its server ends it
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if process.stdin:
            process.stdin.write(self._settings.model_dump_json() + "\n")
        return process


def _size(request: Mapping[str, Any]) -> int:
    return int((request.get("upload") or {}).get("bytes", 0))


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()


class Turns:
    """Who is next: tenants take turns, and a tenant's next job waits for the one before it."""

    def __init__(self) -> None:
        self._waiting: dict[Tenant, deque[JobRecord]] = {}  # in the order of their turns
        self._busy: set[Tenant] = set()
        self._known: set[str] = set()
        self._lock = Lock()

    def add(self, tenant: Tenant, job: JobRecord) -> None:
        """Let a job wait for its turn, unless it waits or is done already."""
        with self._lock:
            if job.id not in self._known:
                self._known.add(job.id)
                self._waiting.setdefault(tenant, deque()).append(job)

    def next(self) -> tuple[Tenant, JobRecord] | None:
        """Return a job whose turn it is, None when there is none; :meth:`over` must follow."""
        with self._lock:
            for tenant in self._waiting:
                if tenant not in self._busy:
                    self._busy.add(tenant)
                    job = self._waiting[tenant].popleft()
                    if not self._waiting[tenant]:
                        del self._waiting[tenant]
                    return tenant, job
            return None

    def over(self, tenant: Tenant, job: JobRecord) -> None:
        """Give the turn back."""
        with self._lock:
            self._busy.discard(tenant)
            self._known.discard(job.id)
            if jobs := self._waiting.pop(tenant, None):
                self._waiting[tenant] = jobs  # behind all others


@dataclass(frozen=True, slots=True)
class Room:
    """What may wait for a tenant: ingests, at work or not begun, and the bytes of the files sent for them."""

    jobs: int = 100
    bytes: int = 500_000_000

    def check(self, jobs: int, size: int) -> None:
        """Raise ``ApiError`` 429 when so much would wait; one file is taken whatever its size."""
        if jobs > self.jobs:
            raise _come_back(f"the queue of this tenant is full: {self.jobs:,} ingests (queue_jobs)")
        if size > self.bytes and jobs > 1:
            raise _come_back(
                f"the queue of this tenant is full: uploads must not exceed {self.bytes:,} bytes in total (queue_bytes)"
            )


def _come_back(message: str) -> ApiError:
    wait = str(_COME_BACK_SECONDS)
    return ApiError(429, message, hint="send it again when some of them are done", headers={"Retry-After": wait})


class Jobs:
    """Begins jobs and waits for them; at most ``at_once`` are done at a time, each of another tenant.

    ``uploads`` is the folder where files wait until their job is over, ``room`` how much of a tenant may wait.
    """

    def __init__(
        self, registry: Registry, worker: Worker, uploads: Path, at_once: int = 1, room: Room | None = None
    ) -> None:
        self._registry, self._worker, self.uploads = registry, worker, uploads
        self._room = room or Room()
        self._arriving: dict[Tenant, list[int]] = {}
        self._pool = ThreadPoolExecutor(at_once, "jobs")
        self._turns = Turns()
        self._told: dict[str, str] = {}  # of jobs to be tried again: why, as it stands in the log
        self._beginning = Lock()
        self._closing = Event()

    def begin(self, tenant: Tenant, request: Mapping[str, Any]) -> JobRecord:
        """Start a job and return its record at once; it is worked on when its turn comes.

        The same ingest, asked for while it waits or is done, is the same job, unless something at its paths has changed
        since: what was read before would not hold it. Raise ``ApiError`` 429 when too much waits for the tenant.
        """
        with self._beginning:
            job = self._same(tenant, request)
            if job is None:
                jobs, size = self._waiting(tenant.whole)
                self._room.check(jobs + 1, size + _size(request))
                trace = {TRACE: parents} if (parents := telemetry.parents()) else {}
                job = self._registry.start_job(tenant, KIND, {**request, **trace})
        self._add(tenant.whole, job)  # also one of another server, which may have died
        return job

    def arrive(self, tenant: Tenant, size: int) -> Callable[[], None]:
        """Note that a file of so many bytes begins to arrive; return what notes that it has, or never will.

        Raise ``ApiError`` 429 when too much waits or arrives for the tenant: nothing of the file is read then.
        """
        with self._beginning:
            jobs, waiting = self._waiting(tenant.whole)
            arriving = self._arriving.setdefault(tenant.whole, [])
            self._room.check(jobs + len(arriving) + 1, waiting + sum(arriving) + size)
            arriving.append(size)

        def arrived() -> None:
            with self._beginning:
                arriving.remove(size)

        return arrived

    def cancel(self, tenant: Tenant, job_id: str) -> JobRecord:
        """Tell an ingest to stop; return it as it stands. One that nobody works on is over at once.

        Raise ``NotFound``, and ``ApiError`` 409 for a job that is over already or is no ingest.
        """
        job = self._registry.job(tenant, job_id)
        if job.status == "CANCELLED":
            return job
        if job.status != "RUNNING":
            raise ApiError(409, "the job has already ended")
        if job.kind != KIND or RELATE in job.request:
            raise ApiError(409, "only ingests can be cancelled")
        owner = tenant.whole
        self._registry.add_events(owner, job_id, [(CANCEL, {})])  # whoever works on it hears of it
        with self._registry.lease(owner, [job_lease(job_id)]) as held:
            if held and self._registry.job(owner, job_id).status == "RUNNING":
                reason = "the job was cancelled before it had begun" if job.seq == 0 else "the job was cancelled"
                self._registry.finish_job(owner, job_id, "CANCELLED", {"error": Cancelled.code}, reason)
                self._let_go(job)
        return self._registry.job(tenant, job_id)

    def resume(self) -> list[str]:
        """Go on with the jobs of a server that was interrupted; return their ids.

        Those of commands that were killed are closed, and uploads that nobody waits for removed.
        """
        unfinished = self._registry.unfinished()
        for tenant, job in unfinished:
            if job.seq:  # one without an event may be about to take its lease
                close_dead_jobs(self._registry, tenant, [job])
        mine = [(tenant, job) for tenant, job in unfinished if job.request.get("resumable")]
        for tenant, job in mine:
            self._add(tenant, job)
        remove_left(self.uploads, self._awaited)
        return [job.id for _, job in mine]

    def _awaited(self) -> set[str]:
        """Return the folders of the uploads that jobs wait for."""
        requests = [job.request for _, job in self._registry.unfinished()]
        return {Path(request["upload"]["path"]).parent.name for request in requests if request.get("upload")}

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

    def _waiting(self, tenant: Tenant) -> tuple[int, int]:
        """Return how many jobs of a tenant are not over, by whichever server, and the bytes of the files sent for them."""
        mine = [job.request for owner, job in self._registry.unfinished() if owner == tenant]
        return sum(bool(request.get("resumable")) for request in mine), sum(map(_size, mine))

    def _same(self, tenant: Tenant, request: Mapping[str, Any]) -> JobRecord | None:
        """Return the job under way that does what is asked for; files that were sent are each a request of its own."""
        for job in self._registry.jobs(tenant, limit=_LOOKED_AT) if request.get("paths") else ():
            asked = {name: value for name, value in job.request.items() if name != TRACE}
            if job.status == "RUNNING" and asked == request:
                begun = datetime.fromisoformat(job.created_at).timestamp()
                return job if unchanged_since(request["paths"], begun) else None
        return None

    def _add(self, tenant: Tenant, job: JobRecord) -> None:
        self._turns.add(tenant, job)
        with suppress(RuntimeError):  # the end came in between
            self._pool.submit(self._next)

    def _next(self) -> None:
        """Do the job whose turn it is; those whose tenants are busy are looked at again when these are not."""
        if (found := self._turns.next()) is None:
            return
        again = False
        try:
            again = self._do(*found)
        finally:
            self._turns.over(*found)
            if again:
                self._turns.add(*found)
            with suppress(RuntimeError):
                self._pool.submit(self._next)

    def _do(self, tenant: Tenant, job: JobRecord) -> bool:
        """Do a job, unless another server on the same stores does it or has done it. Return whether to try it again."""
        try:
            # a lease is an open file: only what is worked on has one, not all that waits
            with self._registry.lease(tenant, [job_lease(job.id)]) as held:
                if held and self._registry.job(tenant, job.id).status == "RUNNING":
                    self._work(tenant, job)
            self._told.pop(job.id, None)
            return False
        except StoreUnavailable as error:
            # once: the log may lie on the disk that is full
            if self._told.get(job.id) != str(error):
                self._told[job.id] = str(error)
                logger.warning("job %s was interrupted and will be retried: %s", job.id, error)
            return not self._closing.wait(_AGAIN_SECONDS)

    def _work(self, tenant: Tenant, job: JobRecord) -> None:
        """Do a job whose lease is held; whatever happens, it is over then. Raise ``StoreUnavailable`` to try again."""
        again = "send it again" if job.request.get("upload") else "repeat the request to continue"
        reason = f"the ingest process died twice, perhaps out of memory; {again}"
        result: dict[str, str] = {}
        try:
            for _ in range(_TRIES):
                if resumed := bool(self._registry.events(tenant, job.id)):
                    self._registry.add_events(tenant, job.id, [("resumed", {})])
                self._worker.run(tenant, job, resumed=resumed)
                if self._closing.is_set() or self._registry.job(tenant, job.id).status != "RUNNING":
                    break
                logger.warning("job %s: the ingest process died", job.id)
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  # a job must not stay open for ever; its text may be that of a document
            logger.error("job %s: %s", job.id, type(error).__name__)  # no traceback: it holds that text
            reason = f"the job failed: {in_general(error)}; {again}"
            result = {"error": code_of(error)}
        if self._closing.is_set():
            return
        if self._registry.job(tenant, job.id).status == "RUNNING":
            self._registry.finish_job(tenant, job.id, "FAILED", result, reason)
        self._let_go(job)

    @staticmethod
    def _let_go(job: JobRecord) -> None:
        """Remove the file that was sent for a job, if there is one."""
        if upload := job.request.get("upload"):
            rmtree(Path(upload["path"]).parent, ignore_errors=True)
