"""The content of an index, document by document in reading order, with the location of each statement."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lexigraph.model.batches import batched
from lexigraph.model.graph import Entity, Placement, StatementRow
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, EvidenceRequest, Stores

_CHUNKS = 100  # whose statements are read at once
_PAGE = 200  # of documents
READY = "READY"


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """A document with its chunks by id, its statements in reading order, and the entities that they name, by id."""

    record: DocumentRecord
    chunks: dict[str, Placement]
    statements: tuple[StatementRow, ...]
    entities: dict[str, Entity]


def records(stores: Stores, tenant: Tenant, namespace: str | None = None) -> Iterator[DocumentRecord]:
    """Yield the documents visible to questions, ordered by id."""
    after = ""
    while ids := stores.graph.source_ids(tenant, after=after, limit=_PAGE):
        after = ids[-1]
        found = stores.registry.records(tenant, ids)
        for source_id in ids:
            record = found.get(source_id)
            if record and record.state == READY and namespace in (None, record.namespace):
                yield record


def graphs(stores: Stores, tenant: Tenant, namespace: str | None = None) -> Iterator[DocumentGraph]:
    """Yield the graph of each document, ordered by id, with one document in memory at a time."""
    for record in records(stores, tenant, namespace):
        chunks = stores.graph.chunk_ids(tenant, record.source_id)
        ids = sorted(chunks, key=lambda chunk: chunks[chunk].seq)
        rows = [row for part in batched(ids, _CHUNKS) for row in _rows(stores, tenant, part)]
        rows = [row for row in rows if row.source.id == record.source_id]
        rows.sort(key=lambda row: (row.seq, row.position, row.id))
        named = sorted({entity for row in rows for entity in entities_of(row)})
        found = {
            id_: entity
            for part in batched(named, _CHUNKS)
            for id_, entity in stores.graph.entities(tenant, part).found.items()
            if id_ in part
        }
        yield DocumentGraph(record, chunks, tuple(rows), dict(sorted(found.items())))


def entities_of(row: StatementRow) -> Iterator[str]:
    """Yield the ids of entities that a statement names, in it or in a fact."""
    yield from row.entities
    for fact in row.facts:
        yield fact.subject_id
        if fact.object_id:
            yield fact.object_id


def _rows(stores: Stores, tenant: Tenant, chunks: Sequence[str]) -> Iterable[StatementRow]:
    return stores.graph.evidence(tenant, EvidenceRequest(chunks=tuple(chunks), neighbours=False))
