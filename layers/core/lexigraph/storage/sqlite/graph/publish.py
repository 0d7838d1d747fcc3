"""Showing and hiding versions in the embedded graph, and synonyms."""

import json
import sqlite3
from collections.abc import Sequence

from lexigraph.model.graph import Source
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import expect_version
from lexigraph.storage.sqlite.filters import filterable_json
from lexigraph.storage.sqlite.graph.derive import next_stamp, touch
from lexigraph.storage.sqlite.graph.gate import SqlitePart, ensure, raw, source_keys, tenant_key
from lexigraph.storage.sqlite.graph.schema import SENSES, SYNONYMS
from lexigraph.storage.sqlite.graph.write import written_source

_TITLED = "SELECT entity FROM about WHERE source = ?"
# What a version `?2` of the source `?1` brings or ends names these; whose aliases it brings
_NAMED = """
SELECT m.entity FROM placed p JOIN mentions m ON m.chunk = p.chunk WHERE p.source = ?1 AND (p.since = ?2 OR p.until = ?2)
UNION SELECT a.alias FROM placed p JOIN alias a ON a.chunk = p.chunk WHERE p.source = ?1 AND p.since = ?2
UNION SELECT a.target FROM placed p JOIN alias a ON a.chunk = p.chunk WHERE p.source = ?1 AND p.since = ?2
"""


class SqlitePublish(SqlitePart):
    """Which versions readers see."""

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        with self._database.write() as connection:
            stamp = next_stamp(connection)
            for source in sources:
                _show(connection, stamp, tenant, source)

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        with self._database.write() as connection:
            stamp = next_stamp(connection)
            for s in source_keys(connection, tenant, source_ids):
                connection.execute("UPDATE source SET live = NULL WHERE k = ?", (s,))
                connection.execute("UPDATE placed SET until = 0 WHERE source = ?", (s,))
                touch(connection, stamp, _TITLED, (s,))
                connection.execute("DELETE FROM about WHERE source = ?", (s,))

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]], senses: Sequence[tuple[str, str]] = ()) -> None:
        with self._database.write() as connection:
            t, stamp = tenant_key(connection, tenant, create=True), next_stamp(connection)
            old = "FROM alias WHERE chunk <= 0 AND alias IN (SELECT k FROM entity WHERE tenant = ?)"
            for side in ("alias", "target"):
                touch(connection, stamp, f"SELECT {side} {old}", (t,))
            connection.execute(f"DELETE {old}", (t,))
            owned = [(SYNONYMS, *pair) for pair in pairs] + [(SENSES, *pair) for pair in senses]
            ids = [(raw(entity_id(tenant, a)), raw(entity_id(tenant, b)), owner, a, b) for owner, a, b in owned]
            forms = {key: (t, form) for a, b, _, name, target in ids for key, form in ((a, name), (b, target))}
            entity = ensure(connection, "entity", forms, "tenant, value")
            connection.executemany(
                "INSERT OR IGNORE INTO alias VALUES (?,?,?,?,?)",
                [(entity[a], entity[b], owner, name, target) for a, b, owner, name, target in ids if a != b],
            )
            for key in entity.values():
                touch(connection, stamp, "SELECT ?", (key,))


def _show(connection: sqlite3.Connection, stamp: int, tenant: Tenant, source: Source) -> None:
    """Flip the live version of a source, its title and metadata, and what it is about."""
    s, live = written_source(connection, tenant, source.id)
    expect_version(source, live, allow_repeat=True)
    touch(connection, stamp, _TITLED, (s,))
    metadata = json.dumps(dict(source.metadata), ensure_ascii=False, sort_keys=True)
    columns = (source.version, source.uri, source.namespace, source.title, metadata, filterable_json(source.filterable))
    connection.execute(
        "UPDATE source SET live = ?, uri = ?, namespace = ?, title = ?, metadata = ?, filterable = ? WHERE k = ?",
        (*columns, s),
    )
    connection.execute("DELETE FROM about WHERE source = ?", (s,))
    t = tenant_key(connection, tenant)
    titled = {raw(entity_id(tenant, name)): (t, name) for name in source.titled}
    entity = ensure(connection, "entity", titled, "tenant, value")
    about = [(s, entity[key], name) for key, (_, name) in titled.items()]
    connection.executemany("INSERT INTO about VALUES (?, ?, ?)", about)
    touch(connection, stamp, _TITLED, (s,))
    touch(connection, stamp, _NAMED, (s, source.version))
