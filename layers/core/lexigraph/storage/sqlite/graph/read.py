"""Entities and statements of the embedded graph.

Row values go into the queries as ``IN`` lists cut to size, so a function's number of queries does not depend on how much
it finds, and no query is run per hit.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Entity, StatementRow
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import EntityLookup, EvidenceRequest, Hit, SearchRequest
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, Pair, SqlitePart, keys_of, public, raw, select, tenant_key
from lexigraph.storage.sqlite.graph.rows import statement_rows
from lexigraph.storage.sqlite.graph.schema import SENSES, SYNONYMS
from lexigraph.storage.sqlite.graph.topics import of_topics
from lexigraph.storage.sqlite.names import Names

# Mentions of one entity that are looked at; beyond, the entity alone is no evidence (EvidenceRequest).
HUB = 1_000
TITLES = 100  # sources of one title; beyond, the title says nothing of what is in them
TITLED = "CROSS JOIN placed p ON p.source = a.source CROSS JOIN source s ON s.k = p.source"


class SqliteRead(SqlitePart):
    """What is known of entities, and what is said."""

    _names: Names

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        with self._gate(tenant, filters) as gate:
            asked = {raw(i): i for i in entity_ids}
            key = keys_of(gate.connection, "entity", asked)
            if not key:
                return EntityLookup()
            name = {k: asked[i] for i, k in key.items()}
            same = same_meaning(gate, name, senses=True)
            rows = entity_rows(gate, {*name, *(k for group in same.values() for k in group)})
            seen = seen_entities(gate, rows)
            aliases = {
                name[k]: tuple(sorted((rows[o] for o in group & seen), key=lambda e: e.id)) for k, group in same.items()
            }
            near = _connected(gate, {k: {k, *same.get(k, ())} for k in name}, connected) if connected else []
            return EntityLookup(
                found={name[k]: rows[k] for k in sorted(seen) if k in name},
                aliases={asked_id: others for asked_id, others in aliases.items() if others},
                connected=tuple(sorted(((name[k], e) for k, e in near), key=lambda pair: (pair[1].df, pair[1].id, pair[0]))),
            )

    def names(self, view: View, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        with self._read(view) as connection:
            # grows whenever a version is shown or hidden
            (state,) = connection.execute("SELECT coalesce(max(value), 0) FROM counter WHERE name = 'stamp'").fetchone()
            return self._names.search(view, state, lambda: _names_of(connection, view), requests)

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        with self._gate(tenant, request.filters) as gate:
            chunks = list(keys_of(gate.connection, "chunk", (raw(c) for c in request.chunks)).values())
            statements = keys_of(gate.connection, "statement", (raw(s) for s in request.statements)).values()
            said = set(_live_pairs(gate, "x.statement", statements))
            if request.whole_chunks:
                chunks = sorted({*chunks, *(chunk for chunk, _ in said)})
            pairs = said | (_beside(gate, chunks) if request.neighbours else set())
            named = set(keys_of(gate.connection, "entity", (raw(e) for e in request.entities)).values())
            same = same_meaning(gate, named)
            wanted = sorted(named.union(*same.values()))
            pairs |= _of_entities(gate, wanted, request.per_entity)
            pairs |= of_topics(gate, request, wanted)
            rows = statement_rows(gate, pairs, chunks, facts=request.facts)
            return _with_asked(gate.connection, rows, same) if same else rows


def _names_of(connection: sqlite3.Connection, view: View) -> list[tuple[str, str]]:
    query = "SELECT id, value FROM entity WHERE tenant = ? AND value <> ''"
    return [(public("entity", id_), value) for id_, value in connection.execute(query, (tenant_key(connection, view),))]


def seen_entities(gate: Gate, rows: Mapping[int, Entity]) -> set[int]:
    """Return the entities that a text or title named which the reader sees, also those too new for their ``df``."""
    unsure = list(rows) if gate.filtered else [k for k, e in rows.items() if not e.df]
    named = f"SELECT 1 FROM mentions x {PLACED} WHERE x.entity = e.k AND {gate.sql}"
    titled = f"SELECT 1 FROM about a {TITLED} WHERE a.entity = e.k AND {gate.sql}"
    queries = (f"SELECT e.k FROM entity e WHERE e.k IN ({{}}) AND EXISTS ({one})" for one in (named, titled))
    return {k for query in queries for (k,) in gate.select(query, unsure)} | (rows.keys() - set(unsure))


def entity_rows(gate: Gate, keys: Iterable[int]) -> dict[int, Entity]:
    """Return entities of the tenant by key."""
    query = "SELECT k, id, value, class, df, degree FROM entity WHERE k IN ({}) AND tenant = "
    rows = select(gate.connection, f"{query}{gate.tenant}", keys)
    return {k: Entity(public("entity", id_), *rest) for k, id_, *rest in rows}


def same_meaning(gate: Gate, keys: Iterable[int], *, senses: bool = False) -> dict[int, set[int]]:
    """Follow ALIAS_OF both ways, two steps: from another name to the name, and to its other names.

    With ``senses`` also from a name to what it means in some documents: right for words of a question, wrong for what a
    document names, whose meaning is known.
    """
    said = f"SELECT 1 FROM placed p CROSS JOIN source s ON s.k = p.source WHERE p.chunk = x.chunk AND {gate.sql}"
    pairs: dict[int, set[int]] = defaultdict(set)
    start, frontier, seen = set(keys), set(keys), set(keys)
    for _ in range(2):
        step = set()
        for side in ("alias", "target"):
            # a pair may stand in hundreds of chunks, of which the first that is seen will do
            query = f"""SELECT n.alias, n.target FROM (SELECT DISTINCT alias, target FROM alias WHERE {side} IN ({{}})) n
                WHERE EXISTS (SELECT 1 FROM alias x WHERE x.alias = n.alias AND x.target = n.target
                    AND (x.chunk = {SYNONYMS} OR EXISTS ({said})))"""
            for a, b in gate.select(query, frontier):
                pairs[a].add(b)
                pairs[b].add(a)
                step |= {a, b}
        if senses:
            query = f"SELECT alias, target FROM alias WHERE chunk = {SENSES} AND alias IN ({{}})"
            for a, b in select(gate.connection, query, frontier):
                pairs[a].add(b)
                step.add(b)
        frontier = step - seen
        seen |= frontier
    named = start & pairs.keys()  # few have another name
    return {k: group for k in named if (group := {o for near in pairs[k] for o in (near, *pairs[near])} - {k})}


def meant_here(gate: Gate, found: set[Pair], said: set[Pair]) -> set[Pair]:
    """Leave out (chunk, entity) pairs ``found`` by a name in a text that, as ``said``, names another entity by it."""
    query = f"SELECT alias, target FROM alias WHERE chunk = {SENSES} AND alias IN ({{}})"
    senses = select(gate.connection, query, {e for _, e in found})
    return {(chunk, e) for chunk, e in found if not any(a == e and (chunk, b) in said for a, b in senses)}


def seldom(connection: sqlite3.Connection, table: str, keys: Iterable[int], most: int = HUB) -> set[int]:
    """Return the entities that at most ``most`` rows of ``mentions`` or ``about`` name."""
    query = f"""SELECT e.k FROM entity e WHERE e.k IN ({{}})
        AND (SELECT 1 FROM {table} m WHERE m.entity = e.k LIMIT 1 OFFSET {most}) IS NULL"""
    return {k for (k,) in select(connection, query, keys)}


def _connected(gate: Gate, groups: Mapping[int, set[int]], most: int) -> list[tuple[int, Entity]]:
    """Return, for each entity asked for, those that share a fact with one of its group: the ``most`` rarest."""
    # of a hub almost anything is joined by some fact: that says nothing
    telling = seldom(gate.connection, "mentions", {member for group in groups.values() for member in group})
    joined: dict[int, set[int]] = defaultdict(set)
    for query in (
        f"SELECT DISTINCT f.subject_entity, x.object_entity FROM fact f CROSS JOIN supports x ON x.fact = f.k {PLACED} "
        f"WHERE f.subject_entity IN ({{}}) AND x.object_entity IS NOT NULL AND {gate.sql}",
        f"SELECT DISTINCT x.object_entity, f.subject_entity FROM supports x CROSS JOIN fact f ON f.k = x.fact {PLACED} "
        f"WHERE x.object_entity IN ({{}}) AND {gate.sql}",
    ):
        for a, b in gate.select(query, telling):
            joined[a].add(b)
    rows = entity_rows(gate, {b for others in joined.values() for b in others})
    near: list[tuple[int, Entity]] = []
    for asked, group in groups.items():
        others = {b for member in group for b in joined.get(member, ())} - group
        rarest = sorted((rows[b] for b in others if b in rows), key=lambda e: (e.df, e.id))
        near += [(asked, entity) for entity in rarest[:most]]
    return near


def _with_asked(
    connection: sqlite3.Connection, rows: Sequence[StatementRow], same: Mapping[int, set[int]]
) -> list[StatementRow]:
    """Let rows name the entities asked for, too, where they name what means the same."""
    keys = same.keys() | {k for group in same.values() for k in group}
    ids = {k: public("entity", i) for k, i in select(connection, "SELECT k, id FROM entity WHERE k IN ({})", keys)}
    asked: dict[str, set[str]] = defaultdict(set)
    for k, group in same.items():
        for other in group:
            asked[ids[other]].add(ids[k])
    further = [{i for e in row.entities for i in asked.get(e, ())} for row in rows]
    return [
        row._replace(entities=tuple(sorted({*row.entities, *more}))) if more else row
        for row, more in zip(rows, further, strict=True)
    ]


def _live_pairs(gate: Gate, column: str, keys: Iterable[int]) -> list[Pair]:
    query = f"SELECT x.chunk, x.statement FROM said_in x {PLACED} WHERE {column} IN ({{}}) AND {gate.sql}"
    return gate.select(query, keys)


def _beside(gate: Gate, chunks: Sequence[int]) -> set[Pair]:
    """Statements of the chunks' topics in the chunks right before and after."""
    query = f"""
        SELECT x.chunk, x.statement FROM placed a CROSS JOIN topic_in ta ON ta.chunk = a.chunk
        CROSS JOIN placed p ON p.source = a.source AND p.seq BETWEEN a.seq - 1 AND a.seq + 1 AND p.chunk <> a.chunk
        CROSS JOIN source s ON s.k = p.source CROSS JOIN said_in x ON x.chunk = p.chunk
        CROSS JOIN statement t ON t.k = x.statement AND t.topic = ta.topic
        WHERE a.chunk IN ({{}}) AND a.since <= s.live AND (a.until IS NULL OR a.until > s.live) AND {gate.sql}
    """
    return set(gate.select(query, chunks))


