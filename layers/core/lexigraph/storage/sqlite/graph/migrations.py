"""What brings a graph file of an older format to the next one."""

import sqlite3
from collections.abc import Callable, Mapping

from lexigraph.model.batches import batched
from lexigraph.storage.sqlite.graph.rows import store_statements
from lexigraph.storage.sqlite.graph.schema import LEADING, RELATIONS

_BATCH = 500  # chunks at once: what is held in memory
_ROOM_BESIDE_CHUNKS = "CREATE TABLE IF NOT EXISTS chunk_statements (chunk INTEGER PRIMARY KEY, statements TEXT NOT NULL);"


def _add_kinds(connection: sqlite3.Connection) -> None:
    """Give statements kind and original: all were read as prose. What stands beside chunks is written anew."""
    connection.execute("ALTER TABLE statement ADD COLUMN kind TEXT NOT NULL DEFAULT 'prose'")
    connection.execute("ALTER TABLE said_in ADD COLUMN original TEXT NOT NULL DEFAULT ''")
    _write_anew(connection)


def _write_anew(connection: sqlite3.Connection) -> None:
    """Write what stands beside chunks anew: since format 6 it has a checksum."""
    chunks = [k for (k,) in connection.execute("SELECT k FROM chunk ORDER BY k")]
    for some in batched(chunks, _BATCH):
        store_statements(connection, some)


# by the format that each converts; what stands beside chunks is filled by the last of them alone
MIGRATIONS: Mapping[int, str | Callable[[sqlite3.Connection], None]] = {
    1: _ROOM_BESIDE_CHUNKS,
    2: RELATIONS,
    3: "",
    4: _add_kinds,
    5: _write_anew,
    6: LEADING,
}
