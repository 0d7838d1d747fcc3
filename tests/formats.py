"""Files of older formats, made of those of today."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from lexigraph.storage.sqlite import ledger

# the tables of formats 1 to 4 knew neither
WITHOUT_KINDS = "ALTER TABLE statement DROP COLUMN kind; ALTER TABLE said_in DROP COLUMN original;"


def without_ledger(connection: sqlite3.Connection) -> None:
    """Take out what files of older formats do not have: a ledger of their rows."""
    ledger.suspend(connection)
    connection.execute("DROP TABLE IF EXISTS ledger")


def as_format_4(path: Path) -> None:
    """Bring a graph file to format 4, as if all its statements had been read then."""
    with closing(sqlite3.connect(path)) as connection:
        without_ledger(connection)
        for chunk, text in connection.execute("SELECT chunk, statements FROM chunk_statements").fetchall():
            names, told, _ = text.split("\n")
            topics, rows = json.loads(told)
            before = json.dumps((topics, [[*row[:8], row[10]] for row in rows]))
            connection.execute("UPDATE chunk_statements SET statements = ? WHERE chunk = ?", (f"{names}\n{before}", chunk))
        connection.executescript(f"{WITHOUT_KINDS} PRAGMA user_version = 4;")
