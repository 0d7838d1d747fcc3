"""Partitions of the embedded vector store: the records of one tenant and index, in tables of their own.

So the statistics of BM25, and every scan, see one tenant only. A record's key is an integer that grows and is never used
twice: a replaced record gets a new one, so whoever knows the highest key and the keys that went (holes) knows what changed.
"""

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lexigraph.storage.common.words import further_words
from lexigraph.storage.protocols import IndexName, VectorRecord
from lexigraph.storage.sqlite import ledger
from lexigraph.storage.sqlite.database import in_batches, marks

SCHEMA = """
CREATE TABLE partitions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL,
    dimension INTEGER NOT NULL, epoch INTEGER NOT NULL, next_key INTEGER NOT NULL DEFAULT 1,
    holes INTEGER NOT NULL DEFAULT 0, live INTEGER NOT NULL DEFAULT 0, UNIQUE (tenant, name, label)
);
CREATE TABLE holes (
    partition INTEGER NOT NULL, ordinal INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (partition, ordinal)
) WITHOUT ROWID;
CREATE TABLE tags (
    tenant TEXT NOT NULL, source TEXT NOT NULL, version INTEGER NOT NULL, metadata TEXT NOT NULL,
    PRIMARY KEY (tenant, source, version)
) WITHOUT ROWID;
"""
_TABLES = """
CREATE TABLE record_{n} (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, chunk TEXT NOT NULL, text TEXT NOT NULL,
    vector BLOB, further TEXT NOT NULL DEFAULT ''
);
CREATE INDEX record_{n}_source ON record_{n} (source, id);
"""
# words are counted over both columns alike
_WORDS = """
CREATE VIRTUAL TABLE words_{n} USING fts5(
    text, further, content='record_{n}', content_rowid='key', tokenize='{tokenizer}'
)
"""
_TERMS = "CREATE VIRTUAL TABLE terms_{n} USING fts5vocab(words_{n}, instance)"
# names are looked up by their beginnings, and a stem is not always the beginning of its word
_TOKENIZERS = {"entity": "unicode61 remove_diacritics 2"}
_TOKENIZER = "porter unicode61 remove_diacritics 2"
_FEW_HOLES = 1_000
_PARTITIONS = "SELECT number, tenant, name, label, dimension, epoch, next_key, holes, live FROM partitions"
VERSION = 4


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as one moment has it. ``label`` and ``dimension`` are empty and 0 when its records have no vectors.

    ``epoch`` is a random number, changed when the holes are forgotten; ``holes`` counts those since. All keys are below
    ``next_key``.
    """

    number: int
    tenant: str
    name: IndexName
    label: str
    dimension: int
    epoch: int
    next_key: int
    holes: int
    live: int

    @property
    def records(self) -> str:
        """The table of the records."""
        return f"record_{self.number}"

    @property
    def words(self) -> str:
        """The full-text table over them."""
        return f"words_{self.number}"

    @property
    def terms(self) -> str:
        """The places of words in it, a row each."""
        return f"terms_{self.number}"

    @property
    def tokenizer(self) -> str:
        """How it cuts texts into words."""
        return _TOKENIZERS.get(self.name, _TOKENIZER)


def add_further_words(connection: sqlite3.Connection) -> None:
    """Bring a file of format 1, where texts were indexed by the words of English alone, to format 2."""
    for number, name in connection.execute("SELECT number, name FROM partitions").fetchall():
        connection.execute(f"ALTER TABLE record_{number} ADD COLUMN further TEXT NOT NULL DEFAULT ''")
        texts = connection.execute(f"SELECT key, text FROM record_{number} WHERE text GLOB '*[^ -~\n]*'").fetchall()
        changed = [(" ".join(further), key) for key, text in texts if (further := further_words(text))]
        connection.executemany(f"UPDATE record_{number} SET further = ? WHERE key = ?", changed)
        connection.execute(f"DROP TABLE words_{number}")
        connection.execute(_WORDS.format(n=number, tokenizer=_TOKENIZERS.get(name, _TOKENIZER)))
        connection.execute(f"INSERT INTO words_{number} (words_{number}) VALUES ('rebuild')")


def add_terms(connection: sqlite3.Connection) -> None:
    """Bring a file of format 3, without the places of words, to format 4."""
    for number in numbers(connection):
        connection.execute(_TERMS.format(n=number))


MIGRATIONS: Mapping[int, str | Callable[[sqlite3.Connection], None]] = {1: add_further_words, 2: "", 3: add_terms}


def partitions_of(connection: sqlite3.Connection, tenant: str) -> list[Partition]:
    """Return the partitions of a tenant: one cheap query that tells all that changed."""
    return [Partition(*row) for row in connection.execute(f"{_PARTITIONS} WHERE tenant = ? ORDER BY number", (tenant,))]


def all_partitions(connection: sqlite3.Connection) -> list[Partition]:
    """Return the partitions of every tenant."""
    return [Partition(*row) for row in connection.execute(f"{_PARTITIONS} ORDER BY number")]


def numbers(connection: sqlite3.Connection) -> list[int]:
    """Return the numbers of all partitions, of every tenant."""
    return [number for (number,) in connection.execute("SELECT number FROM partitions")]


def create(connection: sqlite3.Connection, tenant: str, name: IndexName, label: str, dimension: int) -> Partition:
    """Create a partition with its tables, within the caller's write transaction."""
    epoch = secrets.randbits(62)
    query = "INSERT INTO partitions (tenant, name, label, dimension, epoch) VALUES (?, ?, ?, ?, ?)"
    connection.execute(query, (tenant, name, label, dimension, epoch))
    number: int = connection.execute("SELECT last_insert_rowid()").fetchone()[0]
    for statement in _TABLES.format(n=number).split(";\n")[:-1]:
        connection.execute(statement)
    made = Partition(number, tenant, name, label, dimension, epoch, 1, 0, 0)
    connection.execute(_WORDS.format(n=number, tokenizer=made.tokenizer))
    connection.execute(_TERMS.format(n=number))
    ledger.watch(connection, made.records)
    return made


