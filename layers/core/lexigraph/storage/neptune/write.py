"""Writing chunks and their places into Neptune, one version of each source after another.

A write is several queries, each a transaction that may be repeated, and may end between any two of them. That harms nobody:
readers see a place only when its version is live; a chunk is complete when it has its ``statements``, which come last; and
the next attempt finds the places of this one by their version. A node comes in one query with an edge that supports it, and
with a look whether the chunk that owns the edge is there: of a document that was removed meanwhile nothing more is written.
Places of a version change only while it is not live: a writer that was stopped until another took its turn changes nothing
that readers see.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lexigraph.model.errors import Conflict
from lexigraph.model.graph import ChunkGraph, Placement
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import entity_forms, expect_version, refuse_strays
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.contributed import aliases_of, facts_of, mentions_of, objects_of, statements_of, topics_of
from lexigraph.storage.neptune.loaded import fill, whole
from lexigraph.storage.neptune.schema import OPEN, aliases_text, edge_id, statements_text
from lexigraph.storage.protocols import SourceVersion

SOURCES_AS_THEY_ARE = """
UNWIND $ids AS id MATCH (s:Source {`~id`: id})
RETURN id(s) AS id, s.tenant AS tenant, s.live AS version, s.untold IS NOT NULL AS untold, s.uri AS uri,
    s.namespace AS namespace, s.title AS title, s.metadata AS metadata
"""
_PLACES = """
UNWIND $ids AS id MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: id})
RETURN id(s) AS source, id(c) AS chunk, p.since AS since, p.until AS until,
    p.seq AS seq, p.`start` AS `start`, p.`end` AS `end`, p.role AS role, p.parent AS parent
"""
_COMPLETE = """
UNWIND $ids AS id MATCH (c:Chunk {`~id`: id}) WHERE c.tenant = $tenant AND c.statements IS NOT NULL
RETURN id(c) AS id
"""
_SOURCES = """
UNWIND $rows AS row
MERGE (s:Source {`~id`: row.id})
ON CREATE SET s.tenant = $tenant, s.uri = row.uri, s.namespace = row.namespace, s.title = '', s.metadata = '{}', s.live = 0
"""
_OPEN_PLACES = """
UNWIND $rows AS row
MATCH (s:Source {`~id`: row.source}) WHERE s.live < row.version
MERGE (c:Chunk {`~id`: row.chunk})
ON CREATE SET c.tenant = $tenant, c.source = row.source, c.aliases = row.aliases
MERGE (c)-[p:EXTRACTED_FROM {`~id`: row.id}]->(s)
SET p.since = row.since, p.until = row.until, p.seq = row.seq, p.`start` = row.`start`, p.`end` = row.`end`,
    p.role = row.role, p.parent = row.parent
