"""Jobs of servers that share a folder: what waits for one is not touched by another."""

import os
import stat
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Event

import httpx
import pytest
from fastapi import UploadFile

from lexigraph.api.app import create_app
from lexigraph.api.jobs import Jobs
from lexigraph.api.service import Service
from lexigraph.api.sse import STREAMS
from lexigraph.api.uploads import begin_upload
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.factory import RegistryFactory
from lexigraph.storage.protocols import JobRecord, Registry
from tests.laptop import open_laptop
from tests.models import WordEmbedder
from tests.server import serving

SECONDS = 30.0
MINE = Tenant("default")


class Waiting:
    """A worker that notes the files it is given, and ends when it is let go."""

    def __init__(self, registry: Registry) -> None:
        self.registry, self.go, self.seen = registry, Event(), list[str]()

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Wait."""
        self.seen += [job.request["upload"]["path"]] if "upload" in job.request else job.request["paths"]
        assert self.go.wait(SECONDS)
        self.registry.finish_job(tenant, job.id, "SUCCEEDED", {})

    def close(self) -> None:
        """Stop."""
        self.go.set()


class ServiceOf(Service):
    """A service whose jobs wait."""

    def _make_jobs(self) -> Jobs:
        self.worker = Waiting(self.stores.registry)
        return Jobs(self.stores.registry, self.worker, self.settings.uploads)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceOf]:
    stores = open_laptop(tmp_path)
    made = ServiceOf(Settings(data=tmp_path), stores=stores, embedder=WordEmbedder())
    yield made
    made.close()
    stores.close()


def send(service: Service, name: str) -> tuple[JobRecord, Path]:
    job = begin_upload(service, MINE, UploadFile(BytesIO(b"Mira Holm signs."), filename=name), "default")
    return job, Path(job.request["upload"]["path"])


def until_gone(path: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_servers_do_each_job_once_and_leave_each_other_s_files(service: ServiceOf) -> None:
    sent = [send(service, f"{n}.txt") for n in range(3)]
    assert service.jobs.wait(MINE, sent[0][0].id, 0.2).status == "RUNNING"
    written = service.settings.uploads / "not-yet-a-job"
    left = service.settings.uploads / "left-by-a-dead-server"
    for folder in (written, left):
        folder.mkdir()
    os.utime(left, (time.time() - 7_200,) * 2)
    registry = RegistryFactory.for_registry(service.settings.connections["registry"])
    helper = Waiting(registry)
    other = Jobs(registry, helper, service.settings.uploads)
    other.resume()
    assert all(path.is_file() for _, path in sent)
    assert (written.is_dir(), left.is_dir()) == (True, False)
    # the first is at work on one, so the other does the next
    helper.go.set()
    for job, path in sent[1:]:
        assert other.wait(MINE, job.id, SECONDS).status == "SUCCEEDED"
        until_gone(path)
    assert sent[0][1].is_file()
    service.worker.go.set()
    assert service.jobs.wait(MINE, sent[0][0].id, SECONDS).status == "SUCCEEDED"
    until_gone(sent[0][1])
    assert (service.worker.seen, helper.seen) == ([str(sent[0][1])], [str(path) for _, path in sent[1:]])
    other.close()
    registry.close()


def test_events_that_nobody_wants_any_more_are_not_waited_for(service: ServiceOf) -> None:
    job, _ = send(service, "a.txt")
    service.stores.registry.add_events(MINE, job.id, [("scan_input", {}), ("hash_computed", {})])
    wanted = iter([True, False])
    heard = [event.stage for event in service.jobs.events(MINE, job.id, lambda: next(wanted))]
    assert heard == ["scan_input", "hash_computed"]
    assert service.stores.registry.job(MINE, job.id).status == "RUNNING"


@pytest.mark.slow
def test_clients_that_have_left_keep_no_stream_from_others(service: ServiceOf, tmp_path: Path) -> None:
    (tmp_path / "flow.txt").write_text("Mira Holm signs.")
    settings = service.settings.model_copy(update={"ingest_roots": [tmp_path], "api_rate": 0})
    service.settings = settings
    with (
        serving(create_app(settings, service, open_=True)) as url,
        httpx.Client(base_url=url, timeout=SECONDS, verify=False) as client,
    ):
        for _ in range(STREAMS + 5):
            with client.stream("GET", "/ingest/stream", params={"path": "flow.txt"}) as reply:
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


def test_a_job_that_lost_its_store_is_tried_again_when_the_store_is_back(service: ServiceOf, tmp_path: Path) -> None:
    job, path = send(service, "a.txt")
    assert service.jobs.wait(MINE, job.id, 0.2).status == "RUNNING"
    store, away = tmp_path / "registry.sqlite", tmp_path / "away.sqlite"
    store.rename(away)
    service.worker.go.set()
    time.sleep(0.3)
    away.rename(store)
    assert service.jobs.wait(MINE, job.id, SECONDS).status == "SUCCEEDED"
    until_gone(path)
    assert service.worker.seen == [str(path)] * 2


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_was_sent_lies_where_only_its_owner_reads(service: ServiceOf) -> None:
    _, path = send(service, "a.txt")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
