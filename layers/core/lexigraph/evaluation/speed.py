"""How long a question takes: retrievers over made-up lexical graphs of any size, step by step.

Everything is warm and the embedding of a question is given, so what is measured is stores and ranking.
"""

import json
import multiprocessing
import os
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.evaluation.build import TENANT, BuildFigures, measure, open_folder, size_of
from lexigraph.evaluation.generated import GeneratedCorpus, WordVectors
from lexigraph.evaluation.memory import forget_peak, peak_resident_mb
from lexigraph.evaluation.sizes import GRAPH, part_sizes, parts_for, read_by
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.question import Question
from lexigraph.retrieval.catalogue import RETRIEVERS, make_retriever
from lexigraph.storage.protocols import SearchRequest, Stores, VectorStore

MEASURED = ("traversal", "semantic-guided", "fused", "bm25", "vector")
KINDS = ("direct", "two hops", "hub", "frequent words")
# articles and sections of each; the last three are the settings of which the reference page tells the time (W-21)
MULTIDOC = ((1, 1), (2, 2), (5, 3), (7, 5))
_BUILT = "built.json"
_WARM = 0.5  # of the number of questions, asked before and not measured


@dataclass(frozen=True, slots=True)
class RetrieverFigures:
    """What a question to one retriever took, in milliseconds; all but ``p95_ms`` are medians.

    ``wall_ms`` and ``processor_ms`` tell of the ``whole``, of what was spent inside the ``graph`` and the ``vector`` store,
    and of the searches by words, ``bm25``, when asked of the latter again alone. On a machine with other work the processor
    time is what a calm one would need at most. ``kinds_ms`` are wholes by kind of question, ``steps_ms`` what the retriever
    reports. ``calls`` are the most of one question. ``index_mb`` are the parts of the index that it read, by
    :mod:`lexigraph.evaluation.sizes`. ``peak_mb`` is the most resident memory of a process that asks only this retriever,
    mapped files included.
    """

    retriever: str
    p50_ms: float
    p95_ms: float
    wall_ms: Mapping[str, float]
    processor_ms: Mapping[str, float]
    kinds_ms: Mapping[str, float]
    steps_ms: Mapping[str, float]
    calls: Mapping[str, int]
    index_mb: Mapping[str, float]
    peak_mb: float


@dataclass(frozen=True, slots=True)
class SpeedFigures:
    """What a run measured over one index.

    ``multidoc_overhead_ms`` is what five documents take longer than one, by the medians of ``multidoc 5x3`` and
    ``multidoc 1x1`` (W-22); None when ``multidoc`` was not asked.
    """

    statements: int
    entities: int
    questions: int
    disk_mb: Mapping[str, float]
    retrievers: tuple[RetrieverFigures, ...]
    multidoc_overhead_ms: float | None = None


def measure_speed(
    folder: Path,
    statements: int,
    retrievers: Sequence[str],
    questions: int,
    *,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> SpeedFigures:
    """Ask ``questions`` questions of each kind to each of the ``retrievers``, by name.

    ``multidoc`` is asked with each of the settings of ``MULTIDOC``. The index is built below ``folder`` unless it is there
    from an earlier run. Raise ``InvalidInput`` for an unknown retriever, or a folder that holds half an index or is none.
    """
    for name in retrievers:
        if name not in RETRIEVERS:
            raise InvalidInput(f"retriever {name!r} is unknown: use one of {', '.join(RETRIEVERS)}")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"--folder {folder} is a file: name a folder")
    home = folder / f"{statements}-{seed}"
    built = _built(home, statements, seed, progress)
    figures = []
    for label, args in (row for name in retrievers for row in _rows(name)):
        progress(f"asking {label}")
        figures.append(_apart(home, statements, seed, questions, label, args))
    disk = {path.name: round(path.stat().st_size / 1e6, 1) for path in sorted(home.iterdir()) if path.is_file()}
    return SpeedFigures(
        built.statements,
        built.entities,
        len(KINDS) * questions,
        {**disk, "all": round(size_of(home) / 1e6, 1)},
        tuple(figures),
        _overhead({found.retriever: found.p50_ms for found in figures}),
    )


def generated_questions(corpus: GeneratedCorpus, count: int, seed: int) -> list[tuple[str, str]]:
    """Return (kind, text) of ``count`` questions of each kind, in turn.

    ``direct`` asks with words and a name of one statement. ``two hops`` asks with the title of a document for words of
    another document, whose title the first one mentions. ``hub`` asks with the most frequent name. ``frequent words`` asks
    with a dozen of the most frequent words.
    """
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    title_of = {name: number for number, name in enumerate(corpus.names[: len(corpus)])}
    made = []
    for _ in range(count):
        document = corpus.document(rng.randrange(len(corpus)))
        said = rng.choice(document.statements)
        made.append((KINDS[0], f"What is it that {said.entities[0].name} has to do with {_words(rng, said.value, 4)}?"))
        others = [title_of[e.name] for s in document.statements for e in s.entities if e.name in title_of]
        told = rng.choice(corpus.document(rng.choice(others or [document.number])).statements)
        made.append((KINDS[1], f"What does the {_words(rng, told.value, 3)} of {document.title} come from?"))
        made.append((KINDS[2], f"Which {_words(rng, said.value, 2)} is known of {corpus.hub}?"))
        made.append((KINDS[3], f"Where are {' '.join(rng.sample(list(corpus.frequent), 12))}?"))
    return made


def _words(rng: random.Random, text: str, count: int) -> str:
    plain = [word.strip(".") for word in text.split() if word[0].islower() and len(word) > 3]
    return " ".join(rng.sample(plain, min(count, len(plain))))


