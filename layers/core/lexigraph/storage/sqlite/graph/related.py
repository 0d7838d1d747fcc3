"""Steps from chunks to others in the embedded graph: entities in common, entities that stand together, observed relations.

What chunks share and what stands together is computed here, from the mentions that a reader sees: nothing is stored, so
nothing can go stale.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from lexigraph.model.graph import Entity
from lexigraph.model.relations import Step, StepKind
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import RelatedRequest
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, Pair, SqlitePart, keys_of, public, raw, select
from lexigraph.storage.sqlite.graph.read import TITLED, entity_rows, meant_here, same_meaning, seen_entities, seldom
from lexigraph.storage.sqlite.graph.relations import COMMON

_ASKED = 0  # stands for the question among the keys of chunks, of which none is 0
TOGETHER = 20  # further entities followed because they stand together with one
_Naming = dict[int, dict[int, int]]  # by entity, the chunks it leads to and how often they name it


class _Edge(NamedTuple):
    """A step by the keys of its ends."""

    start: int
    to: int
    kind: StepKind
    weight: float
    type: str = ""
    evidence: str = ""
    names: tuple[str, ...] = ()


_SEEDS = (
    "SELECT c.k, c.id FROM chunk c JOIN placed p ON p.chunk = c.k JOIN source s ON s.k = p.source WHERE c.id IN ({}) AND "
)
_MENTIONS = "SELECT DISTINCT chunk, entity FROM mentions WHERE chunk IN ({})"
# One row a chunk: a row a mention would take twice as long to be read.
_ALL_MENTIONS = "SELECT chunk, group_concat(entity) FROM mentions WHERE chunk IN ({}) GROUP BY chunk"
_IDS = "SELECT k, id FROM chunk WHERE k IN ({})"
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
        with self._gate(tenant, request.filters) as gate:
            return _Walk(gate, request).steps()


class _Walk:
    """The way of one request: over what its chunks and its question have ``named``, as far as that is ``followed``."""

    def __init__(self, gate: Gate, request: RelatedRequest) -> None:
        self._gate, self._request = gate, request
        ids = [raw(i) for i in request.chunks]
        key = {i: k for k, i in gate.select(_SEEDS + gate.sql, ids)}
        self._seeds = {key[i]: at for at, i in enumerate(ids) if i in key}
        self._named = self._named_by()
        self._followed = self._to_follow()
        self._naming = self._chunks_of(self._followed)
        # the chunks that are to be preferred, by their places: those asked for, then those given
        key = keys_of(gate.connection, "chunk", (raw(c) for c in request.prefer))
        given = {key[raw(c)]: len(self._seeds) + at for at, c in enumerate(request.prefer) if raw(c) in key}
        self._place = {**given, **self._seeds}

    def steps(self) -> list[Step]:
        """Return the steps, with public ids, in order."""
        edges = self._shared()
        if self._request.all_kinds:
            edges += [*self._together(), *self._observed()]
        if not edges and not self._seeds and self._request.first:
            query = _FIRST.format(gate=self._gate.sql)
            given = (self._gate.tenant, *self._gate.parameters, self._request.first)
            edges = [_Edge(_ASKED, k, "first", 0.0) for (k,) in self._gate.connection.execute(query, given)]
        ids = {k: public("chunk", i) for k, i in self._select(_IDS, {k for edge in edges for k in edge[:2]})}
        steps = [Step(ids.get(edge.start, ""), ids[edge.to], *edge[2:]) for edge in edges if edge.to in ids]
        return sorted(steps, key=lambda s: (s.from_chunk, s.to_chunk, s.kind, s.type))

    def _select(self, query: str, keys: Iterable[int]) -> list[tuple[Any, ...]]:
        return select(self._gate.connection, query, keys)

    # ------------------------------------------------------------ entities to follow

    def _named_by(self) -> set[Pair]:
        """Return (chunk, entity): mentions, titles, names found in a text or the question, and what means the same."""
        named: set[Pair] = {*self._select(_MENTIONS, self._seeds), *self._select(_TITLES, self._seeds)}
        names = self._request.names
        chunk = keys_of(self._gate.connection, "chunk", (raw(c) for c in names if c))
        entity = keys_of(self._gate.connection, "entity", {raw(e) for found in names.values() for e in found})
        for text, found in names.items():
            k = chunk.get(raw(text)) if text else _ASKED
            if k is not None and (k in self._seeds or k == _ASKED):
                in_text = {(k, entity[raw(e)]) for e in found if raw(e) in entity}
                named |= meant_here(self._gate, in_text, named)
        same = same_meaning(self._gate, {e for _, e in named})
        asked = same_meaning(self._gate, {e for k, e in named if k == _ASKED}, senses=True)
        return named | {(k, other) for k, e in named for other in (asked if k == _ASKED else same).get(e, ())}

    def _to_follow(self) -> dict[int, Entity]:
        """Return the entities to follow: the question's first, then those that most of the chunks name, then the rarest."""
        rows = self._telling({e for _, e in self._named})
        by = Counter(e for _, e in self._named)
        asked = {e for k, e in self._named if k == _ASKED}
        # what a single source names leads to no other
        order = sorted(rows, key=lambda e: (e not in asked, rows[e].df < 2, -by[e], rows[e].df, rows[e].id))
        return {e: rows[e] for e in order[: self._request.max_entities]}

    def _telling(self, keys: Iterable[int]) -> dict[int, Entity]:
        asked = self._request
        rows = entity_rows(self._gate, keys)
        rows = {k: e for k, e in rows.items() if len(e.value) >= asked.min_name and e.df <= asked.max_df}
        return {k: rows[k] for k in seen_entities(self._gate, rows)} if self._gate.filtered else rows

    def _chunks_of(self, entities: Iterable[int]) -> _Naming:
        """Return the chunks that name each entity, and the first ``per_entity`` of each source about it."""
        gate = self._gate
        query = f"""SELECT x.entity, x.chunk, count(*) FROM mentions x {PLACED}
            WHERE x.entity IN ({{}}) AND {gate.sql} GROUP BY x.entity, x.chunk"""
        about = f"""SELECT a.entity, p.chunk FROM about a {TITLED} AND p.seq < {int(self._request.per_entity)}
            WHERE a.entity IN ({{}}) AND {gate.sql}"""
        naming: _Naming = defaultdict(dict)
        for entity, chunk, count in gate.select(query, seldom(gate.connection, "mentions", entities)):
            naming[entity][chunk] = count
        for entity, chunk in gate.select(about, seldom(gate.connection, "about", entities)):
            naming[entity].setdefault(chunk, 1)
        return naming

    def _targets(self, naming: _Naming, sharing: Mapping[int, int]) -> dict[int, list[int]]:
        """Return the ``per_entity`` chunks that each entity leads to: those that most are ``sharing``, ties by id.

        Where there are no more, they come in any order.
        """
        most = self._request.per_entity
        # ids and not keys, as these follow the order of ingestion
        crowded = {chunk for chunks in naming.values() if len(chunks) > most for chunk in chunks}
        ids = dict(self._select(_IDS, crowded))

        def order(found: Mapping[int, int]) -> list[int]:
            return sorted(found, key=lambda c: (self._place.get(c, inf), -sharing.get(c, 0), -found[c], ids.get(c, b"")))

        return {e: order(found)[:most] if len(found) > most else list(found) for e, found in naming.items()}

    # ------------------------------------------------------------ steps

    def _shared(self) -> list[_Edge]:
        """Return a step for each two chunks that share entities followed: ``relates`` for two or more, else ``entity``."""
        followed = self._followed
        leads = self._targets(self._naming, Counter(chain.from_iterable(self._naming.values())))
        common: dict[Pair, list[int]] = defaultdict(list)
        for k, e in sorted(self._named):
            for to in leads.get(e, ()):
                if to != k:
                    common[k, to].append(e)
        edges = []
        for (k, to), entities in common.items():
            related = len(entities) > 1 and k != _ASKED and self._request.all_kinds
            names = tuple(sorted(followed[e].value for e in entities))
            edges.append(_Edge(k, to, "relates" if related else "entity", float(len(entities)), names=names))
        return edges

    def _together(self) -> list[_Edge]:
        """Return steps over two entities that stand together in several chunks: from one that names the first of them."""
        followed, least = self._followed, self._request.least_together
        joining = {e: chunks for e, chunks in self._naming.items() if least <= len(chunks) <= COMMON}
        mentions = self._select(_ALL_MENTIONS, set(chain.from_iterable(joining.values())))
        named = {chunk: set(listed.split(",")) for chunk, listed in mentions}
        kept: dict[Pair, int] = {}
        for e, chunks in joining.items():
            beside = Counter(chain.from_iterable(named.get(chunk, ()) for chunk in chunks))
            often = ((int(other), n) for other, n in beside.items() if n >= least)
            kept.update(((e, other), n) for other, n in often if other not in followed)
        rows = self._telling({other for _, other in kept})
        most: dict[int, int] = {}
        for (_, other), n in kept.items():
            most[other] = max(n, most.get(other, 0))
        further = sorted(rows, key=lambda o: (-most[o], rows[o].df, rows[o].id))[:TOGETHER]
        targets = self._targets(self._chunks_of(further), {})
        holders: dict[int, list[int]] = defaultdict(list)
        for k, e in sorted(self._named):
            if k != _ASKED:
                holders[e].append(k)
        best: dict[Pair, _Edge] = {}
        pairs = [(n, e, other) for (e, other), n in kept.items() if other in targets]
        for n, e, other in sorted(pairs, key=lambda pair: (-pair[0], followed[pair[1]].id, rows[pair[2]].id)):
            names = followed[e].value, rows[other].value
            for k in holders[e]:
                for to in targets[other]:
                    if to != k and (k, to) not in best:
                        best[k, to] = _Edge(k, to, "cooccur", float(n), names=names)
        return list(best.values())

    def _observed(self) -> list[_Edge]:
        """Return a step for each observed relation of a chunk with another, whichever way it points."""
        edges = []
        for near, far in (("src", "dst"), ("dst", "src")):
            query = _RELATIONS.format(near=near, far=far, placed=PLACED, gate=self._gate.sql)
            for k, to, type_, confidence, evidence in self._gate.select(query, self._seeds):
                if confidence >= self._request.min_confidence:
                    edges.append(_Edge(k, to, "llm_rel", round(confidence, 4), type_, evidence))
        return edges
