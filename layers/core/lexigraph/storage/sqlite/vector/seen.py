"""BM25 for a view: over the records that it sees, as if there were no others.

How many texts there are, how many hold a word and how long they are on average are counted over those records alone; so a
score tells nothing of the rest.
"""

import json
import sqlite3
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.sqlite.vector.fulltext import added_up, split, telling, terms_of, weighed
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.postings import Integers, Lengths, integers, occurrences, shares
from lexigraph.storage.sqlite.vector.recent import Scored

_KEPT = 32  # of some MB each, in a tenant of 100,000 records


@dataclass(frozen=True, slots=True)
class Seen:
    """The records of a partition that a view sees and that have words: keys in order, and how many words each has.

    ``counts``: in how many of the records a term is, where known.
    """

    keys: Integers
    lengths: Integers
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def live(self) -> int:
        """How many records the view sees."""
        return len(self.keys)

    @property
    def average(self) -> float:
        """How many words they have on average."""
        return float(self.lengths.mean()) if self.live else 0.0

    def places(self, keys: Integers) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return where keys stand among those seen, and which of them do."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return at, self.keys[at] == keys


class SeenRecords:
    """What views see of partitions, read once for each state of both. Threads may share one; what it holds is bounded."""

    def __init__(self, lengths: Lengths) -> None:
        self._lengths = lengths
        self._kept: tuple[tuple[Partition, frozenset[str], Seen], ...] = ()  # replaced, never changed

    def of(self, connection: sqlite3.Connection, partition: Partition, sources: frozenset[str]) -> Seen:
        """Return the records of these sources."""
        for partition_then, sources_then, seen in self._kept:
            if partition_then == partition and sources_then == sources:
                return seen
        of_sources = f"{partition.records} AS r JOIN json_each(?) AS seen ON r.source = seen.value"
        found = connection.execute(f"SELECT json_group_array(r.key) FROM {of_sources}", (json.dumps(sorted(sources)),))
        keys = np.sort(integers(found.fetchone()[0]))
        lengths = self._lengths.of(connection, partition, keys)
        seen = Seen(keys[lengths > 0], lengths[lengths > 0])
        self._kept = ((partition, sources, seen), *self._kept[: _KEPT - 1])
        return seen


def score_seen_words(
    connection: sqlite3.Connection, partition: Partition, text: str, seen: Seen, *, prefix: bool = False
) -> Scored:
    """Return the records seen that a text finds, with their BM25 scores, by the rules of ``score_words``."""

    def scored(term: str) -> Scored:
        keys, times = occurrences(connection, partition, term)
        at, known = seen.places(keys)
        rows = Scored(keys[known], shares(times[known], seen.lengths[at[known]], seen.average))
        seen.counts[term] = len(rows.keys)
        return weighed(rows, seen.live, len(rows.keys))

    def rows_with(term: str, limit: int) -> int:
        if term not in seen.counts:
            scored(term)
        return min(seen.counts[term], limit) if limit >= 0 else seen.counts[term]

    chosen, added = split(partition, telling(partition, seen.live, terms_of(text, prefix), rows_with))
    found = added_up([scored(term) for _, term in chosen])
    if added:
        found = added_up([found, *(scored(term).among(found.keys) for _, term in added)])
    return Scored(found.keys, np.round(found.scores, 6))
