"""Results of models by content."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from lexigraph.model.tenant import Tenant


@runtime_checkable
class ContentCache(Protocol):
    """Results of models by content. An entry lives as long as an owner (a chunk) that uses it.

    An entry is put before it is owned and waits up to a week. Entries that waited longer go with the tenant's next ``own``
    or ``disown``, and all that wait go when ``disown`` leaves the tenant without owners. Uses of entries that do not exist
    are passed over, so put before owning, and own the new before disowning the old.
    """

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that exist; ``kind`` names model and version."""

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries."""

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        """Make the (kind, key) pairs given all that each owner uses; entries nobody uses any more go. Atomic."""

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None:
        """Forget the owners and the entries that nobody else uses. Atomic."""

    def owners(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return owners that use something, in an order of the cache's own: those ``after`` one, at most ``limit``.

        None only when there are no more. One whose name has more than 400 bytes may be told by a hash of it.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of entries by kind."""

    def close(self) -> None:
        """Release connections."""
