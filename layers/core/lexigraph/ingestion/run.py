"""One ingest: files are found, read and compared with what is known; what has changed is built, what they lost leaves."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion import marks, relations, remove, versions
from lexigraph.ingestion.events import Event, Failure, IngestReport, Listener
from lexigraph.ingestion.extract.relations import RelationExtractor
from lexigraph.ingestion.load import FileItem, Rejected, fingerprint, load, scan
from lexigraph.ingestion.models import CachedModels
from lexigraph.ingestion.synonyms import read_synonyms
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.upkeep.late import Ids, holding
from lexigraph.model.document import LoadedDocument
from lexigraph.model.graph import Source
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Registry, Stores

_GROUP_CHARS = 500_000  # documents written together hold at most about this much text
_PAGE = 500
CHUNKS = "chunks-1"  # version of reading and cutting: another one makes every document be looked at again
MANY_DOCUMENTS = frozenset({"json", "jsonl"})  # file types whose fingerprint is not that of one document
Loaded = tuple[LoadedDocument, Source, str]


def made_with(settings: Settings, models: CachedModels, extractor: RelationExtractor | None) -> tuple[str, ...]:
    """Return what documents are made with beside content and embedding: with something else they are looked at again."""
    chunks = (CHUNKS, str(settings.chunk_tokens), str(settings.chunk_overlap))
    return (*chunks, models.extractor.name, *relations.made_with(settings, extractor))


def held_before(registry: Registry, tenant: Tenant, namespace: str, item: FileItem) -> dict[str, tuple[str, str]]:
    """Return the documents that a file of many was known to hold, by uri: id, and when it was last written."""
    if item.type not in MANY_DOCUMENTS:
        return {}
    first = f"{item.uri}#"
    whole = registry.document(tenant, source_id(tenant, namespace, item.uri))
    records, after, limit = [whole] if whole else [], first, 1  # most files of type json hold one
    found: dict[str, tuple[str, str]] = {}
    while True:
        page = registry.documents(tenant, namespace=namespace, after=after, limit=limit)
        records += [r for r in page if r.uri.startswith(first)]
        found |= {r.uri: (r.source_id, r.updated_at) for r in records if r.metadata.get("file_type") == item.type}
        if not page or not page[-1].uri.startswith(first):
            return found
        records, after, limit = [], page[-1].uri, _PAGE


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
    left = held_before(registry, tenant, namespace, item)
    complete = True
    for found in load(item, settings):
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


class Run:
    """One ingest under way. ``report`` grows with it; ``tell`` hears of its steps."""

    def __init__(
        self,
        stores: Stores,
        models: CachedModels,
        llm: LanguageModel | None,
        settings: Settings,
        tenant: Tenant,
        namespace: str,
        report: IngestReport,
        tell: Listener,
    ) -> None:
        self.stores, self.models, self.settings = stores, models, settings
        self.tenant, self.namespace, self.report, self.tell = tenant, namespace, report, tell
        self.fresh = not report.incremental
        self._before: dict[str, int] = {}
        self._gone: dict[str, str] = {}  # documents whose files hold them no more, and when they were last written
        self._settling = versions.Settling(self.stores, self.tenant)
        self.again = self.fresh  # relate also what was related before
        self._relations = relations.relation_extractor(self.settings, llm)
        self._together = relations.Together(self.settings.cooccur_min_count, self.settings.entity_min_length)
        self.made_with = made_with(settings, models, self._relations)

    def take_in(self, paths: Sequence[Path | FileItem]) -> None:
        """Bring all that has changed at the paths to READY, and take away what files of many documents hold no more."""
        if self.settings.synonyms:
            self.stores.graph.set_synonyms(self.tenant, read_synonyms(self.settings.synonyms))
        items = list(self._files(paths))
        self.tell(Event("scan_input", {"files": len(items)}, 0, len(items)))
        waiting: list[Loaded] = []
        for group in _groups(self._documents(items), self.settings.batch_documents):
            waiting += self._process(group)
        deadline = remove.deadline()
        while waiting:
            remove.pause(deadline)
            waiting = [one for group in _groups(waiting, self.settings.batch_documents) for one in self._process(group)]
        versions.settle_entities(self.stores, self.tenant)
        self.report.cooccur_edges = self._together.pairs()
        if self._before:
            after = self.stores.graph.stats(self.tenant)
            self.report.entities_created = max(0, after["entities"] - self._before["entities"])
            self.report.relations_created = max(0, after["facts"] - self._before["facts"])
        self.report.documents_removed = remove.remove_unchanged(self.stores, self.tenant, self._gone)
        repair.sweep(self.stores, self.tenant)

    def _files(self, paths: Sequence[Path | FileItem]) -> Iterator[FileItem]:
        yield from (p for p in paths if isinstance(p, FileItem))
        for found in scan([p for p in paths if isinstance(p, Path)]):
            if isinstance(found, Rejected):
                self._fail(found)
            else:
                yield found

    def _fail(self, rejected: Rejected) -> None:
        self.report.failures.append(Failure(rejected.path, rejected.reason))
        self.tell(Event("warning", {"path": rejected.path, "reason": rejected.reason}))

    def _documents(self, items: Sequence[FileItem]) -> Iterator[Loaded]:
        """Yield what has to be looked at: a file known by its bytes to be unchanged is not even parsed."""
        for at, item in enumerate(items, 1):
            if self.fresh or not self._known(item):
                yield from self._read(item)
            self.report.files_processed = at
            self.tell(Event("hash_computed", {}, at, len(items)))

    def _read(self, item: FileItem) -> Iterator[Loaded]:
        """Yield the documents of a file, and note those that it held before and holds no more."""
        for found in read(item, self.settings, self.stores.registry, self.tenant, self.namespace, self._gone, self._fail):
            yield found, source_of(self.tenant, self.namespace, found), self._mark(found.fingerprint)

    def _mark(self, content: str) -> str:
        return marks.mark(content, self.made_with, self.models.embedder.label)

    def _known(self, item: FileItem) -> bool:
        if item.type in MANY_DOCUMENTS:
            return False
        content = fingerprint(item, self.settings)
        identity = source_id(self.tenant, self.namespace, item.uri)
        unchanged = isinstance(content, str) and bool(
            versions.up_to_date(self.stores, self.tenant, {identity: self._mark(content)})
        )
        self._skip([identity] if unchanged else [])
        return unchanged

    def _process(self, group: Sequence[Loaded]) -> list[Loaded]:
        """Bring a group of documents to READY; return those that another process holds."""
        group, repeated = _without_repeats(group)
        for document, _, _ in repeated:
            self._fail(Rejected(document.uri, "stands in this input twice; the first one was taken"))
        ids = [source.id for _, source, _ in group]
        if not self.fresh and not (group := self._changed(group)):
            return []
        with ExitStack() as stack:
            written: dict[str, Ids] = {}
            mine = stack.enter_context(holding(self.stores, self.tenant, [s.id for _, s, _ in group], written))
            held = [one for one in group if one[1].id in mine]
            # between the look above and the lease another process may have done the work
            held = held if self.fresh else self._changed(held, count=False)
            self._resume_removals(held)
            self.tell(Event("existing_scan", {"documents": len(ids), "changed": len(held)}))
            plans = [
                versions.plan(
                    self.stores,
                    self.tenant,
                    document,
                    source,
                    mark,
                    self.settings,
                    self.models.extractor.name,
                    self.models.embedder.label,
                    fresh=self.fresh,
                )
                for document, source, mark in held
            ]
            if plans:
                self._build(plans, written)
        return [one for one in group if one[1].id not in mine]

    def _changed(self, group: Sequence[Loaded], *, count: bool = True) -> list[Loaded]:
        same = versions.up_to_date(self.stores, self.tenant, {source.id: mark for _, source, mark in group})
        changed = [one for one in group if one[1].id not in same]
        if count:
            left = {one[1].id for one in changed}
            self._skip([source.id for _, source, _ in group if source.id not in left])
        return changed

    def _skip(self, unchanged: Sequence[str]) -> None:
        self.report.documents_unchanged += len(unchanged)
        records = self.stores.registry.records(self.tenant, unchanged)
        self.report.chunks_skipped += sum(record.chunks for record in records.values())

    def _resume_removals(self, held: Sequence[Loaded]) -> None:
        state = self.stores.registry.fingerprints(self.tenant, [source.id for _, source, _ in held])
        half_gone = [source.id for _, source, _ in held if state.get(source.id, ("",))[0] == "REMOVING"]
        if half_gone:
            remove.remove_held(self.stores, self.tenant, half_gone)

    def _build(self, plans: list[versions.Plan], written: dict[str, Ids]) -> None:
        self._before = self._before or self.stores.graph.stats(self.tenant)
        new = sum(p.source.version == 1 for p in plans)
        versions.extract(plans, self.models, self.tenant, self.report, self.tell, fresh=self.fresh)
        written.update((p.source.id, versions.new_records(p)) for p in plans)
        versions.write(plans, self.stores, self.models, self.tenant, self.report, self.tell, fresh=self.fresh)
        self.tell(Event("build", {"documents": len(plans), "chunks": sum(len(p.new) for p in plans)}))
        relations.relate_plans(
            plans, self.stores, self.tenant, self._relations, self.settings, self.report, self.tell, again=self.again
        )
        self._together.add(plans)
        versions.finish(plans, self.stores, self.tenant)
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


def _groups(documents: Iterable[Loaded], most: int) -> Iterator[list[Loaded]]:
    group: list[Loaded] = []
    size = 0
    for one in documents:
        if group and (len(group) >= most or size + len(one[0].text) > _GROUP_CHARS):
            yield group
            group, size = [], 0
        group.append(one)
        size += len(one[0].text)
    if group:
        yield group


def _without_repeats(group: Sequence[Loaded]) -> tuple[list[Loaded], list[Loaded]]:
    first: dict[str, Loaded] = {}
    for one in group:
        first.setdefault(one[1].id, one)
    return list(first.values()), [one for one in group if first[one[1].id] is not one]
