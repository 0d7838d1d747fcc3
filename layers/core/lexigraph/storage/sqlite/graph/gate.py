"""What a reader of the embedded graph may see, and how queries are given long lists of keys."""

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.storage.sqlite.database import Database, in_batches, marks
from lexigraph.storage.sqlite.filters import filter_sql
from lexigraph.storage.sqlite.graph.schema import LIVE

Pair = tuple[int, int]  # chunk, statement

# CROSS JOIN keeps the order as written: from the rows asked for outwards
PLACED = "CROSS JOIN placed p ON p.chunk = x.chunk CROSS JOIN source s ON s.k = p.source"


class SqlitePart:
    """A part of the store in ``_database``, or of another that reads a connection of its own."""

    _database: Database

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give a connection that sees one moment."""
        return self._database.read()


class Gate:
    """What a reader may see: the condition on a chunk placed as ``p`` in a source ``s``, and its parameters."""

    def __init__(self, tenant: int, filters: Filter | None) -> None:
        self.tenant, self.filtered = tenant, filters is not None
        condition, parameters = filter_sql(filters, "s.filterable") if filters else ("1", [])
        self.sql = f"{LIVE} AND ({condition})"
        self.parameters: tuple[Any, ...] = (tenant, *parameters)


def select(
    connection: sqlite3.Connection, query: str, keys: Iterable[Any], last: Gate | tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """Run a query whose first parameters are an ``IN ({})`` list; the ``last`` follow, as those of a gate.

    Integer keys go as one text, so that the query is the same whatever their number, and found prepared.
    """
    asked, further = list(keys), last.parameters if isinstance(last, Gate) else last
    if asked and isinstance(asked[0], int):
        listed = f"[{','.join(map(str, asked))}]"
        return connection.execute(query.replace("{}", "SELECT value FROM json_each(?)", 1), (listed, *further)).fetchall()
    rows: list[tuple[Any, ...]] = []
    for batch in in_batches(asked):
        rows += connection.execute(query.replace("{}", marks(len(batch)), 1), (*batch, *further)).fetchall()
    return rows
