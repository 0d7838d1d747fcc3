"""The edges around nodes in Neptune, the best of each. One query."""

from collections.abc import Sequence

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.read import MENTIONED, together
from lexigraph.storage.neptune.walks import CALM, CROWDED, FACT, LISTED, LONG, SHORT, described
from lexigraph.storage.protocols import Surroundings
from lexigraph.storage.sqlite.graph.edges import TOLD_OVER
from lexigraph.storage.sqlite.graph.read import HUB

_TOPIC_CHUNKS = """
    WITH short
    UNWIND short AS t
    MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    RETURN collect(DISTINCT c) AS placed, collect(DISTINCT [id(c), id(t)]) AS topic_places,
        collect(DISTINCT [id(c), id(s), p.seq]) AS chunk_places
"""


def _facts_of(one: str, other: str) -> str:
    """Return what finds the facts of each ``one``: those to others asked about first, then those to the rarest."""
    return f"""
        WITH entities, calm
        UNWIND calm AS {one}
        CALL {{
            WITH entities, {one}
            {FACT} AND id(a) <> id(b)
            WITH f, {other}, {other} IN entities AS asked, min(id(c)) AS chunk
            RETURN f, {other}, chunk ORDER BY asked DESC, {other}.df, id({other}), f.predicate, id(f) LIMIT $per_node
        }}
        RETURN a, f, b, chunk
    """


_FACTS_OF = f"""
    WITH entities, calm
    CALL {{ {_facts_of("a", "b")} UNION ALL {_facts_of("b", "a")} }}
    RETURN collect([chunk, '', id(f), f.subject, f.predicate, f.object, id(a), id(b)]) AS facts,
        collect(DISTINCT a) + collect(DISTINCT b) AS fact_ends
"""
# The statements that name an entity, and those of a topic as they read
_STATEMENTS_NAMING = """
    WITH statements, calm, placed
    UNWIND calm AS e
    CALL {
        WITH statements, placed, e
        MATCH (e)<-[m:MENTIONS]-(st:Statement)-[i:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)
        WHERE id(c) = m.chunk AND SEEN
        WITH st, st IN statements AS asked, c, CASE WHEN c IN placed THEN [1, p.seq, i.position] ELSE [0, 0, 0] END AS place
        WITH st, asked, min(id(c)) AS chunk, min(place[0]) AS late, min(place[1]) AS seq, min(place[2]) AS position
        RETURN st, chunk ORDER BY asked DESC, late, seq, position, id(st) LIMIT $per_node
    }
    RETURN collect([chunk, id(st), id(e)]) AS naming, collect(DISTINCT st) AS naming_statements
"""
_STATEMENTS_OF = """
    WITH statements, short
    UNWIND short AS t
    CALL {
        WITH statements, t
        MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
        MATCH (c)<-[i:MENTIONED_IN]-(st:Statement)-[:BELONGS_TO]->(t)
        WITH st, min(p.seq) AS seq, min(i.position) AS position, st IN statements AS asked
        RETURN st ORDER BY asked DESC, seq, position, id(st) LIMIT $per_node
    }
    RETURN collect(DISTINCT st) AS told_statements
"""
_NAMED_IN = f"""
    WITH statements
    UNWIND statements AS st
    MATCH (e:Entity)<-[m:MENTIONS]-(st){MENTIONED}
    RETURN collect([id(c), id(st), id(e)]) AS named, collect(DISTINCT e) AS named_entities
"""
_TOPICS_OF = """
    WITH statements
    UNWIND statements AS st
    MATCH (st)-[:BELONGS_TO]->(t:Topic)
    RETURN collect(DISTINCT t) AS their_topics
"""
_ALL_NODES = """
    WITH entities, statements, topics, fact_ends, named_entities, naming_statements, told_statements, their_topics
    RETURN entities + fact_ends + named_entities AS every_entity,
        statements + naming_statements + told_statements AS every_statement, topics + their_topics AS every_topic
"""
AROUND = together(
    [
        *LISTED,
        CALM.format(beyond=HUB + 1),
        SHORT.format(beyond=TOLD_OVER + 1),
        *(_TOPIC_CHUNKS, _FACTS_OF, _STATEMENTS_NAMING, _STATEMENTS_OF, _NAMED_IN, _TOPICS_OF, _ALL_NODES),
    ],
    "every_entity, every_statement, every_topic, crowded, long, topic_places, chunk_places, facts, naming, named",
    [
        *described("every_entity", "every_statement", "every_topic"),
        CROWDED.format(beyond=HUB + 1),
        LONG.format(beyond=TOLD_OVER + 1),
        "UNWIND topic_places AS row RETURN 'topic_in' AS kind, row",
        "UNWIND chunk_places AS row RETURN 'stands' AS kind, row",
        "UNWIND facts AS row RETURN 'fact' AS kind, row",
        "UNWIND naming + named AS row RETURN DISTINCT 'mention' AS kind, row",
    ],
)


class NeptuneEdges:
    """What is around nodes."""

    _client: NeptuneClient

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        if not node_ids:
            return Surroundings()
        with excerpt(self._client, AROUND, tenant, filters, ids=list(dict.fromkeys(node_ids)), per_node=per_node) as graph:
            return graph.surroundings(tenant, node_ids, per_node=per_node, filters=admitted(filters))
