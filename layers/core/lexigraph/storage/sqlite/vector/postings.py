"""Which texts hold a word, how often, and how long they are: read from the index of FTS5, whose ``bm25`` takes far longer.

A word is cut and stemmed as those of its partition are. Where that makes several of it, they count where they follow each
other.
"""

import json
import sqlite3
from collections.abc import Callable
from functools import cache, lru_cache, reduce
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from lexigraph.storage.sqlite.vector.partitions import Partition

K1, B = 1.2, 0.75  # of BM25
_PARTITIONS = 32  # whose lengths are kept, in 4 bytes a record
_PLACE, _COLUMN = 32, 31  # bits of the number of a place below that of the text, and of the column
_LAST = "\U0010ffff"  # no word begins with it

Integers = NDArray[np.int64]


def occurrences(connection: sqlite3.Connection, partition: Partition, term: str) -> tuple[Integers, Integers]:
    """Return the keys of the texts with an FTS5 term, in order, and how often each holds it."""
    tokens = _tokens(partition.tokenizer, term.strip('"*'))
    if not tokens:
        keys = np.zeros(0, np.int64)
    elif len(tokens) == 1:
        keys = _numbers(connection, partition, "doc", tokens[0], begun=term.endswith("*"))
    else:
        number, last = f"doc << {_PLACE} | (col = 'further') << {_COLUMN} | offset", len(tokens) - 1
        places = [
            _numbers(connection, partition, number, token, begun=at == last and term.endswith("*")) - at
            for at, token in enumerate(tokens)
        ]
        keys = reduce(np.intersect1d, places) >> _PLACE
    return np.unique(keys, return_counts=True)


def _numbers(connection: sqlite3.Connection, partition: Partition, number: str, token: str, *, begun: bool) -> Integers:
    """Return a number of each place of a token, or of all that it begins."""
    condition = "term >= ? AND term < ?" if begun else "term = ?"
    # in one text: a row for each would take three times as long
    query = f"SELECT json_group_array({number}) FROM {partition.terms} WHERE {condition}"
    return integers(connection.execute(query, (token, token + _LAST) if begun else (token,)).fetchone()[0])


class Lengths:
    """How many words the texts of a database have. Threads may share one; what it holds is bounded.

    No key is used twice, so a length holds for as long as ``file`` tells the same of the database.
    """

    def __init__(self, file: Callable[[], object]) -> None:
        self._file = file
        # by partition: the file, the next key, and the lengths by key, 0 where they are not known
        self._known: dict[int, tuple[object, int, NDArray[np.int32]]] = {}

    def of(self, connection: sqlite3.Connection, partition: Partition, keys: Integers) -> Integers:
        """Return the lengths of texts that hold a word."""
        known = self._kept(partition)
        unknown = keys[known[keys] == 0]
        if len(unknown):
            sizes = f"json_each(?) AS asked JOIN {partition.words}_docsize AS size ON size.id = asked.value"
            query = f"SELECT json_group_array(size.id), group_concat(hex(size.sz), '') FROM {sizes}"
            ids, found = connection.execute(query, (json.dumps(unknown.tolist()),)).fetchone()
            known[integers(ids)] = _varints(bytes.fromhex(found or "")).reshape(-1, 2).sum(axis=1)
        return known[keys].astype(np.int64)

    def _kept(self, partition: Partition) -> NDArray[np.int32]:
        file = self._file()
        then, next_key, known = self._known.get(partition.number, (file, 0, np.zeros(0, np.int32)))
        if then != file or partition.next_key < next_key:
            known = known[:0]
        if len(known) < partition.next_key:
            known = np.concatenate([known, np.zeros(partition.next_key - len(known), np.int32)])
        others = self._known if len(self._known) < _PARTITIONS else {}
        self._known = {**others, partition.number: (file, partition.next_key, known)}
        return known


def with_words(connection: sqlite3.Connection, partition: Partition) -> int:
    """Return how many texts of a partition have a word: of the labels of relations those of many chunks have none."""
    if partition.name != "relation":
        return partition.live
    return int(connection.execute(f"SELECT count(*) FROM {partition.words}_docsize WHERE sz <> x'0000'").fetchone()[0])


def average_length(connection: sqlite3.Connection, partition: Partition, texts: int) -> float:
    """Return how many words a text of a partition has on average, of so many that have some."""
    query = f"SELECT block FROM {partition.words}_data WHERE id = 1"
    _, *words = map(int, _varints(connection.execute(query).fetchone()[0]))
    return sum(words) / max(texts, 1)


def shares(times: Integers, lengths: Integers, average: float) -> NDArray[np.float64]:
    """Return what BM25 gives for holding a word so many times, before its idf: 0 to 1, less to long texts."""
    return times / (times + K1 * (1 - B + B * lengths / max(average, 1e-9)))


@lru_cache(maxsize=65_536)
def _tokens(tokenizer: str, word: str) -> tuple[str, ...]:
    """Return what FTS5 makes of a word, mostly its stem."""
    with _CUTTING:
        cutter = _cutter(tokenizer)
        cutter.execute("INSERT INTO cut VALUES (?)", (word,))
        found = cutter.execute("SELECT term FROM cut_terms ORDER BY offset").fetchall()
        cutter.execute("INSERT INTO cut (cut) VALUES ('delete-all')")
    return tuple(token for (token,) in found)


@cache
def _cutter(tokenizer: str) -> sqlite3.Connection:
    made = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    made.execute(f"CREATE VIRTUAL TABLE cut USING fts5(word, content='', tokenize='{tokenizer}')")
    made.execute("CREATE VIRTUAL TABLE cut_terms USING fts5vocab(cut, instance)")
    return made


_CUTTING = Lock()


def integers(numbers: str) -> Integers:
    """Return the integers of a JSON array."""
    return np.fromstring(numbers[1:-1], np.int64, sep=",")


def _varints(raw: bytes) -> Integers:
    """Return numbers that SQLite wrote in as many bytes as each needs."""
    read = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(read < 0x80)
    sizes = np.diff(ends, prepend=-1)
    numbers = read[ends].astype(np.int64)
    for at in range(1, int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > at)
        numbers[longer] |= (read[ends[longer] - at].astype(np.int64) & 0x7F) << 7 * at
    return numbers
