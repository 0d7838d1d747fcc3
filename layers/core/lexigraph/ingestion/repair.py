"""Comparing registry, graph, vectors and texts with each other, and bringing them back together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lexigraph.ingestion.remove import remove_held
from lexigraph.ingestion.versions import collect, settle_entities, text_name
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import VECTOR_INDEXES, DocumentRecord, IndexName, SourceVersion, Stores

_PAGE = 500


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

    A document that another process is working on is passed over.
    """
    known = {r.source_id: r for r in records(stores, tenant)}
    anywhere = {*known, *stores.graph.source_ids(tenant), *stores.documents.sources(tenant)}
    findings = []
    for source_id in sorted(anywhere):
        with stores.registry.lease(tenant, [source_id]) as mine:
            if mine and (found := _examine(stores, tenant, source_id, stores.registry.document(tenant, source_id))):
                if repair:
                    _repair(stores, tenant, source_id, found)
                    found = replace(found, repaired=True)
                findings.append(found)
    if repair:
        settle_entities(stores, tenant)
    return findings


def _examine(stores: Stores, tenant: Tenant, source_id: str, record: DocumentRecord | None) -> Finding | None:
    uri = record.uri if record else source_id
    if record is None:
        return Finding(source_id, uri, "is in a store but not in the registry", "remove it")
    if record.state == "REMOVING":
        return Finding(source_id, uri, "its removal was interrupted", "remove it")
    shown = stores.graph.sources(tenant, [source_id]).get(source_id)
    if shown is None:
        return Finding(source_id, uri, "was never built to the end", "remove it; ingest it again")
    if record.state == "BUILDING":
        return Finding(source_id, uri, "an update was interrupted", "drop the update; ingest it again")
    if text_name(shown.version) not in stores.documents.names(tenant, source_id):
        return Finding(source_id, uri, "its text is missing", "remove it; ingest it again")
    lost, stray = _vector_differences(stores, tenant, source_id)
    if lost:
        return Finding(source_id, uri, f"{lost} vectors are missing", "remove it; ingest it again")
    if any(stray.values()) or stores.graph.doomed(tenant, [source_id]):
        return Finding(source_id, uri, "leftovers of an earlier version", "collect them")
    return None


def _vector_differences(stores: Stores, tenant: Tenant, source_id: str) -> tuple[int, dict[IndexName, list[str]]]:
    nodes = stores.graph.node_ids(tenant, source_id)
    expected: dict[IndexName, set[str]] = {
        "chunk": set(nodes.chunks),
        "statement": set(nodes.statements),
        "topic": set(nodes.topics),
    }
    have = {index: set(stores.vectors.ids(tenant, index, source_id)) for index in VECTOR_INDEXES}
    lost = sum(len(expected[index] - have[index]) for index in VECTOR_INDEXES)
    return lost, {index: sorted(have[index] - expected[index]) for index in VECTOR_INDEXES}


def _repair(stores: Stores, tenant: Tenant, source_id: str, finding: Finding) -> None:
    if finding.remedy.startswith("remove"):
        _, stray = _vector_differences(stores, tenant, source_id)
        stores.vectors.delete(tenant, stray)
        remove_held(stores, tenant, [source_id])
        return
    shown = stores.graph.sources(tenant, [source_id])[source_id]
    if finding.remedy.startswith("drop"):
        _drop_attempt(stores, tenant, shown)
    collect(stores, tenant, [source_id])
    stores.vectors.delete(tenant, _vector_differences(stores, tenant, source_id)[1])
    stores.vectors.untag(tenant, [source_id], keep={source_id: shown.version})
    stores.documents.delete(tenant, source_id, keep=[text_name(shown.version)])
    if record := stores.registry.document(tenant, source_id):
        # no fingerprint: the next ingest looks at the document again
        stores.registry.save(tenant, [replace(record, state="READY", version=shown.version, fingerprint="")])


def _drop_attempt(stores: Stores, tenant: Tenant, shown: Source) -> None:
    """Make the version under way equal to the one shown: what the attempt added loses its place."""
    live = stores.graph.chunk_ids(tenant, shown.id)
    stores.graph.write(tenant, [SourceVersion(replace(shown, version=shown.version + 1), live)])
