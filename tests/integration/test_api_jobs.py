"""Jobs of servers that share a folder: what waits for one is not touched by another."""

import os
import stat
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Event

import pytest
from fastapi import UploadFile

from lexigraph.api.jobs import Jobs
from lexigraph.api.service import Service
from lexigraph.api.uploads import begin_upload
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.factory import RegistryFactory
from lexigraph.storage.protocols import JobRecord, Registry
from tests.models import WordEmbedder

SECONDS = 30.0
MINE = Tenant("default")


class Waiting:
    """A worker that notes the files it is given, and ends when it is let go."""

    def __init__(self, registry: Registry) -> None:
        self.registry, self.go, self.seen = registry, Event(), list[str]()

    def run(self, tenant: Tenant, job: JobRecord, *, resumed: bool) -> None:
        """Wait."""
        self.seen.append(job.request["upload"]["path"])
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
    made = ServiceOf(Settings(data=tmp_path), embedder=WordEmbedder())
    yield made
    made.close()


def send(service: Service, name: str) -> tuple[JobRecord, Path]:
    job = begin_upload(service, MINE, UploadFile(BytesIO(b"Mira Holm signs."), filename=name), "default")
    return job, Path(job.request["upload"]["path"])


def test_a_second_server_takes_neither_the_jobs_nor_the_files_of_the_first(service: ServiceOf, tmp_path: Path) -> None:
    sent = [send(service, f"{n}.txt") for n in range(2)]
    written = service.settings.uploads / "not-yet-a-job"
    left = service.settings.uploads / "left-by-a-dead-server"
    for folder in (written, left):
        folder.mkdir()
    os.utime(left, (time.time() - 7_200,) * 2)
    registry = RegistryFactory.for_registry(service.settings.connections["registry"])
    other = Jobs(registry, Waiting(registry), service.settings.uploads)
    assert other.resume() == []
    assert all(path.is_file() for _, path in sent)
    assert (written.is_dir(), left.is_dir()) == (True, False)
    service.worker.go.set()
    for job, path in sent:
        assert service.jobs.wait(MINE, job.id, SECONDS).status == "SUCCEEDED"
        deadline = time.monotonic() + SECONDS
        while path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    other.close()
    registry.close()


def test_a_job_that_was_over_before_its_turn_is_not_done_again(service: ServiceOf) -> None:
    send(service, "first.txt")
    second, path = send(service, "second.txt")
    service.stores.registry.finish_job(MINE, second.id, "SUCCEEDED", {"by": "another"})
    service.worker.go.set()
    third, _ = send(service, "third.txt")
    assert service.jobs.wait(MINE, third.id, SECONDS).status == "SUCCEEDED"
    assert str(path) not in service.worker.seen
    assert service.stores.registry.job(MINE, second.id).result == {"by": "another"}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_was_sent_lies_where_only_its_owner_reads(service: ServiceOf) -> None:
    _, path = send(service, "a.txt")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
