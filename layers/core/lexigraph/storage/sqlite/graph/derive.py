"""Derived properties of entities in the embedded graph: value, class, df and degree, computed from live edges."""

import sqlite3
from collections import Counter
from typing import Any

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import majority
from lexigraph.storage.protocols import Derived
from lexigraph.storage.sqlite.graph.gate import PLACED, SqlitePart, public, raw, tenant_key
from lexigraph.storage.sqlite.graph.read import HUB
from lexigraph.storage.sqlite.graph.schema import LIVE

_DUE = "INSERT OR IGNORE INTO temp.due SELECT entity, 0 FROM touched WHERE tenant = ? LIMIT 10000"
_UNSUPPORTED = """
DELETE FROM entity WHERE k IN (SELECT k FROM temp.due) AND NOT EXISTS (SELECT 1 FROM mentions m WHERE m.entity = entity.k)
    AND NOT EXISTS (SELECT 1 FROM about a WHERE a.entity = entity.k)
    AND NOT EXISTS (SELECT 1 FROM alias a WHERE a.alias = entity.k)
    AND NOT EXISTS (SELECT 1 FROM alias a WHERE a.target = entity.k)
"""
_LIVE_MENTIONS = f"FROM mentions x {PLACED} WHERE x.entity = {{}} AND {LIVE} LIMIT {HUB + 1}"
# What is named more often than retrieval follows: no more of it is looked at than that, whatever the tenant holds.
_MARK_CROWDED = f"""
UPDATE temp.due SET crowded = 1 WHERE
    (SELECT count(*) FROM (SELECT 1 FROM mentions x WHERE x.entity = due.k LIMIT {HUB + 1})) > {HUB}
    AND (SELECT count(*) FROM (SELECT 1 {_LIVE_MENTIONS.format("due.k")})) > {HUB}
"""
_MENTIONS_OF_CROWDED = f"""
SELECT form, class, count(*) FROM (SELECT x.form, x.class {_LIVE_MENTIONS.format("?")}) GROUP BY 1, 2
"""
_DEGREE_OF_CROWDED = f"""
SELECT count(DISTINCT fact) FROM (
    SELECT * FROM (SELECT x.fact FROM fact f CROSS JOIN supports x ON x.fact = f.k {PLACED}
        WHERE f.subject_entity = ? AND {LIVE} LIMIT {HUB + 1})
    UNION ALL SELECT * FROM (SELECT x.fact FROM supports x {PLACED} WHERE x.object_entity = ? AND {LIVE} LIMIT {HUB + 1})
)
"""
_SOURCES = f"SELECT count(*) FROM (SELECT 1 FROM source s WHERE s.tenant = ? AND s.live > 0 LIMIT {HUB})"
# CROSS JOIN keeps the order as written: from the few entities that are due outwards
_MENTIONS = f"""
SELECT d.k, x.form, x.class, p.source, count(*) FROM temp.due d CROSS JOIN mentions x ON x.entity = d.k {PLACED}
    WHERE NOT d.crowded AND {LIVE} GROUP BY 1, 2, 3, 4
"""
_OTHER_FORMS = """
SELECT d.k, a.form FROM temp.due d CROSS JOIN about a ON a.entity = d.k
UNION ALL SELECT d.k, a.alias_form FROM temp.due d CROSS JOIN alias a ON a.alias = d.k
UNION ALL SELECT d.k, a.target_form FROM temp.due d CROSS JOIN alias a ON a.target = d.k
"""
_DEGREE = f"""
SELECT k, count(DISTINCT fact) FROM (
    SELECT d.k AS k, x.fact AS fact FROM temp.due d CROSS JOIN fact f ON f.subject_entity = d.k
        CROSS JOIN supports x ON x.fact = f.k {PLACED} WHERE NOT d.crowded AND {LIVE}
    UNION SELECT d.k, x.fact FROM temp.due d CROSS JOIN supports x ON x.object_entity = d.k {PLACED}
        WHERE NOT d.crowded AND {LIVE}
) GROUP BY k
"""


class SqliteDerive(SqlitePart):
    """What follows from the edges of entities."""

    def derive(self, tenant: Tenant) -> Derived:
        with self._database.write() as connection:
            t = tenant_key(connection, tenant)
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS due (k INTEGER PRIMARY KEY, crowded INTEGER NOT NULL)")
            connection.execute("DELETE FROM temp.due")
            connection.execute(_DUE, (t,))
            stamp = connection.execute("SELECT coalesce(max(value), 0) FROM counter WHERE name = 'stamp'").fetchone()[0]
            connection.execute(_UNSUPPORTED)
            connection.execute(_MARK_CROWDED, (t,))
            due = connection.execute(
                "SELECT t.entity, t.id, e.k FROM touched t JOIN temp.due d ON d.k = t.entity "
                # the key of an entity that is gone may have been given to another since
                "LEFT JOIN entity e ON e.k = d.k AND e.id = t.id"
            ).fetchall()
            mentions = connection.execute(_MENTIONS, (t,)).fetchall()
            df = Counter(k for k, _ in {(k, source) for k, _, _, source, _ in mentions})
            votes = [(k, form, class_, count) for k, form, class_, _, count in mentions]
            degree = dict(connection.execute(_DEGREE, (t, t)).fetchall())
            for (k,) in connection.execute("SELECT k FROM temp.due WHERE crowded").fetchall():
                votes += [(k, *row) for row in connection.execute(_MENTIONS_OF_CROWDED, (k, t))]
                df[k] = connection.execute(_SOURCES, (t,)).fetchone()[0]
                degree[k] = min(connection.execute(_DEGREE_OF_CROWDED, (k, t, k, t)).fetchone()[0], HUB)
            other = connection.execute(_OTHER_FORMS).fetchall()
            value = majority([(k, form, count) for k, form, _, count in votes] + [(k, form, 1) for k, form in other])
            class_ = majority([(k, class_, count) for k, _, class_, count in votes])
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