def _of_entities(gate: Gate, keys: Sequence[int], most: int) -> set[Pair]:
    """Statements of each entity, at most so many: see :class:`~lexigraph.storage.protocols.EvidenceRequest`.

    What readers do not see may be among them as long as it takes no place of another.
    """
    naming, hubs = _naming(gate, keys)
    place: dict[Pair, int] = {}
    titled: dict[int, set[Pair]] = defaultdict(set)
    for at, (chunk, statement, k) in enumerate(_said_about(gate, keys, most), 1):
        place[chunk, statement] = at
        titled[k].add((chunk, statement))
    if hubs:
        for pair, k in _naming_hubs(gate.connection, set(place).union(*naming.values()), hubs):
            naming[k].add(pair)
    by_entity = {k: named | titled[k] for k, named in naming.items()}
    many = {k: found for k, found in by_entity.items() if len(found) > most}
    live = _live_chunks(gate, {chunk for found in many.values() for chunk, _ in found})
    crowded = {k: seen for k, found in many.items() if len(seen := {p for p in found if p[0] in live}) > most}
    stands = _stand_in_facts(gate.connection, crowded.keys() - hubs)
    taken = set[Pair]().union(*(found for k, found in by_entity.items() if k not in crowded))
    tied: list[tuple[list[Pair], int]] = []
    for k, found in crowded.items():
        others = Counter(pair for other, named in naming.items() if other != k for pair in found & named)
        ranks: dict[tuple[int, bool, int], list[Pair]] = defaultdict(list)
        for pair in found:
            ranks[-others[pair], (*pair, k) not in stands, 0 if pair in naming[k] else place[pair]].append(pair)
        room = most
        for _, pairs in sorted(ranks.items()):
            if len(pairs) > room:
                tied.append((pairs, room))
                break
            taken.update(pairs)
            room -= len(pairs)
    taken.update(_first(gate.connection, tied))
    return taken


