"""What a view sees of the embedded graph: tables of the same names that hold no more, before every query.

A connection for a view has temporary views that bear the names of the tables, and hide these. So nothing that reads has to
know of views, and nothing can forget them: a count, a cut or a name is made of what the view sees. The properties of an
entity, which are derived from all sources, are derived from those anew, when they are read. Nothing can be written there.
"""

import math
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from threading import Lock

from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.sqlite.database import Database
from lexigraph.storage.sqlite.filters import filter_sql
from lexigraph.storage.sqlite.graph.schema import SENSES, SYNONYMS

_MOST = 8  # views whose connections (one a thread) are kept, those used last

# Whether the view sees the source of a chunk
_SEEN = "EXISTS (SELECT 1 FROM main.chunk c CROSS JOIN temp.source s ON s.k = c.source WHERE c.k = {0})"
_OF_SOURCE = "EXISTS (SELECT 1 FROM temp.source s WHERE s.k = x.source)"
_NAMED = """(EXISTS (SELECT 1 FROM temp.mentions m WHERE m.entity = x.k)
    OR EXISTS (SELECT 1 FROM temp.about a WHERE a.entity = x.k)
    OR EXISTS (SELECT 1 FROM temp.alias a WHERE a.alias = x.k)
    OR EXISTS (SELECT 1 FROM temp.alias a WHERE a.target = x.k))"""
_ROWS = {
    **dict.fromkeys(("chunk", "placed", "topic", "about"), _OF_SOURCE),
    **dict.fromkeys(("topic_in", "said_in", "chunk_statements", "supports", "mentions"), _SEEN.format("x.chunk")),
    "statement": "EXISTS (SELECT 1 FROM temp.topic t WHERE t.k = x.topic)",
    "alias": f"(x.chunk IN ({SENSES}, {SYNONYMS}) OR {_SEEN.format('x.chunk')})",
    "rel": f"{_SEEN.format('x.src')} AND {_SEEN.format('x.dst')}",
}
_LIVE = """CROSS JOIN main.placed p ON p.chunk = m.chunk CROSS JOIN main.source s ON s.k = p.source
    AND p.since <= s.live AND (p.until IS NULL OR p.until > s.live)"""
# as derive.py counts them
_FORMS = f"""SELECT m.form AS said FROM temp.mentions m {_LIVE} WHERE m.entity = x.k
    UNION ALL SELECT a.form FROM temp.about a WHERE a.entity = x.k
    UNION ALL SELECT a.alias_form FROM temp.alias a WHERE a.alias = x.k
    UNION ALL SELECT a.target_form FROM temp.alias a WHERE a.target = x.k"""
_CLASSES = f"SELECT m.class AS said FROM temp.mentions m {_LIVE} WHERE m.entity = x.k"
_FACTS = f"""SELECT m.fact FROM main.fact f CROSS JOIN temp.supports m ON m.fact = f.k {_LIVE} WHERE f.subject_entity = x.k
    UNION SELECT m.fact FROM temp.supports m {_LIVE} WHERE m.object_entity = x.k"""


def _majority(votes: str) -> str:
    query = f"SELECT said FROM ({votes}) WHERE said <> '' GROUP BY said ORDER BY count(*) DESC, said LIMIT 1"
    return f"coalesce(({query}), '')"


_ENTITY = f"""SELECT x.k, x.id, x.tenant, {_majority(_FORMS)} AS value, {_majority(_CLASSES)} AS class,
    (SELECT count(DISTINCT p.source) FROM temp.mentions m {_LIVE} WHERE m.entity = x.k) AS df,
    (SELECT count(*) FROM ({_FACTS})) AS degree
    FROM main.entity x WHERE {_NAMED}"""


class Seen:
    """The databases of views over one file, opened when first asked for."""

    def __init__(self, open_: Callable[[Callable[[sqlite3.Connection], None]], Database]) -> None:
        self._open, self._lock = open_, Lock()
        self._databases: OrderedDict[View, Database] = OrderedDict()

    def by(self, view: View) -> Database:
        """Return the database whose connections see what the view sees."""
        with self._lock:
            database = self._databases.get(view)
            if database is None:
                database = self._databases[view] = self._open(partial(_narrow, view))
            self._databases.move_to_end(view)
            if len(self._databases) > _MOST:
                self._databases.popitem(last=False)  # its connections go with the threads that use them
            return database

    def close(self) -> None:
        """Close the connections of all views."""
        with self._lock:
            databases = list(self._databases.values())
            self._databases.clear()
        for database in databases:
            database.close()


def _narrow(view: View, connection: sqlite3.Connection) -> None:
    """Hide the tables behind what the view sees of them."""
    condition, parameters = filter_sql(view.rights, "x.filterable")
    told = iter([_literal(connection, value) for value in parameters])
    passes = "".join(next(told) if part == "?" else part for part in _parts(condition))
    whole, name = (_literal(connection, str(tenant)) for tenant in (view.whole, view))
    rows = {
        "tenant": f"SELECT k, {name} AS name FROM main.tenant WHERE name = {whole}",
        "source": f"""SELECT x.* FROM main.source x
            WHERE x.tenant = (SELECT k FROM main.tenant WHERE name = {whole}) AND ({passes})""",
        **{table: f"SELECT x.* FROM main.{table} x WHERE {seen}" for table, seen in _ROWS.items()},
        "entity": _ENTITY,
    }
    for table, query in rows.items():
        connection.execute(f"CREATE TEMP VIEW {table} AS {query}")


def _parts(condition: str) -> list[str]:
    return [part for between in condition.split("?") for part in (between, "?")][:-1]


def _literal(connection: sqlite3.Connection, value: str | float) -> str:
    """Return a value as it is written in a query: a view takes no parameters."""
    if isinstance(value, float) and math.isinf(value):
        return f"{'-' * (value < 0)}9e999"
    return str(connection.execute("SELECT quote(?)", (value,)).fetchone()[0])


def of_view(tenant: Tenant, database: Database, seen: Seen) -> Database:
    """Return the database that a tenant, or a view of one, reads."""
    return seen.by(tenant) if isinstance(tenant, View) else database
