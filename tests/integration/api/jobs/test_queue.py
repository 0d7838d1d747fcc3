"""Jobs of servers: tenants take turns, the same is done once, and what waits for one server is not touched by another."""

import logging
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi import UploadFile
from opentelemetry.sdk.trace import TracerProvider

from lexigraph import telemetry
from lexigraph.api.access.keys import HEADER, new_key
from lexigraph.api.app import create_app
from lexigraph.api.jobs.left import held_folder
from lexigraph.api.jobs.queue import Jobs, ProcessWorker, Room
from lexigraph.api.jobs.uploads import begin_upload
from lexigraph.api.routes.ingest import begin
from lexigraph.api.service import Service
from lexigraph.api.sse import STREAMS
from lexigraph.ingestion.jobs import ingest_request
from lexigraph.ingestion.pipeline import job_lease
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.factory import RegistryFactory, open_stores
from lexigraph.storage.protocols import JobRecord, Registry
from tests import patient
from tests.files import section
from tests.laptop import open_laptop
from tests.models import WordEmbedder
from tests.server import serving
from tests.standins.llm_server import ScriptedLLMServer, said
from tests.waiting import eventually

SECONDS = 30.0
MINE = Tenant("default")


class Waiting:
    """A worker that notes the files it is given, and ends when it is let go."""

    def __init__(self, registry: Registry) -> None:
        self.registry, self.go, self.seen = registry, Event(), list[str]()
        self.at_work: list[Tenant] = []

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Wait."""
        self.seen += [job.request["upload"]["path"]] if "upload" in job.request else job.request["paths"]
        self.at_work.append(tenant)
        assert self.go.wait(SECONDS)
        self.at_work.remove(tenant)
        self.registry.finish_job(tenant, job.id, "SUCCEEDED", {})

    def close(self) -> None:
        """Stop."""
        self.go.set()


class ServiceOf(Service):
    """A service whose jobs wait."""

    def _make_jobs(self) -> Jobs:
        self.worker = Waiting(self.stores.registry)
        room = Room(self.settings.queue_jobs, self.settings.queue_bytes)
        return Jobs(self.stores.registry, self.worker, self.settings.uploads, room=room)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceOf]:
    stores = open_laptop(tmp_path / "data")
    made = ServiceOf(Settings(data=tmp_path / "data"), stores=stores, embedder=WordEmbedder())
    yield made
    made.close()
    stores.close()


def send(service: Service, name: str) -> tuple[JobRecord, Path]:
    job = begin_upload(service, MINE, UploadFile(BytesIO(b"Mira Holm signs."), filename=name), "default")
    return job, Path(job.request["upload"]["path"])


def test_two_servers_do_each_job_once_and_leave_each_other_s_files(service: ServiceOf) -> None:
    sent = [send(service, f"{n}.txt") for n in range(3)]
    assert service.jobs.wait(MINE, sent[0][0].id, 0.2).status == "RUNNING"
    left = service.settings.uploads / "left-by-a-dead-server"
    left.mkdir()
    registry = RegistryFactory.for_registry(service.settings.connections["registry"])
    helper = Waiting(registry)
    other = Jobs(registry, helper, service.settings.uploads)
    with held_folder(service.settings.uploads) as written:
        other.resume()
        assert all(path.is_file() for _, path in sent)
        assert (written.is_dir(), left.is_dir()) == (True, False)
    # the first is at work on one, so the other does the next
    helper.go.set()
    for job, path in sent[1:]:
        assert other.wait(MINE, job.id, SECONDS).status == "SUCCEEDED"
        eventually(path.exists, lambda there: not there)
    assert sent[0][1].is_file()
    service.worker.go.set()
    assert service.jobs.wait(MINE, sent[0][0].id, SECONDS).status == "SUCCEEDED"
    eventually(lambda: not sent[0][1].exists())
    assert (service.worker.seen, helper.seen) == ([str(sent[0][1])], [str(path) for _, path in sent[1:]])
    other.close()
    registry.close()


def test_a_server_that_starts_closes_the_jobs_of_commands_that_were_killed(service: ServiceOf) -> None:
    registry = service.stores.registry
    killed, at_work = (registry.start_job(MINE, "ingest", {"paths": ["/docs"], "namespace": "default"}) for _ in range(2))
    for job in (killed, at_work):
        registry.add_events(MINE, job.id, [("scan_input", {})])
    with registry.lease(MINE, [job_lease(at_work.id)]):
        service.jobs.resume()
    closed = registry.job(MINE, killed.id)
    assert (closed.status, closed.reason) == ("FAILED", "interrupted; ingesting the same files again goes on from there")
    assert registry.job(MINE, at_work.id).status == "RUNNING"


def test_events_that_nobody_wants_any_more_are_not_waited_for(service: ServiceOf) -> None:
    job, _ = send(service, "a.txt")
    eventually(lambda: service.worker.at_work)
    service.stores.registry.add_events(MINE, job.id, [("scan_input", {}), ("hash_computed", {})])
    wanted = iter([True, False])
    heard = [event.stage for event in service.jobs.events(MINE, job.id, lambda: next(wanted))]
    assert heard == ["scan_input", "hash_computed"]
    assert service.stores.registry.job(MINE, job.id).status == "RUNNING"


@pytest.mark.slow
def test_clients_that_have_left_keep_no_stream_from_others(service: ServiceOf, tmp_path: Path) -> None:
    (tmp_path / "flow.txt").write_text("Mira Holm signs.")
    settings = service.settings.model_copy(update={"ingest_roots": {MINE: tmp_path}, "api_rate": 0})
    service.settings = settings
    with (
        serving(create_app(settings, service, open_=True)) as url,
        httpx.Client(base_url=url, timeout=SECONDS, verify=False) as client,
    ):
        for _ in range(STREAMS + 5):
            with client.stream("POST", "/ingest/stream", params={"path": "flow.txt"}) as reply:
                assert "X-Job-Id" in reply.headers
                next(reply.iter_raw())
        answer = client.post("/query", json={"question": "Who signs?", "stream": True})
        assert "event: done" in answer.text


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="looks into /proc")
def test_jobs_that_wait_hold_no_files_open(service: ServiceOf) -> None:
    send(service, "first.txt")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for n in range(20):
        send(service, f"{n}.txt")
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 20


def test_a_job_that_was_over_before_its_turn_is_not_done_again(service: ServiceOf) -> None:
    send(service, "first.txt")
    second, path = send(service, "second.txt")
    service.stores.registry.finish_job(MINE, second.id, "SUCCEEDED", {"by": "another"})
    service.worker.go.set()
    third, _ = send(service, "third.txt")
    assert service.jobs.wait(MINE, third.id, SECONDS).status == "SUCCEEDED"
    assert str(path) not in service.worker.seen
    assert service.stores.registry.job(MINE, second.id).result == {"by": "another"}


def test_a_job_that_lost_its_store_is_tried_again_when_the_store_is_back(
    service: ServiceOf, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job, path = send(service, "a.txt")
    assert service.jobs.wait(MINE, job.id, 0.2).status == "RUNNING"
    store, away = tmp_path / "data" / "registry.sqlite", tmp_path / "away.sqlite"
    store.rename(away)
    service.worker.go.set()
    eventually(lambda: "was interrupted and will be retried" in caplog.text)
    away.rename(store)
    assert service.jobs.wait(MINE, job.id, SECONDS).status == "SUCCEEDED"
    eventually(path.exists, lambda there: not there)
    assert service.worker.seen == [str(path)] * 2


class Refused(Waiting):
    """A worker whose disk is full at first."""

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Fail twice."""
        if len(self.seen) < 2:
            self.seen.append("failed")
            raise StoreUnavailable("graph.sqlite: database or disk is full")
        super().run(tenant, job, resumed=resumed)