def _naming(gate: Gate, keys: Sequence[int]) -> tuple[dict[int, set[Pair]], set[int]]:
    """Return what names each entity, seen or not, and the hubs, of which nothing is returned."""
    by_entity: dict[int, set[Pair]] = {k: set() for k in keys}
    few = seldom(gate.connection, "mentions", keys)
    for k, chunk, statement in select(
        gate.connection, "SELECT entity, chunk, statement FROM mentions WHERE entity IN ({})", few
    ):
        by_entity[k].add((chunk, statement))
    hubs = set()
    query = f"SELECT x.chunk, x.statement FROM mentions x {PLACED} WHERE x.entity = ? AND {gate.sql} LIMIT {HUB + 1}"
    for k in by_entity.keys() - few:  # a handful, each bounded
        found = gate.connection.execute(query, (k, *gate.parameters)).fetchall()
        if len(found) > HUB:
            hubs.add(k)
        else:
            by_entity[k].update(found)
    return by_entity, hubs


def _live_chunks(gate: Gate, chunks: Iterable[int]) -> set[int]:
    query = f"SELECT p.chunk FROM placed p CROSS JOIN source s ON s.k = p.source WHERE p.chunk IN ({{}}) AND {gate.sql}"
    return {k for (k,) in gate.select(query, chunks)}


