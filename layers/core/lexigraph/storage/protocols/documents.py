"""Files of a document by name."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lexigraph.model.tenant import Tenant


@runtime_checkable
class DocumentStore(Protocol):
    """Files of a document by name: the parsed text of each version, and originals where there is no other home."""

    def put(self, tenant: Tenant, source_id: str, name: str, data: bytes) -> None:
        """Write a file. Readers see the old bytes or the new."""

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        """Return a file. Raise ``NotFound``."""

    def names(self, tenant: Tenant, source_id: str) -> list[str]:
        """Return the names under a source, sorted."""

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        """Delete the source's files except those in ``keep``; unknown sources are passed over."""

    def sources(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        """Return the ids of the sources that have files, sorted: those ``after`` an id, at most ``limit``."""
