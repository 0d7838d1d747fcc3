"""Taking documents out again: hidden first, then vectors and texts, the graph and the registry last."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lexigraph.ingestion.versions import collect, settle_entities
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Stores

_WAIT_SECONDS = 600.0


def remove_held(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> None:
    """Remove documents whose leases the caller holds. May be repeated wherever it was interrupted."""
    records = [r for i in source_ids if (r := stores.registry.document(tenant, i))]
    stores.registry.save(tenant, [replace(r, state="REMOVING", fingerprint="") for r in records])
    stores.registry.fence(tenant, source_ids)
    stores.graph.withdraw(tenant, source_ids)
    collect(stores, tenant, source_ids)
    stores.registry.fence(tenant, source_ids)
    stores.vectors.untag(tenant, source_ids)
    for source_id in source_ids:
        stores.registry.fence(tenant, source_ids)
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


def remove_all(stores: Stores, tenant: Tenant, source_ids: Sequence[str]) -> None:
    """Remove documents, and wait for those that other processes work on. Raise ``Conflict`` when that takes too long."""
    left, until = list(source_ids), deadline()
    while left:
        _, left = remove(stores, tenant, left)
        if left:
            pause(until)


def remove_unchanged(stores: Stores, tenant: Tenant, written: Mapping[str, str]) -> int:
    """Remove documents unless they were written again since a time, that of ``updated_at`` by id. Return how many.

    Wait for those that other processes work on. Raise ``Conflict`` when that takes too long.
    """
    left, removed, until = list(written), 0, deadline()
    while left:
        with stores.registry.lease(tenant, left) as mine:
            now = stores.registry.records(tenant, sorted(mine))
            same = [i for i in now if now[i].updated_at == written[i]]
            if same:
                remove_held(stores, tenant, same)
        removed += len(same)
        left = [i for i in left if i not in mine]
        if left:
            pause(until)
    return removed


def deadline() -> float:
    """Return until when it is worth while to wait for other processes."""
    return time.monotonic() + _WAIT_SECONDS


def pause(until: float) -> None:
    """Wait a little for other processes. Raise ``Conflict`` after the deadline."""
    if time.monotonic() > until:
        raise Conflict("documents are held by another process for too long; stop it, or run again later")
    time.sleep(0.1)
