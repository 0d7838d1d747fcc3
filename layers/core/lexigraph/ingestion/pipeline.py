"""The ingestion pipeline, run in process: progress events, jobs, change detection and resuming."""

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

from lexigraph import telemetry
from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.ingestion import curation, relations, splits
from lexigraph.ingestion.events import IngestReport, Listener, end, recording, stopping
from lexigraph.ingestion.extract import Extractor, make_extractor
from lexigraph.ingestion.extract.workers import MOST, Workers
from lexigraph.ingestion.files import read_text
from lexigraph.ingestion.load import FileItem
from lexigraph.ingestion.models import CachedModels, Renewing
from lexigraph.ingestion.remove import remove_all
from lexigraph.ingestion.run import Run
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.upkeep.rebuild import kept_documents
from lexigraph.model.curation import Decision
from lexigraph.model.errors import Cancelled, InvalidInput, NotFound, code_of, in_general
from lexigraph.model.names import checked_name
from lexigraph.model.tenant import Tenant, View
from lexigraph.settings import Settings, cores, load_settings
from lexigraph.storage.factory import open_stores
from lexigraph.storage.protocols import DocumentRecord, JobRecord, JobStatus, Registry, Stores

_DEAD = "interrupted; ingesting the same files again goes on from there"
_AHEAD = 2  # groups of documents whose chunks are extracted while one is embedded and written


