"""A client of a vector store that shows writes late: after each write it waits until searches see it, as ingestion does."""

import time
from collections.abc import Callable, Mapping, Sequence

from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.vector_checks import INDEXES
from lexigraph.storage.protocols import VECTOR_INDEXES, Hit, IndexName, SearchRequest, VectorRecord, VectorStore

_SECONDS = 30.0


class WaitingVectorStore:
    """Hands everything on. It knows of lateness only what the protocol tells: ``visible``, and what is found."""

    def __init__(self, store: VectorStore) -> None:
        self.store = store
        self.label, self.dimension = store.label, store.dimension

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        self.store.upsert(tenant, records)
        self._until_visible(tenant, {index: [row.id for row in rows] for index, rows in records.items()})

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        self.store.tag(tenant, sources)
        self._until_visible(tenant, {index: self.store.ids(tenant, index) for index in INDEXES})

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        self.store.untag(tenant, source_ids, keep=keep)
        self._until_visible(tenant, {index: self.store.ids(tenant, index) for index in INDEXES})

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        self.store.delete(tenant, ids)
        for index, keys in ids.items():
            _wait(lambda: not self.store.fetch(tenant, index, keys))  # noqa: B023  # called at once

    def drop(self, tenant: Tenant) -> None:
        self.store.drop(tenant)
        _wait(lambda: not any(self.store.stats(tenant)[index] for index in VECTOR_INDEXES))

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        return self.store.search_many(tenant, requests)

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        return self.store.fetch(tenant, index, ids)

    def visible(
        self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]], *, tagged: Mapping[str, int] | None = None
    ) -> bool:
        return self.store.visible(tenant, ids, tagged=tagged)

    def ids(
        self, tenant: Tenant, index: IndexName, source_id: str | None = None, *, after: str = "", limit: int | None = None
    ) -> list[str]:
        return self.store.ids(tenant, index, source_id, after=after, limit=limit)

    def sources(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        return self.store.sources(tenant, after=after, limit=limit)

    def stats(self, tenant: Tenant) -> dict[str, int]:
        return self.store.stats(tenant)

    def close(self) -> None:
        self.store.close()

    def _until_visible(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        _wait(lambda: self.store.visible(tenant, ids))


def _wait(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not seen():
        assert time.monotonic() < deadline, f"what was written is not seen after {_SECONDS:.0f} s"