def _first(connection: sqlite3.Connection, tied: Iterable[tuple[list[Pair], int]]) -> Iterable[Pair]:
    """Yield the first of pairs that rank alike, each time so many: by their ids, since keys follow the order of writing."""
    tied = [(pairs, room) for pairs, room in tied if room]
    chunks, statements = ({pair[side] for pairs, _ in tied for pair in pairs} for side in (0, 1))
    statement = dict(select(connection, "SELECT k, id FROM statement WHERE k IN ({})", statements))
    chunk = dict(select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", chunks))
    for pairs, room in tied:
        yield from sorted(pairs, key=lambda pair: (statement[pair[1]], chunk[pair[0]]))[:room]


def _said_about(gate: Gate, keys: Iterable[int], most: int) -> list[tuple[int, int, int]]:
    """Return (chunk, statement, entity) of the first ``most`` chunks of sources titled by an entity, as they read."""
    query = f"""SELECT x.chunk, x.statement, a.entity FROM about a {TITLED} AND p.seq < {int(most)}
        JOIN said_in x ON x.chunk = p.chunk WHERE a.entity IN ({{}}) AND {gate.sql} ORDER BY s.id, p.seq, x.position"""
    return gate.select(query, seldom(gate.connection, "about", keys, TITLES))


def _naming_hubs(connection: sqlite3.Connection, pairs: set[Pair], hubs: set[int]) -> list[tuple[Pair, int]]:
    few = ",".join(map(str, sorted(hubs)))
    query = f"SELECT chunk, statement, entity FROM mentions WHERE chunk IN ({{}}) AND entity IN ({few})"
    rows = select(connection, query, {chunk for chunk, _ in pairs})
    return [((c, s), e) for c, s, e in rows if (c, s) in pairs]


def _stand_in_facts(connection: sqlite3.Connection, keys: Iterable[int]) -> set[tuple[int, int, int]]:
    """Return (chunk, statement, entity) of all facts in which the entities stand."""
    subject = """SELECT x.chunk, x.statement, f.subject_entity FROM fact f CROSS JOIN supports x ON x.fact = f.k
        WHERE f.subject_entity IN ({})"""
    object_ = "SELECT chunk, statement, object_entity FROM supports WHERE object_entity IN ({})"
    return {(c, s, e) for query in (subject, object_) for c, s, e in select(connection, query, keys)}
