"""Links out of chunks in the embedded graph: through the entities that they mention to other chunks."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Link
from lexigraph.storage.graph.sqlite_gate import PLACED, Gate, Pair, select
from lexigraph.storage.graph.sqlite_read import TITLED, entity_rows, same_meaning, seen_entities, seldom
from lexigraph.storage.graph.sqlite_rows import statement_rows
from lexigraph.storage.graph.sqlite_write import keys_of, public, raw, tenant_key
from lexigraph.storage.protocols import Neighbourhood

_Targets = dict[int, list[int]]  # by entity, the chunks it leads to


def neighbourhood(
    connection: sqlite3.Connection,
    tenant: str,
    chunk_ids: Sequence[str],
    names: Mapping[str, Sequence[str]],
    max_df: int,
    per_entity: int,
    prefer: Sequence[str],
    facts: bool,
    filters: Filter | None,
) -> Neighbourhood:
    """Follow the entities of some live chunks to other chunks: what is about them, what shares them, what names them."""
    gate = Gate(tenant_key(connection, tenant), filters)
    seed_query = f"""SELECT c.k, c.id FROM chunk c JOIN placed p ON p.chunk = c.k JOIN source s ON s.k = p.source
        WHERE c.id IN ({{}}) AND {gate.sql}"""
    seeds = dict(select(connection, seed_query, (raw(c) for c in chunk_ids), gate))
    named = _named_by(connection, gate, seeds, names)
    titles = "SELECT p.chunk, a.entity FROM placed p JOIN about a ON a.source = p.source WHERE p.chunk IN ({})"
    titled = set(select(connection, titles, seeds))
    passed = entity_rows(connection, gate.tenant, {e for _, e in named} | {e for _, e in titled})
    if gate.filtered:
        passed = {k: passed[k] for k in seen_entities(connection, gate, passed)}
    rare = {k for k, e in passed.items() if e.df <= max_df}
    known = {k for k, e in passed.items() if e.df <= 4 * max_df}
    about = _chunks_about(connection, gate, {e for _, e in named}, per_entity)
    sharing = _chunks_naming(connection, gate, ({e for _, e in named} & rare) | ({e for _, e in titled} & known))
    about, sharing = _cut(connection, gate, about, sharing, per_entity, prefer)
    links: set[tuple[int, int, int, str]] = set()
    for chunk, entity in named:
        links |= {(chunk, entity, to, "about") for to in about.get(entity, ())}
        if entity in rare:
            links |= {(chunk, entity, to, "shared") for to in sharing.get(entity, ())}
    for chunk, entity in titled:
        if entity in known:
            links |= {(chunk, entity, to, "named") for to in sharing.get(entity, ())}
    links = {link for link in links if link[0] != link[2]}
    targets = {to for _, _, to, _ in links}
    public_chunk = {k: public("chunk", i) for k, i in select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", targets)}
    public_chunk.update({k: public("chunk", i) for k, i in seeds.items()})
    hops = sorted((public_chunk[a], passed[e].id, public_chunk[b], kind) for a, e, b, kind in links if e in passed)
    return Neighbourhood(
        links=tuple(Link(*hop) for hop in hops),
        statements=tuple(statement_rows(connection, gate, set(), targets, facts=facts)),
        entities={e.id: e for e in passed.values()},
    )


def _named_by(
    connection: sqlite3.Connection, gate: Gate, seeds: Mapping[int, bytes], names: Mapping[str, Sequence[str]]
) -> set[Pair]:
    """Return (chunk, entity): extracted mentions, names found in the text, and what means the same."""
    named: set[Pair] = set(select(connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", seeds))
    of_id = {i: k for k, i in seeds.items()}
    key = keys_of(connection, "entity", {raw(e) for ids in names.values() for e in ids})
    named |= {(of_id[raw(c)], key[raw(e)]) for c, ids in names.items() if raw(c) in of_id for e in ids if raw(e) in key}
    same = same_meaning(connection, gate, {e for _, e in named})
    return named | {(chunk, other) for chunk, e in named for other in same.get(e, ())}


def _chunks_about(connection: sqlite3.Connection, gate: Gate, keys: set[int], most: int) -> _Targets:
    """Return the first ``most`` chunks of each source about an entity, and one more when there are more."""
    query = f"""SELECT a.entity, p.chunk FROM about a {TITLED} AND p.seq <= {int(most)}
        WHERE a.entity IN ({{}}) AND {gate.sql} ORDER BY s.id, p.seq"""
    return _grouped(select(connection, query, keys, gate))


def _chunks_naming(connection: sqlite3.Connection, gate: Gate, keys: set[int]) -> _Targets:
    query = f"""SELECT x.entity, x.chunk FROM mentions x {PLACED} JOIN chunk c ON c.k = x.chunk
        WHERE x.entity IN ({{}}) AND {gate.sql} GROUP BY x.entity, x.chunk ORDER BY x.entity, count(*) DESC, c.id"""
    return _grouped(select(connection, query, seldom(connection, "mentions", keys), gate))


def _cut(
    connection: sqlite3.Connection, gate: Gate, about: _Targets, sharing: _Targets, most: int, prefer: Sequence[str]
) -> tuple[_Targets, _Targets]:
    """Leave each entity ``most`` chunks of a kind: the preferred ones in the order given, then as they come."""
    if not any(len(chunks) > most for targets in (about, sharing) for chunks in targets.values()):
        return about, sharing
    key = keys_of(connection, "chunk", map(raw, prefer))
    place = {key[i]: at for at, i in enumerate(map(raw, prefer)) if i in key}
    query = f"""SELECT a.entity, p.chunk FROM placed p CROSS JOIN source s ON s.k = p.source
        CROSS JOIN about a ON a.source = p.source WHERE p.chunk IN ({{}}) AND {gate.sql}"""
    crowded = {entity for entity, chunks in about.items() if len(chunks) > most}
    for entity, chunk in select(connection, query, place, gate) if crowded else ():
        if entity in crowded and chunk not in about[entity]:
            about[entity].append(chunk)
    for targets in (about, sharing):
        for entity, chunks in targets.items():
            if len(chunks) > most:
                targets[entity] = sorted(chunks, key=lambda c: place.get(c, len(place)))[:most]
    return about, sharing


def _grouped(rows: Iterable[tuple[Any, ...]]) -> _Targets:
    groups: _Targets = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    return groups
