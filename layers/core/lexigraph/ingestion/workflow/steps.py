"""An ingest step by step, for workflows whose steps run anywhere: parse, chunk, extract, build, finish, close; remove, fail.

A run brings one file in. Each step reads what the steps before it left in the artefact store, and may be repeated, or killed
and run again, at any point: what it has finished it does not do again. A file of many documents (jsonl) is one run: its
documents go in *parts* that are built together, their chunks in *batches* that are extracted side by side.

    parse -> chunk -> extract, batch by batch -> build and finish, part by part -> close

The newest claim on a file wins: a step of an older run stops (:class:`Superseded`) before it writes. What is written stays
hidden until `finish`, which takes the same lease as `build`, so nothing half is ever shown. Planning, writing and showing
are those of :mod:`lexigraph.ingestion.versions`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lexigraph.ingestion import relations, remove, senses, versions
from lexigraph.ingestion.build import IdentifiedChunk, chunk_graph, identify, records, yield_of
from lexigraph.ingestion.chunk import chunk as split
from lexigraph.ingestion.events import MOST_FAILURES, Event, Failure, IngestReport, end, recording, with_warnings
from lexigraph.ingestion.files import plain_documents, read_documents
from lexigraph.ingestion.load import FileItem, Rejected
from lexigraph.ingestion.models import CachedModels, extraction_use
from lexigraph.ingestion.run import Loaded, Run, documents_of, in_groups, read, set_synonyms, source_of
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.upkeep.late import Ids
from lexigraph.ingestion.workflow.artefacts import (
    RunCache,
    plain_chunk,
    read_chunk,
    read_written,
)
from lexigraph.ingestion.workflow.file_run import FileRun, Stale
from lexigraph.ingestion.workflow.workbench import Workbench
from lexigraph.model.batches import batched
from lexigraph.model.document import ChunkText, LoadedDocument
from lexigraph.model.errors import Conflict, InvalidInput, LexigraphError, NotFound, in_general
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import VECTOR_INDEXES, DocumentRecord

BATCH_CHUNKS = 16
_PART_DOCUMENTS = 500
# of a file: a part takes a dozen events of the history of a workflow, of which Step Functions keeps 25,000; its retries more
MOST_PARTS = 1_500


class Steps(Workbench):
    """The steps."""

    # ------------------------------------------------------------ the way in

    def parse(self, run: FileRun, path: Path) -> dict[str, Any]:
        """Read the file at ``path`` into its documents, in parts. What cannot be read is a failure of the report.

        Raise ``InvalidInput`` for more parts than a run may have.
        """
        kept = self.artefacts(run)
        if self.is_over(run):
            return {"parts": 0}
        if done := kept.get("parsed"):
            return {"parts": done["parts"]}
        tell = self.tell(run)
        tell(Event("scan_input", {"files": 1}, 0, 1))
        report = IngestReport(run.job_id, files_processed=1, incremental=not run.fresh)
        gone: dict[str, str] = {}

        def reject(found: Rejected) -> None:
            report.failures.append(Failure(found.path.replace(str(path), path.name), found.reason))
            tell(Event("warning", asdict(report.failures[-1])))

        item = FileItem(path, run.uri, run.type)
        documents = read(item, self.settings, self.registry, run.tenant, run.namespace, gone, reject)
        parts = 0
        for part in in_groups(documents, _PART_DOCUMENTS, lambda document: len(document.text)):
            if parts == MOST_PARTS:
                most = MOST_PARTS * _PART_DOCUMENTS
                raise InvalidInput(f"contains more than {most:,} documents, or too much text: split the file")
            kept.put(f"part.{parts:05d}", plain_documents(part))
            parts += 1
        kept.put("parsed", {"parts": parts, "gone": gone, "report": report.to_dict()})
        tell(Event("hash_computed", {}, 1, 1))
        return {"parts": parts}

    def chunk(self, run: FileRun, *, everything: bool = False) -> dict[str, Any]:
        """Cut the documents, and put what has to be extracted into batches: chunks of which it is not known what they yield.

        With ``everything`` all chunks, whatever is known. The artefact ``batches`` lists the batches as ``{"batch": n}``.
        """
        kept = self.artefacts(run)
        if self.is_over(run):
            return {"batches": 0, "parts": []}
        done = kept.get("chunked")
        if done and (done["everything"] or not everything):
            return _work(done)
        extractor = self._extractor()
        first = done["next"] if done else 0  # results of batches that were cut before stay apart
        parts: list[list[int]] = []
        at = first
        for number in range(kept.read("parsed")["parts"]):
            chunks = self._unknown(run, self._documents(run, number), everything)
            distinct = {extraction_use(extractor, c): c for c in chunks}.values()
            batches = list(batched(distinct, BATCH_CHUNKS))
            for batch in batches:
                kept.put(f"batch.{at:05d}", [plain_chunk(c) for c in batch])
                at += 1
            parts.append(list(range(at - len(batches), at)))
        kept.put("batches", [{"batch": n} for n in range(first, at)])
        work = {"parts": parts, "next": at, "batches": list(range(first, at)), "everything": everything}
        kept.put("chunked", work)
        self.tell(run)(Event("existing_scan", {"parts": len(parts), "batches": at - first}))
        return _work(work)

    def extract(self, run: FileRun, batch: int) -> None:
        """Extract the chunks of a batch, and embed what follows from them. What is cached costs nothing."""
        kept, name = self.artefacts(run), f"result.{batch:05d}"
        if self.is_over(run) or kept.get(name):
            return
        cache, report = RunCache(self._cache(), anew=run.refresh), IngestReport(run.job_id)
        models = CachedModels(self._extractor(), self._embedder(), cache)
        chunks = [read_chunk(raw) for raw in kept.read(f"batch.{batch:05d}")]
        found, report.extracted = models.extract(run.tenant, chunks)
        texts: list[str] = []
        whole: list[str] = []  # those of the chunks themselves
        for chunk, extraction in zip(chunks, found, strict=True):
            if extraction.failed:  # kept for this run alone: the next one asks again
                kind, key = extraction_use(models.extractor, chunk)
                cache.add(kind, {key: extraction.to_json().encode()})
            # ids do not matter for what is embedded
            one = IdentifiedChunk("0:0", chunk).yielding(run.tenant, run.key, yield_of(extraction))
            of_chunk = records(run.key, one, chunk_graph(run.tenant, run.key, one, extraction))
            texts += [row.text for index in VECTOR_INDEXES for row in of_chunk[index]]
            whole += [row.text for row in of_chunk["chunk"]]
        _, asked = models.embed(run.tenant, list(dict.fromkeys(texts)))
        report.embedded, report.chunks_embedded = len(asked), sum(text in asked for text in whole)
        kept.put(name, {"entries": cache.dump(), "report": report.to_dict()})

    def build(self, run: FileRun, part: int) -> None:
        """Write the next versions of a part's documents: registry, graph, vectors. Readers see none of it yet.

        Raise ``Conflict`` while another run holds one of them, :class:`Stale` when they changed since `chunk`.
        """
        kept, name = self.artefacts(run), f"built.{part:05d}"
        if self.is_over(run):
            return
        documents = self._documents(run, part)
        written: dict[str, Ids] = {}
        with self.held(run, [source_id(run.tenant, run.namespace, d.uri) for d in documents], written) as over:
            if over or kept.get(name):
                return
            report, tell = IngestReport(run.job_id), self.tell(run)
            results, reports = self._results(run, part)
            models = CachedModels(self._extractor(), self._embedder(), results)
            work = Run(
                self.stores,
                models,
                self._llm(),
                self.settings,
                run.tenant,
                run.namespace,
                report,
                tell,
                fresh=run.fresh,
                again=run.refresh and run.relations,
            )
            plans = self._plans(run, part, work, results, work.changed([work.loaded(d) for d in documents]))
            report.documents_new = sum(p.source.version == 1 for p in plans)
            report.documents_updated = len(plans) - report.documents_new
            if plans:
                work.extract(plans, written)
                report.entities_created = self._new_entities(run, plans)
                report.facts_created = len({f.id for p in plans for g in p.graphs for f in g.facts})
                work.write(plans)
                report.cooccur_edges = work.together.pairs()
            reports.append(report.to_dict())
            kept.put(name, {"written": [asdict(w) for w in versions.written(plans)], "reports": reports})

    def finish(self, run: FileRun, part: int) -> None:
        """Show what `build` wrote of a part, and take away what it replaces. A document removed meanwhile stays away.

        Raise :class:`Stale` when another version took its place, as where `doctor` repaired what a failed run had left.
        """
        kept = self.artefacts(run)
        if self.is_over(run):
            return
        built = {w.source.id: w for w in read_written(kept.read(f"built.{part:05d}")["written"])}
        # showing writes tags: what is late here has to go, too
        with self.held(run, list(built), {i: w.new for i, w in built.items()}) as over:
            if over:
                return
            known = self.stores.registry.records(run.tenant, list(built))
            ready = [built[i].ready.intended == r.intended for i, r in known.items() if r.state == "READY"]
            if not all(ready):
                for name in ("built", "plan"):
                    kept.put(f"{name}.{part:05d}", None)
                raise Stale("a document changed since it was built")
            there = [w for i, w in built.items() if i in known and known[i].state != "REMOVING"]
            if there:
                versions.show(there, self.stores, run.tenant)
            self.tell(run)(Event("documents", {"part": part}, len(there), len(built)))

    def close(self, run: FileRun) -> dict[str, Any]:
        """End the run: derive, take away documents that the file holds no more, and report. Artefacts go."""
        kept = self.artefacts(run)
        job, parsed = self.registry.job(run.tenant, run.job_id), kept.get("parsed")
        if self.is_over(run) or (job.status == "FAILED" and not parsed):  # told before that it was of no use
            return dict(job.result)
        set_synonyms(self.stores, run.tenant, self.settings)
        versions.settle_entities(self.stores, run.tenant)
        parsed = kept.read("parsed")
        report = self._report(run, parsed)
        gone = parsed["gone"]
        report["documents_removed"] = remove.remove_all(self.stores, run.tenant, list(gone), gone)
        repair.sweep(self.stores, run.tenant)
        end(self.registry, run.tenant, run.job_id, report, self.tell(run))
        kept.clear()
        return report

    # ------------------------------------------------------------ the way out

    def remove(self, run: FileRun) -> dict[str, Any]:
        """Remove the documents of a file that is gone. Raise ``Conflict`` while others work on one of them."""
        if self.is_over(run):
            return dict(self.registry.job(run.tenant, run.job_id).result)
        of_file = documents_of(self.registry, run.tenant, run.namespace, run.uri)
        return self.remove_documents(run.tenant, run.job_id, [record.source_id for record in of_file])

    def remove_documents(self, tenant: Tenant, job_id: str, source_ids: Sequence[str]) -> dict[str, Any]:
        """Remove documents, and end the job. Raise ``Conflict`` while others work on one of them."""
        removed, held = remove.remove(self.stores, tenant, source_ids)
        if held:
            raise Conflict(f"{len(held)} documents are locked by another process; try again later")
        repair.sweep(self.stores, tenant)
        result = {"documents_removed": len(removed)}
        recording(self.registry, tenant, job_id)(Event("result", result))
        self.registry.finish_job(tenant, job_id, "SUCCEEDED", result)
        return result

    def tend(self, *, seconds: float = 600.0) -> dict[str, Any]:
        """Take away what late writers of any tenant left. Where there were none it is one request, to the registry."""
        tenants = self.registry.late_tenants(since=repair.OVER_SECONDS)
        seen_to = repair.tend(self.stores, tenants, seconds=seconds) if tenants else 0
        return {"tenants": len(tenants), "late_writers": seen_to}

    def relate(self, tenant: Tenant, job_id: str, id_: str, what: relations.NewChunks) -> dict[str, Any]:
        """Relate the new chunks of a document to others, and end the job. Pairs that were asked about stay done.

        Raise ``Conflict`` while others work on the document, ``NotFound`` when it is gone, ``InvalidInput`` without a model.
        """
        job, record = self.registry.job(tenant, job_id), self.registry.document(tenant, id_)
        if job.status == "SUCCEEDED":
            return dict(job.result)
        if record is None:
            raise NotFound("the document no longer exists: ingest it again")
        checked = what.checked(self.settings)
        extractor = relations.for_new_chunks(self.settings, self._llm(), checked)
        return relations.relate_document(self.stores, tenant, record, extractor, checked, job_id)

    def note(self, run: FileRun, step: str, error: BaseException) -> None:
        """Let the job tell why a step did not get through; whatever becomes of it, it may be tried again."""
        with suppress(LexigraphError):
            self.tell(run)(Event("warning", {"step": step, "reason": in_general(error)}))

    def fail(self, run: FileRun, reason: str) -> bool:
        """Record that the run failed: in its job, and in those of its documents that it left half built or never built.

        Readers go on seeing what they saw. Of a run that has failed before, as when its workflow is driven on again, the
        job is opened again: return False.
        """
        job = self.registry.job(run.tenant, run.job_id)
        if job.status == "FAILED":
            self.registry.finish_job(run.tenant, run.job_id, "RUNNING", {})
            self.tell(run)(Event("resumed"))
            return False
        noted = [e.data["reason"] for e in self.registry.events(run.tenant, run.job_id) if "step" in e.data]
        reason = noted[-1] if noted else reason
        kept = self.artefacts(run)
        parts = (kept.get("parsed") or {"parts": 0})["parts"]
        documents = [d for n in range(parts) for d in self._documents(run, n)]
        empty = [] if documents else [LoadedDocument(run.uri, run.uri.rpartition("/")[2], "", (), "")]
        if job.kind != "remove":
            self._mark_failed(run, documents or empty, reason)
        self.tell(run)(Event("error", {"error": reason}))
        self.registry.finish_job(run.tenant, run.job_id, "FAILED", {}, reason)
        return True

    def fail_job(self, tenant: Tenant, job_id: str, reason: str) -> bool:
        """Record that a job about documents failed; of one that had failed open the job again, and return False."""
        failed = self.registry.job(tenant, job_id).status == "FAILED"
        self.registry.finish_job(tenant, job_id, "RUNNING" if failed else "FAILED", {}, "" if failed else reason)
        return not failed

    # ------------------------------------------------------------ what they share

    def _documents(self, run: FileRun, part: int) -> list[LoadedDocument]:
        return read_documents(self.artefacts(run).read(f"part.{part:05d}"))

    def _unknown(self, run: FileRun, documents: Iterable[LoadedDocument], everything: bool) -> list[ChunkText]:
        """Return the chunks of documents of which the registry does not know what they yield."""
        ids = {source_id(run.tenant, run.namespace, d.uri): d for d in documents}
        known = {} if everything else self.registry.records(run.tenant, list(ids))
        means = senses.by_document(run.tenant, self.registry.decisions(run.tenant))
        chunks: list[ChunkText] = []
        for i, d in ids.items():
            cut = split(d, max_tokens=self.settings.chunk_tokens, overlap=self.settings.chunk_overlap)
            made_by = senses.made_by(self._extractor().name, means.get(i, {}))
            yields = versions.known_yields(known.get(i), made_by, self._embedder().label, fresh=run.fresh)
            chunks += [c.chunk for c in identify(run.tenant, i, cut, yields) if not c.id]
        return chunks

    def _results(self, run: FileRun, part: int) -> tuple[RunCache, list[dict[str, Any]]]:
        """Return what the batches of a part found, over the cache, and their reports.

        Each result is read here and never again: those of a large file have gigabytes of vectors.
        """
        kept, cache = self.artefacts(run), RunCache(self.stores.cache, anew=run.refresh)
        reports = []
        for batch in kept.read("chunked")["parts"][part]:
            found = kept.read(f"result.{batch:05d}")
            cache.load(found["entries"])
            reports.append(found["report"])
        return cache, reports

    def _plans(
        self, run: FileRun, part: int, work: Run, results: RunCache, changed: Sequence[Loaded]
    ) -> list[versions.Plan]:
        kept, name, extractor = self.artefacts(run), f"plan.{part:05d}", work.models.extractor.name
        work.resume_removals(changed)
        ids = [source.id for _, source, _ in changed]
        before = self.stores.registry.records(run.tenant, ids)
        made_by = {i: work.made_by(i) for i in ids}
        # an attempt of this run that was killed has left the registry changed, and this behind
        noted = kept.get(name) or {}
        same = noted.get("made_by") == made_by  # no name was split since
        known = noted["known"] if same else {i: work.known_yields(before.get(i)) for i in ids}
        plans = work.plans(changed, known)
        wanted = [extraction_use(work.models.extractor, c.chunk)[1] for p in plans for c in p.new]
        found = results.get_many(run.tenant, f"extraction:{extractor}", wanted)
        if not found.keys() >= set(wanted) and not kept.read("chunked")["everything"]:
            raise Stale("the document changed since it was cut into chunks")
        kept.put(name, {"made_by": made_by, "known": known})
        return plans

    def _new_entities(self, run: FileRun, plans: Iterable[versions.Plan]) -> int:
        named = versions.named(plans)
        return len(named) - len(self.stores.graph.entities(run.tenant, sorted(named)).found)

    def _report(self, run: FileRun, parsed: dict[str, Any]) -> dict[str, Any]:
        """Return the sum of what the steps did."""
        kept, total = self.artefacts(run), dict(parsed["report"])
        chunked = kept.read("chunked")
        first = chunked["next"] - len(chunked["batches"])  # batches before belong to no part: the file was cut anew
        reports = [kept.read(name)["report"] for name in kept.names("result.") if int(name.removeprefix("result.")) < first]
        reports += [report for name in kept.names("built.") for report in kept.read(name)["reports"]]
        for report in reports:
            for field, value in report.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    total[field] += value
                elif field in ("chunk_failures", "pair_failures"):
                    total[field] = [*total[field], *value][:MOST_FAILURES]
                elif field in ("chunk_reasons", "pair_reasons"):
                    total[field] = dict(Counter(total[field]) + Counter(value))
        began = datetime.fromisoformat(self.registry.job(run.tenant, run.job_id).created_at)
        elapsed = round((datetime.now(UTC) - began).total_seconds(), 3)
        return with_warnings({**total, "elapsed_sec": elapsed})

    def _mark_failed(self, run: FileRun, documents: Sequence[LoadedDocument], reason: str) -> None:
        """Let the documents that a run did not bring to READY say why; those of a newer run are not touched."""
        sources = [source_of(run.tenant, run.namespace, d) for d in documents]
        with self.held(run, [s.id for s in sources]):
            known = self.registry.records(run.tenant, [s.id for s in sources])
            failed = [
                replace(known[s.id], state="FAILED", reason=reason)
                if s.id in known
                else DocumentRecord(s.id, s.uri, s.namespace, s.title, "FAILED", metadata=s.metadata, reason=reason)
                for s in sources
                if s.id not in known or known[s.id].state == "BUILDING"
            ]
            self.registry.save(run.tenant, failed)


def _work(chunked: dict[str, Any]) -> dict[str, Any]:
    return {"batches": len(chunked["batches"]), "parts": list(range(len(chunked["parts"])))}
