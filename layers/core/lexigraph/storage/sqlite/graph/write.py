"""Writing the embedded graph: each function runs inside the caller's one write transaction."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lexigraph.model.errors import Conflict
from lexigraph.model.graph import ChunkGraph, Placement, Source
from lexigraph.model.ids import Kind, entity_id
from lexigraph.model.normalise import title_names
from lexigraph.storage.common.contribution import entity_forms, expect_version
from lexigraph.storage.protocols import SourceVersion
from lexigraph.storage.sqlite.database import in_batches, marks
from lexigraph.storage.sqlite.filters import filterable_json
from lexigraph.storage.sqlite.graph.schema import SYNONYMS

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
    found: Keys = {}
    for batch in in_batches(list(ids)):
        query = f"SELECT id, k FROM {table} WHERE id IN ({marks(len(batch))})"
        found.update(connection.execute(query, batch).fetchall())
    return found


def keys_by_id(connection: sqlite3.Connection, table: str, ids: Iterable[str]) -> dict[str, int]:
    """Return the integer keys of the public ids that exist."""
    public_id = {raw(i): i for i in ids}
    return {public_id[i]: k for i, k in keys_of(connection, table, public_id).items()}


def tenant_key(connection: sqlite3.Connection, tenant: str, *, create: bool = False) -> int:
    """Return the key of a tenant; 0, which no row has, when it is unknown and not to be created."""
    row = connection.execute("SELECT k FROM tenant WHERE name = ?", (tenant,)).fetchone()
    if row is None and create:
        row = connection.execute("INSERT INTO tenant (name) VALUES (?) RETURNING k", (tenant,)).fetchone()
    return int(row[0]) if row else 0


def _ensure(connection: sqlite3.Connection, table: str, rows: Mapping[bytes, tuple[Any, ...]], columns: str) -> Keys:
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


def write_chunks(connection: sqlite3.Connection, tenant: str, versions: Sequence[SourceVersion]) -> list[int]:
    """Add chunks with all they contribute, and return the keys of those that are new.

    A chunk that exists is complete, since it was written in one transaction.
    """
    t = tenant_key(connection, tenant, create=True)
    owners = {raw(v.source.id): (t, v.source.uri, v.source.namespace) for v in versions}
    source = _ensure(connection, "source", owners, "tenant, uri, namespace")
    known = keys_of(connection, "chunk", (raw(c.chunk_id) for v in versions for c in v.chunks))
    new = [(source[raw(v.source.id)], c) for v in versions for c in v.chunks if raw(c.chunk_id) not in known]
    if not new:
        return []
    chunks = [c for _, c in new]
    chunk = _ensure(connection, "chunk", {raw(c.chunk_id): (s,) for s, c in new}, "source")
    topic = _ensure(connection, "topic", {raw(n.id): (s, n.value) for s, c in new for n in c.topics}, "source, value")
    statement = _ensure(
        connection,
        "statement",
        {raw(n.id): (topic[raw(n.topic_id)], n.value, n.details) for c in chunks for n in c.statements},
        "topic, value, details",
    )
    entity = _ensure(connection, "entity", {raw(i): (t, form) for i, form in entity_forms(chunks).items()}, "tenant, value")
    fact = _ensure(
        connection,
        "fact",
        {raw(f.id): (f.subject, f.predicate, f.object, entity[raw(f.subject_id)]) for c in chunks for f in c.facts},
        "subject, predicate, object, subject_entity",
    )
    _write_edges(connection, chunks, chunk, topic, statement, entity, fact)
    return list(chunk.values())


def _write_edges(
    connection: sqlite3.Connection,
    chunks: Sequence[ChunkGraph],
    chunk: Keys,
    topic: Keys,
    statement: Keys,
    entity: Keys,
    fact: Keys,
) -> None:
    topic_in, said_in, supports, mentions, alias = [], [], [], [], []
    for c in chunks:
        k = chunk[raw(c.chunk_id)]
        topic_in += [(k, topic[raw(n.id)]) for n in c.topics]
        said_in += [(k, statement[raw(n.id)], n.position, n.start, n.end) for n in c.statements]
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
        ("said_in", 5, said_in),
        ("supports", 5, supports),
        ("mentions", 5, mentions),
        ("alias", 5, alias),
    ):
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks(width)})", rows)


def _source(connection: sqlite3.Connection, tenant: str, source_id: str) -> tuple[int, int | None]:
    row = connection.execute(
        "SELECT s.k, s.live FROM source s JOIN tenant t ON t.k = s.tenant WHERE s.id = ? AND t.name = ?",
        (raw(source_id), tenant),
    ).fetchone()
    if row is None:
        raise Conflict(f"{source_id}: no chunk of it was written; ingest the document again")
    return int(row[0]), row[1]


def place(connection: sqlite3.Connection, tenant: str, source: Source, placements: Mapping[str, Placement]) -> None:
    """Make the version to come consist of exactly these chunks: keep, close and open EXTRACTED_FROM edges."""
    s, live = _source(connection, tenant, source.id)
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


def publish(connection: sqlite3.Connection, tenant: str, sources: Sequence[Source]) -> None:
    """Flip the live version of each source, its title and metadata, and what it is about."""
    stamp = next_stamp(connection)
    for source in sources:
        s, live = _source(connection, tenant, source.id)
        expect_version(source, live, allow_repeat=True)
        touch(connection, stamp, "SELECT entity FROM about WHERE source = ?", (s,))
        connection.execute(
            "UPDATE source SET live = ?, uri = ?, namespace = ?, title = ?, metadata = ?, filterable = ? WHERE k = ?",
            (
                source.version,
                source.uri,
                source.namespace,
                source.title,
                _json(source.metadata),
                filterable_json(source.filterable),
                s,
            ),
        )
        connection.execute("DELETE FROM about WHERE source = ?", (s,))
        t = tenant_key(connection, tenant)
        titled = {raw(entity_id(tenant, name)): (t, name) for name in title_names(source.title)}
        entity = _ensure(connection, "entity", titled, "tenant, value")
        connection.executemany(
            "INSERT INTO about VALUES (?, ?, ?)", [(s, entity[key], name) for key, (_, name) in titled.items()]
        )
        touch(connection, stamp, "SELECT entity FROM about WHERE source = ?", (s,))
        touch(
            connection,
            stamp,
            "SELECT DISTINCT m.entity FROM placed p JOIN mentions m ON m.chunk = p.chunk "
            "WHERE p.source = ? AND (p.since = ? OR p.until = ?)",
            (s, source.version, source.version),
        )
        for side in ("alias", "target"):
            touch(
                connection,
                stamp,
                f"SELECT a.{side} FROM placed p JOIN alias a ON a.chunk = p.chunk WHERE p.source = ? AND p.since = ?",
                (s, source.version),
            )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, sort_keys=True)


def withdraw(connection: sqlite3.Connection, tenant: str, source_ids: Sequence[str]) -> None:
    """Hide sources and close all their chunks; their titles stop naming entities."""
    stamp = next_stamp(connection)
    for s in _source_keys(connection, tenant, source_ids):
        connection.execute("UPDATE source SET live = NULL WHERE k = ?", (s,))
        connection.execute("UPDATE placed SET until = 0 WHERE source = ?", (s,))
        touch(connection, stamp, "SELECT entity FROM about WHERE source = ?", (s,))
        connection.execute("DELETE FROM about WHERE source = ?", (s,))


def _source_keys(connection: sqlite3.Connection, tenant: str, source_ids: Sequence[str]) -> list[int]:
    t = tenant_key(connection, tenant)
    found = keys_of(connection, "source", (raw(i) for i in source_ids))
    keys: list[int] = []
    for batch in in_batches(list(found.values())):
        query = f"SELECT k FROM source WHERE tenant = ? AND k IN ({marks(len(batch))})"
        keys += [row[0] for row in connection.execute(query, (t, *batch))]
    return keys


_DOOMED_CHUNKS = """
INSERT OR IGNORE INTO temp.doomed SELECT c.k FROM chunk c JOIN source s ON s.k = c.source
WHERE c.source = ? AND NOT EXISTS
    (SELECT 1 FROM placed p WHERE p.chunk = c.k AND (p.until IS NULL OR p.until > coalesce(s.live, 0)))
