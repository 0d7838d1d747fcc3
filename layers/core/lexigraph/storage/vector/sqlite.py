"""The embedded vector store: records and full text in ``vectors.sqlite``, exact cosine over a memory-mapped copy.

A tenant's index is a partition (partitions.py); BM25 is that of FTS5 (fulltext.py); the copy of the vectors is a cache
(sidecar.py). A committed write is seen by the next search of every process.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.embedded import Database, embedded_path, in_batches, marks
from lexigraph.storage.protocols import VECTOR_INDEXES, FloatArray, Hit, IndexName, SearchRequest, VectorRecord
from lexigraph.storage.sqlite_filters import filter_sql, filterable_json
from lexigraph.storage.vector import partitions
from lexigraph.storage.vector.fulltext import Select, score_words
from lexigraph.storage.vector.partitions import Partition
from lexigraph.storage.vector.sidecar import Moved, Sidecars, View

INDEXES: tuple[IndexName, ...] = get_args(IndexName)
_ATTEMPTS = 10
_AT_ONCE = 8  # vectors multiplied together: enough to read the matrix once, few enough for the result to stay small
# float32 sums differ by less than this with the order of their terms
_MARGIN = 2e-5
_DAMAGE = 1e-3


class SqliteVectorStore:
    """The :class:`~lexigraph.storage.protocols.VectorStore` of ``sqlite:///FOLDER``."""

    def __init__(self, connection: str, *, label: str, dimension: int) -> None:
        """Open or create the store for the embedding ``label`` with vectors of ``dimension`` numbers."""
        if not label or dimension < 1:
            raise InvalidInput(f"embedding label {label!r}, dimension {dimension}: give a name and a positive number")
        self.label = label
        self.dimension = dimension
        path = embedded_path(connection, "vectors.sqlite")
        self._database = Database(path, partitions.SCHEMA)
        self._sidecars = Sidecars(path.parent)
        self._sweep()

    # ------------------------------------------------------------ writing

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        for index, rows in records.items():
            _check_index(index)
            for row in rows:
                self._check_record(index, row)
        with self._database.write() as connection:
            known = partitions.partitions_of(connection, tenant)
            for index, rows in records.items():
                if rows:
                    partition = self._own(known, index) or self._create(connection, tenant, index, known)
                    partitions.put(connection, partition, {row.id: row for row in rows})

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        rows = [(tenant, s.id, s.version, filterable_json(s.filterable)) for s in sources]
        with self._database.write() as connection:
            connection.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?)", rows)

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        rows = [(tenant, source, (keep or {}).get(source)) for source in source_ids]
        with self._database.write() as connection:
            # every version IS NOT NULL
            connection.executemany("DELETE FROM tags WHERE tenant = ? AND source = ? AND version IS NOT ?", rows)

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        for index in ids:
            _check_index(index)
        emptied = False
        with self._database.write() as connection:
            # of every embedding: what is deleted is gone
            for partition in partitions.partitions_of(connection, tenant):
                if ids.get(partition.name):
                    emptied |= partitions.remove(connection, partition, ids[partition.name])
        if emptied:
            self._sweep()

    # ------------------------------------------------------------ reading

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        for request in requests:
            _check_index(request.index)
            if request.vector is not None:
                self._check_vector(f"search in index {request.index}", request.vector)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._database.read() as connection:
                    return _Search(self, connection, tenant, patient=attempt < _ATTEMPTS).answer(requests)
            except Moved:
                continue
        raise AssertionError  # an impatient search is never moved
