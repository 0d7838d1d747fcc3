"""How much a tenant has, without going through all of it where a registry keeps count."""

from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import Stores

_KINDS = ("sources", "chunks", "topics", "statements", "facts", "entities", "mentions", "links")


def live_counts(stores: Stores, tenant: Tenant) -> dict[str, int]:
    """Return what readers see of each kind, as :meth:`GraphStore.stats` does.

    Where the registry keeps counts they are its sums, in which a fact counts in each document that says it; entities are
    then the names that searches find. A view is counted in the graph.
    """
    if isinstance(tenant, View) or not stores.registry.keeps_counts:
        return stores.graph.stats(tenant)
    found = stores.registry.counts(tenant) | {"entities": stores.vectors.stats(tenant)["entity"]}
    return {kind: found.get(kind, 0) for kind in _KINDS}
