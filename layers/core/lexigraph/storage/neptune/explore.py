"""Looking around in the graph in Neptune: topics of a document, and where an entity stands, as what and with whom."""

from collections import defaultdict
from typing import Any

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.derive import computed
from lexigraph.storage.neptune.excerpt import ask
from lexigraph.storage.neptune.read import MENTIONED
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
from lexigraph.storage.sqlite.graph.explore import most_first, most_named, profile_of

_TOPICS = """
MATCH (t:Topic)<-[:BELONGS_TO]-(st:Statement)-[i:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: $id})
WHERE SEEN
WITH t, min(p.`start` + i.`start`) AS first, max(p.`start` + i.`end`) AS last, count(DISTINCT st) AS said
RETURN 'topic' AS kind, [id(t), t.value, first, last, said] AS row ORDER BY first, last, id(t)
"""
_NAMING = f"""
MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(:Statement){MENTIONED}
AND ($only = '' OR id(s) = $only) AND (id(s) > $source OR (id(s) = $source AND p.seq > $seq))
WITH DISTINCT c, s, p
RETURN 'chunk' AS kind, [id(c), id(s), p.seq] AS row ORDER BY id(s), p.seq LIMIT $most
"""
# The mentions of an entity that are read
_READ = (
    f"MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(st:Statement) WITH m, st LIMIT {MOST_MENTIONS} MATCH (st){MENTIONED}"
)
_WHOLE = f"""
MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(:Statement) WITH m LIMIT {MOST_MENTIONS + 1}
WITH count(m) <= {MOST_MENTIONS} AS whole
RETURN 'whole' AS kind, [whole] AS row
"""
_BESIDE = f"""
{_READ}
MATCH (st)-[n:MENTIONS]->(x:Entity) WHERE n.chunk = m.chunk AND id(x) <> $id
"""
_PROFILE = f"""
{_READ}
WITH m.form AS form, m.class AS class, count(m) AS times
RETURN 'seen' AS kind, [form, class, times] AS row
UNION ALL
{_READ}
WITH count(DISTINCT st) AS said
RETURN 'statements' AS kind, [said] AS row
UNION ALL
{_BESIDE}
WITH count(DISTINCT x) AS others
RETURN 'neighbours' AS kind, [others] AS row
UNION ALL
{_WHOLE}"""
_COMPANIONS = f"""
CALL {{
    {_BESIDE}
    WITH x, count(DISTINCT st) AS said ORDER BY said DESC, id(x) SKIP $offset LIMIT $most
    RETURN collect([id(x), said]) AS found, collect(id(x)) AS others
}}
CALL {{
    {_BESIDE}
    RETURN count(DISTINCT x) AS total
}}
CALL {{
    WITH total RETURN 'total' AS kind, [total] AS row
    UNION ALL {_WHOLE}
    UNION ALL WITH found UNWIND found AS row RETURN 'beside' AS kind, row
    UNION ALL WITH others
    MATCH (e:Entity {{`~id`: $id}})-[:SUBJECT]->(f:Fact)<-[m:OBJECT]-(x:Entity) WHERE id(x) IN others
    MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
    WITH x, f.predicate AS predicate, count(DISTINCT st) AS said
    RETURN 'out' AS kind, [id(x), predicate, said] AS row
    UNION ALL WITH others
    MATCH (e:Entity {{`~id`: $id}})-[m:OBJECT]->(f:Fact)<-[:SUBJECT]-(x:Entity) WHERE id(x) IN others
    MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
    WITH x, f.predicate AS predicate, count(DISTINCT st) AS said
    RETURN 'in' AS kind, [id(x), predicate, said] AS row
}}
RETURN kind, row
"""
_LEADING = """
MATCH (e:Entity) WHERE e.tenant = $tenant AND e.df >= $least
RETURN 'entity' AS kind, [id(e), e.value, e.class, e.df, e.degree] AS row ORDER BY e.df DESC, id(e) LIMIT $most
"""
_LEAST = (1_000, 100, 10, 1)  # sources: few entities are named by many, and these are found by the index of values
_LEADING_OF_VIEW = f"""
MATCH (s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE SEEN
MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
WITH e, s LIMIT {MOST_NAMED}
WITH e, count(DISTINCT s) AS named ORDER BY named DESC, id(e) LIMIT $most
RETURN 'entity' AS kind, [id(e)] AS row
"""


class NeptuneExplore:
    """What somebody looks at who looks around."""

    _client: NeptuneClient

    def topics(self, tenant: Tenant, source_id: str) -> list[TopicSpan]:
        return [TopicSpan(*row) for _, row in ask(self._client, _TOPICS, tenant, id=source_id)]

    def naming(
        self, tenant: Tenant, entity_id: str, *, source_id: str = "", after: tuple[str, int] | None = None, limit: int = 50
    ) -> list[ChunkAt]:
        source, seq = after or ("", -1)
        rows = ask(self._client, _NAMING, tenant, id=entity_id, only=source_id, source=source, seq=seq, most=limit)
        return [ChunkAt(*row) for _, row in rows]

    def profile(self, tenant: Tenant, entity_id: str) -> EntityProfile:
        rows = ask(self._client, _PROFILE, tenant, id=entity_id)
        counts = {kind: row[0] for kind, row in rows if kind != "seen"}
        seen = [
            (str(form), str(class_), int(times)) for kind, row in rows if kind == "seen" for form, class_, times in [row]
        ]
        return profile_of(seen, counts["statements"], counts["neighbours"], counts["whole"])

    def companions(self, tenant: Tenant, entity_id: str, *, offset: int = 0, limit: int = 50) -> Companions:
        rows = ask(self._client, _COMPANIONS, tenant, id=entity_id, offset=offset, most=limit)
        relations: dict[str, list[Relation]] = defaultdict(list)
        for kind, row in rows:
            if kind in ("out", "in"):
                relations[row[0]].append(Relation(row[1], kind == "out", row[2]))
        found = [Companion(row[0], row[1], most_first(relations[row[0]])) for kind, row in rows if kind == "beside"]
        total, whole = (next(row[0] for kind, row in rows if kind == wanted) for wanted in ("total", "whole"))
        return Companions(found, total, whole)

    def leading(self, tenant: Tenant, limit: int) -> list[Entity]:
        if isinstance(tenant, View):
            ids = [row[0] for _, row in ask(self._client, _LEADING_OF_VIEW, tenant, most=limit)]
            return most_named(computed(self._client, tenant, ids))
        rows: list[tuple[str, list[Any]]] = []
        for least in _LEAST:
            rows = ask(self._client, _LEADING, tenant, least=least, most=limit)
            if len(rows) >= limit:
                break
        return [Entity(*row) for _, row in rows]