def _rows(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what a retriever is measured as: (label that begins with its name, arguments)."""
    if name != "multidoc":
        return [(name, {})]
    return [(f"{name} {docs}x{sections}", {"num_docs": docs, "max_sections": sections}) for docs, sections in MULTIDOC]


def _overhead(p50_ms: Mapping[str, float]) -> float | None:
    one, five = p50_ms.get("multidoc 1x1"), p50_ms.get("multidoc 5x3")
    return None if one is None or five is None else round(five - one, 1)


def _built(home: Path, statements: int, seed: int, progress: Callable[[str], None]) -> BuildFigures:
    """Build the index unless it is there, and return what building it measured."""
    note = home / _BUILT
    if note.exists():
        try:
            return BuildFigures(**json.loads(note.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            raise InvalidInput(f"--folder: {note} cannot be read; remove {home}, or name another folder") from None
    if home.exists() and any(home.iterdir()):
        raise InvalidInput(f"--folder: {home} holds an index that was not finished; remove it, or name another folder")
    figures = measure(home, statements, seed=seed, progress=lambda done: progress(f"built {done:,} statements"))
    note.write_text(json.dumps(asdict(figures)), "utf-8")
    return figures


def _apart(home: Path, statements: int, seed: int, questions: int, label: str, args: Mapping[str, Any]) -> RetrieverFigures:
    """Ask one retriever in a process of its own, so that its memory is its own, with the threads of a process of `serve`."""
    # a process that is spawned has the environment of this one; what lies in the current folder is no program
    given = {"OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "1"), "PYTHONSAFEPATH": "1"}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(_ask_in_this_process, home, statements, seed, questions, label, args).result()
    except BrokenProcessPool:
        raise StoreUnavailable(f"the process that measured {label} was killed: it may have run out of memory") from None
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _ask_in_this_process(
    home: Path, statements: int, seed: int, questions: int, label: str, args: Mapping[str, Any]
) -> RetrieverFigures:
    corpus = GeneratedCorpus(statements, seed)
    with closing(open_folder(home)) as stores:
        warming = generated_questions(corpus, max(1, int(questions * _WARM)), seed + 1)
        return _measured(label, args, home, stores, corpus.vectors, warming, generated_questions(corpus, questions, seed))


def _measured(
    label: str,
    args: Mapping[str, Any],
    home: Path,
    stores: Stores,
    embedder: WordVectors,
    warming: Iterable[tuple[str, str]],
    asked: Sequence[tuple[str, str]],
) -> RetrieverFigures:
    graph, vectors = _Clocked(stores.graph), _Clocked(stores.vectors)
    retriever = make_retriever(label.split()[0], graph, vectors, embedder=embedder, **args)
    forget_peak()
    for _, text in warming:
        retriever.retrieve(TENANT, Question.of(text))
    took: dict[str, list[Took]] = defaultdict(list)
    steps: dict[str, list[float]] = defaultdict(list)
    kinds: dict[str, list[float]] = defaultdict(list)
    calls = {"graph": 0, "vector": 0}
    read = {GRAPH}
    for kind, text in asked:
        graph.begin()
        vectors.begin()
        with _clock() as whole:
            found = retriever.retrieve(TENANT, Question.of(text))
        with _clock() as by_words:
            _ask_by_words(stores.vectors, vectors.requests)
        read.update(part for requests in vectors.requests for request in requests for part in parts_for(request))
        parts = {"whole": whole, "graph": graph.took, "vector": vectors.took, "bm25": by_words}
        for part, value in parts.items():
            took[part].append(value)
        kinds[kind].append(whole.wall)
        for step, milliseconds in found.timings.items():
            steps[step].append(milliseconds)
        calls = {"graph": max(calls["graph"], graph.calls), "vector": max(calls["vector"], vectors.calls)}
    peak_mb = peak_resident_mb()
    return RetrieverFigures(
        retriever=label,
        p50_ms=_median([t.wall for t in took["whole"]]),
        p95_ms=round(float(np.quantile([t.wall for t in took["whole"]], 0.95)), 1),
        wall_ms={part: _median([t.wall for t in all_]) for part, all_ in took.items()},
        processor_ms={part: _median([t.processor for t in all_]) for part, all_ in took.items()},
        kinds_ms={kind: _median(values) for kind, values in kinds.items()},
        steps_ms={step: _median(values) for step, values in steps.items()},
        calls=calls,
        index_mb=read_by(part_sizes(home, TENANT), read),
        peak_mb=peak_mb,
    )


@dataclass(slots=True)
class Took:
    """Milliseconds of a stretch of work, by the wall clock and of the processor."""

    wall: float = 0.0
    processor: float = 0.0


@contextmanager
def _clock(took: Took | None = None) -> Iterator[Took]:
    """Add what the block takes."""
    took = took or Took()
    wall, processor = time.perf_counter(), time.process_time()
    try:
        yield took
    finally:
        took.wall += (time.perf_counter() - wall) * 1000
        took.processor += (time.process_time() - processor) * 1000


class _Clocked:
    """A store that counts and times the calls since :meth:`begin`, and keeps the searches asked for."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.begin()

    def begin(self) -> None:
        """Start again from nothing."""
        self.calls, self.took = 0, Took()
        self.requests: list[Sequence[SearchRequest]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            self.calls += 1
            if name == "search_many":
                self.requests.append(args[1])
            with _clock(self.took):
                return found(*args, **named)

        return call


def _ask_by_words(store: VectorStore, calls: Iterable[Sequence[SearchRequest]]) -> None:
    """Ask the searches by words again, alone."""
    for requests in calls:
        if by_words := [request for request in requests if request.vector is None]:
            store.search_many(TENANT, by_words)


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 1)