def test_a_job_that_is_tried_again_and_again_is_told_of_in_the_log_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = open_laptop(tmp_path).registry
    worker = Refused(registry)
    worker.go.set()
    jobs = Jobs(registry, worker, tmp_path / "uploads")
    job = jobs.begin(A, path_request("/a0"))
    assert jobs.wait(A, job.id, SECONDS).status == "SUCCEEDED"
    jobs.close()
    assert worker.seen == ["failed", "failed", "/a0"]
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == ["database or disk is full"]


class Failing(Waiting):
    """A worker that cannot start the first of its jobs."""

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Fail once."""
        if not self.seen:
            self.seen.append("failed")
            raise OSError("Mira Holm signs.")
        super().run(tenant, job, resumed=resumed)


def test_a_job_that_a_worker_cannot_do_fails_and_the_next_one_is_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry = open_laptop(tmp_path).registry
    worker = Failing(registry)
    worker.go.set()
    jobs = Jobs(registry, worker, tmp_path / "uploads")
    begun = [jobs.begin(A, path_request(path)) for path in ("/a0", "/a1")]
    failed, done = (jobs.wait(A, job.id, SECONDS) for job in begun)
    assert (failed.status, failed.result, done.status) == ("FAILED", {"error": "internal_error"}, "SUCCEEDED")
    assert "OSError" in failed.reason
    assert "OSError" in caplog.text
    assert "Mira Holm" not in failed.reason + caplog.text
    jobs.close()


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("deaths", "status"), [(1, "SUCCEEDED"), (2, "FAILED")])
def test_a_file_that_was_sent_is_taken_in_though_the_process_that_did_it_was_killed_once(
    tmp_path: Path, deaths: int, status: str
) -> None:
    settings = Settings(data=tmp_path / "data", embedding="hash:64")
    with closing(open_stores(settings, create=True)) as stores, closing(Service(settings, stores=stores)) as service:
        job, path = send(service, "a.txt")
        killed: set[int] = set()
        while len(killed) < deaths:
            (worker,) = eventually(lambda: _workers() - killed)
            assert path.is_file()
            os.kill(worker, signal.SIGKILL)
            killed.add(worker)
        ended = service.jobs.wait(MINE, job.id, SECONDS)
        assert ended.status == status
        if status == "FAILED":
            assert "died twice" in ended.reason
            assert "send it again" in ended.reason
        else:
            assert ended.result["documents_new"] == 1
        eventually(path.exists, lambda there: not there)


def _workers() -> set[int]:
    """Return the processes that this one has begun for jobs."""
    lists = [(thread / "children").read_text() for thread in Path("/proc/self/task").iterdir()]
    started = [int(pid) for found in lists for pid in found.split()]
    return {pid for pid in started if b"jobs.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def test_what_was_sent_lies_where_only_its_owner_reads(service: ServiceOf) -> None:
    _, path = send(service, "a.txt")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


A, B, C = Tenant("a"), Tenant("b"), Tenant("c")


def beginning(folder: Path, at_once: int) -> tuple[Jobs, Waiting]:
    registry = open_laptop(folder).registry
    worker = Waiting(registry)
    return Jobs(registry, worker, folder / "uploads", at_once), worker


def path_request(path: str, namespace: str = "default", *, incremental: bool = False) -> dict[str, Any]:
    return ingest_request([path], namespace, incremental=incremental)


def test_a_tenant_with_many_jobs_lets_the_others_go_between(tmp_path: Path) -> None:
    jobs, worker = beginning(tmp_path, at_once=1)
    begun = [jobs.begin(A, path_request("/a0"))]
    eventually(lambda: worker.seen == ["/a0"])
    waiting = ((A, "/a1"), (A, "/a2"), (A, "/a3"), (B, "/b0"), (B, "/b1"), (C, "/c0"))
    begun += [jobs.begin(tenant, path_request(path)) for tenant, path in waiting]
    worker.go.set()
    eventually(lambda: len(worker.seen) == len(begun))
    assert worker.seen == ["/a0", "/b0", "/c0", "/a1", "/b1", "/a2", "/a3"]
    jobs.close()


def test_a_long_job_of_a_tenant_holds_up_that_tenant_only(tmp_path: Path) -> None:
    jobs, worker = beginning(tmp_path, at_once=3)
    for tenant, path in ((A, "/a0"), (A, "/a1"), (B, "/b0")):
        jobs.begin(tenant, path_request(path))
    eventually(lambda: len(worker.at_work) == 2)
    time.sleep(0.1)
    assert sorted(worker.at_work) == [A, B]
    worker.go.set()
    eventually(lambda: len(worker.seen) == 3)
    jobs.close()


def test_an_ingest_that_is_under_way_is_joined_by_the_same_one(tmp_path: Path) -> None:
    jobs, worker = beginning(tmp_path, at_once=1)
    file = tmp_path / "corpus" / "below" / "flow.md"
    file.parent.mkdir(parents=True)
    file.write_text("Mira Holm signs.")
    corpus = str(tmp_path / "corpus")
    time.sleep(0.2)  # the clock of files
    first = jobs.begin(A, path_request(corpus))
    eventually(lambda: worker.at_work == [A])
    assert jobs.begin(A, path_request(corpus)).id == first.id
    waiting = jobs.begin(A, path_request(corpus, "other"))
    assert jobs.begin(A, path_request(corpus, "other")).id == waiting.id
    others = [jobs.begin(B, path_request(corpus)), jobs.begin(A, path_request(corpus, incremental=True))]
    assert len({first.id, waiting.id, *(job.id for job in others)}) == 4
    worker.go.set()
    eventually(lambda: all(jobs.wait(A, job.id, 0).status == "SUCCEEDED" for job in (first, waiting)))
    eventually(lambda: len(worker.seen) == 4)
    assert jobs.begin(A, path_request(corpus)).id != first.id
    jobs.close()


def test_an_ingest_is_joined_from_another_trace_too(tmp_path: Path) -> None:
    jobs, worker = beginning(tmp_path, at_once=1)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    time.sleep(0.2)  # the clock of files
    telemetry.use(TracerProvider())
    try:
        ids = set()
        for trace in ("one", "another"):
            with telemetry.span(trace):
                ids.add(jobs.begin(A, path_request(str(corpus))).id)
    finally:
        telemetry.use(None)
    assert len(ids) == 1
    worker.go.set()
    jobs.close()


@pytest.mark.parametrize("change", ["written", "new", "moved in", "linked", "gone"])
def test_an_ingest_whose_files_have_changed_since_it_was_asked_for_is_begun_again(tmp_path: Path, change: str) -> None:
    jobs, worker = beginning(tmp_path, at_once=1)
    corpus, older = tmp_path / "corpus", tmp_path / "older.md"
    corpus.mkdir()
    (corpus / "flow.md").write_text("Mira Holm signs.")
    older.write_text("Tove Lund signs.")
    time.sleep(0.2)
    first = jobs.begin(A, path_request(str(corpus)))
    eventually(lambda: worker.at_work == [A])
    time.sleep(0.2)
    match change:
        case "written":
            (corpus / "flow.md").write_text("Tove Lund signs.")
            os.utime(corpus / "flow.md", (0, 0))
        case "new":
            (corpus / "second.md").write_text("Tove Lund signs.")
        case "moved in":
            older.rename(corpus / "flow.md")
        case "linked":
            (corpus / "second.md").symlink_to(older)
        case "gone":
            (corpus / "flow.md").unlink()
    assert jobs.begin(A, path_request(str(corpus))).id != first.id
    worker.go.set()
    jobs.close()


def test_a_job_that_its_server_left_is_done_by_the_one_that_joins_it(tmp_path: Path) -> None:
    jobs, worker = beginning(tmp_path, at_once=1)
    file = tmp_path / "flow.md"
    file.write_text("Mira Holm signs.")
    time.sleep(0.2)
    left = open_laptop(tmp_path).registry.start_job(A, "ingest", path_request(str(file)))
    worker.go.set()
    assert jobs.begin(A, path_request(str(file))).id == left.id
    assert jobs.wait(A, left.id, SECONDS).status == "SUCCEEDED"
    assert worker.seen == [str(file)]
    jobs.close()


def test_an_ingest_asked_for_again_after_a_failure_is_another_job(service: ServiceOf, tmp_path: Path) -> None:
    (tmp_path / "flow.md").write_text("Mira Holm signs.")
    time.sleep(0.2)
    service.settings = service.settings.model_copy(update={"ingest_roots": {MINE: tmp_path}})
    registry = service.stores.registry
    failed = begin(service, MINE, "flow.md", "default", incremental=False)
    registry.finish_job(MINE, failed.id, "FAILED", {})
    first, second = (begin(service, MINE, "flow.md", "default", incremental=False) for _ in range(2))
    assert failed.id != first.id == second.id


@pytest.mark.nightly
def test_processes_take_in_two_tenants_at_once(tmp_path: Path) -> None:
    go = Event()

    def script(body: dict[str, Any]) -> str:
        if "Granite" in said(body):
            assert go.wait(SECONDS)
        return '{"topics": [], "aliases": []}'

    (tmp_path / "long.md").write_text("Granite is old.")
    (tmp_path / "short.md").write_text("Basalt is new.")
    with ScriptedLLMServer(script) as model:
        settings = Settings(
            data=tmp_path / "data",
            llm="openai:any",
            llm_options={"base_url": model.base_url},
            relations=False,
            ingest_roots={A: tmp_path, B: tmp_path},
            model_attempts=1,
        )
        service = Service(settings)
        long = service.jobs.begin(A, path_request(str(tmp_path / "long.md")))
        eventually(lambda: bool(model.requests))
        short = service.jobs.begin(B, path_request(str(tmp_path / "short.md")))
        assert service.jobs.wait(B, short.id, SECONDS).status == "SUCCEEDED"
        assert service.jobs.wait(A, long.id, 0).status == "RUNNING"
        again = service.jobs.begin(B, path_request(str(tmp_path / "short.md")))
        assert service.jobs.wait(B, again.id, SECONDS).status == "SUCCEEDED"
        go.set()
        assert service.jobs.wait(A, long.id, SECONDS).status == "SUCCEEDED"
        service.close()


@pytest.mark.nightly
def test_a_process_logs_what_its_server_logs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    parts = section("One", "Mira Holm signs."), section("Two", "Tove Lund reads.")
    (tmp_path / "parts.md").write_text("# Parts\n\n" + "\n".join(parts))
    with ScriptedLLMServer({"relations": []}) as model, caplog.at_level(logging.DEBUG, "lexigraph"):
        settings = Settings(
            data=tmp_path / "data",
            llm="openai:any",
            llm_options={"base_url": model.base_url},
            extractor="local",
            ingest_roots={A: tmp_path},
            model_attempts=1,
        )
        service = Service(settings)
        job = service.jobs.begin(A, path_request(str(tmp_path / "parts.md")))
        assert service.jobs.wait(A, job.id, SECONDS).status == "SUCCEEDED"
        service.close()
    told = capfd.readouterr().err
    assert "DEBUG lexigraph.ingestion.relations: chunk:" in told
    assert "Mira" not in told


FORM = "multipart/form-data; boundary=x"
KB = 1_000


def form(size: int, name: str = "a.txt") -> bytes:
    """A form with a file of so many bytes."""
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + b"a" * size + b"\r\n--x--\r\n"


@contextmanager
def tenants(service: ServiceOf, **limits: Any) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Clients of two tenants of a server whose jobs wait."""
    service.settings = settings = service.settings.model_copy(update={"api_rate": 0, **limits})
    with serving(create_app(settings, service, open_=False)) as url, ExitStack() as opened:
        keys = [new_key(tenant, ("read", "ingest")) for tenant in ("default", "other")]
        for _, key in keys:
            service.stores.registry.add_key(key)
        made = [httpx.Client(base_url=url, headers={HEADER: s}, timeout=SECONDS, verify=False) for s, _ in keys]
        mine, others = (opened.enter_context(client) for client in made)
        yield mine, others


