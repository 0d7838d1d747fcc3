"""Links out of chunks in the embedded graph: through the entities that they mention to other chunks."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Link
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Neighbourhood
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, Pair, SqlitePart, keys_by_id, select
from lexigraph.storage.sqlite.graph.read import TITLED, entity_rows, meant_here, same_meaning, seen_entities, seldom
from lexigraph.storage.sqlite.graph.rows import chunk_statements

_Targets = dict[int, list[int]]  # by entity, the chunks it leads to


class SqliteLinks(SqlitePart):
    """Where the entities of chunks lead."""

    def neighbourhood(
        self,
        tenant: Tenant,
        chunk_ids: Sequence[str],
        *,
        names: Mapping[str, Sequence[str]] | None = None,
        max_df: int = 15,
        per_entity: int = 10,
        prefer: Sequence[str] = (),
        facts: bool = True,
        filters: Filter | None = None,
    ) -> Neighbourhood:
        with self._gate(tenant, filters) as gate:
            key = keys_by_id(gate.connection, "chunk", chunk_ids)
            query = f"""SELECT p.chunk, a.entity FROM placed p CROSS JOIN source s ON s.k = p.source
                LEFT JOIN about a ON a.source = p.source WHERE p.chunk IN ({{}}) AND {gate.sql}"""
            placed = gate.select(query, key.values())
            live = {chunk for chunk, _ in placed}
            seeds = {k: id_ for id_, k in key.items() if k in live}
            named = _named_by(gate, seeds, names or {})
            titled = {(chunk, entity) for chunk, entity in placed if entity is not None}
            passed = entity_rows(gate, {e for _, e in named} | {e for _, e in titled})
            if gate.filtered:
                passed = {k: passed[k] for k in seen_entities(gate, passed)}
            rare = {k for k, e in passed.items() if e.df <= max_df}
            known = {k for k, e in passed.items() if e.df <= 4 * max_df}
            about = _chunks_about(gate, {e for _, e in named}, per_entity)
            sharing = _chunks_naming(gate.connection, ({e for _, e in named} & rare) | ({e for _, e in titled} & known))
            _cut(gate, about, sharing, per_entity, prefer)
            links: set[tuple[int, int, int, str]] = set()
            for chunk, entity in named:
                links |= {(chunk, entity, to, "about") for to in about.get(entity, ())}
                if entity in rare:
                    links |= {(chunk, entity, to, "shared") for to in sharing.get(entity, ())}
            for chunk, entity in titled:
                if entity in known:
                    links |= {(chunk, entity, to, "named") for to in sharing.get(entity, ())}
            links = {link for link in links if link[0] != link[2]}
            reached = chunk_statements(gate, {to for _, _, to, _ in links}, facts=facts)
            public_chunk = seeds | {k: chunk.id for k, chunk in reached.items()}
            seen = ((a, e, b, kind) for a, e, b, kind in links if e in passed and b in public_chunk)
            hops = sorted((public_chunk[a], passed[e].id, public_chunk[b], kind) for a, e, b, kind in seen)
            return Neighbourhood(
                links=tuple(Link(*hop) for hop in hops),
                chunks=tuple(reached.values()),
                entities={e.id: e for e in passed.values()},
            )


def _named_by(gate: Gate, seeds: Mapping[int, str], names: Mapping[str, Sequence[str]]) -> set[Pair]:
    """Return (chunk, entity): extracted mentions, names found in the text, and what means the same."""
    named: set[Pair] = set(select(gate.connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", seeds))
    key = keys_by_id(gate.connection, "entity", {e for ids in names.values() for e in ids})
    found = {(chunk, key[e]) for chunk, id_ in seeds.items() for e in names.get(id_, ()) if e in key}
    named |= meant_here(gate, found, named)
    same = same_meaning(gate, {e for _, e in named})
    return named | {(chunk, other) for chunk, e in named for other in same.get(e, ())} if same else named


def _chunks_about(gate: Gate, keys: set[int], most: int) -> _Targets:
    """Return the first ``most`` chunks of each source about an entity, and one more when there are more."""
    query = f"""SELECT a.entity, p.chunk FROM about a {TITLED} AND p.seq <= {int(most)}
        WHERE a.entity IN ({{}}) AND {gate.sql} ORDER BY s.id, p.seq"""
    return _grouped(gate.select(query, keys))


def _chunks_naming(connection: sqlite3.Connection, keys: set[int]) -> _Targets:
    """Return the chunks that mention each entity, seen or not."""
    query = "SELECT DISTINCT entity, chunk FROM mentions WHERE entity IN ({})"
    return _grouped(select(connection, query, seldom(connection, "mentions", keys)))


def _cut(gate: Gate, about: _Targets, sharing: _Targets, most: int, prefer: Sequence[str]) -> None:
    """Leave each entity ``most`` chunks of a kind: the preferred ones in the order given, then as they come."""
    full_about, full_sharing = ({e for e, chunks in t.items() if len(chunks) > most} for t in (about, sharing))
    if not full_about and not full_sharing:
        return
    key = keys_by_id(gate.connection, "chunk", prefer)
    place = {key[i]: at for at, i in enumerate(prefer) if i in key}
    query = f"""SELECT a.entity, p.chunk FROM placed p CROSS JOIN source s ON s.k = p.source
        CROSS JOIN about a ON a.source = p.source WHERE p.chunk IN ({{}}) AND {gate.sql}"""
    for entity, chunk in gate.select(query, place) if full_about else ():
        if entity in full_about and chunk not in about[entity]:
            about[entity].append(chunk)
    mentioning = f"""SELECT x.entity, x.chunk FROM (
            SELECT entity, chunk, count(*) AS times FROM mentions WHERE entity IN ({{}}) GROUP BY entity, chunk
        ) x {PLACED} CROSS JOIN chunk c ON c.k = x.chunk WHERE {gate.sql} ORDER BY x.times DESC, c.id"""
    sharing.update(_grouped(gate.select(mentioning, full_sharing)))
    for targets, full in ((about, full_about), (sharing, full_sharing)):
        for entity in full:
            targets[entity] = sorted(targets[entity], key=lambda c: place.get(c, inf))[:most]


def _grouped(rows: Iterable[tuple[Any, ...]]) -> _Targets:
    groups: _Targets = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    return groups
