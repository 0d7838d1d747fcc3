"""Ask an HTTP API from many clients at once: answers a second and milliseconds by retriever, errors, and memory.

python -m bench.api_load --folder bench-indexes --statements 100000 --clients 50 --seconds 60 --ingest
python -m bench.api_load --url http://127.0.0.1:8010 --key KEY --questions FILE --clients 50 --seconds 60

Each client asks, waits for the answer and asks again. Without ``--url`` a server is started, ``--workers`` processes, on
127.0.0.1, over the made-up index of ``lexigraph bench speed``, which is kept in the folder; the embedding of a question is
given. ``--ingest`` measures again while a worker process takes made-up documents in, for another tenant; ``--beside`` while
``--beside-clients`` more ask a retriever that costs more. The exit code is 1
when an answer was an error, private memory grew by more than a tenth and 50 MB (medians of the second and of the last
quarter of the seconds after ``--warm``), or the ingest cost the readers half of their answers or more.
"""

import argparse
import gc
import json
import math
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import httpx

from bench.made.corpus import make_corpus
from lexigraph.api.access.keys import HEADER, new_key
from lexigraph.cli.serve import listening
from lexigraph.evaluation.build import TENANT, open_folder
from lexigraph.evaluation.generated import GeneratedCorpus, WordVectors
from lexigraph.evaluation.speed import generated_questions, measure_speed
from lexigraph.settings import Settings
from lexigraph.storage.factory import RegistryFactory

RETRIEVERS = ("traversal", "semantic-guided", "hybrid", "multihop", "multidoc", "recall", "fused", "bm25", "vector")
QUERY = "query"  # POST /query: retrieval and an answer
WRITER = "load"  # the tenant of what is ingested meanwhile
SECONDS = 120.0  # until a client gives up
GROWTH, GROWTH_MB = 1.1, 50.0
MOST_LOST = 0.5
_APART = 97


@dataclass(frozen=True, slots=True)
class Row:
    """What the clients got: ``retriever`` is ``all`` for everything asked in turn; ``p50_ms``, ``p95_ms`` are a client's.

    ``processor_ms`` is what the server's processes took for an answer; None where it cannot be told.
    """

    phase: str
    retriever: str
    answers: int
    per_second: float
    p50_ms: float
    p95_ms: float
    errors: int
    processor_ms: float | None = None


@dataclass
class Figures:
    """What a run measured; memory in MB, None where the server's processes are not known."""

    clients: int
    rows: list[Row] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    memory: dict[str, float] | None = None
    documents_taken_in: int | None = None
    readers_kept: float | None = None

    def complaints(self) -> list[str]:
        """Return what is not as it should be."""
        found = [f"{number} answers: {told}" for told, number in self.errors.items()]
        if self.memory and self.memory["private_end"] > self.memory["private_warm"] * GROWTH + GROWTH_MB:
            found.append(f"memory grew from {self.memory['private_warm']:.0f} to {self.memory['private_end']:.0f} MB")
        if self.readers_kept is not None and self.readers_kept <= MOST_LOST:
            found.append(f"readers kept {self.readers_kept:.0%} of their answers while documents were ingested")
        return found


@dataclass(frozen=True, slots=True)
class Target:
    """A server to ask; ``pids`` are its processes, none when they are not known.

    The writer's key is needed to take documents in.
    """

    url: str
    key: str
    pids: tuple[int, ...] = ()
    writer_key: str = ""


