"""Searches in the partitions of one tenant, all within one read transaction."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.filters import Filter
from lexigraph.storage.embedded import in_batches, marks
from lexigraph.storage.protocols import FloatArray, Hit, IndexName, SearchRequest
from lexigraph.storage.sqlite_filters import Sql, filter_sql
from lexigraph.storage.vector.fulltext import score_words
from lexigraph.storage.vector.partitions import Partition
from lexigraph.storage.vector.sidecar import Moved, Sidecars, View

Scores = list[tuple[int, float]]
_Record = tuple[str, str, str, str]

_AT_ONCE = 8  # vectors multiplied together: enough to read the matrix seldom, few enough for a small result
_MARGIN = 2e-5  # more than float32 sums of the same products differ with their order


class Search:
    """Answers requests from what one transaction sees. ``patient`` as in :meth:`Sidecars.view`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        sidecars: Sidecars,
        tenant: str,
        partitions: Mapping[IndexName, Partition],
        *,
        patient: bool = True,
    ) -> None:
        self._connection, self._sidecars, self._tenant = connection, sidecars, tenant
        self._partitions, self._patient = partitions, patient
        self._passing: dict[str, frozenset[str]] = {}
        # id, source, chunk and text by partition and key: several requests ask for the same records
        self._records: dict[int, dict[int, _Record]] = {}
        self._asked: dict[tuple[int, tuple[str, ...]], list[int]] = {}

    def answer(self, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Return the hits of each request. Raise ``Moved`` to be asked again in another transaction."""
        hits: list[list[Hit]] = [[] for _ in requests]
        nearest: dict[IndexName, list[int]] = {}
        for at, request in enumerate(requests):
            partition = self._partitions.get(request.index)
            if partition is None or (request.ids is None and request.k < 1):
                continue
            if request.vector is not None and request.ids is None:
                nearest.setdefault(request.index, []).append(at)
            else:
                hits[at] = self._given(partition, request)
        for index, places in nearest.items():
            for first in range(0, len(places), _AT_ONCE):
                batch = places[first : first + _AT_ONCE]
                found = self._nearest(self._partitions[index], [requests[at] for at in batch])
                for at, best in zip(batch, found, strict=True):
                    hits[at] = best
        return hits

    def _given(self, partition: Partition, request: SearchRequest) -> list[Hit]:
        """Answer a request for given ids, or by words."""
        ids, k = request.ids, (request.k if request.ids is None else None)
        keys = None if ids is None else self._keys(partition, ids, request.filters)
        if request.vector is not None:
            query = np.asarray(request.vector, np.float32)
            return self._hits(partition, [found[:2] for found in self._exact(partition, keys or [], query)], k)
        # keys have passed already
        tagged = self._tagged(request.filters) if request.filters is not None and keys is None else None
        scores = score_words(
            self._connection, partition, request.text, request.k, prefix=request.prefix, keys=keys, tagged=tagged
        )
        return self._hits(partition, scores, k)

    def _nearest(self, partition: Partition, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        view = self._sidecars.view(self._connection, partition, patient=self._patient)
        queries = np.stack([np.asarray(r.vector, np.float32) for r in requests])
        likeness = queries @ view.vectors.T if len(requests) > 1 else (view.vectors @ queries[0])[np.newaxis]
        likeness[:, view.dead] = -np.inf
        hits: list[list[Hit]] = []
        for request, row in zip(requests, likeness, strict=True):
            if request.filters is not None:
                row[~view.of_sources(self._sources_passing(request.filters))] = -np.inf
            scores = self._checked(partition, view, _best(row, request.k), queries[len(hits)])
            hits.append(self._hits(partition, scores, request.k, request.filters))
        return hits

    def _checked(self, partition: Partition, view: View, slots: NDArray[np.intp], query: FloatArray) -> Scores:
        """Score slots from the database, where the same vectors must be."""
        at = {int(key): slot for key, slot in zip(view.keys[slots], slots, strict=True)}
        found = self._exact(partition, list(at), query)
        if len(found) < len(at) or any(view.vectors[at[key]].tobytes() != raw for key, _, raw in found):
            self._sidecars.distrust(partition)
            raise Moved
        return [(key, score) for key, score, _ in found]

    def _exact(self, partition: Partition, keys: list[int], query: FloatArray) -> list[tuple[int, float, bytes]]:
        """Return key, cosine and vector of records; the cosine in double precision, rounded, from the database."""
        found: list[tuple[int, float, bytes]] = []
        for batch in in_batches(keys):
            rows = self._connection.execute(
                f"SELECT key, vector FROM {partition.records} WHERE key IN ({marks(len(batch))})", batch
            ).fetchall()
            vectors = np.frombuffer(b"".join(raw for _, raw in rows), "<f4").reshape(-1, partition.dimension)
            cosines = (vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
            # adding zero turns -0.0 into 0.0
            found += [(key, round(float(c), 6) + 0.0, raw) for (key, raw), c in zip(rows, cosines, strict=True)]
        return found

    def _hits(self, partition: Partition, scores: Scores, k: int | None, filters: Filter | None = None) -> list[Hit]:
        """Return the best ``k`` (None: all) as hits, best first, ties by id."""
        if k is not None and len(scores) > k:
            edge = sorted((score for _, score in scores), reverse=True)[k - 1]
            scores = [found for found in scores if found[1] >= edge]
        of = dict(scores)
        # slots know sources by a hash only
        allowed = None if filters is None else self._sources_passing(filters)
        records = self._records.setdefault(partition.number, {})
        self._read(partition, "key", [key for key in of if key not in records])
        hits = [
            Hit(id_, of[key], text, source, chunk)
            for key in of
            for id_, source, chunk, text in (records[key],)
            if allowed is None or source in allowed
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]

    def _keys(self, partition: Partition, ids: Iterable[str], filters: Filter | None) -> list[int]:
        unique = tuple(dict.fromkeys(ids))
        if (partition.number, unique) not in self._asked:
            self._asked[partition.number, unique] = self._read(partition, "id", list(unique))
        keys, records = self._asked[partition.number, unique], self._records.get(partition.number, {})
        if filters is None:
            return keys
        allowed = self._sources_passing(filters)
        return [key for key in keys if records[key][1] in allowed]

    def _read(self, partition: Partition, by: str, values: list[str] | list[int]) -> list[int]:
        """Read records by ``id`` or ``key``, to be found in ``_records``; return the keys of those that exist."""
        records, found = self._records.setdefault(partition.number, {}), []
        for batch in in_batches(values):
            query = f"SELECT key, id, source, chunk, text FROM {partition.records} WHERE {by} IN ({marks(len(batch))})"
            rows = self._connection.execute(query, batch).fetchall()
            records.update({row[0]: row[1:] for row in rows})
            found += [row[0] for row in rows]
        return found

    def _tagged(self, filters: Filter) -> Sql:
        condition, parameters = filter_sql(filters, "tags.metadata")
        return f"tags.tenant = ? AND {condition}", [self._tenant, *parameters]

    def _sources_passing(self, filters: Filter) -> frozenset[str]:
        condition, parameters = self._tagged(filters)
        # 1 and True are equal as filters, but not in what they pass
        name = repr((condition, parameters))
        if name not in self._passing:
            found = self._connection.execute(f"SELECT source FROM tags WHERE {condition}", parameters)
            self._passing[name] = frozenset(source for (source,) in found)
        return self._passing[name]


def _best(likeness: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the slots that can be among the ``k`` best once they are scored exactly, ties included."""
    if k < len(likeness):
        edge = np.partition(likeness, len(likeness) - k)[len(likeness) - k]
        chosen = np.flatnonzero(likeness >= edge - _MARGIN * max(1.0, abs(edge)))
    else:
        chosen = np.arange(len(likeness))
    return chosen[likeness[chosen] > -np.inf]
