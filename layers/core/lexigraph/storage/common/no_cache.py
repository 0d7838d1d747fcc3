"""The cache of model results that keeps none."""

# ruff: noqa: ARG002  the protocol names the arguments
from collections.abc import Iterable, Mapping, Sequence

from lexigraph.model.tenant import Tenant


class NoCache:
    """A :class:`~lexigraph.storage.protocols.ContentCache` without entries: every model is asked every time."""

    def __init__(self, connection: str = "none") -> None:
        """Take the connection string as other back ends do."""

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        return {}

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None: ...

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[tuple[str, str]]]) -> None: ...

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None: ...

    def owners(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        return []

    def stats(self, tenant: Tenant) -> dict[str, int]:
        return {}

    def close(self) -> None: ...
