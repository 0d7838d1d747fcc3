"""Another embedding beside the one in use: the same records, embedded by another model, in indexes of their own.

What is embedded is the text that stands in the indexes in use, so that no document is read and nothing is extracted.
Documents are brought over a few at a time under their leases, so that nobody changes them meanwhile; what is there already
is passed over, so that a run may be interrupted and repeated. A document is noted to have the new embedding when all its
records are seen in the new indexes: an ingest with that model then passes it over.

Readers keep to the embedding that they were started with. Text without vectors (names, labels of relations) and tags are
common to all embeddings, and what is removed is removed of all.
"""

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from lexigraph.inference.protocols import Embedder
from lexigraph.ingestion import marks, remove, repair
from lexigraph.ingestion.events import Event, Listener, recording
from lexigraph.ingestion.late import Ids, holding
from lexigraph.ingestion.models import embed
from lexigraph.ingestion.pipeline import job_lease
from lexigraph.model.errors import Conflict, InvalidInput, StoreUnavailable, code_of, in_general
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.protocols import VECTOR_INDEXES, DocumentRecord, IndexName, Stores, VectorStore

_DOCUMENTS, _CHUNKS = 32, 500  # held together at most, unless one document has more chunks
_PAGE = 500  # records a round trip
_LATE_GROUPS = 32  # groups written before the first of them is looked at again, where searches show writes late
_VISIBLE_SECONDS = 120.0

Missing = Mapping[IndexName, set[str]]


@dataclass(slots=True)
class ReembedReport:
    """The sum of a run from the embedding ``source`` to ``target``.

    ``documents`` are those that have all their ``records`` in the new indexes, ``unfinished`` those whose own ingest was
    interrupted or failed: the next one completes them. ``written`` are the records that this run added, ``embedded`` the
    texts that the model was given, ``removed`` records that had lost their document. ``missing`` records are in no index:
    an ingest with the new model makes them again. ``dropped``: the old records are gone.
    """

    source: str
    target: str
    job_id: str = ""
    documents: int = 0
    unfinished: int = 0
    records: int = 0
    written: int = 0
    embedded: int = 0
    removed: int = 0
    missing: int = 0
    dropped: bool = False
    elapsed_sec: float = 0.0


def embedding_of(label: str) -> EmbeddingModel:
    """Return what opens the indexes of a label such as ``minilm-384``. Raise ``InvalidInput`` for what is no label."""
    found = re.fullmatch(r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)-([1-9][0-9]{0,4})", label)
    if not found:
        raise InvalidInput(f"embedding {label[:80]!r}: give a label that ends with the dimension, such as minilm-384")
    return EmbeddingModel(found[1], int(found[2]))


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
    if old.label == new.label:
        raise InvalidInput(f"embedding {new.label}: is the one in use; name another model, or the label to come from")
    if embedder.label != new.label:
        raise InvalidInput(f"the vector store was opened for {new.label}, the embedder is {embedder.label}")
    owner, began = Tenant(tenant), time.perf_counter()
    asked = {"from": old.label, "to": new.label, "drop_old": drop_old}
    report = ReembedReport(old.label, new.label, stores.registry.start_job(owner, "reembed", asked).id)
    tell = recording(stores, owner, report.job_id, on_event)
    try:
        with stores.registry.lease(owner, [job_lease(report.job_id)]):
            _Reembedding(stores, old, new, embedder, owner, report, tell, only=drop_old).run()
            if drop_old and report.missing:
                raise Conflict(
                    f"{report.missing:,} records are neither in {old.label} nor in {new.label}, so nothing was dropped: "
                    "ingest their documents again first (`lexigraph doctor` names them)"
                )
            if drop_old:
                old.drop(owner)
                report.dropped = True
    except BaseException as error:
        report.elapsed_sec = round(time.perf_counter() - began, 3)
        failed = {**asdict(report), "error": code_of(error)}
        stores.registry.finish_job(owner, report.job_id, "FAILED", failed, in_general(error))
        raise
    report.elapsed_sec = round(time.perf_counter() - began, 3)
    tell(Event("result", asdict(report)))
    tell(Event("done"))
    stores.registry.finish_job(owner, report.job_id, "SUCCEEDED", asdict(report))
    return report


