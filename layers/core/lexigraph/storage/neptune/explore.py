"""Looking around in the graph in Neptune: topics of a document, and where an entity stands, as what and with whom."""

from collections import defaultdict

from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import ask
from lexigraph.storage.neptune.read import MENTIONED
from lexigraph.storage.protocols import ChunkAt, Companion, EntityProfile, Relation, TopicSpan
from lexigraph.storage.sqlite.graph.explore import most_first, profile_of

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
_BESIDE = f"""
MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(st:Statement){MENTIONED}
MATCH (st)-[n:MENTIONS]->(x:Entity) WHERE n.chunk = m.chunk AND id(x) <> $id
"""
_PROFILE = f"""
MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(st:Statement){MENTIONED}
WITH m.form AS form, m.class AS class, count(m) AS times
RETURN 'seen' AS kind, [form, class, times] AS row
UNION ALL
MATCH (e:Entity {{`~id`: $id}})<-[m:MENTIONS]-(st:Statement){MENTIONED}
WITH count(DISTINCT st) AS said
RETURN 'statements' AS kind, [said] AS row
UNION ALL
{_BESIDE}
WITH count(DISTINCT x) AS others
RETURN 'neighbours' AS kind, [others] AS row
"""
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
        return profile_of(seen, counts["statements"], counts["neighbours"])

    def companions(self, tenant: Tenant, entity_id: str, *, offset: int = 0, limit: int = 50) -> tuple[list[Companion], int]:
        rows = ask(self._client, _COMPANIONS, tenant, id=entity_id, offset=offset, most=limit)
        relations: dict[str, list[Relation]] = defaultdict(list)
        for kind, row in rows:
            if kind in ("out", "in"):
                relations[row[0]].append(Relation(row[1], kind == "out", row[2]))
        found = [Companion(row[0], row[1], most_first(relations[row[0]])) for kind, row in rows if kind == "beside"]
        return found, next(row[0] for kind, row in rows if kind == "total")
