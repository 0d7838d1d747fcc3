"""Comparing registry, graph, vectors and texts with each other, and bringing them back together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lexigraph.ingestion.remove import remove_held
from lexigraph.ingestion.versions import collect, settle_entities, text_name
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, IndexName, SourceVersion, Stores

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

    A document that another process is working on is passed over. Nothing that readers see is ever taken away: what was
    lost of a document is made again by the next ingest.
    """
    known = {r.source_id for r in records(stores, tenant)}
    elsewhere = {*stores.graph.source_ids(tenant), *stores.documents.sources(tenant)}
    if elsewhere and not known:
        problem = f"the registry knows no document, but {len(elsewhere)} are in the other stores"
        return [Finding("", "", problem, "check LEXIGRAPH_REGISTRY, or ingest into a new folder")]
    findings = []
    for source_id in sorted(known | elsewhere):
        if _examine(stores, tenant, source_id) is None:
            continue
        with stores.registry.lease(tenant, [source_id]) as mine:
            # what looked wrong may have been somebody's work under way
            found = _examine(stores, tenant, source_id) if mine else None
            if found and repair:
                _repair(stores, tenant, found)
                found = replace(found, repaired=True)
            findings += [found] if found else []
    if repair:
        settle_entities(stores, tenant)
    return findings


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
