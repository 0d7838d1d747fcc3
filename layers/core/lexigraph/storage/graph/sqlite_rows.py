"""Statements as a question gets them: what a chunk says is written beside it as one text, and read as one row.

What that text holds never changes while the chunk exists: a statement, a topic and an entity stay as long as a chunk says,
holds or names them. What does change is joined when it is read: place, source and liveness. Facts are seldom wanted and
stay in their tables.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from lexigraph.model.graph import FactRow, Source, StatementRow
from lexigraph.storage.graph.sqlite_gate import Gate, Pair, select
from lexigraph.storage.graph.sqlite_write import public

# One row a chunk that readers see.
_STATEMENTS = """
SELECT s.id, p.seq, p.chunk, p."start", x.statements, s.uri, s.namespace, s.title, s.metadata, s.live
FROM placed p CROSS JOIN source s ON s.k = p.source CROSS JOIN chunk_statements x ON x.chunk = p.chunk
WHERE p.chunk IN ({}) AND
"""
# One row for each fact that a statement of the chunks supports.
_FACTS = """
SELECT x.chunk, x.statement, f.id, f.subject, f.predicate, f.object, f.subject_entity, x.object_entity
FROM supports x CROSS JOIN fact f ON f.k = x.fact WHERE x.chunk IN ({})
"""
# One row for each statement of the chunks, as it is written beside the chunk.
_SAID = """
SELECT x.chunk, x.statement, st.id, st.value, st.details, t.id, t.value, x.position, x."start", x."end"
FROM said_in x CROSS JOIN statement st ON st.k = x.statement CROSS JOIN topic t ON t.k = st.topic
WHERE x.chunk IN ({}) ORDER BY x.position, st.id
"""
# One row for each name in a statement of the chunks.
_NAMES = """
SELECT x.chunk, x.statement, e.id FROM mentions x CROSS JOIN entity e ON e.k = x.entity WHERE x.chunk IN ({}) ORDER BY e.id
"""
_decoded = json.JSONDecoder().raw_decode
_row = partial(tuple.__new__, StatementRow)  # half the time of a call with as many arguments


def statement_rows(
    connection: sqlite3.Connection, gate: Gate, pairs: set[Pair], whole: Iterable[int] = (), *, facts: bool = True
) -> tuple[list[StatementRow], dict[int, str]]:
    """Return the live statements of (chunk, statement) pairs and all of the chunks in ``whole``, in reading order.

    Of a statement said in several chunks, where it stands first. Without ``facts`` those of the rows are left out. Returned
    with them are the public ids of the chunks that are live.
    """
    complete = set(whole)
    wanted: dict[int, set[int]] = defaultdict(set)
    for chunk, statement in pairs:
        wanted[chunk].add(statement)
    told = sorted(select(connection, _STATEMENTS + gate.sql, complete | wanted.keys(), gate))
    supported = _facts_of(connection, {row[2] for row in told}) if facts else {}
    rows: list[StatementRow] = []
    public_chunk: dict[int, str] = {}
    sources: dict[bytes, Source] = {}
    seen: set[int] = set()
    for key, seq, chunk, chunk_start, text, *about in told:
        source = sources.get(key) or sources.setdefault(key, _source(key, *about))
        only = None if chunk in complete else wanted[chunk]
        id_, topics, said = _decoded(text)[0]
        public_chunk[chunk] = id_
        for k, i, value, details, topic, position, start, end, names in said:
            if k in seen or (only is not None and k not in only):
                continue
            seen.add(k)
            t, title = topics[topic]
            of = supported.get((chunk, k), ()) if supported else ()
            # spelled out: starred parts would take as long again
            rows.append(
                _row((i, value, details, t, title, id_, seq, position, start, end, chunk_start, source, of, tuple(names)))
            )
    return rows, public_chunk


def store_statements(connection: sqlite3.Connection, chunks: Iterable[int]) -> None:
    """Write beside each of some new chunks, whose tables are complete, what :func:`statement_rows` reads of it."""
    ids = dict(select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", chunks))
    names: dict[Pair, list[str]] = defaultdict(list)
    for c, s, entity in select(connection, _NAMES, ids):
        names[c, s].append(public("entity", entity))
    topics: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    said: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for c, s, id_, value, details, topic, title, *place in select(connection, _SAID, ids):
        at = topics[c].setdefault((public("topic", topic), title), len(topics[c]))
        said[c].append((s, public("statement", id_), value, details, at, *place, names.get((c, s), ())))
    told = [(c, (public("chunk", id_), list(topics[c]), said[c])) for c, id_ in ids.items()]
    connection.executemany(
        "INSERT INTO chunk_statements VALUES (?, ?)",
        [(c, json.dumps(parts, ensure_ascii=False, separators=(",", ":"))) for c, parts in told],
    )


def _source(key: bytes, uri: str, namespace: str, title: str, metadata: str, live: int) -> Source:
    return Source(public("source", key), uri, namespace, title, _decoded(metadata)[0], live)


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
