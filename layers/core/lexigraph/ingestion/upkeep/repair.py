"""Comparing registry, graph, vectors and texts with each other, and bringing them back together."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

import numpy as np

from lexigraph.ingestion import marks
from lexigraph.ingestion.files import read_file, text_name
from lexigraph.ingestion.remove import remove_held
from lexigraph.ingestion.versions import by_index, collect, counted, settle_entities
from lexigraph.model.errors import LexigraphError, NotFound, StoreDamaged
from lexigraph.model.ids import source_id as make_source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.document_names import is_source_id
from lexigraph.storage.protocols import (
    DocumentRecord,
    IndexName,
    Registry,
    SearchRequest,
    SourceVersion,
    Stores,
    VectorStore,
)

# a function lives for 15 minutes at most: whoever lost a lease so long ago writes nothing more, and all searches show it
OVER_SECONDS = 1_200.0
_PAGE, _SWEPT_AT_ONCE = 500, 20
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """A document on which the stores disagree; ``remedy`` is what a repair does, ``repaired`` whether it was done."""

    source_id: str
    uri: str
    problem: str
    remedy: str
    repaired: bool = False


def records(registry: Registry, tenant: Tenant, *, after: str = "") -> Iterator[DocumentRecord]:
    """Yield every document of the tenant after a uri, by uri."""
    while page := registry.documents(tenant, after=after, limit=_PAGE):
        yield from page
        after = page[-1].uri


def embedded_otherwise(registry: Registry, tenant: Tenant, label: str) -> int:
    """Return how many documents that readers see are noted to have vectors of other embeddings, and none of this one."""
    had = (marks.labels(record.fingerprint) for record in records(registry, tenant) if record.state == "READY")
    return sum(bool(labels) and label not in labels for labels in had)


@dataclass(frozen=True, slots=True)
class Place:
    """How far a comparison has come: in which part, after what, and how many strays of no document it has met in that part.

    First the beginning.
    """

    part: Literal["documents", "sources", "names", "results", "done"] = "documents"
    after: str = ""
    strays: int = 0


def examine(stores: Stores, tenant: Tenant, *, repair: bool = False, cache: bool = False) -> list[Finding]:
    """Find documents that stand half written, half removed or apart between the stores; ``repair`` puts them right.

    So are found, too, sources of which the registry knows nothing and a text, a vector, a word or a node is left, whatever
    left it. A document that another process is working on is passed over, also between two steps of its run. Nothing that
    readers see is ever taken away: what was lost of a document is made again by the next ingest.

    With ``cache``, too, results of models that are kept for chunks which no document has. Only where the cache serves this
    database alone: those of another would look the same.

    Documents and sources are gone through page by page; in memory is what one document has, and what was found.
    """
    findings: dict[str, Finding] = {}
    for _, found in _walk(stores, tenant, Place(), repair, cache):
        for one in found:
            findings.setdefault(one.source_id or one.uri, one)
    return sorted(findings.values(), key=lambda f: (not f.source_id, f.source_id))


def examine_from(
    stores: Stores, tenant: Tenant, at: Place, *, repair: bool = False, cache: bool = False, seconds: float
) -> tuple[Place, list[Finding]]:
    """Do a part of :func:`examine`, from a place on for about ``seconds``; return where to go on, and what was found.

    One document at least is looked at. The part ``done`` is the end.
    """
    until, findings = time.monotonic() + seconds, list[Finding]()
    for place, found in _walk(stores, tenant, at, repair, cache):
        at = place
        findings += found
        if time.monotonic() >= until:
            break
    return at, findings


def refuse_other_vectors(vectors: VectorStore, tenant: Tenant) -> None:
    """Raise ``InvalidInput`` where there are vectors, and none of the embedding in use: all would seem to be missing."""
    # a search asks the store whether it holds vectors of this model, before any work is done
    probe = np.eye(1, vectors.dimension, dtype=np.float32)[0]
    vectors.search_many(tenant, [SearchRequest("chunk", vector=probe, k=1)])


def tend(stores: Stores, tenants: Sequence[Tenant], *, seconds: float, since: float = OVER_SECONDS) -> int:
    """Sweep tenants; return how many late writers were seen to. After ``seconds`` what is left is for the next call.

    One tenant's error does not keep the others from being swept; it is raised in the end.
    """
    until, seen_to, failed = time.monotonic() + seconds, 0, list[LexigraphError]()
    for tenant in tenants:
        try:
            while time.monotonic() < until and (some := sweep(stores, tenant, since=since)):
                seen_to += some
        except LexigraphError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return seen_to


def sweep(stores: Stores, tenant: Tenant, *, since: float = OVER_SECONDS) -> int:
    """Take away what writers left that lost their leases at least ``since`` seconds ago, and were killed thereafter.

    Looked at are the documents that they held, a few a run; those that somebody works on are left to the next sweep. Of
    documents that are known nothing is taken but leftovers. One that lost something while it is shown (a late request may
    have deleted it) is told in the log, and made whole by its next ingest. Without late writers it is one request. Return
    how many late writers were seen to.
    """
    late = stores.registry.late_writers(tenant, since=since)[:_SWEPT_AT_ONCE]
    seen_to = [one for one in late if not is_source_id(one.key)]  # jobs write nothing, and names of entities are derived
    for source_id in dict.fromkeys(one.key for one in late if is_source_id(one.key)):
        with stores.registry.lease(tenant, [source_id]) as mine:
            if not mine or _is_under_way(stores, tenant, source_id):
                continue
            if found := _examine(stores, tenant, source_id):
                _swept(stores, tenant, found)
        seen_to += [one for one in late if one.key == source_id]
    if seen_to:
        stores.registry.dismiss(tenant, seen_to)
    return len(seen_to)


def _swept(stores: Stores, tenant: Tenant, found: Finding) -> None:
    """Put right what takes nothing from readers; of a document that is not READY the next ingest makes all anew."""
    if found.remedy.endswith(AGAIN):
        logger.warning("%s: %s; ingest it again", found.source_id, found.problem)
    record = stores.registry.document(tenant, found.source_id)
    if found.remedy in (_REMOVE, _COLLECT) or (found.remedy == AGAIN and record and record.state == "READY"):
        _repair(stores, tenant, found)


def _listings(stores: Stores) -> tuple[Callable[..., list[str]], ...]:
    return stores.graph.source_ids, stores.documents.sources, stores.vectors.sources


def _walk(stores: Stores, tenant: Tenant, at: Place, repair: bool, cache: bool) -> Iterator[tuple[Place, list[Finding]]]:
    """Go on with a comparison; yield how far it is, and what was found since the place before."""
    if at == Place() and stores.registry.revision(tenant) == 0:  # it never had a document
        yield Place("done"), _unknown(stores, tenant)
        return
    for part, listed in (("documents", _documents), ("sources", _strangers)):
        if at.part == part:
            for after, ids in listed(stores, tenant, at.after):
                looked = (_looked_at(stores, tenant, source_id, repair) for source_id in ids)
                yield Place(at.part, after), [found for found in looked if found]
            at = Place("sources" if part == "documents" else "names")
    of_part = {
        "names": (_stray_names, "{} entity names belong to no document"),
        "results": (_stray_results, "{} chunks in the cache belong to no document"),
    }
    while at.part != "done":
        strays_of, problem = of_part[at.part]
        for after, strays in strays_of(stores, tenant, at.after, repair):
            at = Place(at.part, after, at.strays + strays)
            yield at, []
        if at.part == "names" and repair:
            settle_entities(stores, tenant)
        found = [Finding("", at.part, problem.format(at.strays), _COLLECT, repaired=repair)] if at.strays else []
        at = Place("results" if at.part == "names" and cache else "done")
        yield at, found


def _unknown(stores: Stores, tenant: Tenant) -> list[Finding]:
    if not any(listed(tenant, limit=1) for listed in _listings(stores)):
        return []
    problem = "the registry has no documents, but other stores do"
    return [Finding("", "", problem, "check LEXIGRAPH_REGISTRY, or ingest into a new folder")]


def _documents(stores: Stores, tenant: Tenant, after: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the uris after one, with the ids of their documents."""
    while page := stores.registry.documents(tenant, after=after, limit=_PAGE):
        for uri, same in groupby(page, key=lambda record: record.uri):
            yield uri, [record.source_id for record in same]
        after = page[-1].uri