"""
_END_PLACES = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})-[p:EXTRACTED_FROM {`~id`: row.id}]->(s:Source) WHERE s.live < row.version
SET p.until = row.until
"""
_DROP_PLACES = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})-[p:EXTRACTED_FROM {`~id`: row.id}]->(s:Source) WHERE s.live < row.version
DELETE p
"""
_TOPICS = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})
MERGE (t:Topic {`~id`: row.id})
ON CREATE SET t.tenant = $tenant, t.source = c.source, t.value = row.value
MERGE (t)-[:MENTIONED_IN {`~id`: row.said}]->(c)
"""
_STATEMENTS = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})
MATCH (t:Topic {`~id`: row.topic})
MERGE (x:Statement {`~id`: row.id})
ON CREATE SET x.tenant = $tenant, x.value = row.value, x.details = row.details, x.kind = row.kind
MERGE (x)-[m:MENTIONED_IN {`~id`: row.said}]->(c)
ON CREATE SET m.position = row.position, m.`start` = row.`start`, m.`end` = row.`end`, m.original = row.original
MERGE (x)-[:BELONGS_TO {`~id`: row.belongs}]->(t)
"""
_MENTIONS = """
UNWIND $rows AS row
MATCH (x:Statement {`~id`: row.statement})-[:MENTIONED_IN]->(c:Chunk {`~id`: row.chunk})
MERGE (e:Entity {`~id`: row.entity})
ON CREATE SET e.tenant = $tenant, e.value = row.value, e.class = '', e.df = 0, e.degree = 0
MERGE (x)-[m:MENTIONS {`~id`: row.id}]->(e)
ON CREATE SET m.chunk = row.chunk, m.form = row.form, m.class = row.class
"""
_FACTS = """
UNWIND $rows AS row
MATCH (x:Statement {`~id`: row.statement})-[:MENTIONED_IN]->(c:Chunk {`~id`: row.chunk})
MATCH (e:Entity {`~id`: row.subject_id})
MERGE (f:Fact {`~id`: row.id})
ON CREATE SET f.tenant = $tenant, f.subject = row.subject, f.predicate = row.predicate, f.object = row.object
MERGE (f)-[u:SUPPORTS {`~id`: row.supports}]->(x)
ON CREATE SET u.chunk = row.chunk, u.confidence = row.confidence
MERGE (e)-[:SUBJECT {`~id`: row.stands}]->(f)
"""
_OBJECTS = """
UNWIND $rows AS row
MATCH (f:Fact {`~id`: row.fact})
MATCH (e:Entity {`~id`: row.entity})
MERGE (e)-[o:OBJECT {`~id`: row.id}]->(f)
ON CREATE SET o.chunk = row.chunk, o.statement = row.statement
"""
_ALIASES = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.chunk})
MERGE (a:Entity {`~id`: row.alias})
ON CREATE SET a.tenant = $tenant, a.value = row.alias_value, a.class = '', a.df = 0, a.degree = 0
MERGE (b:Entity {`~id`: row.target})
ON CREATE SET b.tenant = $tenant, b.value = row.target_value, b.class = '', b.df = 0, b.degree = 0
MERGE (a)-[r:ALIAS_OF {`~id`: row.id}]->(b)
ON CREATE SET r.chunk = row.chunk, r.alias_form = row.alias_form, r.target_form = row.target_form
"""
_COMPLETED = """
UNWIND $rows AS row
MATCH (c:Chunk {`~id`: row.id})
SET c.statements = row.statements
"""


class NeptuneWrite:
    """What a version to come consists of."""

    _client: NeptuneClient

    def write(self, tenant: Tenant, versions: Sequence[SourceVersion]) -> None:
        refuse_strays(versions)
        plan = _plan(self._client, tenant, versions)
        rows = [{"id": v.source.id, "uri": v.source.uri, "namespace": v.source.namespace} for v in versions]
        self._client.write(_SOURCES, sorted(rows, key=_by_id), tenant=tenant)
        self._client.write(_OPEN_PLACES, sorted(plan.opened, key=_by_id), tenant=tenant)
        loaded = whole(self._client, plan.begun)
        _contribute(self._client, tenant, [c for c in plan.chunks if c.chunk_id not in loaded])
        fill(self._client, plan.begun)
        _complete(self._client, plan.chunks)
        self._client.write(_END_PLACES, sorted(plan.ended, key=_by_id))
        self._client.write(_DROP_PLACES, sorted(plan.dropped, key=_by_id))


def _contribute(client: NeptuneClient, tenant: str, chunks: Sequence[ChunkGraph]) -> None:
    """Write all that chunks contribute which are placed already."""
    forms = entity_forms(chunks)
    client.write(_TOPICS, _sorted(topics_of(c) for c in chunks), tenant=tenant)
    client.write(_STATEMENTS, _sorted(statements_of(c) for c in chunks), tenant=tenant)
    client.write(_MENTIONS, _sorted((mentions_of(c, forms) for c in chunks), "entity"), tenant=tenant)
    client.write(_FACTS, _sorted(facts_of(c) for c in chunks), tenant=tenant)
    client.write(_OBJECTS, _sorted((objects_of(c) for c in chunks), "fact"))
    client.write(_ALIASES, _sorted((aliases_of(c, forms) for c in chunks), "alias"), tenant=tenant)


def _complete(client: NeptuneClient, chunks: Sequence[ChunkGraph]) -> None:
    """Let chunks have what they say, now that all of it is there."""
    client.write(_COMPLETED, _sorted([{"id": c.chunk_id, "statements": statements_text(c)}] for c in chunks))


