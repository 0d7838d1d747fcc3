"""A group of documents becomes a group of versions: extract, embed, write, then show and collect.

Each step may be repeated. Until :func:`show` publishes them readers see nothing of the new versions; whatever stops the
run, the next one continues from the graph, the registry and the cache. Whoever runs the whole ingest in process
(:mod:`lexigraph.ingestion.run`) and whoever runs it step by step (:mod:`lexigraph.ingestion.workflow.steps`) share these.
"""

import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion import marks
from lexigraph.ingestion.build import FAILED, IdentifiedChunk, chunk_graph, records, yield_of
from lexigraph.ingestion.events import PART_CHUNKS, Event, IngestReport, Listener
from lexigraph.ingestion.files import files_of, hash_of
from lexigraph.ingestion.models import CachedModels, Use, embedding_use, extraction_use
from lexigraph.ingestion.pace import Pace, repeating
from lexigraph.ingestion.senses import renamed
from lexigraph.model.document import ChunkText, LoadedDocument
from lexigraph.model.errors import Conflict, StoreUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.model.graph import ChunkGraph, Placement, Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import (
    VECTOR_INDEXES,
    DocumentRecord,
    DocumentState,
    Doomed,
    IndexName,
    SourceVersion,
    Stores,
    VectorRecord,
)

_VISIBLE_SECONDS = 120.0
# So that two hundred files that end at once ask less often for one lease than DynamoDB lets an item be written to
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.25, 5.0
_WORD = re.compile(r"\S+")
_PAGE = "\f"


@dataclass(slots=True)
class Plan:
    """A document on its way to its next version: ``new`` are the chunks that the live version does not have.

    Of a document that goes in parts (:func:`in_parts`), ``later`` are the new chunks of the parts to come, which are not yet
    among ``chunks``; ``new`` and ``graphs`` are those of one part.
    """

    document: LoadedDocument
    source: Source
    fingerprint: str
    extractor: str
    record: DocumentRecord | None
    chunks: list[IdentifiedChunk]
    new: list[IdentifiedChunk]
    live: frozenset[str] = frozenset()  # chunks that readers see now
    graphs: list[ChunkGraph] = field(default_factory=list)
    failed_pairs: int = 0  # neighbouring chunks that could not be related
    kept: int = 0  # chunks whose new extraction failed, so that what they yielded before stays
    later: list[IdentifiedChunk] = field(default_factory=list)
    placed: int = 0  # chunks that were written, or stay
    files: dict[str, str] = field(default_factory=dict)  # hashes of those that were written, by name
    records: dict[IndexName, dict[str, None]] = field(default_factory=dict)  # ids of all records that are new

    def add(self, tenant: Tenant, chunk: IdentifiedChunk, extraction: Extraction) -> None:
        """Add a new chunk, now that it is known what it yields."""
        graph = chunk_graph(tenant, self.source.id, chunk, extraction)
        self.chunks.append(chunk)
        self.new.append(chunk)
        self.graphs.append(graph)
        for index, rows in records(self.source.id, chunk, graph).items():
            self.records.setdefault(index, {}).update(dict.fromkeys(row.id for row in rows))

    @property
    def placements(self) -> dict[str, Placement]:
        """The whole version: every chunk and its place."""
        return {c.id: c.placement for c in self.chunks}

    @property
    def embedded(self) -> bool:
        """Whether the live version has all its vectors of the embedding at hand."""
        return self.record is not None and marks.labels(self.fingerprint) <= marks.labels(self.record.fingerprint)


@dataclass(frozen=True, slots=True)
class Written:
    """A version that stands in all stores and is not shown yet: its source, what is new in the indexes (ids of records), and
    its record to be.
    """

    source: Source
    new: Mapping[IndexName, tuple[str, ...]]
    ready: DocumentRecord


