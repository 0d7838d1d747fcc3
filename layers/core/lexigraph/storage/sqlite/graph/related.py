"""Steps from chunks to others in the embedded graph: entities in common, entities that stand together, observed relations.

What chunks share and what stands together is computed here, from the mentions that a reader sees: nothing is stored, so
nothing can go stale.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf

from lexigraph.model.graph import Entity
from lexigraph.model.relations import Step, StepKind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import RelatedRequest
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, Pair, SqlitePart, select
from lexigraph.storage.sqlite.graph.keys import keys_of, public, raw, tenant_key
from lexigraph.storage.sqlite.graph.read import TITLED, entity_rows, same_meaning, seen_entities, seldom
from lexigraph.storage.sqlite.graph.relations import COMMON

_ASKED = 0  # stands for the question among the keys of chunks, of which none is 0
TOGETHER = 20  # further entities followed because they stand together with one
_Naming = dict[int, dict[int, int]]  # by entity, the chunks it leads to and how often they name it
_Edge = tuple[int, int, Step]  # keys of both ends, and the step without their ids

_SEEDS = (
    "SELECT c.k, c.id FROM chunk c JOIN placed p ON p.chunk = c.k JOIN source s ON s.k = p.source WHERE c.id IN ({}) AND "
)
_TITLES = "SELECT p.chunk, a.entity FROM placed p JOIN about a ON a.source = p.source WHERE p.chunk IN ({})"
_FIRST = """
SELECT p.chunk FROM source s CROSS JOIN placed p ON p.source = s.k
WHERE s.tenant = ? AND {gate} ORDER BY s.id, p.seq LIMIT ?
"""
# One row for each relation between a chunk asked for ({near}) and another live one.
_RELATIONS = """
SELECT x.{near}, x.chunk, x.type, avg(x.confidence), max(x.evidence) FROM
    (SELECT *, {far} AS chunk FROM rel WHERE {near} IN ({{}})) x {placed} WHERE {gate} GROUP BY 1, 2, 3
