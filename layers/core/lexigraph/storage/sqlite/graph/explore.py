"""Looking around in the embedded graph: topics of a document, and where an entity stands, as what and with whom."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import (
    MOST_MENTIONS,
    MOST_NAMED,
    ChunkAt,
    Companion,
    Companions,
    EntityProfile,
    Relation,
    TopicSpan,
)
from lexigraph.storage.sqlite.graph.gate import PLACED, Gate, SqlitePart, keys_of, public, raw
from lexigraph.storage.sqlite.graph.read import entity_rows

_TOPICS = """
SELECT t.id, t.value, min(p."start" + x."start"), max(p."start" + x."end"), count(DISTINCT x.statement)
FROM source s CROSS JOIN placed p ON p.source = s.k CROSS JOIN said_in x ON x.chunk = p.chunk
CROSS JOIN statement st ON st.k = x.statement CROSS JOIN topic t ON t.k = st.topic
WHERE s.id = ? AND {gate} GROUP BY t.k ORDER BY 3, 4, 1
"""
# The chunks that name an entity: an index tells them without reading what they say
_NAMING = f"""
SELECT c.id, s.id, p.seq FROM (SELECT DISTINCT chunk FROM mentions WHERE entity = ?) x {PLACED}
CROSS JOIN chunk c ON c.k = x.chunk WHERE (s.id, p.seq) > (?, ?) AND {{only}} AND {{gate}} ORDER BY s.id, p.seq LIMIT ?
"""
# The mentions of an entity that are read: in the order of the index, so that no more are looked at
_MENTIONED = f"(SELECT * FROM mentions WHERE entity = ? ORDER BY chunk, statement LIMIT {MOST_MENTIONS}) x"
_WHOLE = f"SELECT count(*) <= {MOST_MENTIONS} FROM (SELECT 1 FROM mentions WHERE entity = ? LIMIT {MOST_MENTIONS} + 1)"
_FORMS = f"SELECT x.form, x.class, count(*) FROM {_MENTIONED} {PLACED} WHERE {{gate}} GROUP BY 1, 2"
_STATEMENTS = f"SELECT count(DISTINCT x.statement) FROM {_MENTIONED} {PLACED} WHERE {{gate}}"
_BESIDE = f"""
FROM {_MENTIONED} {PLACED} CROSS JOIN mentions y ON y.chunk = x.chunk AND y.statement = x.statement AND y.entity <> x.entity
WHERE {{gate}}
"""
_NEIGHBOURS = f"SELECT count(DISTINCT y.entity) {_BESIDE}"
_COMPANIONS = f"""
SELECT e.k, e.id, f.n FROM (SELECT y.entity AS k, count(DISTINCT y.statement) AS n {_BESIDE} GROUP BY 1) f
CROSS JOIN entity e ON e.k = f.k ORDER BY 3 DESC, 2
"""
# What facts say of an entity and others, and in how many statements
_RELATIONS = f"""
SELECT f.subject_entity, f.predicate, u.object_entity, count(DISTINCT x.statement) FROM {_MENTIONED} {PLACED}
CROSS JOIN supports u ON u.chunk = x.chunk AND u.statement = x.statement CROSS JOIN fact f ON f.k = u.fact
WHERE ((f.subject_entity = x.entity AND u.object_entity IN ({{others}}))
    OR (u.object_entity = x.entity AND f.subject_entity IN ({{others}}))) AND {{gate}} GROUP BY 1, 2, 3
