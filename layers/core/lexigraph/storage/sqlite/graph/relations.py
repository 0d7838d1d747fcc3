"""Relations between chunks in the embedded graph: what observers said of pairs, and how many relations there are.

``rel_pair`` notes which pairs were asked about, ``rel`` what came of it, a row an observer. A row is owned by both of its
chunks: readers see it when both are live, and it goes when either is collected.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from lexigraph.model.relations import PairObservation, RelationCounts, count_together
from lexigraph.model.tenant import Tenant
from lexigraph.storage.sqlite.graph.gate import SqlitePart, public, raw, select, tenant_key
from lexigraph.storage.sqlite.graph.schema import LIVE, SENSES, SYNONYMS

K = TypeVar("K", int, str)
# Chunks that name an entity; where more do, it is too common to relate any two of them.
COMMON = 50
_SAMPLES = 5

_CHUNKS = """
SELECT c.id, c.k FROM chunk c CROSS JOIN source s ON s.k = c.source WHERE c.id IN ({}) AND +s.tenant = ?
"""
_BETWEEN = "SELECT src, dst, type FROM rel WHERE (src = ?1 AND dst = ?2) OR (src = ?2 AND dst = ?1)"
_FORGET = "DELETE FROM rel WHERE observer = ?3 AND ((src = ?1 AND dst = ?2) OR (src = ?2 AND dst = ?1))"
_OBSERVED = """
SELECT a.id, b.id, (SELECT count(*) FROM (SELECT DISTINCT src, dst, type FROM rel r
    WHERE (r.src = x.first AND r.dst = x.second) OR (r.src = x.second AND r.dst = x.first)))
FROM rel_pair x CROSS JOIN chunk a ON a.k = x.first CROSS JOIN chunk b ON b.k = x.second
WHERE x.first IN ({}) AND x.observer = ? AND x.how = ? AND NOT x.failed
"""
_LIVE_RELATIONS = f"""
SELECT count(*) FROM (SELECT DISTINCT r.src, r.dst, r.type FROM rel r
    JOIN placed p ON p.chunk = r.src JOIN source s ON s.k = p.source
    JOIN placed q ON q.chunk = r.dst JOIN source z ON z.k = q.source
    WHERE {LIVE} AND q.since <= z.live AND (q.until IS NULL OR q.until > z.live))
"""
# One row for each entity and chunk that names it, of entities that few chunks name.
_NAMED = f"""
SELECT DISTINCT m.entity, m.chunk FROM mentions m JOIN placed p ON p.chunk = m.chunk JOIN source s ON s.k = p.source
    JOIN entity e ON e.k = m.entity WHERE {LIVE} AND length(e.value) >= ? AND m.entity IN
    (SELECT entity FROM mentions GROUP BY entity HAVING count(DISTINCT chunk) <= {COMMON})
"""
_ALIASES = f"""
SELECT b.k, b.value, a.value FROM alias x JOIN entity a ON a.k = x.alias JOIN entity b ON b.k = x.target
WHERE b.tenant = ? AND (x.chunk IN ({SENSES}, {SYNONYMS}) OR EXISTS
    (SELECT 1 FROM placed p JOIN source s ON s.k = p.source WHERE p.chunk = x.chunk AND {LIVE})) GROUP BY a.k, b.k
"""
_ENTITIES = "SELECT count(*) FROM entity WHERE tenant = ? AND df > 0"


class SqliteRelations(SqlitePart):
    """What observers said of pairs of chunks."""

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        with self._database.write() as connection:
            key = _chunk_keys(connection, tenant, (i for o in observations for i in (o.first, o.second)))
            created = known = 0
            for o in observations:
                if o.first not in key or o.second not in key:
                    continue  # a chunk went meanwhile, and what was said of it goes with it
                first, second = key[o.first], key[o.second]
                connection.execute(
                    "INSERT OR REPLACE INTO rel_pair VALUES (?, ?, ?, ?, ?)",
                    (first, second, o.observer, o.how, bool(o.failed)),
                )
                if o.failed:
                    continue
                before = set(connection.execute(_BETWEEN, (first, second)).fetchall())
                if not keep:
                    connection.execute(_FORGET, (first, second, o.observer))
                for r in o.relations:
                    edge = (key[r.src], key[r.dst], r.type)
                    known += edge in before
                    created += edge not in before
                    if not (keep and edge in before):
                        connection.execute(
                            "INSERT OR REPLACE INTO rel VALUES (?, ?, ?, ?, ?, ?)",
                            (*edge, o.observer, r.confidence, r.evidence),
                        )
            return created, known

    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        with self._read(tenant) as connection:
            keys = _chunk_keys(connection, tenant, chunk_ids).values()
            rows = select(connection, _OBSERVED, keys, (observer, how))
        return {(public("chunk", a), public("chunk", b)): count for a, b, count in rows}

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        with self._read(tenant) as connection:
            t = tenant_key(connection, tenant)
            named = connection.execute(_NAMED, (t, min_name)).fetchall()
            others: dict[tuple[int, str], list[str]] = {}
            for k, name, other in connection.execute(_ALIASES, (t, t)):
                others.setdefault((k, name), []).append(other)
            relations, entities = (connection.execute(query, (t,)).fetchone()[0] for query in (_LIVE_RELATIONS, _ENTITIES))
        return counts_of(relations, named, least_together, entities, others)


def counts_of(
    relations: int,
    named: Iterable[tuple[int, int]],
    least_together: int,
    entities: int,
    others: Mapping[tuple[K, str], Sequence[str]],
) -> RelationCounts:
    """Count by keys of entities and chunks that name them, and by other names of (entity, name)."""
    by_entity = sorted(named)
    by_chunk = sorted((chunk, entity) for entity, chunk in by_entity)
    most = sorted(others, key=lambda entity: (-len(others[entity]), entity[1], entity[0]))[:_SAMPLES]
    return RelationCounts(
        llm_rel=relations,
        relates_to=count_together([e for e, _ in by_entity], [c for _, c in by_entity], 2),
        co_occurs_with=count_together([c for c, _ in by_chunk], [e for _, e in by_chunk], least_together),
        entities=entities,
        with_aliases=len(others),
        samples=tuple((entity[1], tuple(sorted(others[entity]))) for entity in most),
    )


def _chunk_keys(connection: sqlite3.Connection, tenant: Tenant, ids: Iterable[str]) -> dict[str, int]:
    rows = select(connection, _CHUNKS, {raw(i) for i in ids}, (tenant_key(connection, tenant),))
    return {public("chunk", i): k for i, k in rows}
