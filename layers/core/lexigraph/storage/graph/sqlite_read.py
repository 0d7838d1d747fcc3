"""Reading the embedded graph: each function runs inside the caller's one read transaction and sees one moment.

Row values go into the queries as ``IN`` lists cut to size, so a function's number of queries does not depend on how much
it finds, and no query is run per hit.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Entity, Link, Placement, Source, StatementRow
from lexigraph.storage.embedded import in_batches, marks
from lexigraph.storage.graph.sqlite_gate import PLACED as _PLACED
from lexigraph.storage.graph.sqlite_gate import Gate, Pair
from lexigraph.storage.graph.sqlite_gate import select as _select
from lexigraph.storage.graph.sqlite_rows import statement_rows
from lexigraph.storage.graph.sqlite_schema import LIVE
from lexigraph.storage.graph.sqlite_topics import of_topics
from lexigraph.storage.graph.sqlite_write import keys_of, public, raw, tenant_key
from lexigraph.storage.protocols import EntityLookup, EvidenceRequest, Neighbourhood

# Mentions of one entity that are looked at; beyond, the entity alone is no evidence (EvidenceRequest).
HUB = 1_000
_TITLED = "CROSS JOIN placed p ON p.source = a.source CROSS JOIN source s ON s.k = p.source"


# ---------------------------------------------------------------- entities


def entities(
    connection: sqlite3.Connection, tenant: str, ids: Sequence[str], connected: int, filters: Filter | None
) -> EntityLookup:
    """Look up entities by id, with what means the same, and up to ``connected`` each that share a fact."""
    gate = Gate(tenant_key(connection, tenant), filters)
    asked = {raw(i): i for i in ids}
    key = keys_of(connection, "entity", asked)
    if not key:
        return EntityLookup()
    same = _same_meaning(connection, key.values())
    rows = entity_rows(connection, gate.tenant, {*key.values(), *(k for group in same.values() for k in group)})
    # of a hub almost anything is joined by some fact: that says nothing
    groups = {k: {k, *same.get(k, ())} for k in key.values() if k not in rows or rows[k].degree <= HUB}
    near = _connected(connection, gate, groups, connected) if connected else []
    near_rows = entity_rows(connection, gate.tenant, {k for _, k in near})
    name = {k: asked[i] for i, k in key.items()}
    ranked = sorted(
        ((name[a], near_rows[b]) for a, b in near if b in near_rows), key=lambda pair: (pair[1].df, pair[1].id, pair[0])
    )
    taken: dict[str, int] = defaultdict(int)
    kept = []
    for asked_id, entity in ranked:
        taken[asked_id] += 1
        if taken[asked_id] <= connected:
            kept.append((asked_id, entity))
    return EntityLookup(
        found={name[k]: rows[k] for k in _seen(connection, gate.tenant, rows) if k in name},
        aliases={
            name[k]: tuple(sorted((rows[o] for o in group if o in rows), key=lambda e: e.id)) for k, group in same.items()
        },
        connected=tuple(kept),
    )


def _seen(connection: sqlite3.Connection, tenant: int, rows: Mapping[int, Entity]) -> list[int]:
    """Return the entities that a live text or title names, also those too new for their ``df`` to be computed."""
    fresh = [k for k, e in rows.items() if not e.df]
    gate = Gate(tenant, None)
    named = f"SELECT DISTINCT x.entity FROM mentions x {_PLACED} WHERE x.entity IN ({{}}) AND {gate.sql}"
    titled = f"SELECT DISTINCT a.entity FROM about a {_TITLED} WHERE a.entity IN ({{}}) AND {gate.sql}"
    alive = {k for query in (named, titled) for (k,) in _select(connection, query, fresh, gate)}
    return sorted(k for k, e in rows.items() if e.df or k in alive)


def entity_rows(connection: sqlite3.Connection, tenant: int, keys: Iterable[int]) -> dict[int, Entity]:
    """Return entities of the tenant by key."""
    query = "SELECT k, id, value, class, df, degree FROM entity WHERE k IN ({}) AND tenant = ?"
    rows: dict[int, Entity] = {}
    for batch in in_batches(list(keys)):
        found = connection.execute(query.replace("{}", marks(len(batch))), (*batch, tenant))
        rows.update({k: Entity(public("entity", id_), *rest) for k, id_, *rest in found})
    return rows


def _same_meaning(connection: sqlite3.Connection, keys: Iterable[int]) -> dict[int, set[int]]:
    """Follow ALIAS_OF both ways, two steps: from another name to the name, and to its other names."""
    pairs: dict[int, set[int]] = defaultdict(set)
    start, frontier, seen = set(keys), set(keys), set(keys)
    for _ in range(2):
        step = set()
        for side in ("alias", "target"):
            for a, b in _select(connection, f"SELECT alias, target FROM alias WHERE {side} IN ({{}})", frontier):
                pairs[a].add(b)
                pairs[b].add(a)
                step |= {a, b}
        frontier = step - seen
        seen |= frontier
    return {k: group for k in start if (group := {o for near in pairs[k] for o in (near, *pairs[near])} - {k})}


def _connected(connection: sqlite3.Connection, gate: Gate, groups: Mapping[int, set[int]], most: int) -> set[Pair]:
    of = {member: asked for asked, group in groups.items() for member in group}
    found: set[Pair] = set()
    for query in (
        f"SELECT f.subject_entity, x.object_entity FROM fact f CROSS JOIN supports x ON x.fact = f.k {_PLACED} "
        f"WHERE f.subject_entity IN ({{}}) AND x.object_entity IS NOT NULL AND {gate.sql} LIMIT {HUB * most}",
        f"SELECT x.object_entity, f.subject_entity FROM supports x CROSS JOIN fact f ON f.k = x.fact {_PLACED} "
        f"WHERE x.object_entity IN ({{}}) AND {gate.sql} LIMIT {HUB * most}",
    ):
        found |= {(of[a], b) for a, b in _select(connection, query, of, gate) if b not in groups[of[a]]}
    return found


# ---------------------------------------------------------------- statements


def evidence(connection: sqlite3.Connection, tenant: str, request: EvidenceRequest) -> list[StatementRow]:
    """Collect the live statements that a request asks for, each once, in reading order."""
    gate = Gate(tenant_key(connection, tenant), request.filters)
    chunks = list(keys_of(connection, "chunk", (raw(c) for c in request.chunks)).values())
    statements = keys_of(connection, "statement", (raw(s) for s in request.statements)).values()
    said = set(_live_pairs(connection, gate, "x.statement", statements))
    if request.whole_chunks:
        chunks = sorted({*chunks, *(chunk for chunk, _ in said)})
    pairs = said | (_beside(connection, gate, chunks) if request.neighbours else set())
    entity_keys = list(keys_of(connection, "entity", (raw(e) for e in request.entities)).values())
    pairs |= _of_entities(connection, gate, entity_keys, request.per_entity)
    pairs |= of_topics(connection, gate, request, entity_keys)
    return statement_rows(connection, gate, pairs, chunks, facts=request.facts)


def _live_pairs(connection: sqlite3.Connection, gate: Gate, column: str, keys: Iterable[int]) -> list[Pair]:
    query = f"SELECT x.chunk, x.statement FROM said_in x {_PLACED} WHERE {column} IN ({{}}) AND {gate.sql}"
    return _select(connection, query, keys, gate)


def _beside(connection: sqlite3.Connection, gate: Gate, chunks: Sequence[int]) -> set[Pair]:
    """Statements of the chunks' topics in the chunks right before and after."""
    query = f"""
        SELECT x.chunk, x.statement FROM placed a CROSS JOIN topic_in ta ON ta.chunk = a.chunk
        CROSS JOIN placed p ON p.source = a.source AND p.seq BETWEEN a.seq - 1 AND a.seq + 1 AND p.chunk <> a.chunk
        CROSS JOIN source s ON s.k = p.source CROSS JOIN said_in x ON x.chunk = p.chunk
        CROSS JOIN statement t ON t.k = x.statement AND t.topic = ta.topic
        WHERE a.chunk IN ({{}}) AND a.since <= s.live AND (a.until IS NULL OR a.until > s.live) AND {gate.sql}
    """
    return set(_select(connection, query, chunks, gate))


