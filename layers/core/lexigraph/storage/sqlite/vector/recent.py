"""What the last searches by words found: the calls of one question ask for the same text, questions for the same words.

A partition, as its row describes it, changes with every write: what was found in it holds for as long as it is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.sqlite.vector.partitions import Partition

_TEXTS = 32
_ROWS = 20_000  # of a text that is remembered: 320 kB
_LENGTH = 10_000  # of such a text, and of the words counted, in characters
_PARTITIONS = 32
_COUNTS = 2_000  # of a partition
_IDS = 50_000  # of a partition: 11 MB
_WITH_IDS = 4  # partitions
_POSTINGS = 1_000_000  # rows of words that are kept, in all partitions together: 16 MB
_WORDS = 5_000  # words whose rows are kept


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows that words find: one entry a row in ``keys`` and in ``scores``, rounded to 6 digits."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]

    def listed(self) -> list[tuple[int, float]]:
        """Return key and score of each row."""
        return list(zip(self.keys.tolist(), self.scores.tolist(), strict=True))

    def of(self, keys: Sequence[int]) -> list[tuple[int, float]]:
        """Return key and score of the rows that have one of these keys."""
        return self.where(np.isin(self.keys, np.asarray(keys, np.int64))).listed()

    def among(self, keys: NDArray[np.int64]) -> "Scored":
        """Return the rows that have one of these keys; both by key."""
        if not len(keys):
            return self.where(np.zeros(len(self.keys), np.bool_))
        at = np.minimum(np.searchsorted(keys, self.keys), len(keys) - 1)
        return self.where(keys[at] == self.keys)

    def where(self, chosen: NDArray[np.bool_]) -> "Scored":
        """Return the rows that are chosen."""
        return Scored(self.keys[chosen], self.scores[chosen])


class Recent:
    """Scores of the last texts, and numbers of rows by word. Threads may share one; what it holds is bounded."""

    def __init__(self) -> None:
        # replaced, never changed
        self._texts: tuple[tuple[str, bool, Partition, Scored], ...] = ()
        self._counts: dict[int, tuple[Partition, dict[tuple[str, int], int]]] = {}
        self._ids: dict[int, tuple[Partition, dict[int, str]]] = {}
        # by partition and FTS5 term, the one asked for last at the end
        self._postings: dict[tuple[int, str], tuple[Partition, Scored]] = {}
        self._rows, self._lock = 0, Lock()  # in all of these, and who may change them

    def scored(self, partition: Partition, text: str, prefix: bool) -> Scored | None:
        """Return the rows that a text finds; None when they are not known."""
        for text_then, prefix_then, partition_then, scored in self._texts:
            if (text_then, prefix_then, partition_then) == (text, prefix, partition):
                return scored
        return None

    def keep(self, partition: Partition, text: str, prefix: bool, scored: Scored) -> None:
        """Remember the rows that a text finds, unless there are very many of them."""
        if len(scored.keys) <= _ROWS and len(text) <= _LENGTH:
            self._texts = ((text, prefix, partition, scored), *self._texts[: _TEXTS - 1])

    def counts(self, partition: Partition) -> dict[tuple[str, int], int]:
        """Return the known numbers of rows, counted up to a limit, by FTS5 term and limit: to be read, and added to."""
        known = self._counts.get(partition.number)
        if known is None or known[0] != partition or len(known[1]) > _COUNTS:
            if len(self._counts) >= _PARTITIONS:
                self._counts = {}
            known = self._counts[partition.number] = partition, {}
        return known[1]

    def ids(self, partition: Partition) -> dict[int, str]:
        """Return the known ids of records by key: to be read, and added to."""
        known = self._ids.get(partition.number)
        if known is None or known[0] != partition or len(known[1]) > _IDS:
            if len(self._ids) >= _WITH_IDS:
                self._ids = {}
            known = self._ids[partition.number] = partition, {}
        return known[1]

    def postings(self, partition: Partition, term: str) -> Scored | None:
        """Return the rows with an FTS5 term, by key, with what it is worth to them; None when they are not known."""
        with self._lock:
            found = self._taken(partition, term)
            if found is None or found[0] != partition:
                return None
            self._put(partition, term, found[1])
            return found[1]

    def keep_postings(self, partition: Partition, term: str, rows: Scored) -> None:
        """Remember the rows with a term; what was asked for long ago goes when there are many."""
        with self._lock:
            self._taken(partition, term)
            self._put(partition, term, rows)
            while self._rows > _POSTINGS or len(self._postings) > _WORDS:
                oldest = next(iter(self._postings))
                self._rows -= len(self._postings.pop(oldest)[1].keys)

    def _taken(self, partition: Partition, term: str) -> tuple[Partition, Scored] | None:
        found = self._postings.pop((partition.number, term), None)
        self._rows -= len(found[1].keys) if found else 0
        return found

    def _put(self, partition: Partition, term: str, rows: Scored) -> None:
        self._postings[partition.number, term] = partition, rows
        self._rows += len(rows.keys)
