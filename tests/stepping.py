"""Ingests driven step by step, as a workflow would: over a laptop's stores, with the light models of tests/models.py."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexigraph.ingestion.jobs import file_type
from lexigraph.ingestion.workflow.file_run import FileRun, Stale, begin
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.files.documents import FileDocumentStore
from lexigraph.storage.protocols import Stores
from tests.laptop import open_laptop
from tests.models import SentenceExtractor, WordEmbedder

DEFAULT = Tenant("default")
Step = Callable[[Callable[[], Any]], Any]


def once(step: Callable[[], Any]) -> Any:
    return step()


def twice(step: Callable[[], Any]) -> Any:
    step()
    return step()


def steps_over(
    folder: Path, stores: Stores | None = None, artefacts: type[FileDocumentStore] = FileDocumentStore, **settings: Any
) -> Steps:
    return Steps(
        Settings(data=folder, **settings),
        stores=stores or open_laptop(folder),
        artefacts=artefacts(f"file:///{folder}/artefacts"),
        embedder=WordEmbedder(),
        extractor=SentenceExtractor(),
    )


def begun(steps: Steps, path: Path, order: str, namespace: str = "default") -> FileRun:
    """Begin a run for a file, under the URI that an ingest of its path would give it."""
    uri, type_ = path.resolve().as_uri(), file_type(path.name)
    run = begin(steps.registry, DEFAULT, namespace, uri, type_, order, kind="ingest")
    assert run is not None
    return run


def drive(steps: Steps, run: FileRun, path: Path, do: Step = once) -> dict[str, Any]:
    """Bring a file in; ``do`` does each step."""
    do(lambda: steps.parse(run, path))
    work = do(lambda: steps.chunk(run))
    try:
        _extract_and_build(steps, run, work, do)
    except Stale:
        _extract_and_build(steps, run, do(lambda: steps.chunk(run, everything=True)), do)
    return do(lambda: steps.close(run))


def _extract_and_build(steps: Steps, run: FileRun, work: dict[str, Any], do: Step) -> None:
    batches = steps.artefacts(run).get("batches") or []
    assert len(batches) == work["batches"]
    for item in reversed(batches):  # side by side, in any order
        do(lambda batch=item["batch"]: steps.extract(run, batch))
    for part in work["parts"]:
        do(lambda part=part: steps.build(run, part))
        do(lambda part=part: steps.finish(run, part))


class _Deadly:
    """A real store that kills its process before the n-th call to any of them."""

    def __init__(self, store: Any, left: list[int]) -> None:
        self._store, self._left = store, left

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found
        self._left[0] -= 1
        if self._left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found


def killed_at(call: int, folder: Path, run: FileRun, path: Path) -> bool:
    """Drive a run in a process that is killed (-9) before that many calls to stores; tell whether it was still at work."""
    child = os.fork()
    if child == 0:
        try:
            left = [call]
            opened = open_laptop(folder)
            deadly = Stores(
                *(_Deadly(s, left) for s in (opened.graph, opened.vectors, opened.documents, opened.registry, opened.cache))
            )
            drive(steps_over(folder, deadly), run, path)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)
