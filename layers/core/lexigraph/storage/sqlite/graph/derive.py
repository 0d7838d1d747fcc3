"""Derived properties of entities in the embedded graph: value, class, df and degree, computed from live edges."""

import sqlite3
from collections import Counter
from typing import Any

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import majority
from lexigraph.storage.protocols import Derived
from lexigraph.storage.sqlite.graph.gate import SqlitePart, public, raw, tenant_key
from lexigraph.storage.sqlite.graph.schema import LIVE

_DUE = "INSERT OR IGNORE INTO temp.due SELECT entity FROM touched WHERE tenant = ? LIMIT 10000"
_UNSUPPORTED = """
DELETE FROM entity WHERE k IN (SELECT k FROM temp.due) AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.entity = entity.k)
    AND NOT EXISTS (SELECT 1 FROM about a WHERE a.entity = entity.k)
    AND NOT EXISTS (SELECT 1 FROM alias a WHERE a.alias = entity.k)
    AND NOT EXISTS (SELECT 1 FROM alias a WHERE a.target = entity.k)
"""
# CROSS JOIN keeps the order as written: from the few entities that are due outwards
_MENTIONS = f"""
SELECT d.k, m.form, m.class, p.source, count(*) FROM temp.due d CROSS JOIN mentions m ON m.entity = d.k
    CROSS JOIN placed p ON p.chunk = m.chunk CROSS JOIN source s ON s.k = p.source WHERE {LIVE} GROUP BY 1, 2, 3, 4
"""
_OTHER_FORMS = """
SELECT d.k, a.form FROM temp.due d CROSS JOIN about a ON a.entity = d.k
UNION ALL SELECT d.k, a.alias_form FROM temp.due d CROSS JOIN alias a ON a.alias = d.k
UNION ALL SELECT d.k, a.target_form FROM temp.due d CROSS JOIN alias a ON a.target = d.k
"""
_DEGREE = f"""
SELECT k, count(DISTINCT fact) FROM (
    SELECT d.k AS k, x.fact AS fact FROM temp.due d CROSS JOIN fact f ON f.subject_entity = d.k
        CROSS JOIN supports x ON x.fact = f.k
        CROSS JOIN placed p ON p.chunk = x.chunk CROSS JOIN source s ON s.k = p.source WHERE {LIVE}
    UNION SELECT d.k, x.fact FROM temp.due d CROSS JOIN supports x ON x.object_entity = d.k
        CROSS JOIN placed p ON p.chunk = x.chunk CROSS JOIN source s ON s.k = p.source WHERE {LIVE}
) GROUP BY k
"""


class SqliteDerive(SqlitePart):
    """What follows from the edges of entities."""

    def derive(self, tenant: Tenant) -> Derived:
        with self._database.write() as connection:
            t = tenant_key(connection, tenant)
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS due (k INTEGER PRIMARY KEY)")
            connection.execute("DELETE FROM temp.due")
            connection.execute(_DUE, (t,))
            stamp = connection.execute("SELECT coalesce(max(value), 0) FROM counter WHERE name = 'stamp'").fetchone()[0]
            connection.execute(_UNSUPPORTED)
            due = connection.execute(
                "SELECT t.entity, t.id, e.k FROM touched t JOIN temp.due d ON d.k = t.entity "
                # the key of an entity that is gone may have been given to another since
                "LEFT JOIN entity e ON e.k = d.k AND e.id = t.id"
            ).fetchall()
            mentions = connection.execute(_MENTIONS, (t,)).fetchall()
            other = connection.execute(_OTHER_FORMS).fetchall()
            value = majority([(k, form, count) for k, form, _, _, count in mentions] + [(k, form, 1) for k, form in other])
            class_ = majority([(k, class_, count) for k, _, class_, _, count in mentions])
            df = Counter(k for k, _ in {(k, source) for k, _, _, source, _ in mentions})
            degree = dict(connection.execute(_DEGREE, (t, t)).fetchall())
            # what only unpublished chunks name is gone for readers until it is published, which touches it again
            named = [(k, id_) for k, id_, alive in due if alive is not None and k in value]
            rows = [(value[k], class_.get(k, ""), df.get(k, 0), degree.get(k, 0), k) for k, _ in named]
            connection.executemany("UPDATE entity SET value = ?, class = ?, df = ?, degree = ? WHERE k = ?", rows)
            unnamed = [(k,) for k, _, alive in due if alive is not None and k not in value]
            connection.executemany("UPDATE entity SET df = 0, degree = 0 WHERE k = ?", unnamed)
            return Derived(
                present=tuple(Entity(public("entity", id_), *row[:4]) for (_, id_), row in zip(named, rows, strict=True)),
                gone=tuple(public("entity", id_) for k, id_, alive in due if alive is None or k not in value),
                stamp=stamp,
            )

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        with self._database.write() as connection:
            t = tenant_key(connection, tenant)
            ids = [raw(e.id) for e in derived.present] + [raw(i) for i in derived.gone]
            connection.executemany(
                "DELETE FROM touched WHERE id = ? AND tenant = ? AND stamp <= ?", [(i, t, derived.stamp) for i in ids]
            )


def next_stamp(connection: sqlite3.Connection) -> int:
    """Return a number larger than any before: the moment of a touch."""
    row = connection.execute(
        "INSERT INTO counter VALUES ('stamp', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
    ).fetchone()
    return int(row[0])


def touch(connection: sqlite3.Connection, stamp: int, entities: str, parameters: tuple[Any, ...]) -> None:
    """Mark the entities that a query returns as changed: what is derived from their edges must be computed anew."""
    connection.execute(
        f"INSERT INTO touched SELECT id, k, tenant, {stamp} FROM entity WHERE k IN ({entities}) "
        "ON CONFLICT (id) DO UPDATE SET entity = excluded.entity, stamp = excluded.stamp",
        parameters,
    )
