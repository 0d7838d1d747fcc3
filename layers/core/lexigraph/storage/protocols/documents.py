"""Protocol of the document store."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lexigraph.model.tenant import Tenant


@runtime_checkable
class DocumentStore(Protocol):
    """Stores the files of a document by name: the parsed text of each version, and originals not kept elsewhere."""

    def put(self, tenant: Tenant, source_id: str, name: str, data: bytes) -> None:
        """Write a file atomically: readers see the old content or the new."""

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        """Return a file. Raise ``NotFound``."""

    def names(self, tenant: Tenant, source_id: str) -> list[str]:
        """Return the names under a source, sorted."""

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        """Delete the source's files except those in ``keep``; ignore unknown sources."""

    def sources(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        """Return up to ``limit`` ids, after ``after``, of sources that have files, sorted."""

    def tenants(self) -> list[Tenant]:
        """Return who has files here, sorted."""
