"""The embedded vector store: records and full text in ``vectors.sqlite``, exact cosine over a memory-mapped copy.

A tenant's index is a partition (partitions.py), BM25 is over FTS5 (fulltext.py), the copy of the vectors is a cache
(sidecar.py). A committed write is seen by the next search of every process.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lexigraph.model.errors import Misconfigured
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.folders import embedded_path
from lexigraph.storage.common.vector_checks import INDEXES, check_embedding, check_index, check_records, check_requests
from lexigraph.storage.protocols import VECTOR_INDEXES, FloatArray, Hit, IndexName, SearchRequest, VectorRecord
from lexigraph.storage.sqlite.database import Create, Database, in_batches, marks
from lexigraph.storage.sqlite.filters import filterable_json
from lexigraph.storage.sqlite.vector import partitions
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.search import Known, Search, sources_passing
from lexigraph.storage.sqlite.vector.sidecar import Moved, Sidecars

_ATTEMPTS = 10


class SqliteVectorStore:
    """The :class:`~lexigraph.storage.protocols.VectorStore` of ``sqlite:///FOLDER``."""

    def __init__(self, connection: str, *, label: str, dimension: int, beside: bool = False, create: Create = True) -> None:
        """Open or ``create`` the store for the embedding ``label``, whose vectors have ``dimension`` numbers.

        ``beside``: also where a tenant has vectors of other embeddings only.
        """
        check_embedding(label, dimension)
        self.label = label
        self.dimension = dimension
        self._beside = beside
        path = embedded_path(connection, "vectors.sqlite")
        self._database = Database(
            path, partitions.SCHEMA, version=partitions.VERSION, migrations=partitions.MIGRATIONS, create=create
        )
        self._sidecars = Sidecars(path.parent)
        self._known = Known(lambda: self._database.file)
        self._sweep()

    # ------------------------------------------------------------ writing

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        check_records(records, self.label, self.dimension)
        with self._database.write() as connection:
            known = partitions.partitions_of(connection, tenant)
            for index in (i for i, rows in records.items() if rows):
                partition = self._own(known).get(index)
                if partition is None:
                    self._refuse_other_embedding(known, index)
                    label = self.label if index in VECTOR_INDEXES else ""
                    partition = partitions.create(connection, tenant, index, label, self.dimension if label else 0)
                partitions.put(connection, partition, {row.id: row for row in records[index]})

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        rows = [(tenant, s.id, s.version, filterable_json(s.filterable)) for s in sources]
        with self._database.write() as connection:
            connection.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?)", rows)

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        rows = [(tenant, source, (keep or {}).get(source)) for source in source_ids]
        with self._database.write() as connection:
            # where nothing is kept, every version IS NOT NULL
            connection.executemany("DELETE FROM tags WHERE tenant = ? AND source = ? AND version IS NOT ?", rows)

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        for index in ids:
            check_index(index)
        emptied = False
        with self._database.write() as connection:
            for partition in partitions.partitions_of(connection, tenant):
                if ids.get(partition.name):
                    emptied |= partitions.remove(connection, partition, ids[partition.name])
        if emptied:
            self._sweep()

    def drop(self, tenant: Tenant) -> None:
        with self._database.write() as connection:
            for partition in partitions.partitions_of(connection, tenant):
                if partition.label == self.label:
                    partitions.drop(connection, partition)
        self._sweep()

    # ------------------------------------------------------------ reading

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        check_requests(requests, self.label, self.dimension)
        for _ in range(1, _ATTEMPTS):
            try:
                return self._search(tenant, requests, patient=True)
            except Moved:
                continue
        return self._search(tenant, requests, patient=False)

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        with self._database.read() as connection:
            rows = self._rows(connection, tenant.whole, index, "id, text, source, chunk, vector", ids)
            seen = _seen_by(connection, tenant)
            return {row[0]: _record(*row) for row in rows if seen is None or row[2] in seen}

    def visible(
        self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]], *, tagged: Mapping[str, int] | None = None
    ) -> bool:
        with self._database.read() as connection:
            versions = "SELECT 1 FROM tags WHERE tenant = ? AND source = ? AND version = ?"
            return all(
                len(list(self._rows(connection, tenant, index, "id", keys))) == len(set(keys)) for index, keys in ids.items()
            ) and all(connection.execute(versions, (tenant, *tag)).fetchone() for tag in (tagged or {}).items())

    def ids(
        self, tenant: Tenant, index: IndexName, source_id: str | None = None, *, after: str = "", limit: int | None = None
    ) -> list[str]:
        check_index(index)
        with self._database.read() as connection:
            partition = self._own(partitions.partitions_of(connection, tenant)).get(index)
            if partition is None:
                return []
            of_source, parameters = ("AND source = ?", [source_id]) if source_id is not None else ("", [])
            query = f"SELECT id FROM {partition.records} WHERE id > ? {of_source} ORDER BY id LIMIT ?"
            found = connection.execute(query, [after, *parameters, -1 if limit is None else limit])
            return [id_ for (id_,) in found]

    def sources(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        with self._database.read() as connection:
            tables = [p.records for p in partitions.partitions_of(connection, tenant)]
            one = "SELECT * FROM (SELECT DISTINCT source FROM {} WHERE source > :after ORDER BY source LIMIT :limit)"
            parts = [one.format(table) for table in tables]
            parts.append(one.format("(SELECT source FROM tags WHERE tenant = :tenant)"))
            query = " UNION ".join(parts) + " ORDER BY 1 LIMIT :limit"
            found = connection.execute(query, {"after": after, "limit": limit, "tenant": tenant})
            return [source for (source,) in found]

    def stats(self, tenant: Tenant) -> dict[str, int]:
        with self._database.read() as connection:
            own = self._own(partitions.partitions_of(connection, tenant.whole))
            seen = _seen_by(connection, tenant)
            return {index: _count(connection, own[index], seen) if index in own else 0 for index in INDEXES}

    def close(self) -> None:
        self._sidecars.close()
        self._database.close()

    # ------------------------------------------------------------ private

    def _search(self, tenant: Tenant, requests: Sequence[SearchRequest], *, patient: bool) -> list[list[Hit]]:
        with self._database.read() as connection:
            known = partitions.partitions_of(connection, tenant.whole)
            own = self._own(known)
            for index in {request.index for request in requests} - own.keys():
                self._refuse_other_embedding(known, index)
            search = Search(connection, self._sidecars, self._known, tenant, own, patient=patient)
            return search.answer(requests)

    def _rows(
        self, connection: sqlite3.Connection, tenant: Tenant, index: IndexName, columns: str, ids: Iterable[str]
    ) -> Iterable[tuple[Any, ...]]:
        check_index(index)
        partition = self._own(partitions.partitions_of(connection, tenant)).get(index)
        if partition is None:
            return
        for batch in in_batches(list(dict.fromkeys(ids))):
            query = f"SELECT {columns} FROM {partition.records} WHERE id IN ({marks(len(batch))})"
            yield from connection.execute(query, batch)

    def _own(self, known: Sequence[Partition]) -> dict[IndexName, Partition]:
        """Return the partitions of this embedding, and those without vectors, by index."""
        return {p.name: p for p in known if p.label in ("", self.label)}

    def _refuse_other_embedding(self, known: Sequence[Partition], index: IndexName) -> None:
        labels = {p.label for p in known if p.label}
        if index in VECTOR_INDEXES and labels and self.label not in labels and not self._beside:
            raise Misconfigured(
                f"{self._database.path}: holds vectors of {' and '.join(sorted(labels))}, not of {self.label}: set "
                "LEXIGRAPH_EMBEDDING_MODEL to the model they were made with, run `lexigraph reembed`, or ingest into a new "
                "folder"
            )

    def _sweep(self) -> None:
        def numbers() -> list[int]:
            with self._database.read() as connection:
                return partitions.numbers(connection)

        self._sidecars.sweep(numbers)


def _seen_by(connection: sqlite3.Connection, tenant: Tenant) -> frozenset[str] | None:
    """Return the sources that a view sees; None for the whole tenant."""
    return sources_passing(connection, tenant.whole, tenant.rights) if isinstance(tenant, View) else None


def _count(connection: sqlite3.Connection, partition: Partition, seen: frozenset[str] | None) -> int:
    if seen is None:
        return partition.live
    counted = connection.execute(f"SELECT source, count(*) FROM {partition.records} GROUP BY source")
    return sum(count for source, count in counted if source in seen)


def _record(id_: str, text: str, source: str, chunk: str, vector: bytes | None) -> VectorRecord:
    return VectorRecord(id_, text, source, chunk, None if vector is None else _vector(vector))


def _vector(raw: bytes) -> FloatArray:
    return np.frombuffer(raw, "<f4")
