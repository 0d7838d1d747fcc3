"""What a reader of the embedded graph may see, and its keys: integers inside, 16 bytes in the tables, public ids outside."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.database import Database, in_batches, marks
from lexigraph.storage.sqlite.filters import filter_sql
from lexigraph.storage.sqlite.graph.schema import LIVE
from lexigraph.storage.sqlite.graph.views import Seen, of_view

Keys = dict[bytes, int]
Pair = tuple[int, int]  # chunk, statement

# CROSS JOIN keeps the order as written: from the rows asked for outwards
PLACED = "CROSS JOIN placed p ON p.chunk = x.chunk CROSS JOIN source s ON s.k = p.source"


class Gate:
    """What a reader may see, by a ``connection``: the condition on a chunk placed as ``p`` in a source ``s``."""

    def __init__(self, connection: sqlite3.Connection, tenant: int, filters: Filter | None) -> None:
        self.connection, self.tenant, self.filtered = connection, tenant, filters is not None
        condition, parameters = filter_sql(filters, "s.filterable") if filters else ("1", [])
        self.sql = f"{LIVE} AND ({condition})"
        self.parameters: tuple[Any, ...] = (tenant, *parameters)

    def select(self, query: str, keys: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Run a query (:func:`select`) that ends with the condition."""
        return select(self.connection, query, keys, self.parameters)


class SqlitePart:
    """A part of the store in ``_database``, or of another that reads a connection of its own."""

    _database: Database
    _seen: Seen

    def _read(self, tenant: Tenant) -> AbstractContextManager[sqlite3.Connection]:
        """Give a connection that sees one moment, and of that what the tenant, or its view, sees."""
        return of_view(tenant, self._database, self._seen).read()

    @contextmanager
    def _gate(self, tenant: Tenant, filters: Filter | None) -> Iterator[Gate]:
        with self._read(tenant) as connection:
            yield Gate(connection, tenant_key(connection, tenant), filters)


def select(
    connection: sqlite3.Connection, query: str, keys: Iterable[Any], last: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    """Run a query whose first parameters are an ``IN ({})`` list; the ``last`` follow.

    Integer keys go as one text, so that the query is the same whatever their number, and found prepared.
    """
    asked = list(keys)
    if asked and isinstance(asked[0], int):
        listed = f"[{','.join(map(str, asked))}]"
        return connection.execute(query.replace("{}", "SELECT value FROM json_each(?)", 1), (listed, *last)).fetchall()
    rows: list[tuple[Any, ...]] = []
    for batch in in_batches(asked):
        rows += connection.execute(query.replace("{}", marks(len(batch)), 1), (*batch, *last)).fetchall()
    return rows


def tenant_key(connection: sqlite3.Connection, tenant: str, *, create: bool = False) -> int:
    """Return the key of a tenant; 0, which no row has, when it is unknown and not to be created."""
    row = connection.execute("SELECT k FROM tenant WHERE name = ?", (tenant,)).fetchone()
    if row is None and create:
        row = connection.execute("INSERT INTO tenant (name) VALUES (?) RETURNING k", (tenant,)).fetchone()
    return int(row[0]) if row else 0


def raw(node_id: str) -> bytes:
    """Return the 16 bytes of a public id; of something that is no id, bytes that no node has."""
    try:
        return bytes.fromhex(node_id.partition(":")[2])
    except ValueError:
        return b""


def public(kind: Kind, key: bytes) -> str:
    """Return the public id of 16 bytes."""
    return f"{kind}:{key.hex()}"


def keys_of(connection: sqlite3.Connection, table: str, ids: Iterable[bytes]) -> Keys:
    """Return the integer keys of the ids that exist."""
    return dict(select(connection, f"SELECT id, k FROM {table} WHERE id IN ({{}})", ids))


def keys_by_id(connection: sqlite3.Connection, table: str, ids: Iterable[str]) -> dict[str, int]:
    """Return the integer keys of the public ids that exist."""
    public_id = {raw(i): i for i in ids}
    return {public_id[i]: k for i, k in keys_of(connection, table, public_id).items()}


def ensure(connection: sqlite3.Connection, table: str, rows: Mapping[bytes, tuple[Any, ...]], columns: str) -> Keys:
    """Return the keys of rows by id, which are made where they do not exist; ``columns`` are those of the rows."""
    # keys are handed out here and not by SQLite: one look-up and one bulk insert instead of a round trip a row
    known = keys_of(connection, table, rows)
    missing = [key for key in rows if key not in known]
    if missing:
        top = connection.execute(f"SELECT coalesce(max(k), 0) FROM {table}").fetchone()[0]
        fresh = {key: top + at for at, key in enumerate(missing, 1)}
        width = len(rows[missing[0]]) + 2
        connection.executemany(
            f"INSERT INTO {table} (k, id, {columns}) VALUES ({marks(width)})",
            [(fresh[key], key, *rows[key]) for key in missing],
        )
        known.update(fresh)
    return known


def source_keys(connection: sqlite3.Connection, tenant: str, source_ids: Iterable[str]) -> list[int]:
    """Return the integer keys of the tenant's sources among these ids."""
    query = "SELECT k FROM source WHERE id IN ({}) AND tenant = ?"
    return [k for (k,) in select(connection, query, map(raw, source_ids), (tenant_key(connection, tenant),))]