def up_to_date(stores: Stores, tenant: Tenant, wanted: Mapping[str, str]) -> set[str]:
    """Return the documents that readers see as made from and with what ``wanted`` says (fingerprints by source id)."""
    known = stores.registry.fingerprints(tenant, list(wanted))
    ready = {i for i, (state, known_as) in known.items() if state == "READY" and marks.covers(known_as, wanted[i])}
    return ready & stores.graph.sources(tenant, list(known)).keys()


def known_yields(record: DocumentRecord | None, extractor: str, label: str, *, fresh: bool = False) -> dict[str, str]:
    """Return what chunks are known to yield: nothing of another extractor, and no failures, which are tried again.

    After an interrupted attempt nothing is known either: it may have overwritten records of chunks that readers see, so
    all are written once more, out of the cache. Likewise where vectors of the embedding ``label`` are missing.
    """
    if fresh or record is None or record.extractor != extractor or record.state != "READY":
        return {}
    if label not in marks.labels(record.fingerprint):
        return {}
    return {key: how for key, how in record.extractions.items() if how != FAILED}


def in_parts(plans: Sequence[Plan]) -> Iterator[None]:
    """Give the plans their new chunks in parts, each to be extracted and written before the next one is taken.

    What a part yields is not kept for the next one: a document of any length then needs no more memory than a part.
    """
    for p in plans:
        p.new, p.later = p.new[:PART_CHUNKS], p.new[PART_CHUNKS:]
        apart = {c.key for c in p.later}
        p.chunks = [c for c in p.chunks if c.key not in apart] if apart else p.chunks
    yield
    while any(p.later for p in plans):
        for p in plans:
            p.new, p.later, p.graphs = p.later[:PART_CHUNKS], p.later[PART_CHUNKS:], []
            p.chunks = sorted([*p.chunks, *p.new], key=lambda c: c.chunk.seq)
        yield


def extract(
    plans: Sequence[Plan],
    models: CachedModels,
    tenant: Tenant,
    report: IngestReport,
    pace: Pace,
    *,
    aliases: bool = True,
) -> None:
    """Extract the new chunks of all plans, and make the contributions to the graph out of them, perhaps but for aliases."""
    wanted = [(p, c) for p in plans for c in p.new]
    failures = _Failures(wanted, report, pace)
    with pace.extracting():
        found, asked = models.extract(tenant, [c.chunk for _, c in wanted], pace.advance, failures.report)
    report.extracted += asked
    report.dropped += sum(len(extraction.dropped) for extraction in found)
    of_plan: dict[str, dict[str, Extraction]] = {p.source.id: {} for p in plans}
    for (p, c), extraction in zip(wanted, found, strict=True):
        meant = renamed(extraction, p.source.means)
        of_plan[p.source.id][c.key] = meant if aliases else replace(meant, aliases=())
        if extraction.failed:
            failures.report(c.chunk, extraction.failed)
    for p in plans:
        _resolve(p, of_plan[p.source.id], tenant)


class _Failures:
    """Reports each chunk without a usable extraction, wherever its content stands, once."""

    def __init__(self, wanted: Sequence[tuple[Plan, IdentifiedChunk]], report: IngestReport, pace: Pace) -> None:
        self._report, self._pace = report, pace
        self._places: dict[str, list[tuple[LoadedDocument, ChunkText]]] = {}
        for p, c in wanted:
            self._places.setdefault(c.chunk.content, []).append((p.document, c.chunk))

    def report(self, chunk: ChunkText, reason: str) -> None:
        """Tell of the chunks of this content, unless that was done."""
        for document, one in self._places.pop(chunk.content, ()):
            where = f"chunk at {place(document, one)}"
            self._pace.fail(document.uri, f"{where}: {reason}")
            self._report.chunk_failed(document.uri, where, reason)


def place(document: LoadedDocument, chunk: ChunkText) -> str:
    """Return where a chunk stands, for people: from which character to which, on which page, under which headings."""
    page = f", page {document.text.count(_PAGE, 0, chunk.start) + 1}" if _PAGE in document.text else ""
    path = " > ".join(" ".join(heading.split()) for heading in chunk.headings)
    return f"characters {chunk.start:,} to {chunk.end:,}{page}{f', under {path}' if path else ''}"