def upload(client: httpx.Client, size: int = KB) -> httpx.Response:
    return client.post("/documents?wait=0", content=form(size), headers={"Content-Type": FORM})


def refused(reply: httpx.Response, setting: str) -> bool:
    """Whether one was told to come back, by which limit and when."""
    told = reply.json()
    assert (reply.status_code, told["error"]) == (429, "rate_limited"), reply.text
    return setting in told["message"] and int(reply.headers["Retry-After"]) > 0


def test_a_tenant_has_so_many_jobs_waiting_and_others_theirs(service: ServiceOf, tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("Mira Holm signs.")
    with tenants(service, queue_jobs=3, ingest_roots={"default": tmp_path}) as (mine, others):
        assert [upload(mine).status_code for _ in range(3)] == [202] * 3
        assert refused(upload(mine), "queue_jobs")
        assert refused(mine.post("/ingest?wait=0", json={"path": "1.txt"}), "queue_jobs")
        assert refused(mine.get("/ingest/stream?path=2.txt"), "queue_jobs")
        assert upload(others).status_code == 202
        service.worker.go.set()
        eventually(lambda: upload(mine).status_code, lambda status: status == 202)
    assert len(list(service.settings.uploads.iterdir())) <= 5


def test_a_tenant_has_so_many_bytes_waiting_but_any_one_file(service: ServiceOf) -> None:
    with tenants(service, queue_bytes=10 * KB) as (mine, others):
        assert upload(mine, 50 * KB).status_code == 202
        assert refused(upload(mine, KB), "queue_bytes")
        assert [upload(others, 3 * KB).status_code for _ in range(4)] == [202, 202, 202, 429]


def test_a_file_that_may_not_wait_is_not_read(service: ServiceOf) -> None:
    def held() -> int:
        return sum(path.stat().st_size for path in service.settings.uploads.rglob("*.txt"))

    with tenants(service, queue_bytes=100 * KB) as (mine, _):
        assert upload(mine).status_code == 202
        with socket.create_connection((mine.base_url.host, mine.base_url.port or 0), timeout=SECONDS) as half:
            head = f"POST /documents HTTP/1.1\r\nHost: 127.0.0.1\r\n{HEADER}: {mine.headers[HEADER]}\r\n"
            half.sendall(f"{head}Content-Type: {FORM}\r\nContent-Length: 90000\r\n\r\n--x\r\n".encode())
            eventually(lambda: upload(mine, 9 * KB).status_code, lambda status: status == 429)
            before = held()
            for _ in range(5):
                assert refused(upload(mine, 20 * KB), "queue_bytes"), "what is on its way counts"
            assert held() <= before
        eventually(lambda: upload(mine, 9 * KB).status_code, lambda status: status == 202)


def test_jobs_of_the_command_line_that_were_left_behind_do_not_count(service: ServiceOf) -> None:
    service.stores.registry.start_job(MINE, "ingest", {"paths": ["/gone"]})
    with tenants(service, queue_jobs=1) as (mine, _):
        assert upload(mine).status_code == 202


@pytest.mark.nightly
def test_estimates_of_a_tenant_keep_no_other_tenant_waiting(service: ServiceOf) -> None:
    slow = {"text": "Ann sat. " * 45_000}
    with tenants(service) as (mine, others), ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(mine.post, "/estimate", json=slow, timeout=4 * SECONDS) for _ in range(5)]
        time.sleep(0.5)
        assert others.post("/estimate", json={"text": "Mira Holm signs."}, timeout=SECONDS).status_code == 200
        assert sum(not one.done() for one in waiting) > 2
        for one in waiting:
            one.result(4 * SECONDS)