class Load:
    """Clients that ask ``questions`` of a server, never the same one at the same time."""

    def __init__(self, target: Target, questions: Sequence[str], clients: int, figures: Figures) -> None:
        self._target, self._questions, self._clients, self._figures = target, questions, clients, figures
        self._next, self._lock = count(), Lock()

    def run(self, phase: str, asked: Sequence[str], seconds: float) -> Row:
        """Ask the retrievers in turn for so many seconds; note a row for each, and return that of all together."""
        took: dict[str, list[float]] = defaultdict(list)
        errors: dict[str, int] = defaultdict(int)
        memory: list[dict[str, float]] = []
        began, worked = time.monotonic(), processor_seconds(self._target.pids)
        threads = [Thread(target=self._ask, args=(asked, began + seconds, took, errors)) for _ in range(self._clients)]
        for thread in threads:
            thread.start()
        while (left := began + seconds - time.monotonic()) > 0:
            time.sleep(min(0.5, left))
            memory.append(memory_of(self._target.pids))
        for thread in threads:
            thread.join()
        lasted, worked = time.monotonic() - began, processor_seconds(self._target.pids) - worked
        rows = [_row(phase, name, took[name], errors[name], lasted) for name in asked]
        if len(asked) > 1:
            rows.append(_row(phase, "all", [ms for name in asked for ms in took[name]], sum(errors.values()), lasted))
        if worked and rows[-1].answers:
            rows[-1] = replace(rows[-1], processor_ms=round(1000 * worked / rows[-1].answers, 1))
        self._figures.rows += rows
        if self._target.pids:
            self._figures.memory = _grown(memory)
        return rows[-1]

    def _ask(self, asked: Sequence[str], until: float, took: dict[str, list[float]], errors: dict[str, int]) -> None:
        with httpx.Client(base_url=self._target.url, headers={HEADER: self._target.key}, timeout=SECONDS) as client:
            while time.monotonic() < until:
                with self._lock:
                    number = next(self._next)
                turn, at = divmod(number, len(asked))
                # each retriever goes through all questions, none through those that another has just been asked
                name, question = asked[at], self._questions[(turn + _APART * at) % len(self._questions)]
                began = time.perf_counter()
                told = _asked(client, name, question)
                with self._lock:
                    took[name].append((time.perf_counter() - began) * 1000)
                    if told:
                        errors[name] += 1
                        self._figures.errors[told] = self._figures.errors.get(told, 0) + 1


def _asked(client: httpx.Client, name: str, question: str) -> str:
    """Ask; return what went wrong, else nothing."""
    try:
        reply = client.post("/query" if name == QUERY else f"/retrieve/{name}", json={"question": question})
    except httpx.HTTPError as error:
        return type(error).__name__
    return "" if reply.status_code == 200 else f"{reply.status_code} {reply.json().get('error', '')} by {name}"


def _row(phase: str, name: str, took: Sequence[float], errors: int, seconds: float) -> Row:
    ranked = sorted(took) or [math.nan]
    p50, p95 = (round(ranked[int(share * (len(ranked) - 1))], 1) for share in (0.5, 0.95))
    return Row(phase, name, len(took), round(len(took) / seconds, 1), p50, p95, errors)


def memory_of(pids: Sequence[int]) -> dict[str, float]:
    """Return the resident MB of processes: their own (``private``), and with mapped files (``all``), each counted again."""
    total: dict[str, float] = defaultdict(float)
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
        except OSError:
            return {}
        for line in lines:
            if line.startswith(("RssAnon", "VmRSS")):
                total["private" if line.startswith("RssAnon") else "all"] += int(line.split()[1]) / 1024
    return dict(total) if len(total) == 2 else {}


def processor_seconds(pids: Sequence[int]) -> float:
    """Return the processor time of processes so far, 0.0 where it cannot be told."""
    ticks = 0
    for pid in pids:
        try:
            told = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _grown(samples: Sequence[dict[str, float]]) -> dict[str, float] | None:
    """Return medians of the second and of the last quarter of the samples: what is warm, and the end."""
    known = [sample for sample in samples if sample]
    if len(known) < 4:
        return None
    quarter = len(known) // 4
    parts = {"warm": known[quarter : 2 * quarter], "end": known[-quarter:]}
    return {
        f"{kind}_{part}": round(statistics.median(sample[kind] for sample in taken), 1)
        for part, taken in parts.items()
        for kind in ("private", "all")
    }


