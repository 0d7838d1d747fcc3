"""What a SQLite file of ours says of itself: which database it belongs to, and the sum of each table's rows.

Triggers add a checksum of each row that comes and take away that of each row that goes, within the transaction that changes
the row. So whoever reads all rows and adds them up again knows whether they are what was written: SQLite itself notices
damage to its trees and indexes, not to a letter of a text. Rows of full-text tables are checked by FTS5.
"""

import secrets
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from marshal import dumps
from typing import Any
from zlib import crc32

SCHEMA = "CREATE TABLE IF NOT EXISTS ledger (name TEXT PRIMARY KEY, value) WITHOUT ROWID"
ID, _OBJECTS, _TRIGGER = "id", "schema", "ledger_"
_MODULUS = 2**48
# what is ours to sum up: no index of SQLite or FTS5, and not what the sums themselves stand in
_TABLES = """
SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'ledger'
ORDER BY name
"""
_COLUMNS = "SELECT name FROM pragma_table_info(?) ORDER BY cid"
_SET = "INSERT INTO ledger VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_ADD = f"INSERT INTO ledger VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = (value + ?2 + {_MODULUS}) % {_MODULUS}"
_EVENTS = {
    "insert": "SELECT row_came('{table}', {new})",
    "delete": "SELECT row_went('{table}', {old})",
    "update": "SELECT row_went('{table}', {old}), row_came('{table}', {new})",
}


class Changes:
    """The rows that came and went in the transaction of a connection, as sums by table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._by_table: defaultdict[str, int] = defaultdict(int)
        connection.create_function("row_came", -1, self._came)
        connection.create_function("row_went", -1, self._went)

    def _came(self, table: str, *row: Any) -> None:
        self._by_table[table] += crc32(dumps(row, 2))

    def _went(self, table: str, *row: Any) -> None:
        self._by_table[table] -= crc32(dumps(row, 2))

    def enter(self, connection: sqlite3.Connection) -> None:
        """Enter the changes, before the transaction is committed."""
        connection.executemany(_ADD, [(_sum_of(table), change % _MODULUS) for table, change in self._by_table.items()])
        self._by_table.clear()

    def forget(self) -> None:
        """Forget them: the transaction is rolled back."""
        self._by_table.clear()


def install(connection: sqlite3.Connection, belongs_to: str) -> None:
    """Begin the ledger of a file whose tables are as they are to be, or begin it again; it keeps the id that it has."""
    connection.execute(SCHEMA)
    connection.execute("INSERT OR IGNORE INTO ledger VALUES (?, ?)", (ID, belongs_to or secrets.token_hex(16)))
    for table in tables(connection):
        watch(connection, table)


def suspend(connection: sqlite3.Connection) -> None:
    """Take the triggers away, so that tables can be changed; :func:`install` must follow."""
    ours = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, ?) = ?"
    for (name,) in connection.execute(ours, (len(_TRIGGER), _TRIGGER)).fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def watch(connection: sqlite3.Connection, table: str) -> None:
    """Let the rows of a table be summed up from now on, whatever they are."""
    names = [f'"{name}"' for (name,) in connection.execute(_COLUMNS, (table,))]
    rows = {side: ", ".join(f"{side}.{name}" for name in names) for side in ("old", "new")}
    for event, call in _EVENTS.items():
        does = call.format(table=table, **rows)
        connection.execute(f"CREATE TRIGGER {_TRIGGER}{event}_{table} AFTER {event} ON {table} BEGIN {does}; END")
    connection.execute(_SET, (_sum_of(table), _sum(connection, table)))
    connection.execute(_SET, (_OBJECTS, _objects(connection)))


def dropped(connection: sqlite3.Connection, table: str) -> None:
    """Forget a table that was dropped."""
    connection.execute("DELETE FROM ledger WHERE name = ?", (_sum_of(table),))
    connection.execute(_SET, (_OBJECTS, _objects(connection)))


def tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables that are summed up."""
    return [name for (name,) in connection.execute(_TABLES)]


def belongs_to(connection: sqlite3.Connection) -> str:
    """Return the id of the database that the file belongs to; empty when it is in no ledger."""
    try:
        row = connection.execute("SELECT value FROM ledger WHERE name = ?", (ID,)).fetchone()
    except sqlite3.OperationalError:  # no such table
        return ""
    return str(row[0]) if row else ""


def changed(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the tables whose rows are not those that were written; ``schema`` when the tables themselves are not."""
    entered = dict(connection.execute("SELECT name, value FROM ledger"))
    present = tables(connection)
    if entered.get(_OBJECTS) != _objects(connection) or {n for n in entered if n.startswith("sum ")} != {
        *map(_sum_of, present)
    }:
        yield _OBJECTS
    for table in present:
        if entered.get(_sum_of(table)) != _sum(connection, table):
            yield table


def _sum_of(table: str) -> str:
    return f"sum {table}"


def _sum(connection: sqlite3.Connection, table: str) -> int:
    return sum(crc32(dumps(row, 2)) for row in connection.execute(f"SELECT * FROM {table}")) % _MODULUS


def _objects(connection: sqlite3.Connection) -> int:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    return sum(crc32(dumps(row, 2)) for row in rows) % _MODULUS