def _resolve(p: Plan, found: Mapping[str, Extraction], tenant: Tenant) -> None:
    """Give the new chunks their ids, now that their yield is known, and make their contributions."""
    before = p.record.extractions if p.record and p.record.extractor == p.extractor else {}
    chunks, p.chunks, p.new = p.chunks, [], []
    for c in chunks:
        extraction = found.get(c.key)
        good = before.get(c.key, FAILED) != FAILED
        if extraction is None:
            p.chunks.append(c)
        elif extraction.failed and good:
            p.chunks.append(c.yielding(tenant, p.source.id, before[c.key]))
            p.kept += 1
        else:
            p.add(tenant, c.yielding(tenant, p.source.id, yield_of(extraction)), extraction)


def write(
    plans: Sequence[Plan],
    stores: Stores,
    models: CachedModels,
    tenant: Tenant,
    report: IngestReport,
    tell: Listener,
) -> None:
    """Write the versions: registry, cache ownership, text, graph, then vectors. Readers see none of it yet."""
    made: dict[IndexName, list[VectorRecord]] = {"chunk": [], "statement": [], "topic": [], "relation": []}
    uses: dict[str, list[Use]] = {}
    for p in plans:
        for c, graph in zip(p.new, p.graphs, strict=True):
            of_chunk = records(p.source.id, c, graph)
            uses[c.id] = [extraction_use(models.extractor, c.chunk)]
            for index, rows in of_chunk.items():
                made[index] += rows
                if index in VECTOR_INDEXES:
                    uses[c.id] += [embedding_use(models.embedder, row.text) for row in rows]
    texts = list(dict.fromkeys(row.text for index in VECTOR_INDEXES for row in made[index]))
    tell(Event("embedding", {}, 0, len(texts)))
    vectors, asked = _embed(texts, models, tenant, tell)
    report.embedded += len(asked)
    report.chunks_embedded += sum(row.text in asked for row in made["chunk"])
    tell(Event("embedding_batch", {"detail": "batch_ok", "embedded": len(asked)}, len(texts), len(texts)))
    at = {text: row for row, text in enumerate(texts)}
    ids = [p.source.id for p in plans]
    stores.registry.save(tenant, [_record(p, "BUILDING") for p in plans])
    for p in plans:
        if not p.placed:
            stores.registry.fence(tenant, ids)
            for name, data in files_of(p.document, p.source).items():
                stores.documents.put(tenant, p.source.id, name, data)
                p.files[name] = hash_of(data)
    stores.registry.fence(tenant, ids)
    stores.graph.write(tenant, [SourceVersion(p.source, p.placements, tuple(p.graphs)) for p in plans])
    # owners are in the graph by now, so that whatever removes them finds what they own
    stores.registry.fence(tenant, ids)
    stores.cache.own(tenant, uses)
    unique = {index: list({row.id: row for row in rows}.values()) for index, rows in made.items()}
    for index in VECTOR_INDEXES:
        unique[index] = [replace(row, vector=vectors[at[row.text]]) for row in unique[index]]
    stores.registry.fence(tenant, ids)
    stores.vectors.tag(tenant, [p.source for p in plans])
    stores.registry.fence(tenant, ids)
    stores.vectors.upsert(tenant, unique)
    tell(Event("schema_index", {"name": stores.vectors.label, "dimension": stores.vectors.dimension}))
    report.chunks_new += sum(len(p.new) for p in plans)
    report.chunks_skipped += sum(len(p.chunks) - len(p.new) - p.placed for p in plans)
    report.statements_created += sum(len(g.statements) for p in plans for g in p.graphs)
    for p in plans:
        p.placed = len(p.chunks)