"""
_LEADING = "SELECT k FROM entity WHERE tenant = ? AND df > 0 ORDER BY df DESC, id LIMIT ?"
_LEADING_OF_VIEW = f"""
SELECT n.entity FROM (
    SELECT x.entity, s.k FROM source s CROSS JOIN placed p ON p.source = s.k CROSS JOIN mentions x ON x.chunk = p.chunk
    WHERE {{gate}} LIMIT {MOST_NAMED}
) n CROSS JOIN main.entity e ON e.k = n.entity GROUP BY 1 ORDER BY count(DISTINCT n.k) DESC, e.id LIMIT ?
"""


class SqliteExplore(SqlitePart):
    """What somebody looks at who looks around."""

    def topics(self, tenant: Tenant, source_id: str) -> list[TopicSpan]:
        with self._gate(tenant, None) as gate:
            rows = gate.connection.execute(_TOPICS.format(gate=gate.sql), (raw(source_id), *gate.parameters))
            return [TopicSpan(public("topic", id_), *rest) for id_, *rest in rows]

    def naming(
        self, tenant: Tenant, entity_id: str, *, source_id: str = "", after: tuple[str, int] | None = None, limit: int = 50
    ) -> list[ChunkAt]:
        source, seq = after or ("", -1)
        with self._gate(tenant, None) as gate:
            query = _NAMING.format(only="s.id = ?" if source_id else "1", gate=gate.sql)
            given = (_key(gate, entity_id), raw(source), seq, *((raw(source_id),) if source_id else ()))
            rows = gate.connection.execute(query, (*given, *gate.parameters, limit))
            return [ChunkAt(public("chunk", chunk), public("source", id_), at) for chunk, id_, at in rows]

    def profile(self, tenant: Tenant, entity_id: str) -> EntityProfile:
        with self._gate(tenant, None) as gate:
            given = (_key(gate, entity_id), *gate.parameters)
            seen = gate.connection.execute(_FORMS.format(gate=gate.sql), given).fetchall()
            statements, neighbours = (
                gate.connection.execute(query.format(gate=gate.sql), given).fetchone()[0]
                for query in (_STATEMENTS, _NEIGHBOURS)
            )
            return profile_of(seen, statements, neighbours, _whole(gate, given[0]))

    def companions(self, tenant: Tenant, entity_id: str, *, offset: int = 0, limit: int = 50) -> Companions:
        with self._gate(tenant, None) as gate:
            key = _key(gate, entity_id)
            given = (key, *gate.parameters)
            every = gate.connection.execute(_COMPANIONS.format(gate=gate.sql), given).fetchall()
            rows = every[offset : offset + limit]
            relations: dict[int, list[Relation]] = defaultdict(list)
            asked = _RELATIONS.format(others=",".join(str(k) for k, _, _ in rows), gate=gate.sql)
            for subject, predicate, object_, count in gate.connection.execute(asked, given):
                outgoing = subject == key
                relations[object_ if outgoing else subject].append(Relation(predicate, outgoing, count))
            found = [Companion(public("entity", id_), count, most_first(relations[k])) for k, id_, count in rows]
            return Companions(found, len(every), _whole(gate, key))

    def leading(self, tenant: Tenant, limit: int) -> list[Entity]:
        with self._gate(tenant, None) as gate:
            query, given = (_LEADING_OF_VIEW, gate.parameters) if isinstance(tenant, View) else (_LEADING, (gate.tenant,))
            keys = [k for (k,) in gate.connection.execute(query.format(gate=gate.sql), (*given, limit))]
            return most_named(entity_rows(gate, keys).values())


def most_named(entities: Iterable[Entity]) -> list[Entity]:
    """Return entities in order: those that most sources name first."""
    return sorted(entities, key=lambda e: (-e.df, e.id))


def profile_of(seen: Iterable[tuple[str, str, int]], statements: int, neighbours: int, complete: bool) -> EntityProfile:
    """Return a profile made of how often an entity is seen in each form and class."""
    forms, classes = Counter[str](), Counter[str]()
    for form, class_, count in seen:
        forms[form] += count
        classes[class_] += count
    return EntityProfile(_counted(forms), _counted(classes), statements, neighbours, complete)


def most_first(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return relations in order: those that most statements give first."""
    return tuple(sorted(relations, key=lambda r: (-r.statements, r.predicate, not r.outgoing)))


def _counted(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(((name, n) for name, n in counts.items() if name), key=lambda pair: (-pair[1], pair[0])))


def _key(gate: Gate, entity_id: str) -> int:
    return keys_of(gate.connection, "entity", [raw(entity_id)]).get(raw(entity_id), 0)


def _whole(gate: Gate, entity: int) -> bool:
    return bool(gate.connection.execute(_WHOLE, (entity,)).fetchone()[0])
