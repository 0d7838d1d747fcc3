"""Killed at any point and run again, an ingest ends as if nothing had happened; so do many processes at once."""

import random
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.sqlite.damage import examine
from tests import workers
from tests.laptop import CLOCK, content, laptop, open_laptop, write_pages

DOCUMENTS = 24


def run(command: str, data: Path, *arguments: str | Path) -> float:
    worker = workers.start(command, data, *arguments)
    assert worker.stdout is not None
    worker.stdout.readline()
    began = time.perf_counter()
    _, errors = worker.communicate(timeout=120)
    assert worker.returncode == 0, errors
    return time.perf_counter() - began


def kill_after(seconds: float, command: str, data: Path, *arguments: str | Path) -> bool:
    """Kill the worker that long after it began; tell whether it was still at work."""
    worker = workers.start(command, data, *arguments)
    assert worker.stdout is not None
    worker.stdout.readline()
    time.sleep(seconds)
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=30)
    return worker.returncode == -signal.SIGKILL


def disturb(tmp_path: Path, rounds: Iterable[int], prepare: str) -> None:
    files = tmp_path / "files"
    workers.write_corpus(files, DOCUMENTS, "a")
    calm = tmp_path / "calm"
    if prepare == "update":
        workers.indexing(calm).ingest([files])
        workers.write_corpus(files, DOCUMENTS, "a", edition=2)
    arguments: list[str | Path] = [files]
    if prepare == "remove":
        workers.indexing(calm).ingest([files])
        arguments = [f"a-{n}.md" for n in range(0, DOCUMENTS, 2)]
    command = "remove" if prepare == "remove" else "ingest"
    took = run(command, calm, *arguments)
    expected = content(open_laptop(calm))
    caught = 0
    for at in rounds:
        data = tmp_path / f"data-{at}"
        if prepare == "update":
            workers.write_corpus(files, DOCUMENTS, "a")
            workers.indexing(data).ingest([files])
            workers.write_corpus(files, DOCUMENTS, "a", edition=2)
        if prepare == "remove":
            workers.indexing(data).ingest([files])
        caught += kill_after(random.Random(at).uniform(0, took), command, data, *arguments)
        assert list(examine(data)) == [], f"round {at} of {prepare}: a kill looks like damage"
        if prepare == "remove":
            left = {d.uri.rpartition("/")[2] for d in workers.indexing(data).documents()}
            run(command, data, *[a for a in arguments if a in left])
            workers.indexing(data).repair()
        else:
            run(command, data, *arguments)
        assert content(open_laptop(data)) == expected, f"round {at} of {prepare}"
    assert caught > 0, "no run was killed while at work"


# the seeds of moments spread over the run
@pytest.mark.nightly
@pytest.mark.parametrize(("prepare", "rounds"), [("new", (1, 7, 5)), ("update", (21, 25, 24)), ("remove", (32, 30, 36))])
def test_what_is_killed_at_any_point_and_run_again_equals_an_undisturbed_run(
    tmp_path: Path, prepare: str, rounds: tuple[int, ...]
) -> None:
    disturb(tmp_path, rounds, prepare)


@pytest.mark.soak
@pytest.mark.parametrize("prepare", ["new", "update", "remove"])
def test_a_hundred_kills_change_nothing(tmp_path: Path, prepare: str) -> None:
    disturb(tmp_path, range(100, 200), prepare)


@pytest.mark.nightly
def test_four_processes_at_once_end_like_a_serial_run(tmp_path: Path) -> None:
    for tag in "abc":
        workers.write_corpus(tmp_path / tag, DOCUMENTS, tag)
    data, stop = tmp_path / "data", tmp_path / "stop"
    workers.indexing(data).ingest([tmp_path / "c"])
    # one stays: with a tenant's last document goes what models answered, also what nobody has built on yet
    remover = workers.start("remove", data, *[f"c-{n}.md" for n in range(1, DOCUMENTS)])
    writers = [workers.start("ingest", data, tmp_path / tag) for tag in "ab"]
    reader = workers.start("read", data, stop)
    for worker in (*writers, remover):
        _, errors = worker.communicate(timeout=180)
        assert worker.returncode == 0, errors
    stop.touch()
    _, errors = reader.communicate(timeout=60)
    assert reader.returncode == 0, errors

    serial = tmp_path / "serial"
    for path in (tmp_path / "c" / "c-0.md", tmp_path / "a", tmp_path / "b"):
        workers.indexing(serial).ingest([path])
    assert content(open_laptop(data)) == content(open_laptop(serial))
    assert workers.indexing(data).repair(dry_run=True) == []


@pytest.mark.slow
def test_two_processes_that_ingest_the_same_folder_do_the_work_once(tmp_path: Path) -> None:
    workers.write_corpus(tmp_path / "a", DOCUMENTS, "a")
    data = tmp_path / "data"
    both = [workers.start("ingest", data, tmp_path / "a") for _ in range(2)]
    for worker in both:
        _, errors = worker.communicate(timeout=180)
        assert worker.returncode == 0, errors
    workers.indexing(tmp_path / "serial").ingest([tmp_path / "a"])
    assert content(open_laptop(data)) == content(open_laptop(tmp_path / "serial"))


class Full(FileDocumentStore):
    """Files that cannot be deleted."""

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        raise StoreUnavailable("the disk is gone")


def test_files_of_an_older_version_that_an_ingest_left_go_with_the_next_one(tmp_path: Path) -> None:
    calm, stores = laptop(tmp_path / "calm"), open_laptop(tmp_path / "data")
    files = write_pages(tmp_path / "files", CLOCK)
    for index in (calm, laptop(tmp_path / "data", stores)):
        index.ingest([files])
    write_pages(files, {"Clock": "The clock strikes ten."})
    calm.ingest([files])
    broken = replace(stores, documents=Full(f"file:///{tmp_path}/data/documents"))
    with pytest.raises(StoreUnavailable):
        laptop(tmp_path / "data", broken).ingest([files])
    assert laptop(tmp_path / "data", stores).ingest([files]).documents_updated == 1
    assert content(stores) == content(calm.stores)
    assert laptop(tmp_path / "data", stores).ingest([files]).documents_updated == 0