def _strangers(stores: Stores, tenant: Tenant, after: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the sources after one that are in a store, and not in the registry; and how far it is, without any."""
    while pages := [page for listed in _listings(stores) if (page := listed(tenant, after=after, limit=_PAGE))]:
        after = min(page[-1] for page in pages)  # up to there each of them tells all
        here = sorted({source_id for page in pages for source_id in page if source_id <= after})
        known = stores.registry.fingerprints(tenant, here)
        yield from ((source_id, [source_id]) for source_id in here if source_id not in known)
        yield after, []


def _looked_at(stores: Stores, tenant: Tenant, source_id: str, repair: bool) -> Finding | None:
    if _examine(stores, tenant, source_id) is None:
        return None
    with stores.registry.lease(tenant, [source_id]) as mine:
        # what looked wrong may have been somebody's work under way
        if not mine or _is_under_way(stores, tenant, source_id):
            return None
        found = _examine(stores, tenant, source_id)
        if found and repair:
            _repair(stores, tenant, found)
            found = replace(found, repaired=True)
        return found


def undo(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> None:
    """Take away what an attempt left of documents whose leases the caller holds: readers' versions stay as they are."""
    states = stores.registry.fingerprints(tenant, source_ids)
    for source_id in source_ids:
        building = source_id in states and states[source_id][0] == "BUILDING"
        if building and (found := _examine(stores, tenant, source_id)):
            _repair(stores, tenant, found)


def _is_under_way(stores: Stores, tenant: Tenant, source_id: str) -> bool:
    """Whether a run that goes step by step has begun with a document: between two steps nobody holds its lease."""
    record = stores.registry.document(tenant, source_id)
    if record is None or record.state not in ("BUILDING", "FAILED"):  # a run that had failed may have been driven on
        return False
    of_file = make_source_id(tenant, record.namespace, record.uri.partition("#")[0])
    claim = stores.registry.claimed(tenant, of_file)
    try:
        return claim is not None and stores.registry.job(tenant, claim.holder).status == "RUNNING"
    except NotFound:
        return False


def _stray_names(stores: Stores, tenant: Tenant, after: str, repair: bool) -> Iterator[tuple[str, int]]:
    """Yield how far it is, and how many names there are in the full text whose entities are gone: of no document."""
    while page := stores.vectors.ids(tenant, "entity", after=after, limit=_PAGE):
        after, strays = page[-1], list[str]()
        if stores.graph.absent(tenant, page):
            with stores.registry.lease(tenant, ["collector"]) as mine:  # whoever derives names changes both stores
                strays = stores.graph.absent(tenant, page) if mine else []
                if repair:
                    stores.vectors.delete(tenant, {"entity": strays})
        yield after, len(strays)


def _stray_results(stores: Stores, tenant: Tenant, after: str, repair: bool) -> Iterator[tuple[str, int]]:
    """Yield how far it is, and how many chunks own results of models and are in no version of a document."""
    while page := stores.cache.owners(tenant, after=after, limit=_PAGE):
        strays = stores.graph.absent_chunks(tenant, page)
        if strays:
            # a chunk is in the graph before it owns, and until it owns no more: who owns yet and is absent yet is left over
            owning = set(stores.cache.owners(tenant, after=after, limit=_PAGE))
            strays = stores.graph.absent_chunks(tenant, [i for i in strays if i in owning])
            if repair:
                stores.cache.disown(tenant, strays)
        after = page[-1]
        yield after, len(strays)


_REMOVE, AGAIN, _COLLECT = "remove it", "ingest it again", "collect them"
_PARTS = {"text": "text", "parsed": "parsed structure"}  # by the names of files


def _examine(stores: Stores, tenant: Tenant, source_id: str) -> Finding | None:
    record = stores.registry.document(tenant, source_id)
    if record is None:
        return Finding(source_id, source_id, "is in a store but not in the registry", _REMOVE)
    uri = record.uri
    if record.state == "REMOVING":
        return Finding(source_id, uri, "its removal was interrupted", _REMOVE)
    shown = stores.graph.sources(tenant, [source_id]).get(source_id)
    if shown is None:
        problem = "its ingest never finished" if record.state == "BUILDING" else "is not in the graph"
        return Finding(source_id, uri, problem, f"{_REMOVE}; {AGAIN}")
    if record.state == "BUILDING":
        return Finding(source_id, uri, "an update was interrupted", AGAIN)
    have, files = stores.documents.names(tenant, source_id), _files(record, shown.version)
    if missing := sorted({*files} - {*have}):
        return Finding(source_id, uri, f"its {_PARTS[missing[-1].partition('.')[0]]} is missing", AGAIN)
    try:
        for name in files:
            read_file(stores.documents, tenant, record, name)
    except StoreDamaged:
        return Finding(source_id, uri, f"its {_PARTS[name.partition('.')[0]]} is damaged", AGAIN)
    lost, stray = _vector_differences(stores, tenant, source_id)
    if lost:
        return Finding(source_id, uri, f"{lost} vectors are missing", AGAIN)
    chunks = tuple(stores.graph.chunk_ids(tenant, source_id))
    if (record.version, record.title, set(record.intended)) != (shown.version, shown.title, set(chunks)):
        return Finding(source_id, uri, "the registry and the graph differ", AGAIN)
    if any(stray.values()) or set(have) != set(files) or stores.graph.doomed(tenant, [source_id]):
        return Finding(source_id, uri, "records of another version are left over", _COLLECT)
    if counted(stores, tenant, [record]) != [record]:
        return Finding(source_id, uri, "its counts differ from the graph", _COLLECT)
    return None


def _files(record: DocumentRecord, version: int) -> list[str]:
    """Return the files that a version has; before their hashes were kept it was the text alone."""
    return sorted(name for name in record.files if name.endswith(f".{version}")) or [text_name(version)]


def _vector_differences(stores: Stores, tenant: Tenant, source_id: str) -> tuple[int, dict[IndexName, list[str]]]:
    nodes = by_index(stores.graph.node_ids(tenant, source_id))
    expected = {index: set(ids) for index, ids in nodes.items()}
    have = {index: set(stores.vectors.ids(tenant, index, source_id)) for index in expected}
    lost = sum(len(expected[index] - have[index]) for index in expected)
    return lost, {index: sorted(have[index] - expected[index]) for index in expected}


def _repair(stores: Stores, tenant: Tenant, finding: Finding) -> None:
    source_id = finding.source_id
    if finding.remedy.startswith(_REMOVE):
        stores.vectors.delete(tenant, _vector_differences(stores, tenant, source_id)[1])
        remove_held(stores, tenant, [source_id])
        return
    shown, live = stores.graph.sources(tenant, [source_id])[source_id], stores.graph.chunk_ids(tenant, source_id)
    # the version under way becomes equal to the one shown: what an attempt at it added loses its place
    stores.graph.write(tenant, [SourceVersion(replace(shown, version=shown.version + 1), live)])
    collect(stores, tenant, [source_id])
    stores.vectors.delete(tenant, _vector_differences(stores, tenant, source_id)[1])
    stores.vectors.untag(tenant, [source_id], keep={source_id: shown.version})
    record = stores.registry.document(tenant, source_id)
    stores.documents.delete(tenant, source_id, keep=_files(record, shown.version) if record else ())
    if record:
        healed = replace(
            record,
            state="READY",
            version=shown.version,
            title=shown.title,
            metadata=shown.metadata,
            intended=tuple(live),
            chunks=len(live),
        )
        if finding.remedy == AGAIN:
            # nothing known of it: the next ingest writes all of it once more, out of the cache where it can
            healed = replace(healed, fingerprint="", extractions={})
        stores.registry.save(tenant, counted(stores, tenant, [healed]))
