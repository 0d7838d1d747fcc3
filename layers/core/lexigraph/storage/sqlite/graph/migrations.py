"""What brings a graph file of an older format to the next one."""

import sqlite3
from collections.abc import Callable, Mapping

from lexigraph.storage.sqlite.graph.rows import store_statements
from lexigraph.storage.sqlite.graph.schema import RELATIONS

_BATCH = 500  # chunks at once: what is held in memory


def _write_statements_beside_chunks(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS chunk_statements (chunk INTEGER PRIMARY KEY, statements TEXT NOT NULL)")
    chunks = [k for (k,) in connection.execute("SELECT k FROM chunk ORDER BY k")]
    for at in range(0, len(chunks), _BATCH):
        store_statements(connection, chunks[at : at + _BATCH])


def _add_relations(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, RELATIONS.split(";")):
        connection.execute(statement)


# by the format that each converts
MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {
    1: _write_statements_beside_chunks,
    2: _add_relations,
    3: _write_statements_beside_chunks,
}
