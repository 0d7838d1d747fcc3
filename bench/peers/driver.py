"""Run one step of a system in its own environment, its index built or asked every question; write what was measured.

python -m bench.peers.driver JOB.json

A system is a module of this folder with ``open_system``. A step is a process, so that memory is that of the step alone.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Protocol

_STARTED = time.perf_counter()
_MEGABYTE = 1_000_000
_KILOBYTE = 1_024  # what `ps` counts in


@dataclass(frozen=True, slots=True)
class Job:
    """A step: ``step`` is ``build``, ``build-only`` (vectors are made up instead of embedded) or ``ask``.

    ``package`` is the distribution whose version is told; ``result`` the file that is written.
    """

    system: str
    package: str
    step: str
    retriever: str
    documents: str
    questions: str
    folder: str
    result: str


class Embedder(Protocol):
    """The model of all systems; counts its calls."""

    label: str
    dimension: int
    calls: int

    def embed_passages(self, texts: Sequence[str]) -> Any: ...

    def embed_questions(self, texts: Sequence[str]) -> Any: ...


class System(Protocol):
    """A system with its stores in a folder. ``calls`` counts the calls of its stores by kind."""

    calls: Counter[str]

    def build(self, documents: Sequence[Any]) -> None:
        """Put all documents into the index, and all of it to disk."""

    def ask(self, asked: Any) -> str:
        """Return what a language model would be shown for a question."""

    def servers(self) -> Sequence[int]:
        """Return the process ids of its servers."""


class Open(Protocol):
    """``open_system`` of a module."""

    def __call__(self, folder: Path, embedder: Embedder, retriever: str) -> AbstractContextManager[System]: ...


class MiniLM:
    """The model of Lexigraph, counted."""

    def __init__(self) -> None:
        from lexigraph.inference.minilm import MiniLM as Model

        self._model = Model()
        self.label, self.dimension, self.calls = self._model.label, self._model.dimension, 0

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        return self._model.embed_passages(texts)

    embed_questions = embed_passages


class MadeUp:
    """Vectors that cost nothing: of each text a random one, always the same."""

    label, dimension = "minilm-384", 384  # in place of MiniLM: stores are opened for it

    def __init__(self) -> None:
        self.calls = 0

    def embed_passages(self, texts: Sequence[str]) -> Any:
        import numpy as np

        self.calls += 1
        rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimension) for text in texts]
        vectors = np.array(rows, np.float32).reshape(len(texts), self.dimension)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    embed_questions = embed_passages


def run(job: Job) -> dict[str, Any]:
    """Do a step and return what was measured."""
    from bench.peers.given import read_documents, read_questions

    open_system: Open = import_module(f"bench.peers.{job.system}").open_system
    folder, embedder = Path(job.folder), MadeUp() if job.step == "build-only" else MiniLM()
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {
        "version": metadata.version(job.package) if job.package else "",
        "python": platform.python_version(),
    }
    if job.step == "ask":
        with open_system(folder, embedder, job.retriever) as system:
            return found | _ask(system, embedder, read_questions(Path(job.questions)))
    documents = read_documents(Path(job.documents))
    embedder.embed_passages(["The model is loaded before the clock starts."])
    with open_system(folder, embedder, job.retriever) as system:
        empty, clock = size(folder), Clock(system)
        system.build(documents)
        seconds, processor = clock.told()
    grown = (size(folder) - empty) / _MEGABYTE
    return found | {"seconds": seconds, "processor_seconds": processor, "peak_mb": _peak(), "disk_mb": grown}


def _ask(system: System, embedder: Embedder, questions: Sequence[Any]) -> dict[str, Any]:
    """Ask everything twice: once to count calls and keep what is returned, then for the time alone."""
    system.ask(questions[0])  # opens the stores
    first = time.perf_counter() - _STARTED
    system.calls.clear()
    embedder.calls = 0
    contexts = {asked.id: system.ask(asked) for asked in questions}
    calls = {kind: count / len(questions) for kind, count in sorted(system.calls.items())}
    embedded = embedder.calls / len(questions)
    clock = Clock(system)
    took = [_timed(partial(system.ask, asked)) for asked in questions]
    seconds, processor = clock.told()
    own, others = resident(os.getpid()), [mb for pid in system.servers() for mb in _tree(pid)]
    return {
        "contexts": contexts,
        "milliseconds": took,
        "seconds": seconds,
        "processor_seconds": processor,
        "calls": calls,
        "embedding_calls": embedded,
        "first_answer_seconds": first,
        "resident_mb": own,
        "servers_mb": sum(others),
    }


class Clock:
    """Seconds since it was made, and those that processors worked: of this process, of those it started, of its servers."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._before = self._now()

    def told(self) -> tuple[float, float]:
        """Return both."""
        (began, worked), (now, work) = self._before, self._now()
        return now - began, work - worked

    def _now(self) -> tuple[float, float]:
        own = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return time.perf_counter(), own + sum(map(worked, self._system.servers()))


def worked(pid: int) -> float:
    """Return the processor seconds of a process and of those it started that have ended; of itself only, not on Linux."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        told = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
        days, _, clock = told.strip().rpartition("-")
        return sum((float(part) * 60**at for at, part in enumerate(reversed(clock.split(":")))), 86_400.0 * int(days or 0))
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - began)


def size(folder: Path) -> int:
    """Return the bytes of all files below a folder; files may go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() and not path.is_symlink() else 0
        except OSError:
            continue
    return total


def resident(pid: int) -> float:
    """Return the resident megabytes of a process; 0 when it has ended."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip()
    return int(told) * _KILOBYTE / _MEGABYTE if told else 0.0


def _tree(pid: int) -> list[float]:
    """Return the resident megabytes of a process and of those that it started."""
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    started = [int(child) for child, parent in map(str.split, told.splitlines()) if int(parent) == pid]
    return [resident(pid), *(mb for child in started for mb in _tree(child))]


def _peak() -> float:
    """Return the most resident megabytes of this process, and of the largest that it started, whichever is more."""
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return most * (_KILOBYTE if sys.platform == "linux" else 1) / _MEGABYTE


def main() -> None:
    """Run the job of the command line."""
    job = Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    found = run(job)
    Path(job.result).write_text(json.dumps({"job": asdict(job), "found": found}, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
