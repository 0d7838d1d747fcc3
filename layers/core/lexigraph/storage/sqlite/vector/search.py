"""Searches in the partitions of one tenant, all within one read transaction."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.filters import Filter, all_of
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import FloatArray, Hit, IndexName, SearchRequest
from lexigraph.storage.sqlite.database import in_batches, marks
from lexigraph.storage.sqlite.filters import Sql, filter_sql
from lexigraph.storage.sqlite.vector.fulltext import score_words
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.postings import Lengths, integers
from lexigraph.storage.sqlite.vector.recent import Recent, Scored
from lexigraph.storage.sqlite.vector.seen import SeenRecords, score_seen_words
from lexigraph.storage.sqlite.vector.sidecar import Moved, Sidecars
from lexigraph.storage.sqlite.vector.sidecar import View as Vectors

Scores = list[tuple[int, float]]
_Row = tuple[Any, ...]
_hit = partial(tuple.__new__, Hit)  # half the time of a call with as many arguments

_AT_ONCE = 8  # vectors multiplied together: enough to read the matrix seldom, few enough for a small result
_BLOCK = 512  # records that stay in a core's cache while each query is multiplied by them
_STEPS = 3  # of a walk through all ids take as long as reading the id of one record
_MARGIN = 2e-5  # more than float32 sums of the same products differ with their order


class Known:
    """What the searches of a store keep for the next ones, while ``file`` tells the same of it. Threads may share one."""

    def __init__(self, file: Callable[[], object] = lambda: None) -> None:
        self.recent, self.lengths = Recent(), Lengths(file)
        self.seen = SeenRecords(self.lengths)


class Search:
    """Answers requests from what one transaction sees. ``patient`` as in :meth:`Sidecars.view`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        sidecars: Sidecars,
        known: Known,
        tenant: Tenant,
        partitions: Mapping[IndexName, Partition],
        *,
        patient: bool,
    ) -> None:
        self._connection, self._sidecars, self._known, self._tenant = connection, sidecars, known, tenant.whole
        self._rights = tenant.rights if isinstance(tenant, View) else None
        self._partitions, self._patient = partitions, patient
        self._passing: dict[str, frozenset[str]] = {}
        # key, id, source, chunk and text, and vectors where needed, by partition and key: requests ask for the same
        self._records: dict[int, dict[int, _Row]] = {}
        self._vectors: dict[int, dict[int, bytes]] = {}
        self._asked: dict[tuple[int, tuple[str, ...]], list[int]] = {}

    def answer(self, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Return the hits of each request. Raise ``Moved`` to be asked again in another transaction."""
        if self._rights:
            requests = [replace(r, filters=all_of(self._rights, r.filters)) for r in requests]
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
        ids, filters = request.ids, request.filters
        if request.cosines_alone:
            return self._cosines(partition, request)
        if ids is not None:
            keys = self._keys(partition, ids, filters, with_vectors=request.vector is not None)
            if request.vector is not None:
                return self._hits(partition, request, self._exact(partition, keys, np.asarray(request.vector, np.float32)))
        if self._rights and filters:
            found = self._seen_words(partition, request, self._rights, filters)
        else:
            at = self._connection, partition, request.text, self._known.recent, self._known.lengths
            found = score_words(*at, prefix=request.prefix)
            if filters is not None and ids is None:  # given ones have passed already
                found = self._passing_words(partition, found, filters)
        return self._hits(partition, request, self._best(partition, found, request.k) if ids is None else found.of(keys))

    def _passing_words(self, partition: Partition, found: Scored, filters: Filter) -> Scored:
        """Return the rows whose sources pass: asked of each, as there are fewer of them than of sources."""
        condition, parameters = _tagged(self._tenant, filters)
        tagged = f"EXISTS (SELECT 1 FROM tags WHERE tags.source = r.source AND {condition})"
        rows = f"json_each(?) AS found JOIN {partition.records} AS r ON r.key = found.value"
        query = f"SELECT json_group_array(r.key) FROM {rows} WHERE {tagged}"
        passing = self._connection.execute(query, [json.dumps(found.keys.tolist()), *parameters]).fetchone()[0]
        return found.among(np.sort(integers(passing)))

    def _seen_words(self, partition: Partition, request: SearchRequest, rights: Filter, filters: Filter) -> Scored:
        """Score by the words of what the view sees, as if there were nothing else; then by the filters of the request."""
        seen = self._known.seen.of(self._connection, partition, self._sources_passing(rights))
        found = score_seen_words(self._connection, partition, request.text, seen, prefix=request.prefix)
        if filters is rights or request.ids is not None:
            return found
        keys, allowed = found.keys.tolist(), self._sources_passing(filters)
        self._know(partition, keys, with_vectors=False)
        records = self._records[partition.number]
        return found.where(np.fromiter((records[key][2] in allowed for key in keys), bool, len(keys)))

    def _nearest(self, partition: Partition, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        view = self._sidecars.view(self._connection, partition, patient=self._patient)
        queries = np.stack([np.asarray(r.vector, np.float32) for r in requests])
        likeness, off = _likeness(view, queries)
        likeness[:, view.dead] = -np.inf
        hits: list[list[Hit]] = []
        for request, query, row, margin in zip(requests, queries, likeness, off, strict=True):
            if request.filters is not None:
                row[~view.of_sources(self._sources_passing(request.filters))] = -np.inf
            slots = _best(row, request.k, margin)
            if view.rounded:
                slots = slots[_best(view.vectors[slots] @ query, request.k)]
            scores = self._checked(partition, view, slots, query)
            if request.filters is not None:
                # slots know sources by a hash only
                allowed, records = self._sources_passing(request.filters), self._records[partition.number]
                scores = [found for found in scores if records[found[0]][2] in allowed]
            hits.append(self._hits(partition, request, scores))
        return hits

    def _checked(self, partition: Partition, view: Vectors, slots: NDArray[np.intp], query: FloatArray) -> Scores:
        """Score slots from the database, where the same vectors must be."""
        keys = view.keys[slots].tolist()
        scores = self._exact(partition, keys, query)
        vectors = self._vectors[partition.number]
        if len(scores) < len(keys) or b"".join([vectors[key] for key in keys]) != view.vectors[slots].tobytes():
            self._sidecars.distrust(partition)
            raise Moved
        return scores

    def _exact(self, partition: Partition, keys: list[int], query: FloatArray) -> Scores:
        """Return key and cosine of the records there are: in double precision, rounded, from the database."""
        self._know(partition, keys, with_vectors=True)
        known = self._vectors[partition.number]
        keys = [key for key in keys if key in known]
        return list(zip(keys, _exactly([known[key] for key in keys], query), strict=True))

    def _cosines(self, partition: Partition, request: SearchRequest) -> list[Hit]:
        """Return hits of the records there are, with nothing but their cosines."""
        query, ids = np.asarray(request.vector, np.float32), list(dict.fromkeys(request.ids or ()))
        # a file that no search has mapped is not mapped for a few records; filters ask for their sources
        view = self._sidecars.mapped(partition) if request.filters is None else None
        found, vectors, others = view.known(ids) if view else ([], None, ids)
        scores = [] if vectors is None else _cosines_of(vectors, query)
        rows: list[_Row] = []
        for batch in in_batches(others):
            columns = f"SELECT id, vector, source FROM {partition.records} WHERE id IN ({marks(len(batch))})"
            rows += self._connection.execute(columns, batch).fetchall()
        if request.filters is not None:
            allowed = self._sources_passing(request.filters)
            rows = [row for row in rows if row[2] in allowed]
        found += [row[0] for row in rows]
        scores += _exactly([row[1] for row in rows], query)
        best = sorted(zip([-score for score in scores], found, strict=True))
        return [_hit((id_, -negative, "", "", "", None)) for negative, id_ in best]

    def _hits(self, partition: Partition, request: SearchRequest, scores: Scores) -> list[Hit]:
        """Return the best ``k`` of the request, or all of given ids, as hits: best first, ties by id."""
        if request.ids is None and len(scores) > request.k:
            keys, likeness = zip(*scores, strict=True)
            scores = self._best(partition, Scored(np.array(keys, np.int64), np.array(likeness)), request.k)
        bring = request.vectors and partition.dimension > 0
        self._know(partition, [key for key, _ in scores], with_vectors=bring)
        records, vectors = self._records[partition.number], self._vectors[partition.number]
        ordered = sorted([(-score, records[key][1], records[key]) for key, score in scores])
        return [
            _hit((id_, -negative, text, source, chunk, np.frombuffer(vectors[key], "<f4") if bring else None))
            for negative, id_, (key, _, source, chunk, text) in ordered
        ]

    def _best(self, partition: Partition, found: Scored, k: int) -> Scores:
        """Return the ``k`` best, of those that tie with the last, which may be thousands, the first by id."""
        if len(found.keys) <= k:
            return found.listed()
        edge = np.partition(found.scores, len(found.scores) - k)[len(found.scores) - k]
        above, tied = found.where(found.scores > edge).listed(), found.where(found.scores == edge)
        last = tied.keys.tolist()
        if len(above) + len(last) > k:
            last = self._first_by_id(partition, last, k - len(above))
        return above + [(key, float(edge)) for key in last]

    def _first_by_id(self, partition: Partition, keys: list[int], most: int) -> list[int]:
        """Return the ``most`` of some keys whose ids come first.

        Of very many it is quicker to look for the first through all ids, in which they are scattered, than to read theirs.
        """
        ids = self._known.recent.ids(partition)
        unknown = [key for key in keys if key not in ids]
        through = partition.live * most // len(keys)
        if through < _STEPS * len(unknown):
            among = set(keys)
            walked = self._connection.execute(f"SELECT key FROM {partition.records} ORDER BY id LIMIT ?", (4 * through,))
            if len(first := list(islice((key for (key,) in walked if key in among), most))) == most:
                return first
        if unknown:
            query = f"SELECT key, id FROM {partition.records} WHERE key IN (SELECT value FROM json_each(?))"
            ids.update(self._connection.execute(query, (json.dumps(unknown),)))
        return nsmallest(most, keys, key=ids.__getitem__)

    def _keys(self, partition: Partition, ids: Iterable[str], filters: Filter | None, *, with_vectors: bool) -> list[int]:
        unique = tuple(dict.fromkeys(ids))
        if (partition.number, unique) not in self._asked:
            self._asked[partition.number, unique] = self._read(partition, "id", list(unique), with_vectors=with_vectors)
        keys = self._asked[partition.number, unique]
        if filters is None:
            return keys
        allowed, records = self._sources_passing(filters), self._records[partition.number]
        return [key for key in keys if records[key][2] in allowed]

    def _know(self, partition: Partition, keys: list[int], *, with_vectors: bool) -> None:
        """Read the records that were not read so far, if there are such."""
        known = (self._vectors if with_vectors else self._records).setdefault(partition.number, {})
        self._read(partition, "key", [key for key in keys if key not in known], with_vectors=with_vectors)

    def _read(self, partition: Partition, by: str, values: list[str] | list[int], *, with_vectors: bool) -> list[int]:
        """Read records by ``id`` or ``key``, for ``_records`` and ``_vectors``; return the keys of those that exist."""
        records = self._records.setdefault(partition.number, {})
        vectors = self._vectors.setdefault(partition.number, {})
        found: list[int] = []
        columns = "key, id, source, chunk, text" + ", vector" * with_vectors
        for batch in in_batches(values):
            query = f"SELECT {columns} FROM {partition.records} WHERE {by} IN ({marks(len(batch))})"
            rows = self._connection.execute(query, batch).fetchall()
            records.update((row[0], row[:5]) for row in rows)
            if with_vectors:
                vectors.update((row[0], row[5]) for row in rows)
            found += [row[0] for row in rows]
        return found

    def _sources_passing(self, filters: Filter) -> frozenset[str]:
        # 1 and True are equal as filters, but not in what they pass
        name = repr(filters)
        if name not in self._passing:
            self._passing[name] = sources_passing(self._connection, self._tenant, filters)
        return self._passing[name]


def sources_passing(connection: sqlite3.Connection, tenant: str, filters: Filter) -> frozenset[str]:
    """Return the sources of a tenant whose tags pass the filters."""
    condition, parameters = _tagged(tenant, filters)
    return frozenset(source for (source,) in connection.execute(f"SELECT source FROM tags WHERE {condition}", parameters))


def _tagged(tenant: str, filters: Filter) -> Sql:
    condition, parameters = filter_sql(filters, "tags.metadata")
    return f"tags.tenant = ? AND {condition}", [tenant, *parameters]


def _exactly(vectors: list[bytes], query: FloatArray) -> list[float]:
    """Return the cosines of vectors with a query."""
    return _cosines_of(np.frombuffer(b"".join(vectors), "<f4").reshape(-1, len(query)), query)


def _cosines_of(vectors: FloatArray, query: FloatArray) -> list[float]:
    """Return the cosines of vectors, a row each, with a query: in double precision, rounded."""
    # adding zero turns -0.0 into 0.0
    products = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
    cosines: list[float] = (np.round(products, 6) + 0.0).tolist()
    return cosines


def _likeness(view: Vectors, queries: FloatArray) -> tuple[FloatArray, list[float]]:
    """Return the product of each query with each vector, (queries, vectors), and what makes up for how far it is off."""
    if view.rounded:
        likeness, off = view.rounded.products(queries)
        return likeness, [2 * far + _MARGIN for far in off]
    likeness = _products(queries, view.vectors) if len(queries) > 1 else (view.vectors @ queries[0])[np.newaxis]
    return likeness, [_MARGIN] * len(queries)


def _products(queries: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the product of each query with each vector, (queries, vectors).

    By blocks the vectors are read from memory once for all queries: one product of matrices as thin as these takes twice as
    long.
    """
    out = np.empty((len(queries), len(vectors)), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        for query, row in zip(queries, out, strict=True):
            np.dot(block, query, row[start : start + len(block)])
    return out


def _best(likeness: FloatArray, k: int, margin: float = _MARGIN) -> NDArray[np.intp]:
    """Return the slots that can be among the ``k`` best once they are scored exactly, ties included."""
    if k < len(likeness):
        edge = np.partition(likeness, len(likeness) - k)[len(likeness) - k]
        chosen = np.flatnonzero(likeness >= edge - margin * max(1.0, abs(edge)))
    else:
        chosen = np.arange(len(likeness))
    return chosen[likeness[chosen] > -np.inf]
