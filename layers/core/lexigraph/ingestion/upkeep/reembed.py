"""Another embedding beside the one in use: the same records, embedded by another model, in indexes of their own.

What is embedded is the text that stands in the indexes in use, so that no document is read and nothing is extracted.
Documents are brought over a few at a time under their leases, so that nobody changes them meanwhile; what is there already
is passed over, so that a run may be interrupted and repeated. A document is noted to have the new embedding when all its
records are seen in the new indexes: an ingest with that model then passes it over.

:func:`reembed` does a run in one go, :func:`reembed_from` a part of it, for who may not work that long at a time.

Readers keep to the embedding that they were started with. Text without vectors (names, labels of relations) and tags are
common to all embeddings, and what is removed is removed of all.
"""

import math
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from pydantic import ValidationError

from lexigraph.inference.protocols import Embedder
from lexigraph.ingestion import marks, remove
from lexigraph.ingestion.events import Event, Listener, end, recording
from lexigraph.ingestion.models import embed
from lexigraph.ingestion.pipeline import job_lease
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.upkeep.late import Ids, holding
from lexigraph.ingestion.upkeep.reembed_progress import Place, ReembedReport
from lexigraph.ingestion.versions import looks
from lexigraph.model.batches import batched
from lexigraph.model.errors import Conflict, InvalidInput, code_of, in_general
from lexigraph.model.numbers import counted
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.protocols import VECTOR_INDEXES, DocumentRecord, IndexName, Stores, VectorStore

_DOCUMENTS, _CHUNKS = 32, 500  # held together at most, unless one document has more chunks
_PAGE = 500  # records a round trip
_LATE_GROUPS = 32  # groups written before the first of them is looked at again, where searches show writes late
_LEFT = 1_000  # documents put off at most: their ids are what one part of a run hands on to the next

Missing = Mapping[IndexName, set[str]]


def embedding_of(label: str) -> EmbeddingModel:
    """Return what opens the indexes of a label such as ``minilm-384``. Raise ``InvalidInput`` for what is no label."""
    found = re.fullmatch(r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)-([1-9][0-9]{0,4})", label)
    if not found:
        raise InvalidInput(f"embedding {label[:80]!r}: the label must end with the dimension, as in minilm-384")
    return EmbeddingModel(found[1], int(found[2]))


def settings_with(
    settings: Settings, model: str, dimension: int | None = None, options: Mapping[str, Any] | None = None
) -> Settings:
    """Return settings with another embedding model; dimension and options of the one before do not hold for it.

    Raise ``InvalidInput`` for values that settings cannot have.
    """
    new = {"embedding_model": model, "embedding_dimension": dimension, "embedding_options": dict(options or {})}
    try:
        return Settings(**{**settings.model_dump(), **new})
    except ValidationError as error:
        first = error.errors()[0]  # without what was given: options may hold keys
        raise InvalidInput(f"{first['loc'][0]}: {first['msg']}") from None


@contextmanager
def side_by_side(settings: Settings, *embeddings: EmbeddingModel) -> Iterator[list[VectorStore]]:
    """Open the vector store of the settings for each of these embeddings. Raise as ``VectorStoreFactory``."""
    where = settings.connections["vector"]
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(VectorStoreFactory.for_vector_store(where, embedding=one, beside=True)))
            for one in embeddings
        ]


def reembed(
    stores: Stores,
    old: VectorStore,
    new: VectorStore,
    embedder: Embedder,
    *,
    tenant: str = "default",
    drop_old: bool = False,
    on_event: Listener = lambda _: None,
) -> ReembedReport:
    """Bring all records of a tenant from one embedding to another; with ``drop_old`` delete the old ones then.

    ``old`` and ``new`` are one vector store, opened for both embeddings (``beside``). Raise ``InvalidInput`` when they or
    the embedder do not fit each other, ``Conflict`` when others hold documents for too long or, with ``drop_old``, records
    are missing, ``StoreUnavailable`` and ``ModelUnavailable`` when it cannot go on: run it again, it continues.
    """
    _refuse_others(old, new, embedder)
    owner, began = Tenant(tenant), time.perf_counter()
    asked = {"from": old.label, "to": new.label, "drop_old": drop_old}
    report = ReembedReport(old.label, new.label, stores.registry.start_job(owner, "reembed", asked).id)
    tell, at = recording(stores.registry, owner, report.job_id, on_event), Place()
    try:
        with stores.registry.lease(owner, [job_lease(report.job_id)]):
            run = _Reembedding(stores, old, new, embedder, owner, report, tell, drop_old)
            while at.part != "done":
                at = run.go_on(at)
    except BaseException as error:
        report.elapsed_sec = round(time.perf_counter() - began, 3)
        failed = {**asdict(report), "error": code_of(error)}
        stores.registry.finish_job(owner, report.job_id, "FAILED", failed, in_general(error))
        raise
    _end(stores, owner, report, tell, began)
    return report


