"""Probes of the vector store: records of a tenant of their own, written, found, changed in part and removed."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from functions.probes.report import ProbeFailed, Report
from functions.probes.sample import TENANT, sample, unit_vectors
from functions.settings import settings
from lexigraph.model.filters import parse_expression
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.protocols import IndexName, SearchRequest, VectorRecord, VectorStore

_PATIENCE, _READING = 60.0, 20.0  # seconds; `query` has 29
_SHOWN_SECONDS, _LOOK_SECONDS = 150.0, 1.0
_LARGE_TEXTS, _LARGE_CHARS = 450, 20_000  # more than one request of 8 MiB
_CLOSE = 0.002  # by which a score may differ from the cosine
INDEXES: tuple[IndexName, ...] = ("chunk", "statement", "topic", "entity", "relation")
_NEXT_GEN = "make the collection in a NEXTGEN group: others take no ids of ours (deploy the vector stack again)"
_REPLACES = "records lose their vectors when their tags change: take no documents in, and report it with the probe's JSON"
_AS_NEW = "report it with the probe's JSON: the collection answers otherwise than AWS documents"


def write(report: Report) -> None:
    """Write records under ids of ours, wait for searches to show them, then change a part of them."""
    documents = sample(settings().embedding.dimension)
    with _opened(_PATIENCE) as store:
        with report.part("vectors.wake", "the first request, which wakes a collection that slept"):
            store.fetch(TENANT, "chunk", ["probe"])
        with report.part("vectors.ids", "indexes made, a bulk request with ids of ours"):
            _remove(store)
            store.upsert(TENANT, documents.records)
            if settings().connections["vector"].startswith("aoss:"):
                # written again under the same ids: no second record may come of it
                store.upsert(TENANT, documents.records)
        if report.results[-1].status == "failed":
            return
        wanted = {index: [row.id for row in rows] for index, rows in documents.records.items()}
        with report.part("vectors.visible", "until searches show what was written") as detail:
            detail["seconds"] = _until(lambda: store.visible(TENANT, wanted), "what was written is not shown")
            counted = {index: len(store.ids(TENANT, index)) for index in wanted}
            if counted != {index: len(set(keys)) for index, keys in wanted.items()}:
                raise ProbeFailed(f"written twice, records are there twice: {counted}", _NEXT_GEN)
        _search(report, store)
        with report.part("vectors.update", "a partial update, after which the vector is still searched by"):
            changed = [replace(source, metadata={"probe": "second"}) for source in documents.sources]
            store.tag(TENANT, changed)
            versions = {source.id: source.version for source in changed}
            _until(lambda: store.visible(TENANT, wanted, tagged=versions), "the update is not shown")
            row = documents.records["chunk"][0]
            second = SearchRequest("chunk", row.vector, k=5, filters=parse_expression("probe = second"))
            (found,) = store.search_many(TENANT, [second])
            _check_hit(found, row, "after a partial update", _REPLACES)


def large(report: Report) -> None:
    """Write more than fits one request, and remove it."""
    dimension = settings().embedding.dimension
    vectors = unit_vectors(_LARGE_TEXTS, dimension)
    text = (f"{'probe' * 40} " * _LARGE_CHARS)[:_LARGE_CHARS]
    rows = [VectorRecord(f"probe-{n}", text, "source:" + "0" * 32, f"probe-{n}", v) for n, v in enumerate(vectors)]
    with _opened(_PATIENCE) as store, report.part("vectors.large", "requests of 8 MiB"):
        store.upsert(TENANT, {"chunk": rows})
        store.delete(TENANT, {"chunk": [row.id for row in rows]})


def read(report: Report) -> None:
    """Search as `query` does."""
    with _opened(_READING) as store:
        _search(report, store)


def remove(report: Report) -> None:
    """Remove the records, and wait until searches show none."""
    with _opened(_PATIENCE) as store, report.part("vectors.remove", "records and tags removed") as detail:
        _remove(store)
        detail["seconds"] = _until(lambda: not _left(store), "what was removed is still shown")


def _search(report: Report, store: VectorStore) -> None:
    rows = sample(settings().embedding.dimension).records
    row = rows["chunk"][0]
    with report.part("vectors.search", "a multi-search by vector, by words and by names") as detail:
        asked = [
            SearchRequest("chunk", row.vector, k=5, vectors=True),
            SearchRequest("statement", text="Who leads the Heron Team?", k=5),
            SearchRequest("topic", rows["topic"][0].vector, ids=(rows["topic"][0].id,)),
        ]
        by_vector, by_words, by_id = store.search_many(TENANT, asked)
        detail["found"] = [len(hits) for hits in (by_vector, by_words, by_id)]
        _check_hit(by_vector, row, "by its own vector", _AS_NEW)
        if not any("Ines Calloway" in hit.text for hit in by_words):
            raise ProbeFailed("a statement is not found by its words", _AS_NEW)
        _check_hit(by_id, rows["topic"][0], "by its id", _AS_NEW)
    with report.part("vectors.score", "a vector comes back in full precision, and scores are cosines"):
        found = store.fetch(TENANT, "chunk", [row.id])
        vector = found[row.id].vector if row.id in found else None
        if vector is None or row.vector is None or not np.allclose(vector, row.vector, atol=1e-5):
            raise ProbeFailed("a vector does not come back as it was written", _AS_NEW)


def _check_hit(hits: list[Any], row: VectorRecord, how: str, remedy: str) -> None:
    first = hits[0] if hits else None
    if first is None or first.id != row.id or abs(first.score - 1) > _CLOSE:
        said = f"another, with {first.score}" if first else "nothing"
        raise ProbeFailed(f"a record is not found {how}: {said}", remedy)


def _remove(store: VectorStore) -> None:
    left = {index: store.ids(TENANT, index) for index in INDEXES}
    store.delete(TENANT, {index: keys for index, keys in left.items() if keys})
    store.delete(TENANT, {index: [r.id for r in rows] for index, rows in sample(store.dimension).records.items()})
    store.untag(TENANT, [source.id for source in sample(1).sources])


def _left(store: VectorStore) -> int:
    return sum(len(store.ids(TENANT, index)) for index in INDEXES)


def _until(holds: Callable[[], bool], otherwise: str) -> float:
    """Wait until it holds; return the seconds."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > _SHOWN_SECONDS:
            raise ProbeFailed(
                f"{otherwise} after {_SHOWN_SECONDS:.0f} s",
                "look at the collection's errors and capacity in CloudWatch, and raise vector_units",
            )
        time.sleep(_LOOK_SECONDS)
    return round(time.monotonic() - began, 1)


@contextmanager
def _opened(patience: float) -> Iterator[VectorStore]:
    at, embedding = settings().connections["vector"], settings().embedding
    options: dict[str, Any] = {"patience": patience} if at.startswith("aoss:") else {}
    with closing(VectorStoreFactory.for_vector_store(at, embedding=embedding, beside=True, **options)) as store:
        yield store