"""


class SqliteRelated(SqlitePart):
    """Which steps lead on."""

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        with self._read() as connection:
            gate = Gate(tenant_key(connection, tenant), request.filters)
            ids = [raw(i) for i in request.chunks]
            key = {i: k for k, i in select(connection, _SEEDS + gate.sql, ids, gate)}
            seeds = {key[i]: at for at, i in enumerate(ids) if i in key}
            named = _named_by(connection, gate, seeds, request)
            followed = _followed(connection, gate, named, request)
            naming = _naming(connection, gate, followed, request.per_entity)
            place = _places(connection, seeds, request)
            edges = _shared(connection, named, followed, naming, place, request)
            if request.all_kinds:
                edges += _together(connection, gate, named, followed, naming, place, request)
                edges += _observed(connection, gate, seeds, request)
            if not edges and not seeds and request.first:
                rows = connection.execute(_FIRST.format(gate=gate.sql), (gate.tenant, *gate.parameters, request.first))
                edges = [(_ASKED, k, Step("", "", "first", 0.0)) for (k,) in rows]
            return _public(connection, edges)


def _public(connection: sqlite3.Connection, edges: Sequence[_Edge]) -> list[Step]:
    ends = {k for a, b, _ in edges for k in (a, b)}
    ids = {k: public("chunk", i) for k, i in select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", ends)}
    steps = [Step(ids.get(a, ""), ids[b], s.kind, s.weight, s.type, s.evidence, s.names) for a, b, s in edges if b in ids]
    return sorted(steps, key=lambda s: (s.from_chunk, s.to_chunk, s.kind, s.type))


# ---------------------------------------------------------------- entities to follow


def _named_by(connection: sqlite3.Connection, gate: Gate, seeds: Iterable[int], request: RelatedRequest) -> set[Pair]:
    """Return (chunk, entity): mentions, titles, names found in the chunk's text or the question, and what means the same."""
    named: set[Pair] = set(select(connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", seeds))
    named |= set(select(connection, _TITLES, seeds))
    chunk = keys_of(connection, "chunk", (raw(c) for c in request.names if c))
    entity = keys_of(connection, "entity", {raw(e) for found in request.names.values() for e in found})
    for text, found in request.names.items():
        k = chunk.get(raw(text)) if text else _ASKED
        if k is not None and (k in seeds or k == _ASKED):
            named |= {(k, entity[raw(e)]) for e in found if raw(e) in entity}
    same = same_meaning(connection, gate, {e for _, e in named})
    return named | {(k, other) for k, e in named for other in same.get(e, ())}


def _followed(connection: sqlite3.Connection, gate: Gate, named: set[Pair], request: RelatedRequest) -> dict[int, Entity]:
    """Return the entities to follow: those of the question, then those that most of the chunks name, then the rarest."""
    rows = _telling(connection, gate, {e for _, e in named}, request)
    by = Counter(e for _, e in named)
    asked = {e for k, e in named if k == _ASKED}
    # what a single source names leads to no other
    order = sorted(rows, key=lambda e: (e not in asked, rows[e].df < 2, -by[e], rows[e].df, rows[e].id))
    return {e: rows[e] for e in order[: request.max_entities]}


def _telling(connection: sqlite3.Connection, gate: Gate, keys: Iterable[int], request: RelatedRequest) -> dict[int, Entity]:
    rows = entity_rows(connection, gate.tenant, keys)
    rows = {k: e for k, e in rows.items() if len(e.value) >= request.min_name and e.df <= request.max_df}
    return {k: rows[k] for k in seen_entities(connection, gate, rows)} if gate.filtered else rows


def _naming(connection: sqlite3.Connection, gate: Gate, keys: Iterable[int], most: int) -> _Naming:
    """Return the chunks that name each entity, and the first ``most`` of each source about it."""
    query = f"""SELECT x.entity, x.chunk, count(*) FROM mentions x {PLACED}
        WHERE x.entity IN ({{}}) AND {gate.sql} GROUP BY x.entity, x.chunk"""
    about = f"""SELECT a.entity, p.chunk FROM about a {TITLED} AND p.seq < {int(most)}
        WHERE a.entity IN ({{}}) AND {gate.sql}"""
    naming: _Naming = defaultdict(dict)
    for entity, chunk, count in select(connection, query, seldom(connection, "mentions", keys), gate):
        naming[entity][chunk] = count
    for entity, chunk in select(connection, about, seldom(connection, "about", keys), gate):
        naming[entity].setdefault(chunk, 1)
    return naming


def _places(connection: sqlite3.Connection, seeds: Mapping[int, int], request: RelatedRequest) -> dict[int, int]:
    """Return the place of each chunk that is to be preferred: those asked for, then those given."""
    key = keys_of(connection, "chunk", (raw(c) for c in request.prefer))
    given = {key[raw(c)]: len(seeds) + at for at, c in enumerate(request.prefer) if raw(c) in key}
    return {**given, **seeds}


# ---------------------------------------------------------------- steps


def _ids_of_many(connection: sqlite3.Connection, naming: _Naming, most: int) -> dict[int, bytes]:
    """Return the ids of the chunks of entities that more than ``most`` name: keys follow the order of ingestion."""
    crowded = {chunk for chunks in naming.values() if len(chunks) > most for chunk in chunks}
    return dict(select(connection, "SELECT k, id FROM chunk WHERE k IN ({})", crowded))


def _shared(
    connection: sqlite3.Connection,
    named: set[Pair],
    followed: Mapping[int, Entity],
    naming: _Naming,
    place: Mapping[int, int],
    request: RelatedRequest,
) -> list[_Edge]:
    """Return a step for each two chunks that share entities followed: ``relates`` for two or more, else ``entity``."""
    sharing = Counter(chunk for e in followed for chunk in naming.get(e, ()))
    ids = _ids_of_many(connection, naming, request.per_entity)
    leads: dict[int, list[int]] = {}
    for e in followed:
        found = naming.get(e, {})
        order = sorted(found, key=lambda c: (place.get(c, inf), -sharing[c], -found[c], ids.get(c, b"")))
        leads[e] = order[: request.per_entity]
    common: dict[Pair, list[int]] = defaultdict(list)
    for k, e in sorted(named):
        for to in leads.get(e, ()):
            if to != k:
                common[k, to].append(e)
    edges = []
    for (k, to), entities in common.items():
        kind: StepKind = "relates" if len(entities) > 1 and k != _ASKED and request.all_kinds else "entity"
        names = tuple(sorted(followed[e].value for e in entities))
        edges.append((k, to, Step("", "", kind, float(len(entities)), names=names)))
    return edges


def _together(
    connection: sqlite3.Connection,
    gate: Gate,
    named: set[Pair],
    followed: Mapping[int, Entity],
    naming: _Naming,
    place: Mapping[int, int],
    request: RelatedRequest,
) -> list[_Edge]:
    """Return steps over two entities that stand together in several chunks: from one that names the first of them."""
    of_chunk: dict[int, list[int]] = defaultdict(list)
    for e in followed:
        chunks = naming.get(e, {})
        if request.least_together <= len(chunks) <= COMMON:
            for chunk in chunks:
                of_chunk[chunk].append(e)
    beside = select(connection, "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})", of_chunk)
    count = Counter((e, other) for chunk, other in beside if other not in followed for e in of_chunk[chunk])
    kept = {pair: n for pair, n in count.items() if n >= request.least_together}
    rows = _telling(connection, gate, {other for _, other in kept}, request)
    most: dict[int, int] = {}
    for (_, other), n in kept.items():
        most[other] = max(n, most.get(other, 0))
    further = sorted(rows, key=lambda o: (-most[o], rows[o].df, rows[o].id))[:TOGETHER]
    reached = _naming(connection, gate, further, request.per_entity)
    ids = _ids_of_many(connection, reached, request.per_entity)
    holders: dict[str, list[int]] = defaultdict(list)
    for k, e in sorted(named):
        if k != _ASKED and e in followed:
            holders[followed[e].id].append(k)
    best: dict[Pair, Step] = {}
    pairs = ((n, followed[e], other) for (e, other), n in kept.items() if other in reached)
    for n, one, other in sorted(pairs, key=lambda pair: (-pair[0], pair[1].id, rows[pair[2]].id)):
        found = reached[other]
        order = sorted(found, key=lambda c: (place.get(c, inf), -found[c], ids.get(c, b"")))
        targets = order[: request.per_entity]
        for k in holders[one.id]:
            for to in targets:
                if to != k:
                    names = (one.value, rows[other].value)
                    best.setdefault((k, to), Step("", "", "cooccur", float(n), names=names))
    return [(k, to, step) for (k, to), step in best.items()]


def _observed(connection: sqlite3.Connection, gate: Gate, seeds: Iterable[int], request: RelatedRequest) -> list[_Edge]:
    """Return a step for each observed relation of a chunk with another, whichever way it points."""
    edges = []
    for near, far in (("src", "dst"), ("dst", "src")):
        query = _RELATIONS.format(near=near, far=far, placed=PLACED, gate=gate.sql)
        for k, to, type_, confidence, evidence in select(connection, query, seeds, gate):
            if confidence >= request.min_confidence:
                step = Step("", "", "llm_rel", round(confidence, 4), type_, evidence)
                edges.append((k, to, step))
    return edges
