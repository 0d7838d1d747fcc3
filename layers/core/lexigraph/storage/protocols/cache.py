"""Protocol of the cache of model results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from lexigraph.model.tenant import Tenant


@runtime_checkable
class ContentCache(Protocol):
    """A cache of model results, keyed by content. An entry lives as long as an owner (a chunk) uses it.

    An entry is put before it is owned, and kept without an owner for up to a week. Older unowned entries are deleted by the
    tenant's next ``own`` or ``disown``, and all unowned entries when ``disown`` leaves the tenant without owners. Uses of
    missing entries are ignored: put before owning, and own the new entries before disowning the old.
    """

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that exist, by key; ``kind`` names the model and its version."""

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries."""

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        """Set the (kind, key) pairs that each owner uses; delete entries that are no longer used. Atomic."""

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None:
        """Delete the owners and the entries that no other owner uses. Atomic."""

    def owners(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return a page of up to ``limit`` owners ``after`` the given one, in the cache's order.

        Empty only at the end. An owner whose name is longer than 400 bytes may appear as a hash of it.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of entries by kind."""

    def close(self) -> None:
        """Release connections."""