class _Reembedding:
    """One run. ``only``: documents are noted to have the new embedding and no other."""

    def __init__(
        self,
        stores: Stores,
        old: VectorStore,
        new: VectorStore,
        embedder: Embedder,
        tenant: Tenant,
        report: ReembedReport,
        tell: Listener,
        *,
        only: bool,
    ) -> None:
        self._stores, self._old, self._new, self._embedder = stores, old, new, embedder
        self._tenant, self._report, self._tell, self._only = tenant, report, tell, only
        self._late: deque[tuple[list[str], Ids]] = deque()  # written, not seen yet: documents and their records
        self._held: list[str] = []  # documents that others work on

    def run(self) -> None:
        """Bring every document over, then take away records that have lost theirs."""
        total = sum(n for state, n in self._stores.registry.stats(self._tenant).items() if state != "jobs")
        for group in _groups(repair.records(self._stores, self._tenant)):
            self._bring(group)
            while len(self._late) > _LATE_GROUPS:
                self._look_again()
            self._progress(total)
        until = remove.deadline()
        while self._late or self._held:
            while self._late:
                self._look_again()
            if self._held:
                held, self._held = self._held, []
                remove.pause(until)
                for at in range(0, len(held), _DOCUMENTS):
                    self._bring(held[at : at + _DOCUMENTS])
            self._progress(total)
        for index in VECTOR_INDEXES:
            self._remove_strays(index)

    def _progress(self, total: int) -> None:
        done = self._report.documents + self._report.unfinished
        self._tell(Event("documents", {"records": self._report.written}, done, max(done, total)))

    def _bring(self, ids: Sequence[str]) -> None:
        """Write what is missing of documents that nobody else holds, and note those that are whole."""
        written: dict[str, Ids] = {}
        with holding(self._stores, self._tenant, ids, written) as mine:
            self._held += [i for i in ids if i not in mine]
            known = self._stores.registry.records(self._tenant, sorted(mine))
            here = {i: self._nodes(i) for i, r in known.items() if r.state != "REMOVING"}
            written.update(here)
            every = _together(here.values())
            missing = self._write(every)
            if not self._visible(every, but=missing):
                self._late.append((list(here), {n: [i for i in every[n] if i not in missing[n]] for n in every}))
                return
            self._note([known[i] for i in here], here, missing)

    def _note(self, known: Sequence[DocumentRecord], here: Mapping[str, Ids], missing: Missing) -> None:
        """Count documents, and note those that have all their records as having the new embedding."""
        changed = []
        for r in known:
            ids = here[r.source_id]
            lost = sum(i in missing[name] for name in ids for i in ids[name])
            if r.state != "READY":
                self._report.unfinished += 1
                continue
            self._report.documents += not lost
            self._report.missing += lost
            self._report.records += sum(map(len, ids.values())) - lost
            had = marks.labels(r.fingerprint)
            has = had - {self._new.label} if lost else had | {self._new.label}
            has = has & {self._new.label} if self._only else has
            if has != had:
                changed.append(replace(r, fingerprint=marks.labelled(r.fingerprint, has)))
        if changed:
            self._stores.registry.save(self._tenant, changed)

    def _write(self, wanted: Ids) -> dict[IndexName, set[str]]:
        """Embed and write the records that the new indexes lack; return those that the old ones lack as well."""
        missing: dict[IndexName, set[str]] = {index: set() for index in wanted}
        for index, part in _pages(wanted):
            if self._new.visible(self._tenant, {index: part}):
                continue
            there = self._new.fetch(self._tenant, index, part)
            lacking = [i for i in part if i not in there]
            found = self._old.fetch(self._tenant, index, lacking)
            missing[index] |= set(lacking) - found.keys()
            rows = [found[i] for i in lacking if i in found]
            vectors, asked = embed(self._embedder, self._stores.cache, self._tenant, [row.text for row in rows])
            made = [replace(row, vector=vector) for row, vector in zip(rows, vectors, strict=True)]
            if made:
                self._new.upsert(self._tenant, {index: made})
            self._report.written += len(made)
            self._report.embedded += asked
        return missing

    def _look_again(self) -> None:
        """Wait until searches show a group that was written, then look whether it is whole."""
        documents, wanted = self._late.popleft()
        deadline, pause = time.monotonic() + _VISIBLE_SECONDS, 0.05
        while not self._visible(wanted):
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"the vector store does not show new records after {_VISIBLE_SECONDS:.0f} s; run again"
                )
            time.sleep(pause)
            pause = min(2 * pause, 5.0)
            still = _together([self._nodes(i) for i in documents])  # what was removed meanwhile never shows
            wanted = {index: sorted({*wanted[index]} & {*still[index]}) for index in wanted}
        self._bring(documents)

    def _visible(self, wanted: Ids, *, but: Missing | None = None) -> bool:
        parts = ((index, [i for i in part if i not in (but or {}).get(index, ())]) for index, part in _pages(wanted))
        return all(self._new.visible(self._tenant, {index: part}) for index, part in parts)

    def _remove_strays(self, index: IndexName) -> None:
        """Take away records of the new index whose documents went while they were written."""
        old = set(self._old.ids(self._tenant, index))
        more = [i for i in self._new.ids(self._tenant, index) if i not in old]
        for _, part in _pages({index: more}):
            rows = self._new.fetch(self._tenant, index, part).values()
            with self._stores.registry.lease(self._tenant, sorted({row.source_id for row in rows})) as mine:
                nodes = {source: set(self._nodes(source)[index]) for source in mine}
                strays = [row.id for row in rows if row.source_id in nodes and row.id not in nodes[row.source_id]]
                if strays:
                    self._new.delete(self._tenant, {index: strays})
            self._report.removed += len(strays)

    def _nodes(self, source_id: str) -> dict[IndexName, Sequence[str]]:
        nodes = self._stores.graph.node_ids(self._tenant, source_id)
        return {"chunk": nodes.chunks, "statement": nodes.statements, "topic": nodes.topics}


def _groups(records: Iterable[DocumentRecord]) -> Iterator[list[str]]:
    group: list[str] = []
    chunks = 0
    for record in records:
        if group and (len(group) >= _DOCUMENTS or chunks + record.chunks > _CHUNKS):
            yield group
            group, chunks = [], 0
        group.append(record.source_id)
        chunks += record.chunks
    if group:
        yield group


def _together(parts: Iterable[Ids]) -> dict[IndexName, list[str]]:
    every = list(parts)
    return {index: list(dict.fromkeys(i for ids in every for i in ids[index])) for index in VECTOR_INDEXES}


def _pages(wanted: Ids) -> Iterator[tuple[IndexName, list[str]]]:
    for index, ids in wanted.items():
        for at in range(0, len(ids), _PAGE):
            yield index, list(ids[at : at + _PAGE])