def _by_id(row: Mapping[str, Any]) -> str:
    return str(row["id"])


def _sorted(of_chunks: Iterable[Iterable[Row]], key: str = "id") -> list[Row]:
    # every writer takes nodes that others share in the same order
    return sorted((row for rows in of_chunks for row in rows), key=lambda row: (row[key], row["id"]))


# ---------------------------------------------------------------- places


@dataclass
class _Plan:
    """What a write has to do: chunks to write in full, places to open, to end at a version, and to take away.

    Chunks that were ``begun`` have a place already: an attempt was interrupted, or the bulk loader brought them.
    """

    chunks: list[ChunkGraph] = field(default_factory=list)
    begun: list[ChunkGraph] = field(default_factory=list)
    opened: list[Row] = field(default_factory=list)
    ended: list[Row] = field(default_factory=list)
    dropped: list[Row] = field(default_factory=list)


def _plan(client: NeptuneClient, tenant: str, versions: Sequence[SourceVersion]) -> _Plan:
    """Return what to do. Raise ``Conflict`` for another version than the next, or chunks that nobody wrote."""
    ids = [v.source.id for v in versions]
    found = {row["id"]: row for row in client.read_latest(SOURCES_AS_THEY_ARE, ids=ids)}
    for v in versions:
        if v.source.id in found and found[v.source.id]["tenant"] != tenant:
            raise Conflict(f"{v.source.uri}: the source belongs to another tenant")
        expect_version(v.source, found[v.source.id]["version"] if v.source.id in found else None, allow_repeat=False)
    placed = sorted({c for v in versions for c in v.placements})
    complete = {row["id"] for row in client.read_latest(_COMPLETE, ids=placed, tenant=tenant)}
    places: dict[str, list[Row]] = defaultdict(list)
    for row in client.read_latest(_PLACES, ids=ids) if found else ():
        places[row["source"]].append(row)
    plan = _Plan()
    for v in versions:
        given = {c.chunk_id: c for c in v.chunks}
        if missing := v.placements.keys() - complete - given.keys():
            raise Conflict(f"{v.source.uri}: {len(missing)} chunks were not written before being placed")
        plan.chunks += [c for i, c in given.items() if i in v.placements and i not in complete]
        _place(plan, v, places[v.source.id], given)
    placed_once = {place["chunk"] for of_source in places.values() for place in of_source}
    plan.begun = [c for c in plan.chunks if c.chunk_id in placed_once]
    return plan


def _place(plan: _Plan, v: SourceVersion, places: Sequence[Row], given: Mapping[str, ChunkGraph]) -> None:
    """Keep, open, end and drop places so that the version to come consists of its placements."""
    version = v.source.version
    have = [p for p in places if p["until"] in (OPEN, version)]
    kept: dict[str, int] = {}
    for p in sorted(have, key=lambda p: -int(p["since"])):
        if v.placements.get(p["chunk"]) == Placement(p["seq"], p["start"], p["end"], p["role"], p["parent"]):
            kept[p["chunk"]] = p["since"]
    opened = {chunk: place for chunk, place in v.placements.items() if chunk not in kept}
    for chunk, place in opened.items():
        plan.opened.append(
            {
                **_end(chunk, version, OPEN, version),
                "source": v.source.id,
                "since": version,
                "aliases": aliases_text(given.get(chunk)),
                **{name: getattr(place, name) for name in ("seq", "start", "end", "role", "parent")},
            }
        )
    for p in have:
        chunk, since = p["chunk"], p["since"]
        if kept.get(chunk) == since:
            if p["until"] != OPEN:
                plan.ended.append(_end(chunk, since, OPEN, version))
        elif since != version:
            if p["until"] != version:
                plan.ended.append(_end(chunk, since, version, version))
        elif chunk not in opened:
            # a leftover of an earlier attempt; a chunk's last place stays, since it is found by it when it is collected
            last = sum(other["chunk"] == chunk for other in places) == 1
            (plan.ended if last else plan.dropped).append(_end(chunk, since, 0, version))


def _end(chunk: str, since: int, until: int, version: int) -> Row:
    return {"id": edge_id("EXTRACTED_FROM", chunk, since), "chunk": chunk, "until": until, "version": version}
