"""Taking documents out again: hidden first, then vectors and texts, the graph and the registry last."""

from collections.abc import Sequence
from dataclasses import replace

from lexigraph.ingestion.versions import collect, settle_entities
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Stores


def remove_held(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> None:
    """Remove documents whose leases the caller holds. May be repeated wherever it was interrupted."""
    records = [r for i in source_ids if (r := stores.registry.document(tenant, i))]
    stores.registry.save(tenant, [replace(r, state="REMOVING", fingerprint="") for r in records])
    stores.graph.withdraw(tenant, source_ids)
    collect(stores, tenant, source_ids)
    stores.vectors.untag(tenant, source_ids)
    for source_id in source_ids:
        stores.documents.delete(tenant, source_id)
    settle_entities(stores, tenant)
    stores.registry.forget(tenant, source_ids)


def remove(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> tuple[list[str], list[str]]:
    """Remove documents. Return the ids removed, and those that another process is working on right now."""
    with stores.registry.lease(tenant, source_ids) as mine:
        removed = [i for i in source_ids if i in mine]
        if removed:
            remove_held(stores, tenant, removed)
    return removed, [i for i in source_ids if i not in mine]