"""
# what only doomed chunks hold; from the doomed outwards, whatever the size of the store
DOOMED_STATEMENTS = """
SELECT x.statement FROM (SELECT DISTINCT i.statement FROM temp.doomed d CROSS JOIN said_in i ON i.chunk = d.k) x
WHERE NOT EXISTS
    (SELECT 1 FROM said_in o WHERE o.statement = x.statement AND o.chunk NOT IN (SELECT k FROM temp.doomed))
"""
DOOMED_TOPICS = """
SELECT x.topic FROM (SELECT DISTINCT i.topic FROM temp.doomed d CROSS JOIN topic_in i ON i.chunk = d.k) x
WHERE NOT EXISTS
    (SELECT 1 FROM topic_in o WHERE o.topic = x.topic AND o.chunk NOT IN (SELECT k FROM temp.doomed))
"""


def find_doomed(connection: sqlite3.Connection, tenant: str, source_ids: Sequence[str]) -> list[int]:
    """Fill the temporary table ``doomed`` with the chunks that no version needs; return the keys of the sources."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS doomed (k INTEGER PRIMARY KEY)")
    connection.execute("DELETE FROM temp.doomed")
    sources = _source_keys(connection, tenant, source_ids)
    connection.executemany(_DOOMED_CHUNKS, [(s,) for s in sources])
    return sources


