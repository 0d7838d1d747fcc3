"""Comparing registry, graph, vectors and texts with each other, and bringing them back together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from lexigraph.ingestion.remove import remove_held
from lexigraph.ingestion.versions import collect, settle_entities, text_name
from lexigraph.model.errors import NotFound
from lexigraph.model.ids import source_id as make_source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.documents.names import is_source_id
from lexigraph.storage.protocols import DocumentRecord, IndexName, SourceVersion, Stores

# a function lives for 15 minutes at most: whoever lost a lease so long ago writes nothing more, and all searches show it
OVER_SECONDS = 1_200.0
_PAGE, _SWEPT_AT_ONCE = 500, 20


@dataclass(frozen=True, slots=True)
class Finding:
    """A document that is not as it should be; ``remedy`` is what repair does, ``repaired`` whether it did."""

    source_id: str
    uri: str
    problem: str
    remedy: str
    repaired: bool = False


def records(stores: Stores, tenant: Tenant) -> Iterator[DocumentRecord]:
    """Yield every document of the tenant, by uri."""
    after = ""
    while page := stores.registry.documents(tenant, after=after, limit=_PAGE):
        yield from page
        after = page[-1].uri


def examine(stores: Stores, tenant: Tenant, *, repair: bool = False) -> list[Finding]:
    """Find documents that stand half written, half removed or apart between the stores; ``repair`` puts them right.

    So are found, too, sources of which the registry knows nothing and a text, a vector, a word or a node is left, whatever
    left it. A document that another process is working on is passed over, also between two steps of its run. Nothing that
    readers see is ever taken away: what was lost of a document is made again by the next ingest.

    Documents and sources are gone through page by page; in memory is what one document has, and what was found.
    """
    if stores.registry.revision(tenant) == 0:  # it never had a document
        if not any(listed(tenant, limit=1) for listed in _listings(stores)):
            return []
        problem = "the registry knows no document, but there are some in the other stores"
        return [Finding("", "", problem, "check LEXIGRAPH_REGISTRY, or ingest into a new folder")]
    findings: dict[str, Finding] = {}
    known = (record.source_id for record in records(stores, tenant))
    for source_id in chain(known, _strangers(stores, tenant)):
        if source_id not in findings and (found := _looked_at(stores, tenant, source_id, repair)):
            findings[source_id] = found
    names = _stray_names(stores, tenant, repair)
    if repair:
        settle_entities(stores, tenant)
    return [*sorted(findings.values(), key=lambda f: f.source_id), *names]


def sweep(stores: Stores, tenant: Tenant, *, since: float = OVER_SECONDS) -> None:
    """Take away what writers left that lost their leases at least ``since`` seconds ago, and were killed thereafter.

    Looked at are the documents that they held, a few a run; those that somebody works on are left to the next sweep. Of
    documents that are known nothing is taken but leftovers. Without late writers it is one request.
    """
    late = stores.registry.late_writers(tenant, since=since)[:_SWEPT_AT_ONCE]
    seen_to = [one for one in late if not is_source_id(one.key)]  # jobs write nothing, and names of entities are derived
    for source_id in dict.fromkeys(one.key for one in late if is_source_id(one.key)):
        with stores.registry.lease(tenant, [source_id]) as mine:
            if not mine or _is_under_way(stores, tenant, source_id):
                continue
            found = _examine(stores, tenant, source_id)
            if found and found.remedy in (_REMOVE, _COLLECT):
                _repair(stores, tenant, found)
        seen_to += [one for one in late if one.key == source_id]
    if seen_to:
        stores.registry.dismiss(tenant, seen_to)


def _listings(stores: Stores) -> tuple[Callable[..., list[str]], ...]:
    return stores.graph.source_ids, stores.documents.sources, stores.vectors.sources


def _strangers(stores: Stores, tenant: Tenant) -> Iterator[str]:
    """Yield the sources that are in a store, and not in the registry."""
    for listed in _listings(stores):
        after = ""
        while page := listed(tenant, after=after, limit=_PAGE):
            known = stores.registry.fingerprints(tenant, page)
            yield from (source_id for source_id in page if source_id not in known)
            after = page[-1]


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


def _is_under_way(stores: Stores, tenant: Tenant, source_id: str) -> bool:
    """Whether a run that goes step by step has begun with a document: between two steps nobody holds its lease."""
    record = stores.registry.document(tenant, source_id)
    if record is None or record.state != "BUILDING":
        return False
    of_file = make_source_id(tenant, record.namespace, record.uri.partition("#")[0])
    claim = stores.registry.claimed(tenant, of_file)
    try:
        return claim is not None and stores.registry.job(tenant, claim.holder).status == "RUNNING"
    except NotFound:
        return False


def _stray_names(stores: Stores, tenant: Tenant, repair: bool) -> list[Finding]:
    """Find names in the full text whose entities are gone: they belong to no document."""
    count, after = 0, ""
    while page := stores.vectors.ids(tenant, "entity", after=after, limit=_PAGE):
        after = page[-1]
        if not stores.graph.absent(tenant, page):
            continue
        with stores.registry.lease(tenant, ["collector"]) as mine:  # whoever derives names changes both stores
            strays = stores.graph.absent(tenant, page) if mine else []
            count += len(strays)
            if repair:
                stores.vectors.delete(tenant, {"entity": strays})
    problem = f"{count} names of entities are left that no document gives"
    return [Finding("", "names", problem, _COLLECT, repaired=repair)] if count else []


_REMOVE, _AGAIN, _COLLECT = "remove it", "ingest it again", "collect them"


def _examine(stores: Stores, tenant: Tenant, source_id: str) -> Finding | None:
    record = stores.registry.document(tenant, source_id)
    if record is None:
        return Finding(source_id, source_id, "is in a store but not in the registry", _REMOVE)
    uri = record.uri
    if record.state == "REMOVING":
        return Finding(source_id, uri, "its removal was interrupted", _REMOVE)
    shown = stores.graph.sources(tenant, [source_id]).get(source_id)
    if shown is None:
        problem = "was never built to the end" if record.state == "BUILDING" else "is not in the graph"
        return Finding(source_id, uri, problem, f"{_REMOVE}; {_AGAIN}")
    if record.state == "BUILDING":
        return Finding(source_id, uri, "an update was interrupted", _AGAIN)
    texts, text = stores.documents.names(tenant, source_id), text_name(shown.version)
    if text not in texts:
        return Finding(source_id, uri, "its text is missing", _AGAIN)
    lost, stray = _vector_differences(stores, tenant, source_id)
    if lost:
        return Finding(source_id, uri, f"{lost} vectors are missing", _AGAIN)
    chunks = tuple(stores.graph.chunk_ids(tenant, source_id))
    if (record.version, record.title, set(record.intended)) != (shown.version, shown.title, set(chunks)):
        return Finding(source_id, uri, "registry and graph differ", _AGAIN)
    if any(stray.values()) or texts != [text] or stores.graph.doomed(tenant, [source_id]):
        return Finding(source_id, uri, "leftovers of another version", _COLLECT)
    return None


def _vector_differences(stores: Stores, tenant: Tenant, source_id: str) -> tuple[int, dict[IndexName, list[str]]]:
    nodes = stores.graph.node_ids(tenant, source_id)
    expected: dict[IndexName, set[str]] = {
        "chunk": set(nodes.chunks),
        "statement": set(nodes.statements),
        "topic": set(nodes.topics),
        "relation": set(nodes.chunks),
    }
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
    stores.documents.delete(tenant, source_id, keep=[text_name(shown.version)])
    if record := stores.registry.document(tenant, source_id):
        healed = replace(
            record,
            state="READY",
            version=shown.version,
            title=shown.title,
            metadata=shown.metadata,
            intended=tuple(live),
            chunks=len(live),
        )
        if finding.remedy == _AGAIN:
            # nothing known of it: the next ingest writes all of it once more, out of the cache where it can
            healed = replace(healed, fingerprint="", extractions={})
        stores.registry.save(tenant, [healed])
