"""Local extraction in worker processes: the same database whatever their number, and none is left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraph.ingestion.extract.local import LocalExtractor
from lexigraph.ingestion.extract.workers import Workers
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.settings import Settings
from tests.imports import ROOT
from tests.laptop import content, open_laptop
from tests.models import WordEmbedder
from tests.waiting import eventually

KEEPERS = ("Odile Ferrand", "Mira Holm", "Tove Lund", "Hugo Dahl")


def passage(number: int) -> str:
    keeper, next_one = KEEPERS[number % 4], KEEPERS[(number + 1) % 4]
    return f"Lighthouse {number} was built by {keeper} in {1700 + number}. {next_one} visited it with {keeper}."


def chunks(count: int) -> list[ChunkText]:
    return [ChunkText(n, f"Lighthouse {n}", (), passage(n), 0, len(passage(n))) for n in range(count)]


def children(pid: int) -> list[int]:
    running = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [one for one in running if parent(one) == pid and "worker" in command(one)]


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()  # empty once it has ended
    except OSError:
        return ""


def ended(pids: Sequence[int]) -> bool:
    return not any(command(pid) for pid in pids)


@pytest.fixture
def lighthouses(tmp_path: Path) -> Path:
    folder = tmp_path / "lighthouses"
    folder.mkdir()
    for n in range(150):
        (folder / f"{n}.md").write_text(f"# Lighthouse {n}\n\n{passage(n)}\n")
    return folder


@pytest.mark.nightly
def test_a_database_is_the_same_whatever_the_number_of_workers(tmp_path, lighthouses):
    made = []
    for threads in (1, 2, 6):  # none, one and three workers
        stores = open_laptop(tmp_path / f"data-{threads}")
        settings = Settings(data=tmp_path / f"data-{threads}", threads=threads, batch_documents=20)
        report = LexicalGraphIndex(stores, embedder=WordEmbedder(), settings=settings).ingest([lighthouses])
        made.append((content(stores), replace(report, job_id="", elapsed_sec=0.0)))
        stores.close()
        assert not children(os.getpid())
    assert made[0][1].extracted == 150
    assert made[1] == made[0]
    assert made[2] == made[0]


@pytest.mark.nightly
def test_workers_start_only_for_many_chunks_and_end_with_the_run():
    with Workers(LocalExtractor(), Settings(), 2) as workers:
        few = list(workers.extract(chunks(40)))
        assert not children(os.getpid())
        many = list(workers.extract(chunks(150)))
        assert len(children(os.getpid())) == 2
    assert not children(os.getpid())
    alone = list(LocalExtractor().extract(chunks(150)))
    assert (few, many) == (alone[:40], alone)


@pytest.mark.nightly
def test_workers_do_what_was_asked_for_before_there_was_enough_to_do():
    class Idle(LocalExtractor):
        def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
            raise AssertionError("extracts in this process")

    with Workers(Idle(), Settings(), 1) as workers:
        asked = [workers.extract(chunks(150)[at : at + 50]) for at in (0, 50, 100)]
        found = [extraction for results in asked for extraction in results]
    assert found == list(LocalExtractor().extract(chunks(150)))


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_run_with_a_word_about_what_to_do():
    with Workers(LocalExtractor(), Settings(), 1) as workers:
        results = workers.extract(chunks(600))
        next(results)
        (pid,) = children(os.getpid())
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ModelUnavailable, match="LEXIGRAPH_THREADS=1"):
            list(results)


@pytest.mark.nightly
def test_workers_end_when_the_process_that_started_them_is_killed():
    script = (
        "from tests.integration.ingestion.test_workers import *\n"
        "with Workers(LocalExtractor(), Settings(), 2) as workers:\n"
        "    results = workers.extract(chunks(4_000))\n"
        "    next(results)\n"
        "    print(*children(os.getpid()), flush=True)\n"
        "    list(results)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        pids = [int(one) for one in process.stdout.readline().split()]
        assert len(pids) == 2
        process.kill()
    eventually(lambda: ended(pids))
