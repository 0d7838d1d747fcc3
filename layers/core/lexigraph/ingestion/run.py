"""One ingest: files are found, read and compared with what is known; what has changed is built, what they lost leaves."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TypeVar

from lexigraph import telemetry
from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion import curation, marks, relations, remove, senses, versions
from lexigraph.ingestion.build import IdentifiedChunk, identify
from lexigraph.ingestion.chunk import chunk as split
from lexigraph.ingestion.events import PART_CHUNKS, Event, Failure, IngestReport, Listener
from lexigraph.ingestion.load import FileItem, Rejected, fingerprint, load, passed_over, scan
from lexigraph.ingestion.models import CachedModels
from lexigraph.ingestion.pace import Pace, repeating
from lexigraph.ingestion.roots import not_own
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.upkeep.late import Ids, holding
from lexigraph.model.batches import packed
from lexigraph.model.document import LoadedDocument
from lexigraph.model.errors import Cancelled, Misconfigured
from lexigraph.model.graph import Source
from lexigraph.model.ids import number_of, source_id
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant, View
from lexigraph.settings import Settings
from lexigraph.storage.common.counts import live_counts
from lexigraph.storage.protocols import DocumentRecord, Registry, Stores

T = TypeVar("T")
_MAX_SYNONYM_LINES = 100_000
_GROUP_CHARS = 500_000  # documents written together hold at most about this much text
_PAGE = 500
CHUNKS = "chunks-2"  # version of reading and cutting: another one makes every document be looked at again
MANY_DOCUMENTS = frozenset({"json", "jsonl", "mbox"})  # file types whose fingerprint is not that of one document
_NO_RIGHT = "its metadata does not match the filters of the API key"
_TAKEN = "its name already exists in this namespace: use another name or namespace"
Loaded = tuple[LoadedDocument, Source, str]


def documents_of(registry: Registry, tenant: Tenant, namespace: str, uri: str) -> Iterator[DocumentRecord]:
    """Yield the documents that came out of a file: the one of its uri, and those of its records."""
    if whole := registry.document(tenant, source_id(tenant, namespace, uri)):
        yield whole
    first = f"{uri}#"
    after, limit = first, 1  # most files hold one document
    while page := registry.documents(tenant, namespace=namespace, after=after, limit=limit):
        yield from (record for record in page if record.uri.startswith(first))
        if not page[-1].uri.startswith(first):
            return
        after, limit = page[-1].uri, _PAGE


def read(
    item: FileItem,
    settings: Settings,
    registry: Registry,
    tenant: Tenant,
    namespace: str,
    gone: dict[str, str],
    reject: Callable[[Rejected], None],
) -> Iterator[LoadedDocument]:
    """Yield the documents of a file; add to ``gone`` those that it held before and holds no more, as `remove` takes them."""
    # asked before the file is read: what another process adds meanwhile, out of a newer file, is not among them
    before = documents_of(registry, tenant, namespace, item.uri) if item.type in MANY_DOCUMENTS else ()
    left = {r.uri: (r.source_id, r.updated_at) for r in before if r.metadata.get("file_type") == item.type}
    complete = True
    for found in telemetry.each("read", load(item, settings)):
        left.pop(found.uri, None)
        if isinstance(found, Rejected):
            reject(found)
            complete = complete and bool(found.uri)  # without one it may be any of those that are left
        else:
            yield found
    if complete:
        gone |= dict(left.values())


def source_of(tenant: Tenant, namespace: str, document: LoadedDocument) -> Source:
    """Return the source that a document is."""
    identity = source_id(tenant, namespace, document.uri)
    return Source(identity, document.uri, namespace, document.title, document.metadata)


def in_groups(items: Iterable[T], most: int, length: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield groups of documents to be written together: at most so many, and of at most 500,000 characters."""
    return packed(items, length, _GROUP_CHARS, most)


