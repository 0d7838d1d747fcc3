"""Nodes in Neptune: which of them readers see, and how far they are from others."""

from collections.abc import Sequence
from dataclasses import replace

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks
from lexigraph.storage.neptune.gremlin.walks import WalkingPart, distances
from lexigraph.storage.neptune.read import ENTITIES, MENTIONED, NAMED, SOURCE_ROW, together
from lexigraph.storage.protocols import GraphNode
from lexigraph.storage.sqlite.graph.walks import PASSED, RUNS_OVER

LISTED = (
    "MATCH (e:Entity) WHERE id(e) IN $ids AND e.tenant = $tenant RETURN collect(e) AS entities",
    "MATCH (st:Statement) WHERE id(st) IN $ids AND st.tenant = $tenant RETURN collect(st) AS statements",
    "MATCH (t:Topic) WHERE id(t) IN $ids AND t.tenant = $tenant RETURN collect(t) AS topics",
)
# Which of the entities and topics are named, and stand in chunks, no more than so often
CALM = """
    WITH entities
    UNWIND entities AS e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {beyond} RETURN count(m) AS times }}
    RETURN collect(CASE WHEN times < {beyond} THEN e END) AS calm,
        collect(CASE WHEN times = {beyond} THEN id(e) END) AS crowded
"""
SHORT = """
    WITH topics
    UNWIND topics AS t
    CALL {{ WITH t MATCH (t)-[i:MENTIONED_IN]->(:Chunk) WITH i LIMIT {beyond} RETURN count(i) AS times }}
    RETURN collect(CASE WHEN times < {beyond} THEN t END) AS short,
        collect(CASE WHEN times = {beyond} THEN id(t) END) AS long
"""
CROWDED = "UNWIND crowded AS id RETURN 'named' AS kind, [id, {beyond}] AS row"
LONG = "UNWIND long AS id RETURN 'runs_over' AS kind, [id, {beyond}] AS row"


def described(entities: str, statements: str, topics: str) -> list[str]:
    """Return parts that bring what is known of nodes, given the names of their lists, with a place where they stand."""
    return [
        *(part.replace("UNWIND wanted AS e", f"UNWIND {entities} AS e WITH DISTINCT e", 1) for part in (ENTITIES, NAMED)),
        f"""
    UNWIND {statements} AS st
    WITH DISTINCT st
    MATCH (st)-[i:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    MATCH (st)-[:BELONGS_TO]->(t:Topic)
    UNWIND [['statement', [id(st), id(t), st.value, st.details]], ['told', [id(c), id(st), i.position, id(t)]],
        ['stands', [id(c), id(s), p.seq]], {SOURCE_ROW}] AS found
    RETURN found[0] AS kind, found[1] AS row
    """,
        f"""
    UNWIND {topics} AS t
    WITH DISTINCT t
    MATCH (t:Topic)
    CALL {{
        WITH t
        MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
        RETURN c, p, s ORDER BY id(s), p.seq LIMIT 1
    }}
    UNWIND [['topic', [id(t), t.value]], ['topic_in', [id(c), id(t)]], ['stands', [id(c), id(s), p.seq]], {SOURCE_ROW}]
        AS found
    RETURN found[0] AS kind, found[1] AS row
    """,
    ]


# A fact `f` that a statement `st` supports, by which the entity `a` is joined to `b`
FACT = f"""
    MATCH (a:Entity)-[:SUBJECT]->(f:Fact)<-[m:OBJECT]-(b:Entity)
    MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
"""
FACT_ROW = "'fact' AS kind, [id(c), id(st), id(f), f.subject, f.predicate, f.object, id(a), id(b)] AS row"

# ---------------------------------------------------------------- distances