class LexicalGraphIndex:
    """Builds and maintains the lexical graph of documents.

    Stores and models default to those in the settings. Several processes may use the same stores at once.

    Examples:
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
        self.stores = stores or open_stores(self.settings, create=True)
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
        refresh: bool = False,
        refresh_relations: bool = True,
        on_event: Listener = lambda _: None,
        job: JobRecord | None = None,
    ) -> IngestReport:
        """Ingest files and folders and return a report. Files that cannot be read are reported and skipped.

        ``incremental`` skips unchanged content; without it, everything is written again, with the same ids and cached
        model results. ``refresh`` ignores the cache as well: all chunks are extracted and embedded again, and neighbouring
        chunks related again unless ``refresh_relations`` is False. A ``FileItem`` sets the URI of a file. ``job`` is a job
        that the caller started and whose lease (:func:`job_lease`) it holds; by default a job is started here. For a
        tenant view, only documents that the view's filters admit are ingested, and none replaces a document outside it.

        The job fails if no chunk could be extracted; the report says why. Raise ``InvalidInput`` for an invalid tenant or
        namespace, or for a database built with another embedding model; ``StoreUnavailable`` or ``ModelUnavailable`` if
        the run cannot continue. Running it again resumes where it stopped.
        """
        asking, namespace = Tenant(tenant), checked_name("namespace", namespace)
        owner = asking.whole
        began = time.perf_counter()
        with telemetry.span("ingest") as span:
            self._refuse_other_embedding(owner)
            given = job
            if job is None:
                named = [p.uri if isinstance(p, FileItem) else str(p) for p in paths]
                job = self.stores.registry.start_job(owner, "ingest", {"paths": named, "namespace": namespace})
            span.set({"lexigraph.job.id": job.id})
            telemetry.owned(span, owner)
            incremental = incremental and not refresh and self.settings.hash_incremental
            report = IngestReport(job_id=job.id, incremental=incremental)
            tell = recording(self.stores.registry, owner, job.id, on_event)
            heard = stopping(self.stores.registry, owner, job.id, tell)
            renewing = Renewing(self.stores.cache, job.id) if refresh else None
            try:
                with (
                    self.stores.registry.lease(owner, [] if given else [job_lease(job.id)]),
                    self._working() as extractor,
                ):
                    close_dead_jobs(self.stores.registry, owner, self.stores.registry.jobs(owner, limit=1_000))
                    models = CachedModels(extractor, self.models.embedder, renewing or self.stores.cache)
                    of_run = self.stores, models, self.llm, self.settings, owner, namespace, report, heard
                    view = asking if isinstance(asking, View) else None
                    again, ahead = refresh and refresh_relations, _AHEAD if self._workers() else 0
                    run = Run(*of_run, fresh=not incremental, again=again, ahead=ahead, view=view)
                    run.take_in([p if isinstance(p, FileItem) else Path(p) for p in paths])
                    splits.catch_up(self.stores, owner, self._runs(owner), self.models.extractor.name, heard)
                    if renewing:
                        renewing.forget(owner)
                    if span:
                        span.set({f"lexigraph.ingest.{n}": v for n, v in report.to_dict().items() if isinstance(v, int)})
            except BaseException as error:
                report.elapsed_sec = round(time.perf_counter() - began, 3)
                failed = {**report.to_dict(), "error": code_of(error)}
                status: JobStatus = "CANCELLED" if isinstance(error, Cancelled) else "FAILED"
                self.stores.registry.finish_job(owner, job.id, status, failed, in_general(error))
                raise
            report.elapsed_sec = round(time.perf_counter() - began, 3)
            end(self.stores.registry, owner, job.id, report.to_dict(), tell)
            return report

    def _working(self) -> AbstractContextManager[Extractor]:
        """The extractor, or several processes of it."""
        number = self._workers()
        return Workers(self.models.extractor, self.settings, number) if number else nullcontext(self.models.extractor)

    def _workers(self) -> int:
        """Half the cores, for embedding takes the longer half of the work; none where it could not be made there again."""
        allowed = cores(self.settings.threads)
        if allowed < 2 or self.settings.extraction != "local":
            return 0
        same = make_extractor(self.settings).name == self.models.extractor.name
        return min(MOST, (allowed + 1) // 2) if same else 0

    def _refuse_other_embedding(self, tenant: Tenant) -> None:
        if self.stores.vectors.label != self.models.embedder.label:
            raise InvalidInput(
                f"the vector store was opened for {self.stores.vectors.label}, "
                f"but the embedder is {self.models.embedder.label}: open both with the same LEXIGRAPH_EMBEDDING_MODEL"
            )
        repair.refuse_other_vectors(self.stores.vectors, tenant)

    # ------------------------------------------------------------ documents

    def documents(self, *, tenant: str = "default", namespace: str | None = None) -> list[DocumentRecord]:
        """Return all documents, ordered by URI; with ``namespace``, only those in it."""
        found = repair.records(self.stores.registry, Tenant(tenant))
        return [r for r in found if namespace in (None, r.namespace)]

    def document(self, name: str, *, tenant: str = "default") -> DocumentRecord:
        """Return a document by id, URI, path, ``metadata.id`` or the last segments of its URI.

        Raise ``NotFound`` if there is none, ``InvalidInput`` if several match.
        """
        owner = Tenant(tenant)
        if exact := self.stores.registry.document(owner, name):
            return exact
        uri = Path(name).resolve().as_uri() if name and "\x00" not in name else ""
        every = list(repair.records(self.stores.registry, owner))
        fitting = [r for r in every if r.uri in (name, uri)] or [r for r in every if r.metadata.get("id") == name]
        fitting = fitting or [r for r in every if r.uri.endswith(f"/{name}")]
        fitting = fitting or [r for r in every if unquote(r.uri).endswith(f"/{name}")]
        if len(fitting) > 1:
            raise InvalidInput(
                f"{len(fitting)} documents have the name {name!r}: use an id, for example {fitting[0].source_id}"
            )
        if not fitting:
            raise NotFound(f"no document {name!r}; `lexigraph documents list` shows all")
        return fitting[0]

    def text(self, document: DocumentRecord, *, tenant: str = "default") -> str:
        """Return the parsed text of a document; all character offsets refer to it.

        Raise ``StoreDamaged`` if it differs from what was written.
        """
        return read_text(self.stores, Tenant(tenant), document)

    def relate(
        self,
        name: str,
        what: relations.NewChunks,
        *,
        tenant: str = "default",
        on_event: Listener = lambda _: None,
        job: JobRecord | None = None,
    ) -> dict[str, Any]:
        """Relate the new chunks of a document to earlier ones with the language model (E-19 to E-30).

        ``name`` identifies the document as in :meth:`document`; ``job`` is as in :meth:`ingest`. Return counts (E-27).
        Raise ``NotFound``, ``InvalidInput`` (also without a language model), or ``Conflict`` while another process writes
        the document.
        """
        owner, record, checked = Tenant(tenant), self.document(name, tenant=tenant), what.checked(self.settings)
        extractor = relations.for_new_chunks(self.settings, self.llm, checked)
        made = job or self.stores.registry.start_job(owner, "relate", {"source_id": record.source_id})
        with self.stores.registry.lease(owner, [] if job else [job_lease(made.id)]):
            try:
                return relations.relate_document(self.stores, owner, record, extractor, checked, made.id, on_event)
            except BaseException as error:
                self.stores.registry.finish_job(owner, made.id, "FAILED", {}, in_general(error))
                raise

    def remove(self, source_ids: Sequence[str], *, tenant: str = "default") -> int:
        """Remove documents and everything that only they support; return how many were removed.

        Wait for documents that another process is writing. Raise ``NotFound`` for an unknown id, or when all were removed by
        others meanwhile.
        """
        owner, left = Tenant(tenant), list(dict.fromkeys(source_ids))
        known = self.stores.registry.fingerprints(owner, left)
        if missing := [i for i in left if i not in known]:
            raise NotFound(f"no document {missing[0]!r}; `lexigraph documents list` shows all")
        removed = remove_all(self.stores, owner, left)
        repair.sweep(self.stores, owner)
        if left and not removed:
            raise NotFound(f"no document {left[0]!r} any more")
        return removed

    def repair(self, *, tenant: str = "default", dry_run: bool = False) -> list[repair.Finding]:
        """Check that the stores agree and repair what an interrupted run left behind; return the findings.

        ``dry_run`` only reports. Raise ``InvalidInput`` for a database built with another embedding model.
        """
        owner = Tenant(tenant)
        self._refuse_other_embedding(owner)
        cache = self.settings.cache_is_own
        found = repair.examine(self.stores, owner, cache=cache)
        if dry_run or not found:
            return found
        lost = {f.source_id: f for f in found if f.remedy.endswith(repair.AGAIN)}
        built = self.rebuild(list(lost), tenant=owner) if lost else set()
        again = [
            replace(lost[source_id], remedy="build it again from its text", repaired=True) for source_id in sorted(built)
        ]
        return again + repair.examine(self.stores, owner, repair=True, cache=cache)

    def rebuild(
        self, source_ids: Sequence[str], *, tenant: str = "default", on_event: Listener = lambda _: None
    ) -> set[str]:
        """Rebuild documents from their stored text and cached model results; the original files are not needed.

        Return the ids of the documents rebuilt; the stored text of the others is lost.
        """
        owner = Tenant(tenant)
        run_of = self._runs(owner, on_event, fresh=True)
        for namespace, documents in kept_documents(self.stores, owner, source_ids):
            run_of(namespace).build_again(documents)
        return set(source_ids) - {found.source_id for found in repair.examine(self.stores, owner)}

    # ------------------------------------------------------------ names

    def split(
        self, name: str, other: str, documents: Sequence[str], *, tenant: str = "default", by: str = "", note: str = ""
    ) -> Decision:
        """Split a name: in these documents, identified as in :meth:`document`, it means an entity called ``other``.

        The documents are rebuilt from their stored text and extractions, without a model call, and stay split over later
        ingests. Raise ``InvalidInput`` for a document that does not use the name, ``NotFound`` for one that is not there,
        ``Conflict`` when another decision says otherwise.
        """
        owner = Tenant(tenant)
        found = [self.document(one, tenant=tenant) for one in documents]
        runs = self._runs(owner)
        splits.refuse_other_extractor(found, self.models.extractor.name)
        return curation.split(
            self.stores, owner, name, other, found, lambda: splits.build(self.stores, owner, runs), by=by, note=note
        )

    def undo(self, decision_id: str, *, tenant: str = "default") -> Decision:
        """Undo a decision about names. Raise ``NotFound``, or ``Conflict`` when it is undone."""
        owner, runs = Tenant(tenant), self._runs(Tenant(tenant))
        known = [one for one in self.stores.registry.decisions(owner) if one.id == decision_id]
        splits.refuse_other_extractor(splits.documents_of(self.stores, owner, known), self.models.extractor.name)
        return curation.undo(self.stores, owner, decision_id, lambda: splits.build(self.stores, owner, runs))

    def _runs(self, tenant: Tenant, tell: Listener = lambda _: None, *, fresh: bool = False) -> splits.Runs:
        def run_of(namespace: str) -> Run:
            of_run = self.stores, self.models, self.llm, self.settings, tenant, namespace, IngestReport(), tell
            return Run(*of_run, fresh=fresh, again=False)

        return run_of


def job_lease(job_id: str) -> str:
    """Return the key of the lease held while a job runs; a running job whose lease is free was interrupted."""
    return f"job:{job_id}"


def close_dead_jobs(registry: Registry, tenant: Tenant, jobs: Iterable[JobRecord]) -> None:
    """Close those jobs whose process was killed: a job at work holds a lease. A server goes on with its own."""
    running = [job.id for job in jobs if job.status == "RUNNING" and not job.request.get("resumable")]
    with registry.lease(tenant, [job_lease(i) for i in running]) as free:
        for job_id in running:
            if job_lease(job_id) in free:
                registry.finish_job(tenant, job_id, "FAILED", {}, _DEAD)
