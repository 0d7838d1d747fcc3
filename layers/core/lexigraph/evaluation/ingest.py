"""How fast files are ingested: the whole ingest, with the models of the settings, into a database of its own."""

import gzip
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lexigraph.evaluation.build import size_of
from lexigraph.evaluation.memory import largest_child_mb, peak_resident_mb
from lexigraph.ingestion.events import Event, Listener
from lexigraph.ingestion.load import FileItem, Rejected, scan
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import InvalidInput
from lexigraph.model.tokens import count_tokens
from lexigraph.settings import Settings

STAGES = ("read", "cut", "extract", "embed", "write")
# what goes on after an event, until the next of these
_AFTER = {
    "scan_input": "read",
    "hash_computed": "read",
    "existing_scan": "cut",
    "entity_extraction": "extract",
    "embedding": "embed",
    "embedding_progress": "embed",
    "embedding_batch": "write",
    "documents": "read",
}


@dataclass(frozen=True, slots=True)
class IngestFigures:
    """What a run measured; the rates are those of the whole.

    ``stages`` are seconds of wall time by :data:`STAGES`, as the main process spends them: cutting ahead counts as reading,
    and `extract` is what it waits for workers. ``processor_seconds`` and ``peak_mb`` are those of this process,
    ``workers_processor_seconds`` those of all workers and ``largest_worker_mb`` the most memory that one of them had,
    on Linux no less than what this process had when it started them.
    """

    documents: int
    chunks: int
    statements: int
    tokens: int
    failures: int
    seconds: float
    documents_per_second: float
    chunks_per_second: float
    statements_per_second: float
    tokens_per_second: float
    stages: dict[str, float]
    processor_seconds: float
    workers_processor_seconds: float
    peak_mb: float
    largest_worker_mb: float
    disk_mb: float

    def lines(self) -> Iterator[tuple[str, float]]:
        """Yield what is measured by name, to be shown in a table."""
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, dict):
                yield from ((f"seconds: {stage}", seconds) for stage, seconds in value.items())
            else:
                yield name, value


class _Stages:
    """Listens to a run, and adds up the time between its events."""

    def __init__(self, also: Listener) -> None:
        self._also, self._stage, self._since = also, "read", time.perf_counter()
        self.seconds = dict.fromkeys(("", *STAGES), 0.0)

    def __call__(self, event: Event) -> None:
        if event.stage in _AFTER:
            self.close(_AFTER[event.stage])
        self._also(event)

    def close(self, next_stage: str = "") -> None:
        now = time.perf_counter()
        self.seconds[self._stage] += now - self._since
        self._stage, self._since = next_stage, now


def measure(
    folder: Path,
    paths: Sequence[Path],
    settings: Settings,
    *,
    documents: int | None = None,
    cores: int | None = None,
    on_event: Listener = lambda _: None,
) -> IngestFigures:
    """Take files and folders into new embedded stores below ``folder``, and return what that took.

    ``documents`` is how many at most, ``cores`` those that local models may use; by default all that there are, and as the
    settings say. Raise ``InvalidInput`` when there is nothing to take in.
    """
    chosen: dict[str, object] = {} if cores is None else {"threads": cores}
    stores = dict.fromkeys(("graph_store", "vector_store", "document_store", "registry", "cache"), "")
    settings = settings.model_copy(update={"data": folder / "data", **stores, **chosen})
    items = [one for one in _chosen(paths, documents, folder) if isinstance(one, FileItem)]
    if not items:
        raise InvalidInput("nothing to ingest: no supported files")
    processor, workers = _processor(resource.RUSAGE_SELF), _processor(resource.RUSAGE_CHILDREN)
    stages = _Stages(on_event)
    with LexicalGraphIndex(settings=settings) as index:
        began = time.perf_counter()
        report = index.ingest(items, tenant=settings.tenant, on_event=stages)
        seconds = time.perf_counter() - began
        stages.close()
        processor, workers = (
            _processor(resource.RUSAGE_SELF) - processor,
            _processor(resource.RUSAGE_CHILDREN) - workers,
        )
        peak = peak_resident_mb()
        tokens = sum(count_tokens(index.text(d, tenant=settings.tenant)) for d in index.documents(tenant=settings.tenant))
    return IngestFigures(
        documents=report.documents_new,
        chunks=report.chunks_new,
        statements=report.statements_created,
        tokens=tokens,
        failures=len(report.failures),
        seconds=round(seconds, 2),
        documents_per_second=round(report.documents_new / seconds, 2),
        chunks_per_second=round(report.chunks_new / seconds, 2),
        statements_per_second=round(report.statements_created / seconds, 2),
        tokens_per_second=round(tokens / seconds, 2),
        stages={stage: round(stages.seconds[stage], 2) for stage in STAGES},
        processor_seconds=round(processor, 2),
        workers_processor_seconds=round(workers, 2),
        peak_mb=peak,
        largest_worker_mb=largest_child_mb(),
        disk_mb=round(size_of(folder / "data") / 1e6, 1),
    )


def _processor(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _chosen(paths: Sequence[Path], most: int | None, folder: Path) -> Iterator[FileItem | Rejected]:
    """Yield files until they hold ``most`` documents; of a jsonl file that holds more, a copy of its first lines."""
    for item in scan(paths):
        if most is None or isinstance(item, Rejected):
            yield item
        elif most > 0 and item.type == "jsonl":
            with gzip.open(item.path) if item.path.name.lower().endswith(".gz") else item.path.open("rb") as stream:
                lines = list(islice((line for line in stream if line.strip()), most))
            copy = folder / "documents" / f"{most}.jsonl"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(b"".join(lines))
            most -= len(lines)
            yield FileItem(copy, item.uri, "jsonl")
        elif most > 0:
            most -= 1
            yield item
