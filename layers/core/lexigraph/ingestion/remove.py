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
    stores.registry.save(tenant, [replace(r, state="REMOVING", fingerprint="", counts={}) for r in records])
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


def remove(
    stores: Stores, tenant: Tenant, source_ids: Sequence[str], written: Mapping[str, str] | None = None
) -> tuple[list[str], list[str]]:
    """Remove documents. Return the ids removed, and those that another process is working on right now.

    What another process has removed meanwhile is in neither. With ``written``, the times of ``updated_at`` by id, what was
    written again since then stays.
    """
    with stores.registry.lease(tenant, source_ids) as mine:
        now = stores.registry.records(tenant, sorted(mine))
        removed = [i for i in source_ids if i in now and (written is None or now[i].updated_at == written[i])]
        if removed:
            remove_held(stores, tenant, removed)
    return removed, [i for i in source_ids if i not in mine]


def remove_all(stores: Stores, tenant: Tenant, source_ids: Sequence[str], written: Mapping[str, str] | None = None) -> int:
    """Remove documents as :func:`remove`, and wait for those that other processes work on. Return how many.

    Raise ``Conflict`` when that takes too long.
    """
    left, count, until = list(source_ids), 0, deadline()
    while left:
        removed, left = remove(stores, tenant, left, written)
        count += len(removed)
        if left:
            pause(until)
    return count


def deadline() -> float:
    """Return until when it is worth while to wait for other processes."""
    return time.monotonic() + _WAIT_SECONDS


def pause(until: float) -> None:
    """Wait a little for other processes. Raise ``Conflict`` after the deadline."""
    if time.monotonic() > until:
        raise Conflict("documents are locked by another process. Stop that process or try again later")
    time.sleep(0.1)