def reembed_from(
    stores: Stores,
    old: VectorStore,
    new: VectorStore,
    embedder: Embedder,
    at: Place,
    report: ReembedReport,
    *,
    tenant: str = "default",
    drop_old: bool = False,
    seconds: float,
) -> Place:
    """Do a part of :func:`reembed` from a place on, for about ``seconds``; return where to go on.

    ``report`` is that of the parts before, and counts on; its job must run, and has succeeded in the end. A part may be
    repeated: what is there is passed over. One page of records at least is written, if any is lacking. Strays and old
    records have parts of their own, which take the time that they need. Raise as :func:`reembed`, also ``Conflict`` while
    the same job is worked on elsewhere, or where nothing could be done in this time because others hold all that is left.
    The job then goes on running: what becomes of it is the caller's to say.
    """
    _refuse_others(old, new, embedder)
    owner, began = Tenant(tenant), time.perf_counter()
    tell = recording(stores.registry, owner, report.job_id)
    with stores.registry.lease(owner, [job_lease(report.job_id)]) as mine:
        if not mine:
            raise Conflict(f"job {report.job_id}: another process is working on it; try again later")
        run = _Reembedding(stores, old, new, embedder, owner, report, tell, drop_old, seconds)
        at = run.go_on(at)
        if at.part == "done":
            _end(stores, owner, report, tell, began)
        else:
            report.elapsed_sec = round(report.elapsed_sec + time.perf_counter() - began, 3)
    return at


def _refuse_others(old: VectorStore, new: VectorStore, embedder: Embedder) -> None:
    if old.label == new.label:
        raise InvalidInput(f"embedding {new.label}: is already in use: choose another model, or pass the old label")
    if embedder.label != new.label:
        raise InvalidInput(f"the vector store was opened for {new.label}, but the embedder is {embedder.label}")


def _end(stores: Stores, owner: Tenant, report: ReembedReport, tell: Listener, began: float) -> None:
    report.elapsed_sec = round(report.elapsed_sec + time.perf_counter() - began, 3)
    end(stores.registry, owner, report.job_id, asdict(report), tell)