def put(connection: sqlite3.Connection, partition: Partition, records: Mapping[str, VectorRecord]) -> None:
    """Add or replace records (by id). What is there already in the same form is left alone."""
    columns = {id_: _columns(record) for id_, record in records.items()}
    replaced = []
    for key, *found in _found(connection, partition, list(columns)):
        if columns[found[0]] == tuple(found):
            del columns[found[0]]
        else:
            replaced.append((key, found[3], found[5]))
    partition = _taken_out(connection, partition, replaced)
    first = partition.next_key
    connection.executemany(
        f"INSERT INTO {partition.records} (key, id, source, chunk, text, vector, further) VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((key, *values) for key, values in enumerate(columns.values(), first)),
    )
    columns_read = f"SELECT key, text, further FROM {partition.records} WHERE key >= ?"
    connection.execute(f"INSERT INTO {partition.words} (rowid, text, further) {columns_read}", (first,))
    _save(connection, replace(partition, next_key=first + len(columns), live=partition.live + len(columns)))


def remove(connection: sqlite3.Connection, partition: Partition, ids: Sequence[str]) -> bool:
    """Remove records by id; unknown ids are passed over. A partition left empty goes too: then return True."""
    unique = list(dict.fromkeys(ids))
    gone = [(row[0], row[4], row[6]) for row in _found(connection, partition, unique)]
    if len(gone) < partition.live:
        _save(connection, _taken_out(connection, partition, gone))
        return False
    drop(connection, partition)
    return True


def drop(connection: sqlite3.Connection, partition: Partition) -> None:
    """Remove a partition with all that it holds."""
    connection.execute(f"DROP TABLE {partition.terms}")
    connection.execute(f"DROP TABLE {partition.words}")
    connection.execute(f"DROP TABLE {partition.records}")
    connection.execute("DELETE FROM holes WHERE partition = ?", (partition.number,))
    connection.execute("DELETE FROM partitions WHERE number = ?", (partition.number,))
    ledger.dropped(connection, partition.records)


def vectors_from(
    connection: sqlite3.Connection, partition: Partition, key: int
) -> Iterator[list[tuple[int, str, str, bytes]]]:
    """Yield key, source, id and vector of the records from a key on, in that order, a thousand at a time."""
    query = f"SELECT key, source, id, vector FROM {partition.records} WHERE key >= ? ORDER BY key"
    cursor = connection.execute(query, (key,))
    while rows := cursor.fetchmany(1_000):
        yield rows


def vector_of(connection: sqlite3.Connection, partition: Partition, key: int) -> bytes | None:
    """Return the vector of a record; None when there is no such key (any more)."""
    row = connection.execute(f"SELECT vector FROM {partition.records} WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def holes_after(connection: sqlite3.Connection, partition: Partition, ordinal: int) -> list[int]:
    """Return the keys that went after the first ``ordinal`` of this epoch."""
    query = "SELECT key FROM holes WHERE partition = ? AND ordinal > ?"
    return [key for (key,) in connection.execute(query, (partition.number, ordinal))]


def _columns(record: VectorRecord) -> tuple[Any, ...]:
    vector = None if record.vector is None else np.asarray(record.vector, "<f4").tobytes()
    return record.id, record.source_id, record.chunk_id, record.text, vector, " ".join(further_words(record.text))


def _found(connection: sqlite3.Connection, partition: Partition, ids: list[str]) -> list[tuple[Any, ...]]:
    query = f"SELECT key, id, source, chunk, text, vector, further FROM {partition.records} WHERE id IN "
    return [row for part in in_batches(ids) for row in connection.execute(f"{query} ({marks(len(part))})", part)]


def _taken_out(connection: sqlite3.Connection, partition: Partition, gone: list[tuple[int, str, str]]) -> Partition:
    """Delete rows by key, with the text and further words they have; return the partition as it is then."""
    if not gone:
        return partition
    # an index over external content is told what it has to forget
    told = f"INSERT INTO {partition.words} ({partition.words}, rowid, text, further) VALUES ('delete', ?, ?, ?)"
    connection.executemany(told, gone)
    connection.executemany(f"DELETE FROM {partition.records} WHERE key = ?", ((key,) for key, *_ in gone))
    live = partition.live - len(gone)
    if not partition.dimension:
        return replace(partition, live=live)
    connection.executemany(
        "INSERT INTO holes VALUES (?, ?, ?)",
        ((partition.number, ordinal, key) for ordinal, (key, *_) in enumerate(gone, partition.holes + 1)),
    )
    holes = partition.holes + len(gone)
    if holes <= max(_FEW_HOLES, live):
        return replace(partition, holes=holes, live=live)
    # more holes than records: another epoch makes readers build their copy anew, without them
    connection.execute("DELETE FROM holes WHERE partition = ?", (partition.number,))
    return replace(partition, epoch=secrets.randbits(62), holes=0, live=live)


def _save(connection: sqlite3.Connection, partition: Partition) -> None:
    connection.execute(
        "UPDATE partitions SET epoch = ?, next_key = ?, holes = ?, live = ? WHERE number = ?",
        (partition.epoch, partition.next_key, partition.holes, partition.live, partition.number),
    )
