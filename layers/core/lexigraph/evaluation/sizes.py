"""How large the parts of an embedded index are: the graph, and of each vector index its records with their words, and the
vectors once more as they are mapped into memory.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import SearchRequest
from lexigraph.storage.sqlite.vector.partitions import Partition, partitions_of

GRAPH = "graph"


def parts_for(request: SearchRequest) -> tuple[str, ...]:
    """Return the names of what a search reads: the records of an index, and for a vector those mapped into memory."""
    return (_records(request.index), _mapped(request.index))[: 1 if request.vector is None else 2]


def part_sizes(folder: Path, tenant: Tenant) -> dict[str, int]:
    """Return the bytes of each part of a tenant's index in ``folder``, which nobody writes meanwhile."""
    sizes = {GRAPH: (folder / "graph.sqlite").stat().st_size}
    with closing(sqlite3.connect(folder / "vectors.sqlite")) as connection:
        for partition in partitions_of(connection, tenant):
            mapped = [*folder.glob(f"vectors-{partition.number}.f32"), *folder.glob(f"vectors-{partition.number}.i8")]
            sizes[_records(partition.name)] = _bytes_of(connection, partition)
            sizes[_mapped(partition.name)] = sum(path.stat().st_size for path in mapped)
    return sizes


def read_by(parts: Mapping[str, int], read: Iterable[str]) -> dict[str, float]:
    """Return the megabytes of the parts that are ``read``, and of ``all`` of them together."""
    found = {name: size for name, size in parts.items() if name in set(read) and size}
    return {name: round(size / 1e6, 1) for name, size in {**found, "all": sum(found.values())}.items()}


def page_bytes(connection: sqlite3.Connection, partition: Partition) -> int:
    """Return the pages of a partition's tables. Raise ``sqlite3.OperationalError`` for an SQLite without ``dbstat``."""
    records, words = partition.records, partition.words
    query = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE AND name GLOB ?"
    names = (records, f"{records}_source", f"sqlite_autoindex_{records}_*", f"{words}_*")
    return sum(int(connection.execute(query, (name,)).fetchone()[0]) for name in names)


def row_bytes(connection: sqlite3.Connection, partition: Partition) -> int:
    """Return the lengths of what a partition's tables hold, a little less than their pages."""
    fields = ("id", "source", "chunk", "text", "vector")
    lengths = " + ".join(f"coalesce(length(CAST({field} AS BLOB)), 0)" for field in fields)
    held = ((lengths, partition.records), ("length(block)", f"{partition.words}_data"))
    queries = (f"SELECT coalesce(sum({length}), 0) FROM {table}" for length, table in held)  # noqa: S608  # names are ours
    return sum(int(connection.execute(query).fetchone()[0]) for query in queries)


def _records(index: str) -> str:
    return f"{index} records"


def _mapped(index: str) -> str:
    return f"{index} vectors mapped"


def _bytes_of(connection: sqlite3.Connection, partition: Partition) -> int:
    try:
        return page_bytes(connection, partition)
    except sqlite3.OperationalError:
        return row_bytes(connection, partition)