@contextmanager
def taking_in(target: Target) -> Iterator[list[int]]:
    """Take documents in again and again; the value is the number of documents by job. In the end they are removed."""
    done: list[int] = []
    stop = Event()

    def again() -> None:
        while not stop.is_set():
            done.append(_ingest(writer))

    with httpx.Client(base_url=target.url, headers={HEADER: target.writer_key}, timeout=SECONDS) as writer:
        _ingest(writer)  # the process that takes in starts, and loads its models
        thread = Thread(target=again)
        thread.start()
        try:
            yield done
        finally:
            stop.set()
            thread.join()
            for document in writer.get("/documents", params={"limit": 1_000}).json()["documents"]:
                writer.delete(f"/documents/{document['id']}").raise_for_status()


def _ingest(writer: httpx.Client) -> int:
    job = writer.post("/ingest", params={"wait": 0}, json={"path": "corpus.jsonl"}).raise_for_status().json()["job_id"]
    while (told := writer.get(f"/jobs/{job}").raise_for_status().json())["status"] == "RUNNING":
        time.sleep(0.1)
    if told["status"] != "SUCCEEDED":
        raise RuntimeError(f"the ingest failed: {told.get('reason')}")
    return sum(int(told["result"][what]) for what in ("documents_new", "documents_updated"))


@contextmanager
def own_server(home: Path, seed: int, corpus: Path, workers: int) -> Iterator[Target]:
    """Serve the index in ``home`` from processes of their own, which take documents in from the folder ``corpus``."""
    roots = {WRITER: corpus}
    settings = Settings(data=home, cache="none", api_auth="key", api_rate=0, ingest_in="process", ingest_roots=roots)
    registry = RegistryFactory.for_registry(f"sqlite:///{home}")
    (read_secret, read_key), (write_secret, write_key) = new_key(TENANT, ["read"]), new_key(WRITER, ["read", "ingest"])
    keys = (read_key, write_key)
    for key in keys:
        registry.add_key(key)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `lexigraph serve` starts its processes
    context = multiprocessing.get_context("spawn")
    ready = context.Semaphore(0)
    with listening("127.0.0.1", 0) as listener, tempfile.TemporaryDirectory(prefix="lexigraph-load-") as shared:
        told = (settings.model_dump_json(), seed, listener, workers, shared if workers > 1 else "", ready)
        processes = [context.Process(target=_serve, args=told) for _ in range(workers)]
        for process in processes:
            process.start()
        try:
            # what a process loads when it starts is no growth of its memory
            if not all(ready.acquire(timeout=SECONDS) for _ in processes):
                raise RuntimeError("the server did not start")
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield Target(url, read_secret, tuple(process.pid or 0 for process in processes), write_secret)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(30)
                process.kill()
            for key in keys:
                registry.revoke_key(key.tenant, key.id)
            registry.close()


def _serve(settings_json: str, seed: int, listener: socket.socket, workers: int, folder: str, ready: Semaphore) -> None:
    import uvicorn

    from lexigraph.api.app import create_app
    from lexigraph.api.service import Service
    from lexigraph.api.shared import Shared
    from lexigraph.cli.connections import OneByOne

    settings = Settings.model_validate_json(settings_json)
    shared = Shared(Path(folder)) if folder else None
    stores = open_folder(settings.data)
    service = Service(settings, stores=stores, embedder=WordVectors(seed), shared=shared, processes=workers)
    config = uvicorn.Config(create_app(settings, service), log_level="warning", access_log=False)
    gc.freeze()  # as `lexigraph serve` does
    ready.release()
    uvicorn.Server(config).run(sockets=[OneByOne(fileno=listener.detach())])