@dataclass
class Run:
    """Documents on their way in: those of a whole ingest in process, or those of one part of a file in the workflow.

    ``report`` grows with it; ``tell`` hears of its steps. ``fresh`` writes all chunks, new or not; ``again`` relates also
    those that were related before. With a ``view`` only what it sees is ingested, and taken away. ``ahead`` groups of
    documents are read before those before them are written, for an extractor that works by itself.
    """

    stores: Stores
    models: CachedModels
    llm: LanguageModel | None
    settings: Settings
    tenant: Tenant
    namespace: str
    report: IngestReport
    tell: Listener
    _: KW_ONLY
    fresh: bool
    again: bool
    ahead: int = 0
    view: View | None = None

    def __post_init__(self) -> None:
        self._before: dict[str, int] = {}
        self._named: set[int] = set()  # entities that this run has met in new chunks: in a long run millions
        self._gone: dict[str, str] = {}  # documents whose files hold them no more, and when they were last written
        self._settling = versions.Settling(self.stores, self.tenant)
        self._pace = Pace(self.tell)
        self._relations = relations.relation_extractor(self.settings, self.llm)
        self.together = relations.Together(self.settings.cooccur_min_count, self.settings.entity_min_length)
        # beside content and embedding: what is made with something else is looked at again
        chunks = (CHUNKS, str(self.settings.chunk_tokens), str(self.settings.chunk_overlap))
        self._read_senses()
        self._made_with = (*chunks, self.models.extractor.name, *relations.made_with(self.settings, self._relations))

    # ------------------------------------------------------------ the whole of an ingest in process

    def take_in(self, paths: Sequence[Path | FileItem]) -> None:
        """Bring all that has changed at the paths to READY, and take away what files of many documents hold no more."""
        set_synonyms(self.stores, self.tenant, self.settings)
        items = self._listed(paths)
        self.tell(Event("scan_input", {"files": len(items)}, 0, len(items)))
        waiting: list[Loaded] = []
        try:
            for group in self._ahead(self._groups(self._documents(items))):
                waiting += self._process(group)
            deadline = remove.deadline()
            while waiting:
                remove.pause(deadline)
                waiting = [one for group in self._groups(waiting) for one in self._process(group)]
        except Cancelled:
            versions.settle_entities(self.stores, self.tenant)  # those of the documents that stay
            raise
        versions.settle_entities(self.stores, self.tenant)
        self.report.cooccur_edges = self.together.pairs()
        if self._before:
            after = live_counts(self.stores, self.tenant)
            self.report.facts_created = max(0, after["facts"] - self._before["facts"])
        gone = list(self._gone)
        if self.view:
            seen = self.stores.registry.records(self.view, gone)
            gone = [i for i in gone if i in seen]
        self.report.documents_removed = remove.remove_all(self.stores, self.tenant, gone, self._gone)
        repair.sweep(self.stores, self.tenant)

    def build_again(self, documents: Iterable[LoadedDocument]) -> None:
        """Bring documents to READY that were read before; those that another process holds are left to it."""
        for group in self._groups(map(self.loaded, documents)):
            self._process(group)
        versions.settle_entities(self.stores, self.tenant)

    def _listed(self, paths: Sequence[Path | FileItem]) -> list[FileItem]:
        """Return the files; tell every second how many there are so far."""
        items: list[FileItem] = []
        with repeating(lambda: self.tell(Event("scan_input", {"files": len(items)}))):
            items.extend(self._files(paths))
        return items

    def _files(self, paths: Sequence[Path | FileItem]) -> Iterator[FileItem]:
        yield from (p for p in paths if isinstance(p, FileItem))
        skipped: Counter[str] = Counter()
        for found in scan([p for p in paths if isinstance(p, Path)], skipped, shut=not_own(self.settings)):
            if isinstance(found, Rejected):
                self._fail(found)
            else:
                yield found
        self.report.skipped += passed_over(skipped)

    def _fail(self, rejected: Rejected) -> None:
        self.report.failures.append(Failure(rejected.path, rejected.reason))
        self.tell(Event("warning", {"path": rejected.path, "reason": rejected.reason}))

    def _documents(self, items: Sequence[FileItem]) -> Iterator[Loaded]:
        """Yield what has to be looked at: a file known by its bytes to be unchanged is not even parsed."""
        for at, item in enumerate(items, 1):
            if self.fresh or self.view or not self._known(item):
                where = self.settings, self.stores.registry, self.tenant, self.namespace
                yield from map(self.loaded, read(item, *where, self._gone, self._fail))
            self.report.files_processed = at
            self._pace.share = at / len(items)
            self.tell(Event("hash_computed", {}, at, len(items)))

    def _groups(self, documents: Iterable[Loaded]) -> Iterator[list[Loaded]]:
        return in_groups(documents, self.settings.batch_documents, lambda one: len(one[0].text))

    def _ahead(self, groups: Iterable[list[Loaded]]) -> Iterator[list[Loaded]]:
        """Yield groups, some later than they come: workers extract their chunks while those before are embedded and written.

        What is found before a group's documents are held is looked at again; only the models' work is not done twice.
        """
        waiting: deque[list[Loaded]] = deque()
        for group in groups:
            if self.ahead:
                plans = self.plans(self.changed(_without_repeats(group)[0], count=False))
                self._begin([c for p in plans for c in p.new[:PART_CHUNKS]])
            waiting.append(group)
            if len(waiting) > self.ahead:
                yield waiting.popleft()
        yield from waiting

    def _begin(self, chunks: Sequence[IdentifiedChunk]) -> None:
        if self.ahead:
            self.models.begin(self.tenant, [c.chunk for c in chunks])

    def _known(self, item: FileItem) -> bool:
        if item.type in MANY_DOCUMENTS:
            return False
        content = fingerprint(item, self.settings)
        identity = source_id(self.tenant, self.namespace, item.uri)
        unchanged = isinstance(content, str) and bool(
            versions.up_to_date(self.stores, self.tenant, {identity: self._mark(content, self._senses.get(identity, {}))})
        )
        self._skip([identity] if unchanged else [])
        return unchanged

    def _process(self, group: Sequence[Loaded]) -> list[Loaded]:
        """Bring a group of documents to READY; return those that another process holds."""
        group, repeated = _without_repeats(self._admitted(group))
        for document, _, _ in repeated:
            self._fail(Rejected(document.uri, "appears twice in this input; the first was used"))
        total = len(group)
        if not (group := self.changed(group)):
            return []
        written: dict[str, Ids] = {}
        with holding(self.stores, self.tenant, [source.id for _, source, _ in group], written) as mine:
            # between the look above and the lease another process may have done the work, or a name may have been split
            self._read_senses()
            held = [self.loaded(document) for document, source, _ in group if source.id in mine]
            held = self.changed(self._admitted(held), count=False)
            self.resume_removals(held)
            plans = self.plans(held)
            chunks = sum(len(p.new) for p in plans)
            self.tell(Event("existing_scan", {"documents": total, "changed": len(held), "chunks": chunks}))
            if plans:
                self._build_or_undo(plans, written)
        return [one for one in group if one[1].id not in mine]

    def _admitted(self, group: Sequence[Loaded]) -> Sequence[Loaded]:
        """Return the documents that may be ingested; of a view those that it sees, in the place of none that it does not."""
        if self.view is None:
            return group
        ids = [source.id for _, source, _ in group]
        there, seen = (self.stores.registry.records(who, ids) for who in (self.tenant, self.view))
        admitted = []
        for one in group:
            source = one[1]
            if not self.view.rights.matches(source.filterable):
                self._fail(Rejected(source.uri, _NO_RIGHT))
            elif source.id in there and source.id not in seen:
                self._fail(Rejected(source.uri, _TAKEN))
            else:
                admitted.append(one)
        return admitted

    def _build_or_undo(self, plans: list[versions.Plan], written: dict[str, Ids]) -> None:
        """Build documents; of a run that is told to stop, nothing half built stays. What else ends it is gone on with."""
        try:
            self._build(plans, written)
        except Cancelled:
            repair.undo(self.stores, self.tenant, [p.source.id for p in plans])
            raise

    def _build(self, plans: list[versions.Plan], written: dict[str, Ids]) -> None:
        self._before = self._before or live_counts(self.stores, self.tenant)
        new = sum(p.source.version == 1 for p in plans)
        for _ in versions.in_parts(plans):
            self._begin([c for p in plans for c in (*p.new, *p.later[:PART_CHUNKS])])
            self.extract(plans, written)
            self._count_names(plans)
            self._put(plans)
        self._relate(plans)
        with _stage("finish", plans):
            versions.show(versions.written(plans), self.stores, self.tenant)
            self._settling.when_due()
        self.report.documents_new += new
        self.report.documents_updated += len(plans) - new
        self.tell(
            Event(
                "documents",
                {"chunks": self.report.chunks_new, "statements": self.report.statements_created},
                self.report.documents_new + self.report.documents_updated + self.report.documents_unchanged,
            )
        )

    def _count_names(self, plans: Iterable[versions.Plan]) -> None:
        """Count the entities that the new chunks name and nothing before, here or in the graph, does."""
        named = {i: n for i in versions.named(plans) if (n := number_of(i)) not in self._named}
        self.report.entities_created += len(named) - len(self.stores.graph.entities(self.tenant, sorted(named)).found)
        self._named.update(named.values())

    # ------------------------------------------------------------ what the deployed workflow does, too

    def loaded(self, document: LoadedDocument) -> Loaded:
        """Return a document with the source that it is, and its mark."""
        source = source_of(self.tenant, self.namespace, document)
        source = replace(source, means=self._senses.get(source.id, {}))
        return document, source, self._mark(document.fingerprint, source.means)

    def changed(self, group: Sequence[Loaded], *, count: bool = True) -> list[Loaded]:
        """Return the documents that readers do not see as they are now; with ``count`` the report tells of the others."""
        if self.fresh:
            return list(group)
        same = versions.up_to_date(self.stores, self.tenant, {source.id: mark for _, source, mark in group})
        if count:
            self._skip(sorted(same))
        return [one for one in group if one[1].id not in same]

    def resume_removals(self, held: Sequence[Loaded]) -> None:
        """Take away the documents whose removal was interrupted."""
        state = self.stores.registry.fingerprints(self.tenant, [source.id for _, source, _ in held])
        if half_gone := [i for i, (was, _) in state.items() if was == "REMOVING"]:
            remove.remove_held(self.stores, self.tenant, half_gone)

    def plans(self, group: Sequence[Loaded], known: Mapping[str, Mapping[str, str]] | None = None) -> list[versions.Plan]:
        """Cut documents into chunks and find those that their live versions lack.

        ``known`` is what chunks yield by document, as an attempt at the same version took it before it wrote anything.
        """
        ids = [source.id for _, source, _ in group]
        records, shown = self.stores.registry.records(self.tenant, ids), self.stores.graph.sources(self.tenant, ids)
        plans = []
        for one in group:
            source_id = one[1].id
            record, before = records.get(source_id), shown.get(source_id)
            live = frozenset(self.stores.graph.chunk_ids(self.tenant, source_id) if before else ())
            yields = self.known_yields(record) if known is None else known[source_id]
            plans.append(self.planned(one, record, before.version + 1 if before else 1, live, yields))
        return plans

    def known_yields(self, record: DocumentRecord | None) -> dict[str, str]:
        """Return what the chunks of a document are known to yield, of those that need not be written once more."""
        made_by = self.made_by(record.source_id if record else "")
        return versions.known_yields(record, made_by, self.models.embedder.label, fresh=self.fresh)

    def made_by(self, source_id: str) -> str:
        """Return what makes the extractions of a document."""
        return senses.made_by(self.models.extractor.name, self._senses.get(source_id, {}))

    def planned(
        self, one: Loaded, record: DocumentRecord | None, version: int, live: frozenset[str], known: Mapping[str, str]
    ) -> versions.Plan:
        """Cut a document into the chunks of a version, to which ``live`` are those of the one before."""
        document, source, mark = one
        with telemetry.span("chunk") as span:
            chunks = split(document, max_tokens=self.settings.chunk_tokens, overlap=self.settings.chunk_overlap)
            if span:
                span.set({"lexigraph.document.id": source.id, "lexigraph.document.version": version})
                span.set({"lexigraph.chunks": len(chunks)})
        identified = identify(self.tenant, source.id, chunks, known)
        new = [c for c in identified if c.id not in live]
        made_by = senses.made_by(self.models.extractor.name, source.means)
        return versions.Plan(document, replace(source, version=version), mark, made_by, record, identified, new, live)

    def extract(self, plans: Sequence[versions.Plan], written: dict[str, Ids]) -> None:
        """Extract the new chunks of all plans; ``written`` tells then which records :meth:`write` writes."""
        of_run = self.models, self.tenant, self.report, self._pace
        with _stage("extract", plans):
            versions.extract(plans, *of_run, aliases=self.settings.entity_normalize)
        written.update((p.source.id, versions.new_records(p)) for p in plans)

    def write(self, plans: Sequence[versions.Plan]) -> None:
        """Write the versions and relate their chunks. Readers see none of it yet."""
        self._put(plans)
        self._relate(plans)

    def _put(self, plans: Sequence[versions.Plan]) -> None:
        with _stage("build", plans):
            versions.write(plans, self.stores, self.models, self.tenant, self.report, self.tell)
        built = {
            "chunks": sum(len(p.new) for p in plans),
            "statements": sum(len(g.statements) for p in plans for g in p.graphs),
        }
        self.tell(Event("build", {"documents": len(plans), **built}))
        self.together.add(plans)

    def _relate(self, plans: Sequence[versions.Plan]) -> None:
        with _stage("relate", plans):
            relations.relate_plans(
                plans, self.stores, self.tenant, self._relations, self.settings, self.report, self.tell, again=self.again
            )

    def _mark(self, content: str, means: senses.Means) -> str:
        split = [senses.made_by("", means)] if means else []
        return marks.mark(content, (*self._made_with, *split), self.models.embedder.label)

    def _read_senses(self) -> None:
        self._senses = senses.by_document(self.tenant, self.stores.registry.decisions(self.tenant))

    def _skip(self, unchanged: Sequence[str]) -> None:
        self.report.documents_unchanged += len(unchanged)
        records = self.stores.registry.records(self.tenant, unchanged)
        self.report.chunks_skipped += sum(record.chunks for record in records.values())