def test_keys_with_filters_have_no_estimates_of_their_own_beside_those_of_their_tenant(service: ServiceOf) -> None:
    with tenants(service) as (mine, _), ThreadPoolExecutor(1) as pool:
        secret, key = new_key("default", ("ingest",), filters=MetadataFilter("groups", "==", "staff"))
        service.stores.registry.add_key(key)
        slow = pool.submit(mine.post, "/estimate", json={"text": "Ann sat. " * 45_000}, timeout=4 * SECONDS)
        time.sleep(0.5)
        mine.post("/estimate", json={"text": "Mira signs."}, headers={HEADER: secret}, timeout=4 * SECONDS)
        assert slow.done()


def test_an_ingest_that_waits_is_cancelled_at_once_and_its_file_goes(service: ServiceOf) -> None:
    first, _ = send(service, "a.txt")
    eventually(lambda: service.worker.seen)
    second, path = send(service, "b.txt")
    with (
        serving(create_app(service=service, open_=True)) as url,
        httpx.Client(base_url=url, timeout=patient.SECONDS) as client,
    ):
        reply = client.post(f"/jobs/{second.id}/cancel")
        assert (reply.status_code, reply.json()["status"]) == (200, "CANCELLED")
        assert not path.exists()
        assert client.post(f"/jobs/{second.id}/cancel").json()["status"] == "CANCELLED"
        # one at work is told, and stops by itself
        reply = client.post(f"/jobs/{first.id}/cancel")
        assert (reply.status_code, reply.json()["status"]) == (202, "RUNNING")
        service.worker.go.set()
        service.jobs.wait(MINE, first.id, SECONDS)
        over = client.post(f"/jobs/{first.id}/cancel")
        assert (over.status_code, over.json()["error"]) == (409, "conflict")
        assert client.post(f"/jobs/{'0' * 32}/cancel").status_code == 404
    assert service.worker.seen == [first.request["upload"]["path"]]