def _embed(texts: Sequence[str], models: CachedModels, tenant: Tenant, tell: Listener) -> tuple[FloatArray, frozenset[str]]:
    step = [Event("embedding_progress", {}, 0, len(texts))]

    def advance(done: int, total: int) -> None:
        step[0] = Event("embedding_progress", {}, done, total)
        tell(step[0])

    with repeating(lambda: tell(step[0])):
        return models.embed(tenant, texts, advance)


def _record(p: Plan, state: DocumentState) -> DocumentRecord:
    failed = p.kept + sum(c.yielded == FAILED for c in p.chunks)
    ready = state == "READY"
    fingerprint = p.fingerprint
    if failed or p.failed_pairs:
        # chunks that stay as they were have the vectors that they had
        fingerprint = marks.again(p.fingerprint) if p.embedded or not p.kept else ""
    return DocumentRecord(
        source_id=p.source.id,
        uri=p.source.uri,
        namespace=p.source.namespace,
        title=p.source.title,
        state=state,
        version=p.source.version if ready else p.source.version - 1,
        # without a fingerprint the next run looks at the document again
        fingerprint=fingerprint if ready else "",
        metadata=p.source.metadata,
        intended=tuple(c.id for c in p.chunks),
        extractions={c.key: c.yielded for c in p.chunks} if ready else (p.record.extractions if p.record else {}),
        extractor=p.extractor if ready or not p.record else p.record.extractor,
        chunks=len(p.chunks),
        characters=len(p.document.text),
        words=sum(1 for _ in _WORD.finditer(p.document.text)),
        failed_chunks=failed,
        files=p.files if ready else (p.record.files if p.record else {}),
        counts=p.record.counts if p.record else {},
    )


def named(plans: Iterable[Plan]) -> set[str]:
    """Return the entities that the new chunks of plans name."""
    graphs = [graph for p in plans for graph in p.graphs]
    mentioned = {m.entity_id for g in graphs for m in g.mentions}
    return mentioned | {i for g in graphs for f in g.facts for i in (f.subject_id, f.object_id) if i}


def written(plans: Sequence[Plan]) -> list[Written]:
    """Return what it takes to show versions that were written."""
    return [Written(p.source, new_records(p), _record(p, "READY")) for p in plans]


def new_records(p: Plan) -> dict[IndexName, tuple[str, ...]]:
    """Return the ids of the records that :func:`write` has written or writes next, known once they are extracted."""
    return {index: tuple(ids) for index, ids in p.records.items()}


def show(versions: Sequence[Written], stores: Stores, tenant: Tenant) -> None:
    """Show the versions to readers, then take away what they no longer hold: vectors first, the graph last."""
    ids = [w.source.id for w in versions]
    _wait_visible(versions, stores, tenant)
    stores.registry.fence(tenant, ids)
    stores.graph.publish(tenant, [w.source for w in versions])
    collect(stores, tenant, ids)
    stores.registry.fence(tenant, ids)
    stores.vectors.untag(tenant, ids, keep={w.source.id: w.source.version for w in versions})
    ready = counted(stores, tenant, [w.ready for w in versions])
    replaced = {w.source.id for w in versions if w.source.version > 1}
    # until the files of older versions are gone, the next ingest looks at the document again
    stores.registry.save(tenant, [replace(r, fingerprint="") if r.source_id in replaced else r for r in ready])
    for w in versions:
        stores.registry.fence(tenant, ids)
        stores.documents.delete(tenant, w.source.id, keep=list(w.ready.files))
    if replaced:
        stores.registry.fence(tenant, ids)
        stores.registry.save(tenant, [r for r in ready if r.source_id in replaced])


