"""Collection in the embedded graph: closed chunks go, with whatever has no support left."""

import sqlite3
from collections.abc import Sequence

from lexigraph.model.ids import Kind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Doomed
from lexigraph.storage.sqlite.graph.derive import next_stamp, touch
from lexigraph.storage.sqlite.graph.gate import SqlitePart, public, source_keys

_DOOMED_CHUNKS = """
INSERT OR IGNORE INTO temp.doomed SELECT c.k FROM chunk c JOIN source s ON s.k = c.source
WHERE c.source = ? AND NOT EXISTS
    (SELECT 1 FROM placed p WHERE p.chunk = c.k AND (p.until IS NULL OR p.until > coalesce(s.live, 0)))
"""
# what only doomed chunks hold; from the doomed outwards, whatever the size of the store
_DOOMED_STATEMENTS = """
SELECT x.statement FROM (SELECT DISTINCT i.statement FROM temp.doomed d CROSS JOIN said_in i ON i.chunk = d.k) x
WHERE NOT EXISTS
    (SELECT 1 FROM said_in o WHERE o.statement = x.statement AND o.chunk NOT IN (SELECT k FROM temp.doomed))
"""
_DOOMED_TOPICS = """
SELECT x.topic FROM (SELECT DISTINCT i.topic FROM temp.doomed d CROSS JOIN topic_in i ON i.chunk = d.k) x
WHERE NOT EXISTS
    (SELECT 1 FROM topic_in o WHERE o.topic = x.topic AND o.chunk NOT IN (SELECT k FROM temp.doomed))
"""


class SqliteCollect(SqlitePart):
    """What goes when no version needs it."""

    def doomed(self, tenant: Tenant, source_ids: Sequence[str]) -> Doomed:
        with self._database.read() as connection:
            _find_doomed(connection, tenant, source_ids)
            return Doomed(
                chunks=_public(connection, "chunk", "SELECT k FROM temp.doomed"),
                statements=_public(connection, "statement", _DOOMED_STATEMENTS),
                topics=_public(connection, "topic", _DOOMED_TOPICS),
            )

    def collect(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        with self._database.write() as connection:
            sources = _find_doomed(connection, tenant, source_ids)
            stamp = next_stamp(connection)
            doomed = "(SELECT k FROM temp.doomed)"
            touch(connection, stamp, f"SELECT DISTINCT entity FROM mentions WHERE chunk IN {doomed}", ())
            for side in ("alias", "target"):
                touch(connection, stamp, f"SELECT {side} FROM alias WHERE chunk IN {doomed}", ())
            statements = connection.execute(_DOOMED_STATEMENTS).fetchall()
            topics = connection.execute(_DOOMED_TOPICS).fetchall()
            facts = connection.execute(f"SELECT DISTINCT fact FROM supports WHERE chunk IN {doomed}").fetchall()
            for table in ("said_in", "topic_in", "supports", "mentions", "alias", "placed", "chunk_statements"):
                connection.execute(f"DELETE FROM {table} WHERE chunk IN {doomed}")
            for table, end in (("rel", "src"), ("rel", "dst"), ("rel_pair", "first"), ("rel_pair", "second")):
                connection.execute(f"DELETE FROM {table} WHERE {end} IN {doomed}")
            connection.execute(f"DELETE FROM chunk WHERE k IN {doomed}")
            connection.executemany("DELETE FROM statement WHERE k = ?", statements)
            connection.executemany("DELETE FROM topic WHERE k = ?", topics)
            connection.executemany(
                "DELETE FROM fact WHERE k = ?1 AND NOT EXISTS (SELECT 1 FROM supports WHERE fact = ?1)", facts
            )
            # former places of chunks that went on
            connection.executemany(
                "DELETE FROM placed WHERE source = ?1 AND until <= (SELECT coalesce(live, 0) FROM source WHERE k = ?1)",
                [(s,) for s in sources],
            )
            connection.executemany(
                "DELETE FROM source WHERE k = ?1 AND live IS NULL AND NOT EXISTS (SELECT 1 FROM chunk WHERE source = ?1)",
                [(s,) for s in sources],
            )


def _find_doomed(connection: sqlite3.Connection, tenant: str, source_ids: Sequence[str]) -> list[int]:
    """Fill the temporary table ``doomed`` with the chunks that no version needs; return the keys of the sources."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS doomed (k INTEGER PRIMARY KEY)")
    connection.execute("DELETE FROM temp.doomed")
    sources = source_keys(connection, tenant, source_ids)
    connection.executemany(_DOOMED_CHUNKS, [(s,) for s in sources])
    return sources


def _public(connection: sqlite3.Connection, kind: Kind, keys: str) -> tuple[str, ...]:
    rows = connection.execute(f"SELECT id FROM {kind} WHERE k IN ({keys}) ORDER BY id")
    return tuple(public(kind, row[0]) for row in rows)
