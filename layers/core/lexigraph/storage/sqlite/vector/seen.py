"""BM25 for a view: over the records that it sees, as if there were no others.

How many texts there are, how many hold a word and how long they are on average are counted over those records alone; so a
score tells nothing of the rest. FTS5 counts over the whole partition. Of its scores only how often a text holds the word is
taken, which follows from score and length of the text.
"""

import sqlite3
from dataclasses import dataclass, field
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.sqlite.vector.fulltext import K1, LEAST, added_up, split, telling, terms_of
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.recent import Scored

_B = 0.75
_KEPT = 32  # of some MB each, in a tenant of 100,000 records
_ROW = np.dtype([("key", np.int64), ("score", np.float64)])
Held = tuple[NDArray[np.intp], NDArray[np.float64]]  # places of records among those seen, how often each holds a word


@dataclass(frozen=True, slots=True)
class Seen:
    """The records of a partition that a view sees: keys in order, and how many words each has.

    ``rows`` and ``words`` are those of the whole partition; ``counts``: in how many of the records a term is, where known.
    """

    keys: NDArray[np.int64]
    lengths: NDArray[np.float64]
    rows: int
    words: int
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def live(self) -> int:
        """How many records the view sees."""
        return len(self.keys)

    def places(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return where keys stand among those seen, and which of them do."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return at, self.keys[at] == keys


class SeenRecords:
    """What views see of partitions, read once for each state of both. Threads may share one; what it holds is bounded."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[Partition, frozenset[str], Seen], ...] = ()  # replaced, never changed

    def of(self, connection: sqlite3.Connection, partition: Partition, sources: frozenset[str]) -> Seen:
        """Return the records of these sources."""
        for partition_then, sources_then, seen in self._kept:
            if partition_then == partition and sources_then == sources:
                return seen
        seen = _read(connection, partition, sources)
        self._kept = ((partition, sources, seen), *self._kept[: _KEPT - 1])
        return seen


def _read(connection: sqlite3.Connection, partition: Partition, sources: frozenset[str]) -> Seen:
    """Read which records are of these sources, and all lengths."""
    sized = f"{partition.records} r JOIN {partition.words}_docsize d ON d.id = r.key"
    query = f"SELECT r.key, r.source, d.sz FROM {sized} ORDER BY r.key"
    keys, lengths, rows, words = list[int](), list[int](), 0, 0
    for key, source, sizes in connection.execute(query):
        length = _length(sizes)
        rows, words = rows + 1, words + length
        if source in sources:
            keys.append(key)
            lengths.append(length)
    return Seen(np.asarray(keys, np.int64), np.asarray(lengths, np.float64), rows, words)


def score_seen_words(
    connection: sqlite3.Connection, partition: Partition, text: str, seen: Seen, *, prefix: bool = False
) -> Scored:
    """Return the records seen that a text finds, with their BM25 scores, by the rules of ``score_words``."""

    def rows_with(term: str, limit: int) -> int:
        if term not in seen.counts:
            query = f"SELECT rowid FROM {partition.words} WHERE {partition.words} MATCH ?"
            found = np.fromiter((key for (key,) in connection.execute(query, (term,))), np.int64)
            seen.counts[term] = int(np.count_nonzero(seen.places(found)[1]))
        return min(seen.counts[term], limit) if limit >= 0 else seen.counts[term]

    chosen, added = split(partition, telling(partition, seen.live, terms_of(text, prefix), rows_with))
    scored = added_up([_scored(connection, partition, term, seen) for _, term in chosen])
    for _, term in added:
        more = _scored(connection, partition, term, seen)
        scored = added_up([scored, more.where(np.isin(more.keys, scored.keys))])
    return Scored(scored.keys, np.round(scored.scores, 6))


def _scored(connection: sqlite3.Connection, partition: Partition, term: str, seen: Seen) -> Scored:
    at, times = _held(connection, partition, term, seen)
    weight = log1p((seen.live - len(at) + 0.5) / (len(at) + 0.5))
    length = _relative(seen.lengths[at], seen.lengths.sum() / max(seen.live, 1))
    return Scored(seen.keys[at], weight * times / (times + length))


def _held(connection: sqlite3.Connection, partition: Partition, term: str, seen: Seen) -> Held:
    """Return which records hold a term, and how often: what FTS5's score says, undone."""
    query = f"SELECT rowid, -bm25({partition.words}) FROM {partition.words} WHERE {partition.words} MATCH ?"
    rows = np.fromiter(connection.execute(query, (term,)), _ROW)
    at, known = seen.places(rows["key"])
    odds = (seen.rows - len(rows) + 0.5) / (len(rows) + 0.5)
    share = rows["score"][known] / (log(odds) if odds > 1 else LEAST)
    length = _relative(seen.lengths[at[known]], seen.words / max(seen.rows, 1))
    return at[known], np.round(length * share / (K1 + 1 - share))


def _relative(lengths: NDArray[np.float64], average: float) -> NDArray[np.float64]:
    return K1 * (1 - _B + _B * lengths / average) if average else np.full(len(lengths), K1)


def _length(sizes: bytes) -> int:
    """Return how many words a text has: the sum of SQLite's variable-length integers, one a column."""
    total = number = 0
    for byte in sizes:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            total, number = total + number, 0
    return total