def measure(target: Target, questions: Sequence[str], given: argparse.Namespace) -> Figures:
    """Ask each retriever alone, then all in turn, then the same while documents are ingested."""
    figures = Figures(given.clients)
    load = Load(target, questions, given.clients, figures)
    names = given.retriever or [*RETRIEVERS, QUERY]
    for name in names if given.each else ():
        load.run("alone", [name], given.each)
    if given.warm:
        load.run("warm", names, given.warm)
    alone = load.run("in turn", names, given.seconds)
    if given.beside:
        grown = figures.memory
        others = Load(target, questions[len(questions) // 2 :], given.beside_clients, figures)
        thread = Thread(target=others.run, args=("beside", [given.beside], given.seconds))
        thread.start()
        load.run(f"beside {given.beside}", names, given.seconds)
        thread.join()
        figures.memory = grown
        # what a server works for one answer cannot be told from what it works for another
        figures.rows = [replace(row, processor_ms=None) if row.phase.startswith("beside") else row for row in figures.rows]
    if given.ingest:
        grown = figures.memory
        with taking_in(target) as done:
            beside = load.run("ingest", names, given.seconds)
        figures.memory, figures.documents_taken_in = grown, sum(done)
        figures.readers_kept = round(beside.per_second / alone.per_second, 3) if alone.per_second else 0.0
    return figures


def show(figures: Figures) -> None:
    """Print a table in Markdown, and what else was measured."""
    print(
        f"{figures.clients} clients\n\n| phase | retriever | answers | a second | p50 ms | p95 ms | processor ms | errors |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for row in figures.rows:
        print(
            f"| {row.phase} | {row.retriever} | {row.answers:,} | {row.per_second:.1f} | {row.p50_ms:,.0f} | "
            f"{row.p95_ms:,.0f} | {'' if row.processor_ms is None else row.processor_ms} | {row.errors} |"
        )
    if memory := figures.memory:
        print(f"\nserver, MB: private {memory['private_warm']:.0f} warm, {memory['private_end']:.0f} at the end", end="; ")
        print(f"with mapped files {memory['all_warm']:.0f} and {memory['all_end']:.0f}")
    if figures.readers_kept is not None:
        print(f"{figures.documents_taken_in} documents ingested meanwhile; readers kept {figures.readers_kept:.0%}")


def main() -> int:
    """Parse the command line, measure, print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a server that runs already; default is one of its own")
    parser.add_argument("--key", default="", help="key of --url")
    parser.add_argument("--questions", type=Path, help="a file with one question a line, for --url")
    parser.add_argument("--folder", type=Path, help="where the index is built, kept and found again (default temporary)")
    parser.add_argument("--statements", type=int, default=100_000, help="about how many the index holds")
    parser.add_argument("--seed", type=int, default=1, help="of the made-up corpus")
    parser.add_argument("--clients", type=int, default=50, help="that ask at the same time")
    parser.add_argument("--workers", type=int, default=1, help="server processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="in which all retrievers are asked in turn")
    parser.add_argument("--warm", type=float, default=0.0, help="seconds of the same before, shown as the phase warm")
    parser.add_argument("--each", type=float, default=0.0, help="seconds in which each retriever is asked alone")
    parser.add_argument("--retriever", action="append", choices=[*RETRIEVERS, QUERY], help="again for more (default all)")
    parser.add_argument("--beside", choices=[*RETRIEVERS, QUERY], help="measure again while others ask this retriever")
    parser.add_argument("--beside-clients", type=int, default=4, help="that ask the retriever of --beside (default 4)")
    parser.add_argument("--ingest", action="store_true", help="measure again while documents are ingested")
    parser.add_argument("--documents", type=int, default=100, help="taken in at a time with --ingest, at least 50")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if given.url and (given.ingest or given.questions is None):
        parser.error("--url needs --questions, and goes without --ingest")
    figures = _of_url(given) if given.url else _of_own(given)
    print(json.dumps(asdict(figures))) if given.json else show(figures)
    for complaint in (complaints := figures.complaints()):
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def _of_url(given: argparse.Namespace) -> Figures:
    questions = [line for line in given.questions.read_text("utf-8").splitlines() if line.strip()]
    return measure(Target(given.url, given.key), questions, given)


def _of_own(given: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory(prefix="lexigraph-load-") as temporary:
        folder = given.folder or Path(temporary)
        measure_speed(folder, given.statements, (), 1, seed=given.seed)  # builds the index unless it is there
        made: list[Any] = generated_questions(GeneratedCorpus(given.statements, given.seed), 500, given.seed)
        corpus = Path(temporary) / "corpus"
        make_corpus(given.documents, given.seed, 1).save(corpus)
        home = folder / f"{given.statements}-{given.seed}"
        with own_server(home, given.seed, corpus, given.workers) as target:
            return measure(target, [text for _, text in made], given)


if __name__ == "__main__":
    sys.exit(main())
