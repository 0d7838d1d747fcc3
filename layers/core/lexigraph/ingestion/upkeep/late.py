"""Writers that lost their leases, and cleaning up after them.

Graph, vectors and texts know no leases. A writer that was stopped for longer than its term may wake when its document has
been removed, and what it had begun is then carried out: text of which the registry knows nothing. Three things together see
to it that none stays:

* the writer asks its lease before each call (:meth:`~lexigraph.storage.protocols.Registry.fence`), and takes away what it
  wrote once it knows that it was late (:func:`holding`);
* whoever takes a lease from a holder that did not give it back notes that, and a later run looks at the document once more
  when that holder cannot live any longer (:func:`lexigraph.ingestion.upkeep.repair.sweep`): it may have been killed before
  it could clean up;
* ``lexigraph doctor`` compares all stores with the registry.

Whoever cleans up holds the lease, so nothing that somebody is writing is taken for a leftover.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from lexigraph.ingestion.remove import remove_held
from lexigraph.model.errors import LexigraphError
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import IndexName, Stores

Ids = Mapping[IndexName, Sequence[str]]
_PATIENCE_SECONDS = 30.0  # for which we wait for who holds a document; after that a later run sees to it


@contextmanager
def holding(
    stores: Stores, tenant: Tenant, source_ids: Sequence[str], written: Mapping[str, Ids]
) -> Iterator[frozenset[str]]:
    """Take the leases of documents that are free, as ``Registry.lease`` does.

    ``written`` is what the block writes into the indexes, by document; it may be filled in the course of it, before
    anything is written. When the block fails and leases of these documents were lost, what nobody needs of it goes.
    """
    try:
        with stores.registry.lease(tenant, source_ids) as mine:
            yield mine
    except LexigraphError:
        with suppress(LexigraphError):  # then a later run cleans up; what failed is what is told
            _clean_up(stores, tenant, written)
        raise


def _clean_up(stores: Stores, tenant: Tenant, written: Mapping[str, Ids]) -> None:
    if not written:
        return
    lost = {late.key for late in stores.registry.late_writers(tenant, since=0.0)}
    left, until = [i for i in written if i in lost], time.monotonic() + _PATIENCE_SECONDS
    while left:
        with stores.registry.lease(tenant, left) as mine:
            if mine:
                _take_away(stores, tenant, {i: written[i] for i in mine})
        left = [i for i in left if i not in mine]
        if left and time.monotonic() > until:
            return
        if left:
            time.sleep(0.2)


def _take_away(stores: Stores, tenant: Tenant, written: Mapping[str, Ids]) -> None:
    """Take away what was written of documents and the graph does not hold; of those that are gone all that came back."""
    known = stores.registry.fingerprints(tenant, list(written))
    if gone := [i for i in written if i not in known]:
        remove_held(stores, tenant, gone)
    strays: dict[IndexName, list[str]] = {}
    for source_id, ids in written.items():
        nodes = stores.graph.node_ids(tenant, source_id)
        there = {*nodes.chunks, *nodes.statements, *nodes.topics}
        for index, mine in ids.items():
            strays.setdefault(index, []).extend(i for i in mine if i not in there)
    stores.vectors.delete(tenant, strays)
    # cached results belong to chunks
    stores.cache.disown(tenant, strays.get("chunk", []))
