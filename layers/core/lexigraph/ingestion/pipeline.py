"""Files in, lexical graph out: the whole ingest, run in process; with progress, jobs, change detection and resuming."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.ingestion import relations, remove, repair, versions
from lexigraph.ingestion.events import Event, Failure, IngestReport, Listener, recording
from lexigraph.ingestion.extract import Extractor, make_extractor
from lexigraph.ingestion.load import FileItem, Rejected, fingerprint, load, scan
from lexigraph.ingestion.models import CachedModels
from lexigraph.ingestion.synonyms import read_synonyms
from lexigraph.model.document import LoadedDocument
from lexigraph.model.errors import Conflict, InvalidInput, NotFound, in_general
from lexigraph.model.graph import Source
from lexigraph.model.ids import content_hash, source_id
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings, load_settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import DocumentRecord, JobRecord, SearchRequest, Stores

_GROUP_CHARS = 500_000  # documents written together hold at most about this much text
_WAIT_SECONDS = 600.0
CHUNKS = "chunks-1"  # version of reading and cutting: another one makes every document be looked at again
MANY_DOCUMENTS = frozenset({"json", "jsonl"})  # file types whose fingerprint is not that of one document
Loaded = tuple[LoadedDocument, Source, str]


class LexicalGraphIndex:
    """Builds and maintains the lexical graph of documents.

    Stores and models default to what the settings name. Safe to use from several processes at once.

    >>> with LexicalGraphIndex() as index:
    ...     report = index.ingest(["docs/"])
    """

    def __init__(
        self,
        stores: Stores | None = None,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        llm: LanguageModel | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or load_settings()
        self.stores = stores or open_stores(self.settings)
        self._owns_stores = stores is None
        embedder = embedder or make_embedder(self.settings)
        if llm is None and (self.settings.extraction == "llm" or self.settings.relations):
            llm = make_llm(self.settings)
        self.llm = llm
        extractor = extractor or make_extractor(self.settings, llm)
        self.models = CachedModels(extractor, embedder, self.stores.cache)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._owns_stores:
            self.stores.close()

    # ------------------------------------------------------------ ingest

    def ingest(
        self,
        paths: Sequence[str | Path | FileItem],
        *,
        tenant: str = "default",
        namespace: str = "default",
        incremental: bool = True,
        refresh_relations: bool = True,
        on_event: Listener = lambda _: None,
        job: JobRecord | None = None,
    ) -> IngestReport:
        """Take in files and folders; return what was done. What cannot be read is reported and the rest goes on.

        A file given as a ``FileItem`` has the URI that the item says, wherever it lies. ``job`` is one that was started
        for this before and whose lease (:func:`job_lease`) the caller holds; by default one is started.
        ``incremental`` skips what has not changed; otherwise everything is extracted and embedded anew, and written with
        the same ids, and neighbouring chunks are related anew but for ``refresh_relations=False``. Raise ``InvalidInput``
        for a bad tenant or namespace, or a database of another embedding model, ``StoreUnavailable`` and
        ``ModelUnavailable`` when the run cannot go on: run it again, it continues.
        """
        owner, namespace = Tenant(tenant), _checked_namespace(namespace)
        began = time.perf_counter()
        self._refuse_other_embedding(owner)
        given = job
        if job is None:
            named = [p.uri if isinstance(p, FileItem) else str(p) for p in paths]
            job = self.stores.registry.start_job(owner, "ingest", {"paths": named, "namespace": namespace})
        report = IngestReport(job_id=job.id, incremental=incremental)
        run = _Run(self, owner, namespace, report, recording(self.stores, owner, job.id, on_event))
        run.again = run.fresh and refresh_relations
        try:
            with self.stores.registry.lease(owner, [] if given else [job_lease(job.id)]):
                self._close_dead_jobs(owner)
                run.take_in([p if isinstance(p, FileItem) else Path(p) for p in paths])
        except BaseException as error:
            report.elapsed_sec = round(time.perf_counter() - began, 3)
            reason = in_general(error)
            self.stores.registry.finish_job(owner, job.id, "FAILED", report.to_dict(), reason)
            raise
        report.elapsed_sec = round(time.perf_counter() - began, 3)
        run.tell(Event("result", report.to_dict()))
        run.tell(Event("done"))
        self.stores.registry.finish_job(owner, job.id, "SUCCEEDED", report.to_dict())
        return report

    def _refuse_other_embedding(self, tenant: Tenant) -> None:
        if self.stores.vectors.label != self.models.embedder.label:
            raise InvalidInput(
                f"the vector store was opened for {self.stores.vectors.label}, "
                f"the embedder is {self.models.embedder.label}: open both with the same LEXIGRAPH_EMBEDDING_MODEL"
            )
        # a search asks the store whether it holds vectors of this model, before any work is done
        probe = np.eye(1, self.models.embedder.dimension, dtype=np.float32)[0]
        self.stores.vectors.search_many(tenant, [SearchRequest("chunk", vector=probe, k=1)])

    def _close_dead_jobs(self, tenant: Tenant) -> None:
        """Close the jobs of processes that were killed: a job at work holds a lease. A server goes on with its own."""
        jobs = self.stores.registry.jobs(tenant, limit=1_000)
        running = [job.id for job in jobs if job.status == "RUNNING" and not job.request.get("resumable")]
        with self.stores.registry.lease(tenant, [job_lease(i) for i in running]) as free:
            for job_id in running:
                if job_lease(job_id) in free:
                    self.stores.registry.finish_job(tenant, job_id, "FAILED", {}, "interrupted; a later run went on")

    # ------------------------------------------------------------ documents

    def documents(self, *, tenant: str = "default", namespace: str | None = None) -> list[DocumentRecord]:
        """Return all documents, by uri."""
        found = repair.records(self.stores, Tenant(tenant))
        return [r for r in found if namespace in (None, r.namespace)]

    def document(self, name: str, *, tenant: str = "default") -> DocumentRecord:
        """Return a document by id, uri, path, ``metadata.id`` or the end of its uri.

        Raise ``NotFound``, or ``InvalidInput`` when several fit.
        """
        owner = Tenant(tenant)
        if exact := self.stores.registry.document(owner, name):
            return exact
        uri = Path(name).resolve().as_uri() if name and "\x00" not in name else ""
        every = list(repair.records(self.stores, owner))
        fitting = [r for r in every if r.uri in (name, uri)] or [r for r in every if r.metadata.get("id") == name]
        fitting = fitting or [r for r in every if r.uri.endswith(f"/{name}")]
        if len(fitting) > 1:
            raise InvalidInput(
                f"{len(fitting)} documents are called {name!r}: give the id, for example {fitting[0].source_id}"
            )
        if not fitting:
            raise NotFound(f"no document {name!r}; `lexigraph documents list` shows all")
        return fitting[0]

    def text(self, document: DocumentRecord, *, tenant: str = "default") -> str:
        """Return the parsed text of a document, into which all offsets point."""
        data = self.stores.documents.get(Tenant(tenant), document.source_id, versions.text_name(document.version))
        return data.decode("utf-8")

    def relate(
        self,
        name: str,
        what: relations.NewChunks,
        *,
        tenant: str = "default",
        on_event: Listener = lambda _: None,
        job: JobRecord | None = None,
    ) -> dict[str, Any]:
        """Let the language model relate the new chunks of a document to others; nothing else is done (E-19 to E-30).

        ``name`` is one that :meth:`document` knows, ``job`` as for :meth:`ingest`; the result is that of E-27. Raise
        ``NotFound``, ``InvalidInput`` (also without a model), ``Conflict`` while another process works on the document.
        """
        owner, record, checked = Tenant(tenant), self.document(name, tenant=tenant), what.checked(self.settings)
        extractor = relations.for_new_chunks(self.settings, self.llm, checked)
        made = job or self.stores.registry.start_job(owner, "relate", {"source_id": record.source_id})
        with self.stores.registry.lease(owner, [] if job else [job_lease(made.id)]):
            return relations.relate_document(self.stores, owner, record, extractor, checked, made.id, on_event)

    def remove(self, source_ids: Sequence[str], *, tenant: str = "default") -> int:
        """Remove documents with all that only they support; wait for those in work elsewhere. Return how many."""
        owner, left = Tenant(tenant), list(dict.fromkeys(source_ids))
        known = self.stores.registry.fingerprints(owner, left)
        if missing := [i for i in left if i not in known]:
            raise NotFound(f"no document {missing[0]!r}; `lexigraph documents list` shows all")
        deadline = time.monotonic() + _WAIT_SECONDS
        while left:
            _, left = remove.remove(self.stores, owner, left)
            _pause(bool(left), deadline)
        return len(known)

    def repair(self, *, tenant: str = "default", dry_run: bool = False) -> list[repair.Finding]:
        """Compare the stores and put right what an interrupted run left; return what was found.

        Raise ``InvalidInput`` for a database of another embedding model, whose vectors would all seem to be missing.
        """
        self._refuse_other_embedding(Tenant(tenant))
        return repair.examine(self.stores, Tenant(tenant), repair=not dry_run)


class _Run:
    """One ingest under way."""

    def __init__(
        self, index: LexicalGraphIndex, tenant: Tenant, namespace: str, report: IngestReport, tell: Listener
    ) -> None:
        self.stores, self.models, self.settings = index.stores, index.models, index.settings
        self.tenant, self.namespace, self.report, self.tell = tenant, namespace, report, tell
        self.fresh = not report.incremental
        made_with = (CHUNKS, str(self.settings.chunk_tokens), str(self.settings.chunk_overlap))
        self._before: dict[str, int] = {}
        self._settling = versions.Settling(self.stores, self.tenant)
        self.again = self.fresh  # relate also what was related before
        self._relations = relations.relation_extractor(self.settings, index.llm)
        self._together = relations.Together(self.settings.cooccur_min_count, self.settings.entity_min_length)
        related_with = relations.made_with(self.settings, self._relations)
        self.made_with = (*made_with, self.models.extractor.name, self.models.embedder.label, *related_with)

    def take_in(self, paths: Sequence[Path | FileItem]) -> None:
        if self.settings.synonyms:
            self.stores.graph.set_synonyms(self.tenant, read_synonyms(self.settings.synonyms))
        items = list(self._files(paths))
        self.tell(Event("scan_input", {"files": len(items)}, 0, len(items)))
        waiting: list[Loaded] = []
        for group in _groups(self._documents(items), self.settings.batch_documents):
            waiting += self._process(group)
        deadline = time.monotonic() + _WAIT_SECONDS
        while waiting:
            _pause(True, deadline)
            waiting = [one for group in _groups(waiting, self.settings.batch_documents) for one in self._process(group)]
        versions.settle_entities(self.stores, self.tenant)
        self.report.cooccur_edges = self._together.pairs()
        if self._before:
            after = self.stores.graph.stats(self.tenant)
            self.report.entities_created = max(0, after["entities"] - self._before["entities"])
            self.report.relations_created = max(0, after["facts"] - self._before["facts"])

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
                for found in load(item, self.settings):
                    if isinstance(found, Rejected):
                        self._fail(found)
                        continue
                    source = self._source(found.uri, found)
                    yield found, source, content_hash(found.fingerprint, *self.made_with)
            self.report.files_processed = at
            self.tell(Event("hash_computed", {}, at, len(items)))

    def _source(self, uri: str, document: LoadedDocument | None = None) -> Source:
        identity = source_id(self.tenant, self.namespace, uri)
        return Source(
            identity,
            uri,
            self.namespace,
            document.title if document else "",
            document.metadata if document else {},
        )

    def _known(self, item: FileItem) -> bool:
        if item.type in MANY_DOCUMENTS:
            return False
        mark = fingerprint(item, self.settings)
        identity = self._source(item.uri).id
        known = self.stores.registry.fingerprints(self.tenant, [identity]).get(identity)
        unchanged = (
            isinstance(mark, str)
            and known == ("READY", content_hash(mark, *self.made_with))
            and identity in self.stores.graph.sources(self.tenant, [identity])
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
            mine = stack.enter_context(self.stores.registry.lease(self.tenant, [s.id for _, s, _ in group]))
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
                    fresh=self.fresh,
                )
                for document, source, mark in held
            ]
            if plans:
                self._build(plans)
        return [one for one in group if one[1].id not in mine]

    def _changed(self, group: Sequence[Loaded], *, count: bool = True) -> list[Loaded]:
        known = self.stores.registry.fingerprints(self.tenant, [source.id for _, source, _ in group])
        shown = self.stores.graph.sources(self.tenant, list(known))
        changed = [one for one in group if known.get(one[1].id) != ("READY", one[2]) or one[1].id not in shown]
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

    def _build(self, plans: list[versions.Plan]) -> None:
        self._before = self._before or self.stores.graph.stats(self.tenant)
        new = sum(p.source.version == 1 for p in plans)
        versions.extract(plans, self.models, self.tenant, self.report, self.tell, fresh=self.fresh)
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


def _pause(needed: bool, deadline: float) -> None:
    if needed:
        if time.monotonic() > deadline:
            raise Conflict("documents are held by another process for too long; stop it, or run again later")
        time.sleep(0.1)


def job_lease(job_id: str) -> str:
    """Return the lease that whoever works on a job holds: a running job without a holder was interrupted."""
    return f"job:{job_id}"


def _checked_namespace(namespace: str) -> str:
    if not isinstance(namespace, str) or not 1 <= len(namespace) <= 128 or not namespace.isprintable():
        raise InvalidInput(f"namespace {str(namespace)[:40]!r}: use 1 to 128 printable characters")
    return namespace