def _of_entities(connection: sqlite3.Connection, gate: Gate, keys: Sequence[int], most: int) -> set[Pair]:
    """Statements of each entity: first those that name most others asked for, then those in whose facts it stands."""
    naming: dict[Pair, set[int]] = defaultdict(set)
    hubs, by_entity = set(), {}
    query = f"SELECT x.chunk, x.statement FROM mentions x {_PLACED} WHERE x.entity = ? AND {gate.sql} LIMIT {HUB + 1}"
    for k in sorted(set(keys)):  # a handful, each bounded
        found = connection.execute(query, (k, *gate.parameters)).fetchall()
        by_entity[k] = found if len(found) <= HUB else []
        hubs |= {k} if len(found) > HUB else set()
        for pair in by_entity[k]:
            naming[pair].add(k)
    if hubs:
        about = f"""SELECT x.chunk, x.statement, a.entity FROM about a {_TITLED} JOIN said_in x ON x.chunk = p.chunk
            WHERE a.entity IN ({{}}) AND {gate.sql} ORDER BY s.id, p.seq, x.position LIMIT {HUB}"""
        for chunk, statement, k in _select(connection, about, hubs, gate):
            naming[chunk, statement].add(k)
            by_entity[k].append((chunk, statement))
        for pair, k in _naming_hubs(connection, list(naming), hubs):
            naming[pair].add(k)
            by_entity[k].append(pair)
    found_of = {k: set(found) for k, found in by_entity.items()}
    cut = {pair for found in found_of.values() if len(found) > most for pair in found}
    stands = _stand_in_facts(connection, cut, set(keys))
    # keys follow the order of writing, ids do not
    statement_id = dict(_select(connection, "SELECT k, id FROM statement WHERE k IN ({})", {s for _, s in cut}))
    chunk_id = dict(_select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", {c for c, _ in cut}))
    taken: set[Pair] = set()
    for k, of_entity in found_of.items():
        order = sorted(
            (-len(naming[c, s]), (c, s, k) not in stands, statement_id[s], chunk_id[c], (c, s))
            for c, s in (of_entity if len(of_entity) > most else ())
        )
        taken |= {pair for *_, pair in order[:most]} or of_entity
    return taken


def _naming_hubs(connection: sqlite3.Connection, pairs: Sequence[Pair], hubs: set[int]) -> list[tuple[Pair, int]]:
    few = ",".join(map(str, sorted(hubs)))
    query = f"SELECT chunk, statement, entity FROM mentions WHERE chunk IN ({{}}) AND entity IN ({few})"
    wanted = set(pairs)
    rows = _select(connection, query, {chunk for chunk, _ in pairs})
    return [((c, s), e) for c, s, e in rows if (c, s) in wanted]


def _stand_in_facts(connection: sqlite3.Connection, pairs: Iterable[Pair], keys: set[int]) -> set[tuple[int, int, int]]:
    few = ",".join(map(str, sorted(keys)))
    query = f"""SELECT x.chunk, x.statement, f.subject_entity, x.object_entity
        FROM supports x CROSS JOIN fact f ON f.k = x.fact WHERE x.chunk IN ({{}})
        AND (x.object_entity IN ({few}) OR f.subject_entity IN ({few}))"""
    rows = _select(connection, query, {chunk for chunk, _ in pairs})
    return {(c, s, e) for c, s, *ends in rows for e in ends if e in keys}


# ---------------------------------------------------------------- links


def neighbourhood(
    connection: sqlite3.Connection,
    tenant: str,
    chunk_ids: Sequence[str],
    names: Mapping[str, Sequence[str]],
    max_df: int,
    per_entity: int,
    facts: bool,
    filters: Filter | None,
) -> Neighbourhood:
    """Follow the entities of some live chunks to other chunks: what is about them, what shares them, what names them."""
    gate = Gate(tenant_key(connection, tenant), filters)
    seed_query = f"""SELECT c.k, c.id FROM chunk c JOIN placed p ON p.chunk = c.k JOIN source s ON s.k = p.source
        WHERE c.id IN ({{}}) AND {gate.sql}"""
    seeds = dict(_select(connection, seed_query, (raw(c) for c in chunk_ids), gate))
    named = _named_by(connection, seeds, names)
    titles = "SELECT p.chunk, a.entity FROM placed p JOIN about a ON a.source = p.source WHERE p.chunk IN ({})"
    titled = set(_select(connection, titles, seeds))
    passed = entity_rows(connection, gate.tenant, {e for _, e in named} | {e for _, e in titled})
    rare = {k for k, e in passed.items() if e.df <= max_df}
    known = {k for k, e in passed.items() if e.df <= 4 * max_df}
    about = _chunks_about(connection, gate, {e for _, e in named}, per_entity)
    sharing = _chunks_naming(connection, gate, ({e for _, e in named} & rare) | ({e for _, e in titled} & known))
    links: set[tuple[int, int, int, str]] = set()
    for chunk, entity in named:
        links |= {(chunk, entity, to, "about") for to in about.get(entity, ())[:per_entity]}
        if entity in rare:
            links |= {(chunk, entity, to, "shared") for to in sharing.get(entity, ())[:per_entity]}
    for chunk, entity in titled:
        if entity in known:
            links |= {(chunk, entity, to, "named") for to in sharing.get(entity, ())[:per_entity]}
    links = {link for link in links if link[0] != link[2]}
    targets = {to for _, _, to, _ in links}
    public_chunk = {
        k: public("chunk", i) for k, i in _select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", targets)
    }
    public_chunk.update({k: public("chunk", i) for k, i in seeds.items()})
    return Neighbourhood(
        links=tuple(
            sorted(
                (Link(public_chunk[a], passed[e].id, public_chunk[b], kind) for a, e, b, kind in links if e in passed),
                key=lambda link: (link.from_chunk, link.entity_id, link.to_chunk, link.kind),
            )
        ),
        statements=tuple(statement_rows(connection, gate, set(), targets, facts=facts)),
        entities={e.id: e for k, e in passed.items()},
    )


def _named_by(connection: sqlite3.Connection, seeds: Mapping[int, bytes], names: Mapping[str, Sequence[str]]) -> set[Pair]:
    """Return (chunk, entity): extracted mentions, names found in the text, and what means the same."""
    named: set[Pair] = set(_select(connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", seeds))
    of_id = {i: k for k, i in seeds.items()}
    key = keys_of(connection, "entity", {raw(e) for ids in names.values() for e in ids})
    named |= {(of_id[raw(c)], key[raw(e)]) for c, ids in names.items() if raw(c) in of_id for e in ids if raw(e) in key}
    same = _same_meaning(connection, {e for _, e in named})
    return named | {(chunk, other) for chunk, e in named for other in same.get(e, ())}


def _chunks_about(connection: sqlite3.Connection, gate: Gate, keys: set[int], most: int) -> dict[int, list[int]]:
    # of a long document no more chunks than one entity may lead to
    query = f"""SELECT a.entity, p.chunk FROM about a {_TITLED} AND p.seq < {int(most)}
        WHERE a.entity IN ({{}}) AND {gate.sql} ORDER BY s.id, p.seq"""
    return _grouped(_select(connection, query, keys, gate))


def _chunks_naming(connection: sqlite3.Connection, gate: Gate, keys: set[int]) -> dict[int, list[int]]:
    telling = f"""SELECT e.k FROM entity e WHERE e.k IN ({{}})
        AND (SELECT 1 FROM mentions m WHERE m.entity = e.k LIMIT 1 OFFSET {HUB}) IS NULL"""
    keys = {k for (k,) in _select(connection, telling, keys)}
    query = f"""SELECT x.entity, x.chunk FROM mentions x {_PLACED} JOIN chunk c ON c.k = x.chunk
        WHERE x.entity IN ({{}}) AND {gate.sql} GROUP BY x.entity, x.chunk ORDER BY x.entity, count(*) DESC, c.id"""
    return _grouped(_select(connection, query, keys, gate))


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for key, value in rows:
        groups[key].append(value)
    return groups


# ---------------------------------------------------------------- sources


def sources(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> dict[str, Source]:
    """Return the live sources among the ids."""
    query = (
        "SELECT id, uri, namespace, title, metadata, live FROM source WHERE id IN ({}) AND tenant = ? AND live IS NOT NULL"
    )
    t, found = tenant_key(connection, tenant), {}
    for batch in in_batches([raw(i) for i in ids]):
        for id_, uri, namespace, title, metadata, live in connection.execute(
            query.replace("{}", marks(len(batch))), (*batch, t)
        ):
            key = public("source", id_)
            found[key] = Source(key, uri, namespace, title, json.loads(metadata), live)
    return found


def chunk_ids(connection: sqlite3.Connection, tenant: str, source_id: str) -> dict[str, Placement]:
    """Return the live chunks of a source with their places, in reading order."""
    query = f"""SELECT c.id, p.seq, p."start", p."end", p.role, p.parent FROM placed p JOIN chunk c ON c.k = p.chunk
        JOIN source s ON s.k = p.source WHERE s.id = ? AND {LIVE} ORDER BY p.seq"""
    rows = connection.execute(query, (raw(source_id), tenant_key(connection, tenant)))
    return {public("chunk", id_): Placement(*place) for id_, *place in rows}


def source_ids(connection: sqlite3.Connection, tenant: str) -> list[str]:
    """Return every source of the tenant, live or not."""
    rows = connection.execute("SELECT id FROM source WHERE tenant = ? ORDER BY id", (tenant_key(connection, tenant),))
    return [public("source", row[0]) for row in rows]