def collect(connection: sqlite3.Connection, tenant: str, source_ids: Sequence[str]) -> None:
    """Delete doomed chunks, and statements, topics and facts that have no support left."""
    sources = find_doomed(connection, tenant, source_ids)
    stamp = next_stamp(connection)
    doomed = "(SELECT k FROM temp.doomed)"
    touch(connection, stamp, f"SELECT DISTINCT entity FROM mentions WHERE chunk IN {doomed}", ())
    for side in ("alias", "target"):
        touch(connection, stamp, f"SELECT {side} FROM alias WHERE chunk IN {doomed}", ())
    statements = connection.execute(DOOMED_STATEMENTS).fetchall()
    topics = connection.execute(DOOMED_TOPICS).fetchall()
    facts = connection.execute(f"SELECT DISTINCT fact FROM supports WHERE chunk IN {doomed}").fetchall()
    for table in ("said_in", "topic_in", "supports", "mentions", "alias", "placed", "chunk_statements"):
        connection.execute(f"DELETE FROM {table} WHERE chunk IN {doomed}")
    for table, end in (("rel", "src"), ("rel", "dst"), ("rel_pair", "first"), ("rel_pair", "second")):
        connection.execute(f"DELETE FROM {table} WHERE {end} IN {doomed}")
    connection.execute(f"DELETE FROM chunk WHERE k IN {doomed}")
    connection.executemany("DELETE FROM statement WHERE k = ?", statements)
    connection.executemany("DELETE FROM topic WHERE k = ?", topics)
    connection.executemany("DELETE FROM fact WHERE k = ?1 AND NOT EXISTS (SELECT 1 FROM supports WHERE fact = ?1)", facts)
    # former places of chunks that went on
    connection.executemany(
        "DELETE FROM placed WHERE source = ?1 AND until <= (SELECT coalesce(live, 0) FROM source WHERE k = ?1)",
        [(s,) for s in sources],
    )
    connection.executemany(
        "DELETE FROM source WHERE k = ?1 AND live IS NULL AND NOT EXISTS (SELECT 1 FROM chunk WHERE source = ?1)",
        [(s,) for s in sources],
    )


def set_synonyms(connection: sqlite3.Connection, tenant: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Replace the tenant's synonyms that no chunk owns."""
    t, stamp = tenant_key(connection, tenant, create=True), next_stamp(connection)
    old = "FROM alias WHERE chunk = ? AND alias IN (SELECT k FROM entity WHERE tenant = ?)"
    for side in ("alias", "target"):
        touch(connection, stamp, f"SELECT {side} {old}", (SYNONYMS, t))
    connection.execute(f"DELETE {old}", (SYNONYMS, t))
    ids = [(raw(entity_id(tenant, a)), raw(entity_id(tenant, b)), a, b) for a, b in pairs]
    forms = {key: (t, form) for a, b, name, target in ids for key, form in ((a, name), (b, target))}
    entity = _ensure(connection, "entity", forms, "tenant, value")
    connection.executemany(
        "INSERT OR IGNORE INTO alias VALUES (?,?,?,?,?)",
        [(entity[a], entity[b], SYNONYMS, name, target) for a, b, name, target in ids if a != b],
    )
    for key in entity.values():
        touch(connection, stamp, "SELECT ?", (key,))


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
