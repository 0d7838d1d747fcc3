"""Statements as a question gets them: a handful of queries whatever their number, each row read once and by its keys.

Joins that only fetch public ids are left out: what many rows share (topic, source, entity) is fetched once for all of them.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from lexigraph.model.graph import FactRow, Source, StatementRow
from lexigraph.storage.graph.sqlite_gate import Gate, Pair, select
from lexigraph.storage.graph.sqlite_write import public

# One row a chunk that readers see.
_PLACES = """
SELECT p.chunk, p.seq, p."start", p.source FROM placed p CROSS JOIN source s ON s.k = p.source WHERE p.chunk IN ({}) AND
"""
_SOURCES = "SELECT k, id, uri, namespace, title, metadata, live FROM source WHERE k IN ({})"
# One row for each statement of the chunks.
_SAID = """
SELECT x.chunk, x.statement, x.position, x."start", x."end", st.id, st.value, st.details, st.topic
FROM said_in x CROSS JOIN statement st ON st.k = x.statement WHERE x.chunk IN ({})
"""
# One row for each statement of the chunks that names an entity: the ids of all of them in one text.
_MENTIONS = """
SELECT x.chunk, x.statement, 'entity:' || group_concat(hex(e.id), ' entity:')
FROM mentions x CROSS JOIN entity e ON e.k = x.entity WHERE x.chunk IN ({}) GROUP BY x.chunk, x.statement
"""
# One row for each fact that a statement of the chunks supports.
_FACTS = """
SELECT x.chunk, x.statement, f.id, f.subject, f.predicate, f.object, f.subject_entity, x.object_entity
FROM supports x CROSS JOIN fact f ON f.k = x.fact WHERE x.chunk IN ({})
"""


def statement_rows(
    connection: sqlite3.Connection, gate: Gate, pairs: set[Pair], whole: Iterable[int] = (), *, facts: bool = True
) -> list[StatementRow]:
    """Return the live statements of (chunk, statement) pairs, and all of the chunks in ``whole``, in reading order.

    Of a statement said in several chunks, where it stands first. Without ``facts`` those of the rows are left out.
    """
    complete = set(whole)
    chunks = complete | {chunk for chunk, _ in pairs}
    places = {k: place for k, *place in select(connection, _PLACES + gate.sql, chunks, gate)}
    sources = _sources(connection, {source for _, _, source in places.values()})
    first: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}
    for row in select(connection, _SAID, places):
        if row[0] in complete or row[:2] in pairs:
            seq, _, source = places[row[0]]
            order = (sources[source].id, seq, row[2], row[5])
            if row[1] not in first or order < first[row[1]][0]:
                first[row[1]] = (order, row)
    said = [row for _, row in sorted(first.values())]
    kept = {row[0] for row in said}
    ids = {k: public("chunk", i) for k, i in select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", kept)}
    topic_query = "SELECT k, id, value FROM topic WHERE k IN ({})"
    topics = {k: (public("topic", i), value) for k, i, value in select(connection, topic_query, {row[8] for row in said})}
    named = _entities_of(connection, kept)
    supported = _facts_of(connection, kept) if facts else {}
    rows = []
    for chunk, statement, position, start, end, id_, value, details, topic in said:
        seq, chunk_start, source = places[chunk]
        pair = (chunk, statement)
        rows.append(
            StatementRow(
                public("statement", id_),
                value,
                details,
                *topics[topic],
                ids[chunk],
                seq,
                position,
                start,
                end,
                chunk_start,
                sources[source],
                supported.get(pair, ()),
                named.get(pair, ()),
            )
        )
    return rows


def _sources(connection: sqlite3.Connection, keys: set[int]) -> dict[int, Source]:
    return {
        k: Source(public("source", id_), uri, namespace, title, json.loads(metadata), live)
        for k, id_, uri, namespace, title, metadata, live in select(connection, _SOURCES, keys)
    }


def _entities_of(connection: sqlite3.Connection, chunks: set[int]) -> dict[Pair, tuple[str, ...]]:
    """Return the ids of the entities that each statement of the chunks names, sorted."""
    rows = select(connection, _MENTIONS, chunks)
    return {(chunk, statement): tuple(sorted(ids.lower().split(" "))) for chunk, statement, ids in rows}


def _facts_of(connection: sqlite3.Connection, chunks: set[int]) -> dict[Pair, tuple[FactRow, ...]]:
    """Return the facts that each statement of the chunks supports, by id."""
    edges = select(connection, _FACTS, chunks)
    ends = {k for edge in edges for k in edge[6:] if k is not None}
    entity = {k: public("entity", i) for k, i in select(connection, "SELECT k, id FROM entity WHERE k IN ({})", ends)}
    facts: dict[Pair, list[FactRow]] = defaultdict(list)
    for chunk, statement, id_, subject, predicate, object_, e, o in edges:
        fact = FactRow(public("fact", id_), subject, predicate, object_, entity[e], None if o is None else entity[o])
        facts[chunk, statement].append(fact)
    return {pair: tuple(sorted(rows, key=lambda f: f.id)) for pair, rows in facts.items()}
