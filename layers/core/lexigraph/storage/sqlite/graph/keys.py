"""Keys of the embedded graph: integers inside, 16 bytes in its tables, public ids at the border."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from lexigraph.model.ids import Kind
from lexigraph.storage.sqlite.database import marks
from lexigraph.storage.sqlite.graph.gate import select, tenant_key

Keys = dict[bytes, int]


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
