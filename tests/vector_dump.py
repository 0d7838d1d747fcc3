"""Every record and tag of a tenant in a vector store, in a form that depends on the content only."""

from typing import Any

from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.vector_checks import INDEXES
from lexigraph.storage.opensearch.queries import of_tenant
from lexigraph.storage.opensearch.schema import TAGS
from lexigraph.storage.opensearch.store import OpenSearchVectorStore
from lexigraph.storage.protocols import VectorRecord, VectorStore
from lexigraph.storage.sqlite.filters import filterable_json
from lexigraph.storage.sqlite.vector.store import SqliteVectorStore
from tests.contract.vector_waiting import WaitingVectorStore

Dump = dict[str, list[tuple[Any, ...]]]


def dump_vectors(store: VectorStore, tenant: Tenant) -> Dump:
    """Return (id, source, chunk, text, vector to 4 digits) by index, and (source, metadata) under ``tag``, sorted."""
    store = store.store if isinstance(store, WaitingVectorStore) else store
    found = {index: store.fetch(tenant, index, store.ids(tenant, index)) for index in INDEXES}
    content: Dump = {index: [_dumped(records[id_]) for id_ in sorted(records)] for index, records in found.items()}
    return {**content, "tag": sorted(_tags(store, tenant))}


def _tags(store: VectorStore, tenant: Tenant) -> list[tuple[str, str]]:
    if isinstance(store, SqliteVectorStore):
        with store._database.read() as connection:
            return connection.execute("SELECT source, metadata FROM tags WHERE tenant = ?", (tenant,)).fetchall()
    assert isinstance(store, OpenSearchVectorStore)
    rows = store._documents.all(TAGS, of_tenant(tenant), ["doc_key"])
    versions = store._versions(tenant, {row["_source"]["doc_key"] for row in rows})
    return [(source, filterable_json(metadata)) for source, told in versions.items() for metadata in told.values()]


def _dumped(record: VectorRecord) -> tuple[Any, ...]:
    # adding zero turns -0.0 into 0.0
    vector = None if record.vector is None else tuple(round(v, 4) + 0.0 for v in record.vector.tolist())
    return record.id, record.source_id, record.chunk_id, record.text, vector