@pytest.mark.slow
def test_a_worker_that_cannot_read_its_job_is_not_waited_for(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    stores = open_stores(settings, create=True)
    unknown = replace(stores.registry.start_job(MINE, "ingest", {}), id="0" * 32)
    stores.close()
    worker = ProcessWorker(settings)
    with closing(worker), ThreadPoolExecutor(1) as pool:
        pool.submit(worker.run, MINE, unknown, resumed=False).result(60)


def test_a_job_that_is_no_ingest_is_not_cancelled(service: ServiceOf) -> None:
    removal = service.stores.registry.start_job(MINE, "remove", {"source_ids": []})
    with (
        serving(create_app(service=service, open_=True)) as url,
        httpx.Client(base_url=url, timeout=patient.SECONDS) as client,
    ):
        reply = client.post(f"/jobs/{removal.id}/cancel")
    assert (reply.status_code, reply.json()["error"]) == (409, "conflict")
    assert service.stores.registry.job(MINE, removal.id).status == "RUNNING"


def test_a_deployment_says_where_its_jobs_are_stopped(service: ServiceOf, tmp_path: Path) -> None:
    arn = "arn:aws:states:eu-central-1:123456789012:stateMachine:x"
    settings = Settings(data=tmp_path / "data", workflow=arn)
    job = service.stores.registry.start_job(MINE, "ingest", {"paths": [], "namespace": "default"})
    deployed = Service(settings, stores=service.stores, embedder=WordEmbedder())
    with (
        serving(create_app(settings, deployed, open_=True)) as url,
        httpx.Client(base_url=url, timeout=patient.SECONDS) as client,
    ):
        reply = client.post(f"/jobs/{job.id}/cancel")
    assert reply.status_code == 409
    assert job.id in reply.json()["hint"]
    assert service.stores.registry.job(MINE, job.id).status == "RUNNING"