@contextmanager
def _stage(name: str, plans: Sequence[versions.Plan]) -> Iterator[None]:
    """Record a stage that a group of documents goes through together."""
    with telemetry.span(name) as span:
        if span:
            span.set({"lexigraph.documents": len(plans), "lexigraph.chunks": sum(len(p.new) for p in plans)})
            span.set({"lexigraph.document.ids": [p.source.id for p in plans]})
        yield


def _without_repeats(group: Sequence[Loaded]) -> tuple[list[Loaded], list[Loaded]]:
    first: dict[str, Loaded] = {}
    for one in group:
        first.setdefault(one[1].id, one)
    return list(first.values()), [one for one in group if first[one[1].id] is not one]


def set_synonyms(stores: Stores, tenant: Tenant, settings: Settings) -> None:
    """Let the graph know the names of the synonyms file, if there is one, beside those that people decided on.

    Its lines are ``name = other name, other name``; ``#`` begins a comment. Raise ``Misconfigured`` naming the line that is
    wrong.
    """
    if not settings.entity_normalize:
        curation.keep_synonyms(stores, tenant, [])
    elif settings.synonyms:
        curation.keep_synonyms(stores, tenant, _read_synonyms(settings.synonyms))


def _read_synonyms(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"synonyms file {path}: {error}") from None
    if len(lines) > _MAX_SYNONYM_LINES:
        raise Misconfigured(f"synonyms file {path} must have at most {_MAX_SYNONYM_LINES:,} lines, got {len(lines):,}")
    pairs = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0] if line.lstrip().startswith("#") else line
        if not text.strip():
            continue
        name, equals, others = text.partition("=")
        names = [name.strip(), *(other.strip() for other in others.split(","))]
        if not equals or not all(entity_key(n) for n in names):
            raise Misconfigured(f"synonyms file {path}, line {number}: expected 'name = other name, other name'")
        pairs += [(other, names[0]) for other in names[1:]]
    return pairs