# The statements a hop from the entities and topics, the entities a hop from the statements and by a fact, and of these
# those that lead further
_STATEMENTS_AROUND = f"""
    WITH calm, short
    CALL {{
        WITH calm UNWIND calm AS e MATCH (e)<-[m:MENTIONS]-(st:Statement){MENTIONED} RETURN st
        UNION WITH short UNWIND short AS t
        MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
        MATCH (c)<-[:MENTIONED_IN]-(st:Statement)-[:BELONGS_TO]->(t) RETURN st
    }}
    RETURN collect(DISTINCT st) AS near_statements
"""
_ENTITIES_AROUND = f"""
    WITH calm, statements
    CALL {{
        WITH statements UNWIND statements AS st MATCH (st)-[:MENTIONS]->(e:Entity) RETURN e
        UNION WITH calm UNWIND calm AS a MATCH (a)-[:SUBJECT]->(:Fact)<-[:OBJECT]-(e:Entity) RETURN e
        UNION WITH calm UNWIND calm AS a MATCH (a)-[:OBJECT]->(:Fact)<-[:SUBJECT]-(e:Entity) RETURN e
    }}
    WITH DISTINCT e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {PASSED + 1} RETURN count(m) AS times }}
    RETURN collect(e) AS around, collect(CASE WHEN times <= {PASSED} THEN e END) AS around_calm,
        collect(CASE WHEN times > {PASSED} THEN id(e) END) AS around_crowded
"""
_TOPICS_AROUND = f"""
    WITH statements
    UNWIND statements AS st
    MATCH (st)-[:BELONGS_TO]->(t:Topic)
    WITH DISTINCT t
    CALL {{ WITH t MATCH (t)-[i:MENTIONED_IN]->(:Chunk) WITH i LIMIT {RUNS_OVER + 1} RETURN count(i) AS times }}
    RETURN collect(CASE WHEN times > {RUNS_OVER} THEN id(t) END) AS around_long
"""
_HOPS = (
    # statements: where they are told, and what they name, as far as it is asked for or a hop from that
    """
    UNWIND near_statements AS st
    MATCH (st)-[i:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    MATCH (st)-[:BELONGS_TO]->(t:Topic)
    RETURN 'told' AS kind, [id(c), id(st), i.position, id(t)] AS row
    """,
    f"""
    UNWIND near_statements + statements AS st
    WITH DISTINCT st, entities + around AS met
    MATCH (e:Entity)<-[m:MENTIONS]-(st){MENTIONED} AND e IN met
    RETURN 'mention' AS kind, [id(c), id(st), id(e)] AS row
    """,
    """
    UNWIND short AS t
    MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    RETURN 'topic_in' AS kind, [id(c), id(t)] AS row
    """,
    f"UNWIND calm + around_calm AS a WITH DISTINCT a {FACT} RETURN {FACT_ROW}",
    f"UNWIND calm + around_calm AS b WITH DISTINCT b {FACT} RETURN {FACT_ROW}",
    CROWDED.format(beyond=PASSED + 1),
    CROWDED.format(beyond=PASSED + 1).replace("crowded", "around_crowded"),
    LONG.format(beyond=RUNS_OVER + 1),
    LONG.format(beyond=RUNS_OVER + 1).replace("long", "around_long"),
)
_DESCRIBED = described("entities", "statements", "topics")
NODES = together(LISTED, "entities, statements, topics", _DESCRIBED)
DISTANCES = together(
    [
        *LISTED,
        CALM.format(beyond=PASSED + 1),
        SHORT.format(beyond=RUNS_OVER + 1),
        *(_STATEMENTS_AROUND, _ENTITIES_AROUND, _TOPICS_AROUND),
    ],
    "entities, statements, topics, calm, crowded, short, long, near_statements, around, around_calm, around_crowded, "
    "around_long",
    [*_DESCRIBED, *_HOPS],
)


class NeptuneWalks(WalkingPart):
    """Nodes, and how far they are from others."""

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        if not node_ids:
            return {}

        def by_opencypher() -> dict[str, GraphNode]:
            query, ids = DISTANCES if near else NODES, list(dict.fromkeys([*node_ids, *near]))
            with excerpt(self._client, query, tenant, filters, ids=ids) as graph:
                return graph.nodes(tenant, node_ids, near=near, filters=admitted(filters))

        def by_gremlin(gremlin: GremlinWalks) -> dict[str, GraphNode]:
            found = self.nodes(tenant, node_ids, filters=filters)
            hops = distances(gremlin, tenant, found, near, filters) if found else {}
            return {id_: replace(node, hops=hops.get(id_)) for id_, node in found.items()}

        return self._walked(by_gremlin, by_opencypher) if near else by_opencypher()
