"""Local extraction in processes of its own: spaCy holds the interpreter's lock, so that threads do not help it.

Each worker is ``python -m lexigraph.ingestion.extract.worker``. It is told settings and chunks on its input, pickled, and
ends when that does: with the process that started it, however that ends.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from lexigraph.ingestion.extract import Extractor
from lexigraph.model.batches import batched
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import LexigraphError, ModelUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.settings import Settings

MOST = 4  # workers: each has a model of its own, some 250 MB
_ENOUGH = 128  # chunks of a run, before which starting workers takes longer than they save
_PART = 16  # chunks that a worker is told of at once


class Workers:
    """An extractor of the settings that works in ``number`` processes (0: none), and here while there is little to do.

    Extractions and their order are those of ``alone``, whatever the number. Workers are started when a run has more than
    some hundred chunks, and then also do what was asked for before and is not begun; leave the block to end them.
    ``extract`` raises ``ModelUnavailable`` when one dies.
    """

    def __init__(self, alone: Extractor, settings: Settings, number: int) -> None:
        self.name = alone.name
        self._alone, self._settings, self._number = alone, settings, number
        self._asked = 0
        self._waiting: list[_Given] = []  # what nobody has begun
        self._threads: ThreadPoolExecutor | None = None  # one a worker, which it starts and asks
        self._mine = threading.local()
        self._running: list[_Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._threads is None:
            return
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in [*self._running]:
            worker.kill()  # whoever still waits for its answer reads its end
        self._threads.shutdown()
        for worker in self._running:
            worker.close()

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Return one extraction a chunk, in order. Workers begin at once, whenever the results are taken."""
        given = _Given(chunks)
        self._asked += len(chunks)
        self._waiting.append(given)
        if self._number and self._asked > _ENOUGH:
            self._threads = self._threads or ThreadPoolExecutor(self._number, thread_name_prefix="extract")
            for one in self._waiting:
                one.parts = [self._threads.submit(self._ask, part) for part in batched(one.chunks, _PART)]
            self._waiting.clear()
        return self._results(given)

    def _results(self, given: "_Given") -> Iterator[Extraction]:
        if given in self._waiting:
            self._waiting.remove(given)
            yield from self._alone.extract(given.chunks)
        given.parts.reverse()
        while given.parts:
            yield from given.parts.pop().result()  # what was taken is not kept

    def _ask(self, chunks: Sequence[ChunkText]) -> list[Extraction]:
        try:
            worker: _Worker = getattr(self._mine, "worker", None) or self._start()
            answer = worker.ask(list(chunks))
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise ModelUnavailable(
                "a worker of the local extraction died, perhaps out of memory. Run again to continue; "
                "LEXIGRAPH_THREADS=1 extracts without workers"
            ) from error
        if isinstance(answer, LexigraphError):
            raise answer
        return answer

    def _start(self) -> "_Worker":
        worker = self._mine.worker = _Worker()
        self._running.append(worker)
        worker.tell(self._settings)
        return worker


@dataclass(eq=False)
class _Given:
    """Chunks to be extracted, in parts when by workers."""

    chunks: Sequence[ChunkText]
    parts: list[Future[list[Extraction]]] = field(default_factory=list)


class _Worker:
    """One process, asked by one thread."""

    def __init__(self) -> None:
        # it uses one core, and finds what it imports where we found it; an empty entry would be the current folder
        found_here = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": found_here, "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lexigraph.ingestion.extract.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # out of reach of Ctrl-C, which the terminal sends to a whole group
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("a worker has no pipes")
        self._asked, self._answers = self._process.stdin, self._process.stdout

    def tell(self, what: object) -> None:
        pickle.dump(what, self._asked)
        self._asked.flush()

    def ask(self, chunks: list[ChunkText]) -> list[Extraction] | LexigraphError:
        self.tell(chunks)
        answer: list[Extraction] | LexigraphError = pickle.load(self._answers)  # noqa: S301  # of our own process
        return answer

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        for stream in (self._asked, self._answers):
            with suppress(OSError):  # it died with something unsaid
                stream.close()
        self._process.wait()