@dataclass
class _Reembedding:
    """One run, or the part of one that is done in so many seconds. With ``drop_old`` no other embedding is noted."""

    stores: Stores
    old: VectorStore
    new: VectorStore
    embedder: Embedder
    tenant: Tenant
    report: ReembedReport
    tell: Listener
    drop_old: bool
    seconds: float = math.inf

    def __post_init__(self) -> None:
        self._late: deque[tuple[list[str], Ids]] = deque()  # written, not seen yet: documents and their records
        self._left: list[str] = []  # documents that others work on, or that there was no time for
        self._until, self._moved = time.monotonic() + self.seconds, False

    def go_on(self, at: Place) -> Place:
        """Do a part, of the documents as many as there is time for; return where to go on."""
        if at.part == "documents":
            return self._documents(at)
        if at.part == "strays":
            for index in VECTOR_INDEXES:
                self._remove_strays(index)
            return Place("old" if self.drop_old else "done")
        if missing := self.report.missing:
            left = counted(missing, "record is", "records are")
            raise Conflict(
                f"{left} in neither {self.old.label} nor {self.new.label}, so nothing was dropped: "
                "ingest their documents again first (`lexigraph doctor` names them)"
            )
        self.old.drop(self.tenant)
        self.report.dropped = True
        return Place("done")

    def _documents(self, at: Place) -> Place:
        """Bring documents over, and in the end those that were left."""
        total = sum(n for state, n in self.stores.registry.stats(self.tenant).items() if state != "jobs")
        after, self._left, more = at.after, list(at.left), True
        for uri, group in _groups(repair.records(self.stores.registry, self.tenant, after=after)):
            if self._is_over() or len(self._left) > _LEFT:
                break
            self._bring(group)
            after = uri
            while len(self._late) > _LATE_GROUPS:
                self._look_again()
            self._progress(total)
        else:
            more = False
        self._look_at_all()
        self._bring_left(total)
        return Place("documents", after, tuple(self._left)) if more or self._left else Place("strays")

    def _bring_left(self, total: int) -> None:
        """Bring over what was left, until nothing is or the time is up. Raise ``Conflict`` when nothing could be done."""
        until = min(remove.deadline(), self._until)
        while self._left and not self._is_over():
            left, self._left = self._left, []
            for some in batched(left, _DOCUMENTS):
                self._bring(some)
            self._look_at_all()
            self._progress(total)
            if self._left and not self._is_over():
                remove.pause(until)

    def _look_at_all(self) -> None:
        while self._late:
            self._look_again()

    def _is_over(self) -> bool:
        """Whether the time is up, and was of use."""
        return self._moved and time.monotonic() >= self._until

    def _progress(self, total: int) -> None:
        done = self.report.documents + self.report.unfinished
        self.tell(Event("documents", {"records": self.report.written}, done, max(done, total)))

    def _bring(self, ids: Sequence[str]) -> None:
        """Write what is missing of documents that nobody else holds, and note those that are whole."""
        written: dict[str, Ids] = {}
        with holding(self.stores, self.tenant, ids, written) as mine:
            self._left += [i for i in ids if i not in mine]
            known = self.stores.registry.records(self.tenant, sorted(mine))
            here = {i: self._nodes(i) for i, r in known.items() if r.state != "REMOVING"}
            written.update(here)
            every = _together(here.values())
            missing = self._write(every)
            if missing is None:
                self._left += here
                return
            if not self._visible(every, but=missing):
                self._late.append((list(here), {n: [i for i in every[n] if i not in missing[n]] for n in every}))
                return
            self._note([known[i] for i in here], here, missing)

    def _note(self, known: Sequence[DocumentRecord], here: Mapping[str, Ids], missing: Missing) -> None:
        """Count documents, and note those that have all their records as having the new embedding."""
        changed = []
        self._moved |= bool(known)
        for r in known:
            ids = here[r.source_id]
            lost = sum(i in missing[name] for name in ids for i in ids[name])
            if r.state != "READY":
                self.report.unfinished += 1
                continue
            self.report.documents += not lost
            self.report.missing += lost
            self.report.records += sum(map(len, ids.values())) - lost
            had = marks.labels(r.fingerprint)
            has = had - {self.new.label} if lost else had | {self.new.label}
            has = has & {self.new.label} if self.drop_old else has
            if has != had:
                changed.append(replace(r, fingerprint=marks.labelled(r.fingerprint, has)))
        if changed:
            self.stores.registry.save(self.tenant, changed)

    def _write(self, wanted: Ids) -> dict[IndexName, set[str]] | None:
        """Embed and write the records that the new indexes lack; return those that the old ones lack as well.

        None: the time was up before all was there.
        """
        missing: dict[IndexName, set[str]] = {index: set() for index in wanted}
        for index, part in _pages(wanted):
            if self.new.visible(self.tenant, {index: part}):
                continue
            if self._is_over():
                return None
            there = self.new.fetch(self.tenant, index, part)
            lacking = [i for i in part if i not in there]
            found = self.old.fetch(self.tenant, index, lacking)
            missing[index] |= set(lacking) - found.keys()
            rows = [found[i] for i in lacking if i in found]
            vectors, asked = embed(self.embedder, self.stores.cache, self.tenant, [row.text for row in rows])
            made = [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]
            if made:
                self.new.upsert(self.tenant, {index: made})
                self._moved = True
            self.report.written += len(made)
            self.report.embedded += len(asked)
        return missing

    def _look_again(self) -> None:
        """Wait until searches show a group that was written, then look whether it is whole."""
        documents, wanted = self._late.popleft()
        waiting = looks("new records")
        while not self._visible(wanted):
            next(waiting)
            still = _together([self._nodes(i) for i in documents])  # what was removed meanwhile never shows
            wanted = {index: sorted({*wanted[index]} & {*still[index]}) for index in wanted}
        self._bring(documents)

    def _visible(self, wanted: Ids, *, but: Missing | None = None) -> bool:
        parts = ((index, [i for i in part if i not in (but or {}).get(index, ())]) for index, part in _pages(wanted))
        return all(self.new.visible(self.tenant, {index: part}) for index, part in parts)

    def _remove_strays(self, index: IndexName) -> None:
        """Take away records of the new index whose documents went while they were written."""
        old = set(self.old.ids(self.tenant, index))
        more = [i for i in self.new.ids(self.tenant, index) if i not in old]
        for _, part in _pages({index: more}):
            rows = self.new.fetch(self.tenant, index, part).values()
            with self.stores.registry.lease(self.tenant, sorted({row.source_id for row in rows})) as mine:
                nodes = {source: set(self._nodes(source)[index]) for source in mine}
                strays = [row.id for row in rows if row.source_id in nodes and row.id not in nodes[row.source_id]]
                if strays:
                    self.new.delete(self.tenant, {index: strays})
            self.report.removed += len(strays)

    def _nodes(self, source_id: str) -> dict[IndexName, Sequence[str]]:
        nodes = self.stores.graph.node_ids(self.tenant, source_id)
        return {"chunk": nodes.chunks, "statement": nodes.statements, "topic": nodes.topics}


def _groups(records: Iterable[DocumentRecord]) -> Iterator[tuple[str, list[str]]]:
    """Yield documents to be held together, with the last uri among them; those of one uri are never parted."""
    group: list[str] = []
    last, chunks = "", 0
    for uri, same in groupby(records, key=lambda record: record.uri):
        of_uri = list(same)
        more = sum(record.chunks for record in of_uri)
        if group and (len(group) + len(of_uri) > _DOCUMENTS or chunks + more > _CHUNKS):
            yield last, group
            group, chunks = [], 0
        group += [record.source_id for record in of_uri]
        last, chunks = uri, chunks + more
    if group:
        yield last, group


def _together(parts: Iterable[Ids]) -> dict[IndexName, list[str]]:
    every = list(parts)
    return {index: list(dict.fromkeys(i for ids in every for i in ids[index])) for index in VECTOR_INDEXES}


def _pages(wanted: Ids) -> Iterator[tuple[IndexName, list[str]]]:
    for index, ids in wanted.items():
        yield from ((index, page) for page in batched(ids, _PAGE))
