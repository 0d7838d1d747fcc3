"""Statements as a question gets them: what a chunk says is written beside it as one text, and read as one row.

What that text holds never changes while the chunk exists: a statement, a topic and an entity stay as long as a chunk says,
holds or names them. What does change is joined when it is read: place, source and liveness. Facts are seldom wanted and
stay in their tables.

The text is two lines of JSON and their checksum: ``[chunk id, ids of the entities named]``, and ``[[topic id, title]...]``
with the statements, which name topics and entities by their places in these lists. Of most chunks that links lead to only
the first is read.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from functools import partial
from typing import Any
from zlib import crc32

from lexigraph.model.errors import StoreDamaged
from lexigraph.model.graph import ChunkStatements, FactRow, Source, StatementRow
from lexigraph.storage.common.folders import REPAIR
from lexigraph.storage.sqlite.graph.gate import Gate, Pair, public, select

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
SELECT x.chunk, x.statement, st.id, st.value, st.details, t.id, t.value, x.position, x."start", x."end", st.kind,
    x.original
FROM said_in x CROSS JOIN statement st ON st.k = x.statement CROSS JOIN topic t ON t.k = st.topic
WHERE x.chunk IN ({}) ORDER BY x.position, st.id
"""
# One row for each name in a statement of the chunks.
_NAMES = """
SELECT x.chunk, x.statement, e.id FROM mentions x CROSS JOIN entity e ON e.k = x.entity WHERE x.chunk IN ({}) ORDER BY e.id
"""
_decoded = json.JSONDecoder().raw_decode
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_row = partial(tuple.__new__, StatementRow)  # half the time of a call with as many arguments
_Facts = Mapping[Pair, tuple[FactRow, ...]]


def _checksum(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


def _damaged(chunk: str) -> StoreDamaged:
    return StoreDamaged(f"graph.sqlite: the statements of {chunk} are not what was written: {REPAIR}")


class _Told:
    """A live chunk and the text beside it."""

    __slots__ = ("end", "entities", "id", "key", "place", "source", "text")

    def __init__(self, key: int, text: str, place: tuple[int, int], source: Source) -> None:
        try:
            (self.id, self.entities), self.end = _decoded(text)
        except ValueError:
            raise _damaged(f"chunk {key}") from None
        self.key, self.text, self.place, self.source = key, text, place, source

    def rows(self, facts: _Facts, only: Container[int] | None = None) -> list[StatementRow]:
        """Return the chunk's statements in reading order; ``only`` are the keys of those wanted."""
        try:
            (topics, said), end = _decoded(self.text, self.end + 1)
        except ValueError:
            raise _damaged(self.id) from None
        if self.text[end + 1 :] != _checksum(self.text[:end]):
            raise _damaged(self.id)
        (seq, start), chunk, id_, source, name = self.place, self.key, self.id, self.source, self.entities.__getitem__
        rows = []
        for k, i, value, details, topic, position, first, last, kind, said_as, names in said:
            if only is None or k in only:
                t, title = topics[topic]
                of, named = facts.get((chunk, k), ()) if facts else (), tuple(map(name, names))
                # spelled out: starred parts would take as long again
                row = (i, value, details, t, title, id_, seq, position, first, last, start, source, of, named, kind, said_as)
                rows.append(_row(row))
        return rows


def statement_rows(gate: Gate, pairs: set[Pair], whole: Iterable[int] = (), *, facts: bool = True) -> list[StatementRow]:
    """Return the live statements of (chunk, statement) pairs and all of the chunks in ``whole``, in reading order.

    Of a statement said in several chunks, where it stands first. Without ``facts`` those of the rows are left out.
    """
    complete = set(whole)
    wanted: dict[int, set[int]] = defaultdict(set)
    for chunk, statement in pairs:
        wanted[chunk].add(statement)
    told = _told(gate, complete | wanted.keys())
    supported = _facts_of(gate.connection, {one.key for one in told}) if facts else {}
    rows: dict[str, StatementRow] = {}
    for one in told:
        for row in one.rows(supported, None if one.key in complete else wanted[one.key]):
            rows.setdefault(row.id, row)
    return list(rows.values())


def chunk_statements(gate: Gate, chunks: Iterable[int], *, facts: bool = True) -> dict[int, ChunkStatements]:
    """Return the live ones of these chunks with what they say, in reading order."""
    told = _told(gate, set(chunks))
    supported = _facts_of(gate.connection, {one.key for one in told}) if facts else {}
    return {one.key: ChunkStatements(one.id, one.source, one.entities, partial(one.rows, supported)) for one in told}


def _told(gate: Gate, chunks: set[int]) -> list[_Told]:
    sources: dict[bytes, Source] = {}
    found = []
    for key, seq, chunk, start, text, *about in sorted(gate.select(_STATEMENTS + gate.sql, chunks)):
        source = sources.get(key) or sources.setdefault(key, _source(key, *about))
        found.append(_Told(chunk, text, (seq, start), source))
    return found


def store_statements(connection: sqlite3.Connection, chunks: Iterable[int]) -> None:
    """Write beside each of some chunks, whose tables are complete, what :func:`statement_rows` reads of it."""
    ids = dict(select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", chunks))
    places: dict[int, dict[str, int]] = defaultdict(dict)
    named: dict[Pair, list[int]] = defaultdict(list)
    for c, s, entity in select(connection, _NAMES, ids):
        named[c, s].append(places[c].setdefault(public("entity", entity), len(places[c])))
    topics: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
    said: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for c, s, id_, value, details, topic, title, *place in select(connection, _SAID, ids):
        at = topics[c].setdefault((public("topic", topic), title), len(topics[c]))
        said[c].append((s, public("statement", id_), value, details, at, *place, named.get((c, s), ())))
    told = (((public("chunk", id_), list(places[c])), (list(topics[c]), said[c])) for c, id_ in ids.items())
    texts = ("\n".join(map(_encoded, parts)) for parts in told)
    connection.executemany(
        "INSERT OR REPLACE INTO chunk_statements VALUES (?, ?)",
        [(c, f"{text}\n{_checksum(text)}") for c, text in zip(ids, texts, strict=True)],
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