def counted(stores: Stores, tenant: Tenant, records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
    """Return records with the counts of what readers see of the documents, where the registry keeps them."""
    if not stores.registry.keeps_counts:
        return list(records)
    counts = stores.graph.counts(tenant, [r.source_id for r in records])
    return [replace(r, counts=counts.get(r.source_id, {})) for r in records]


def collect(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> None:
    """Take away closed chunks and what only they supported. Repeatable at any point: the graph goes last."""
    doomed = stores.graph.doomed(tenant, source_ids)
    if doomed:
        stores.registry.fence(tenant, source_ids)
        stores.vectors.delete(tenant, by_index(doomed))
        stores.cache.disown(tenant, doomed.chunks)
    stores.registry.fence(tenant, source_ids)
    stores.graph.collect(tenant, source_ids)


def by_index(nodes: Doomed) -> dict[IndexName, Sequence[str]]:
    """Return the records that nodes have in the indexes: the labels of a chunk's relations have its id."""
    return {"chunk": nodes.chunks, "statement": nodes.statements, "topic": nodes.topics, "relation": nodes.chunks}


def _wait_visible(versions: Sequence[Written], stores: Stores, tenant: Tenant) -> None:
    """Wait until searches see what the versions wrote, in every index; a collection shows one index before another."""
    new: dict[IndexName, list[str]] = {}
    for w in versions:
        for index, ids in w.new.items():
            new.setdefault(index, []).extend(ids)
    tagged = {w.source.id: w.source.version for w in versions}
    waiting = looks(f"all of {sum(map(len, new.values()))} new records")
    while not stores.vectors.visible(tenant, new, tagged=tagged):
        stores.registry.fence(tenant, list(tagged))  # what somebody removes meanwhile never shows
        next(waiting)


def looks(what: str) -> Iterator[None]:
    """Sleep between looks at what searches show, ever longer; raise ``StoreUnavailable`` after 120 s without ``what``."""
    deadline, pause = time.monotonic() + _VISIBLE_SECONDS, 0.05
    while time.monotonic() <= deadline:
        time.sleep(pause)
        pause = min(2 * pause, 5.0)
        yield
    raise StoreUnavailable(f"the vector store does not show {what} after {_VISIBLE_SECONDS:.0f} s; run again")


def settle_entities(stores: Stores, tenant: Tenant) -> None:
    """Compute what follows from changed edges, and keep the index of names equal to it; one process a tenant at a time.

    Who waits for its turn finds most of its work done by those before: they take what all have changed until then.
    """
    named: list[str] = []  # what we put into the index
    late = False
    for _ in _turns():
        try:
            with stores.registry.lease(tenant, ["collector"]) as mine:
                if mine:
                    if late:  # another took our turn: names that we wrote after it may be those of nobody
                        stores.vectors.delete(tenant, {"entity": stores.graph.absent(tenant, named)})
                    _settle(stores, tenant, named)
                    return
        except Conflict:
            if late:
                raise
            late = True


def _turns() -> Iterator[None]:
    """Wait after each turn but the first, ever longer, for a part of the time that is drawn (full jitter)."""
    longest = FIRST_WAIT_SECONDS
    while True:
        yield
        time.sleep(random.random() * longest)  # noqa: S311  # nothing secret hangs on it
        longest = min(2 * longest, LONGEST_WAIT_SECONDS)


def _settle(stores: Stores, tenant: Tenant, named: list[str]) -> None:
    while derived := stores.graph.derive(tenant):
        named += [e.id for e in derived.present]
        stores.registry.fence(tenant, ["collector"])
        stores.vectors.delete(tenant, {"entity": derived.gone})
        stores.vectors.upsert(tenant, {"entity": [VectorRecord(e.id, e.value) for e in derived.present]})
        stores.graph.settle(tenant, derived)


class Settling:
    """Settles entities in the course of a long run so that it takes no more than about a tenth of the time.

    Frequent names are touched by every group of documents; settling after each would make a run's time quadratic.
    """

    _SHARE = 10.0

    def __init__(self, stores: Stores, tenant: Tenant) -> None:
        self._stores, self._tenant = stores, tenant
        self._due = time.perf_counter()

    def when_due(self) -> None:
        """Settle when the time since the last settling is ten times what that took."""
        began = time.perf_counter()
        if began >= self._due:
            settle_entities(self._stores, self._tenant)
            ended = time.perf_counter()
            self._due = ended + self._SHARE * (ended - began)
