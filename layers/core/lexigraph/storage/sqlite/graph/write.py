"""Writing the embedded graph: chunks with all they contribute, and the versions that they are placed in."""

import sqlite3
from collections.abc import Mapping, Sequence

from lexigraph.model.errors import Conflict
from lexigraph.model.graph import ChunkGraph, Placement, Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import entity_forms, expect_version, refuse_strays
from lexigraph.storage.protocols import SourceVersion
from lexigraph.storage.sqlite.database import marks
from lexigraph.storage.sqlite.graph.gate import Keys, SqlitePart, ensure, keys_of, raw, tenant_key
from lexigraph.storage.sqlite.graph.rows import store_statements


class SqliteWrite(SqlitePart):
    """What a version to come consists of."""

    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        refuse_strays(versions)
        with self._database.write() as connection:
            store_statements(connection, _write_chunks(connection, tenant, versions))
            for version in versions:
                _place(connection, tenant, version.source, version.placements)


def _write_chunks(connection: sqlite3.Connection, tenant: str, versions: Sequence[SourceVersion]) -> list[int]:
    """Add chunks with all they contribute, and return the keys of those that are new.

    A chunk that exists is complete, since it was written in one transaction.
    """
    t = tenant_key(connection, tenant, create=True)
    owners = {raw(v.source.id): (t, v.source.uri, v.source.namespace) for v in versions}
    source = ensure(connection, "source", owners, "tenant, uri, namespace")
    known = keys_of(connection, "chunk", (raw(c.chunk_id) for v in versions for c in v.chunks))
    new = [(source[raw(v.source.id)], c) for v in versions for c in v.chunks if raw(c.chunk_id) not in known]
    if not new:
        return []
    chunks = [c for _, c in new]
    chunk = ensure(connection, "chunk", {raw(c.chunk_id): (s,) for s, c in new}, "source")
    topic = ensure(connection, "topic", {raw(n.id): (s, n.value) for s, c in new for n in c.topics}, "source, value")
    statement = ensure(
        connection,
        "statement",
        {raw(n.id): (topic[raw(n.topic_id)], n.value, n.details, n.kind) for c in chunks for n in c.statements},
        "topic, value, details, kind",
    )
    entity = ensure(connection, "entity", {raw(i): (t, form) for i, form in entity_forms(chunks).items()}, "tenant, value")
    fact = ensure(
        connection,
        "fact",
        {raw(f.id): (f.subject, f.predicate, f.object, entity[raw(f.subject_id)]) for c in chunks for f in c.facts},
        "subject, predicate, object, subject_entity",
    )
    _write_edges(connection, chunks, (chunk, topic, statement, entity, fact))
    return list(chunk.values())


def _write_edges(connection: sqlite3.Connection, chunks: Sequence[ChunkGraph], keys: Sequence[Keys]) -> None:
    chunk, topic, statement, entity, fact = keys
    topic_in, said_in, supports, mentions, alias = [], [], [], [], []
    for c in chunks:
        k = chunk[raw(c.chunk_id)]
        topic_in += [(k, topic[raw(n.id)]) for n in c.topics]
        said_in += [(k, statement[raw(n.id)], n.position, n.start, n.end, n.original) for n in c.statements]
        mentions += [(k, statement[raw(m.statement_id)], entity[raw(m.entity_id)], m.form, m.class_) for m in c.mentions]
        for f in c.facts:
            told, object_entity = statement[raw(f.statement_id)], entity[raw(f.object_id)] if f.object_id else None
            supports.append((k, told, fact[raw(f.id)], object_entity, f.confidence))
            # whoever stands in a fact is named by its statement: one edge type leads from entities to statements
            mentions.append((k, told, entity[raw(f.subject_id)], f.subject, ""))
            if object_entity is not None:
                mentions.append((k, told, object_entity, f.object, ""))
        alias += [(entity[raw(a.alias)], entity[raw(a.target)], k, a.alias_form, a.target_form) for a in c.aliases]
    for table, width, rows in (
        ("topic_in", 2, topic_in),
        ("said_in", 6, said_in),
        ("supports", 5, supports),
        ("mentions", 5, mentions),
        ("alias", 5, alias),
    ):
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks(width)})", rows)


def written_source(connection: sqlite3.Connection, tenant: str, source_id: str) -> tuple[int, int | None]:
    """Return the key and the live version of a source. Raise ``Conflict`` when no chunk of it was written."""
    row = connection.execute(
        "SELECT s.k, s.live FROM source s JOIN tenant t ON t.k = s.tenant WHERE s.id = ? AND t.name = ?",
        (raw(source_id), tenant),
    ).fetchone()
    if row is None:
        raise Conflict(f"{source_id}: no chunk of it was written; ingest the document again")
    return int(row[0]), row[1]


def _place(connection: sqlite3.Connection, tenant: str, source: Source, placements: Mapping[str, Placement]) -> None:
    """Make the version to come consist of exactly these chunks: keep, close and open EXTRACTED_FROM edges."""
    s, live = written_source(connection, tenant, source.id)
    expect_version(source, live, allow_repeat=False)
    version = source.version
    chunk = keys_of(connection, "chunk", (raw(c) for c in placements))
    if len(chunk) < len(placements):
        raise Conflict(f"{source.uri}: {len(placements) - len(chunk)} chunks were not written before being placed")
    want = {chunk[raw(c)]: (p.seq, p.start, p.end, p.role, p.parent) for c, p in placements.items()}
    open_or_closing = "SELECT * FROM placed WHERE source = ? AND (until IS NULL OR until = ?)"
    have = [(row[0], row[1], *row[4:]) for row in connection.execute(open_or_closing, (s, version))]
    kept = {row[0]: row[1] for row in have if want.get(row[0]) == row[2:]}
    closed = [(row[0], row[1]) for row in have if row[0] not in kept or row[1] != kept[row[0]]]
    reopen = [(None, k, since) for k, since in kept.items()]
    connection.executemany("UPDATE placed SET until = ? WHERE chunk = ? AND since = ?", reopen)
    connection.executemany("DELETE FROM placed WHERE chunk = ? AND since = ?", [c for c in closed if c[1] == version])
    connection.executemany(
        "UPDATE placed SET until = ? WHERE chunk = ? AND since = ?", [(version, *c) for c in closed if c[1] != version]
    )
    connection.executemany(
        'INSERT INTO placed (chunk, since, until, source, seq, "start", "end", role, parent) VALUES (?,?,NULL,?,?,?,?,?,?)',
        [(k, version, s, *p) for k, p in want.items() if k not in kept],
    )
