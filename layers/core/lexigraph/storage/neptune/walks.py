"""Nodes in Neptune: which of them readers see, how far they are from others, and what is around them."""

from collections.abc import Sequence
from dataclasses import replace

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.texts import Look
from lexigraph.storage.neptune.derive import every_entity
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.gremlin.connection import Walks
from lexigraph.storage.neptune.gremlin.walks import WalkingPart, distances
from lexigraph.storage.neptune.read import ENTITIES, MENTIONED, NAMED, SOURCE_ROW, together
from lexigraph.storage.neptune.schema import LIVE
from lexigraph.storage.protocols import GraphNode, Matches, Surroundings, TextPattern
from lexigraph.storage.sqlite.graph.read import HUB
from lexigraph.storage.sqlite.graph.walks import PASSED, RUNS_OVER, TOLD_OVER

_LISTED = (
    "MATCH (e:Entity) WHERE id(e) IN $ids AND e.tenant = $tenant RETURN collect(e) AS entities",
    "MATCH (st:Statement) WHERE id(st) IN $ids AND st.tenant = $tenant RETURN collect(st) AS statements",
    "MATCH (t:Topic) WHERE id(t) IN $ids AND t.tenant = $tenant RETURN collect(t) AS topics",
)
# Which of the entities and topics are named, and stand in chunks, no more than so often
_CALM = """
    WITH entities
    UNWIND entities AS e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {beyond} RETURN count(m) AS times }}
    RETURN collect(CASE WHEN times < {beyond} THEN e END) AS calm,
        collect(CASE WHEN times = {beyond} THEN id(e) END) AS crowded
"""
_SHORT = """
    WITH topics
    UNWIND topics AS t
    CALL {{ WITH t MATCH (t)-[i:MENTIONED_IN]->(:Chunk) WITH i LIMIT {beyond} RETURN count(i) AS times }}
    RETURN collect(CASE WHEN times < {beyond} THEN t END) AS short,
        collect(CASE WHEN times = {beyond} THEN id(t) END) AS long
"""
_CROWDED = "UNWIND crowded AS id RETURN 'named' AS kind, [id, {beyond}] AS row"
_LONG = "UNWIND long AS id RETURN 'runs_over' AS kind, [id, {beyond}] AS row"


def _described(entities: str, statements: str, topics: str) -> list[str]:
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
_FACT = f"""
    MATCH (a:Entity)-[:SUBJECT]->(f:Fact)<-[m:OBJECT]-(b:Entity)
    MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
"""
_FACT_ROW = "'fact' AS kind, [id(c), id(st), id(f), f.subject, f.predicate, f.object, id(a), id(b)] AS row"

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
    f"UNWIND calm + around_calm AS a WITH DISTINCT a {_FACT} RETURN {_FACT_ROW}",
    f"UNWIND calm + around_calm AS b WITH DISTINCT b {_FACT} RETURN {_FACT_ROW}",
    _CROWDED.format(beyond=PASSED + 1),
    _CROWDED.format(beyond=PASSED + 1).replace("crowded", "around_crowded"),
    _LONG.format(beyond=RUNS_OVER + 1),
    _LONG.format(beyond=RUNS_OVER + 1).replace("long", "around_long"),
)
_DESCRIBED = _described("entities", "statements", "topics")
_NODES = together(_LISTED, "entities, statements, topics", _DESCRIBED)
_DISTANCES = together(
    [
        *_LISTED,
        _CALM.format(beyond=PASSED + 1),
        _SHORT.format(beyond=RUNS_OVER + 1),
        *(_STATEMENTS_AROUND, _ENTITIES_AROUND, _TOPICS_AROUND),
    ],
    "entities, statements, topics, calm, crowded, short, long, near_statements, around, around_calm, around_crowded, "
    "around_long",
    [*_DESCRIBED, *_HOPS],
)

# ---------------------------------------------------------------- what is around nodes

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
            {_FACT} AND id(a) <> id(b)
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
_AROUND = together(
    [
        *_LISTED,
        _CALM.format(beyond=HUB + 1),
        _SHORT.format(beyond=TOLD_OVER + 1),
        *(_TOPIC_CHUNKS, _FACTS_OF, _STATEMENTS_NAMING, _STATEMENTS_OF, _NAMED_IN, _TOPICS_OF, _ALL_NODES),
    ],
    "every_entity, every_statement, every_topic, crowded, long, topic_places, chunk_places, facts, naming, named",
    [
        *_described("every_entity", "every_statement", "every_topic"),
        _CROWDED.format(beyond=HUB + 1),
        _LONG.format(beyond=TOLD_OVER + 1),
        "UNWIND topic_places AS row RETURN 'topic_in' AS kind, row",
        "UNWIND chunk_places AS row RETURN 'stands' AS kind, row",
        "UNWIND facts AS row RETURN 'fact' AS kind, row",
        "UNWIND naming + named AS row RETURN DISTINCT 'mention' AS kind, row",
    ],
)


# ---------------------------------------------------------------- what a pattern is found in

_LOOKED_AT = 50_000  # nodes of a kind, of which those travel that hold a fragment of the pattern
_BROUGHT = 10_000  # nodes of a kind, where the pattern has no fragments
_TEXTS = {"Entity": "n.value", "Statement": "n.value + '\\n' + n.details", "Topic": "n.value"}


def _texts_query(fragments: int) -> str:
    """Return a query for the texts that hold any of so many fragments, and for how many were looked at, by kind."""
    most = (_LOOKED_AT if fragments else _BROUGHT) + 1
    return "\nUNION ALL ".join(
        f"""MATCH (n:{label}) WHERE n.tenant = $tenant WITH n, {text} AS text LIMIT {most}
        WITH n, text, {_holds(fragments)} AS holds
        RETURN '{label}' AS kind, count(n) AS looked_at, collect(CASE WHEN holds THEN [id(n), text] END) AS texts"""
        for label, text in _TEXTS.items()
    )


def _seen_texts_query(fragments: int) -> str:
    """Return the same for the statements and topics that a view sees; which entities it does is told otherwise."""
    most = (_LOOKED_AT if fragments else _BROUGHT) + 1
    return "\nUNION ALL ".join(
        f"""MATCH (n:{label})-[i:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
        WITH DISTINCT n WITH n, {_TEXTS[label]} AS text LIMIT {most}
        WITH n, text, {_holds(fragments)} AS holds
        RETURN '{label}' AS kind, count(n) AS looked_at, collect(CASE WHEN holds THEN [id(n), text] END) AS texts"""
        for label in ("Statement", "Topic")
    )


def _holds(fragments: int) -> str:
    return " OR ".join(f"toLower(text) CONTAINS $fragment{n}" for n in range(fragments)) or "true"


class NeptuneWalks(WalkingPart):
    """Nodes: how far they are from others, and what is around them."""

    def nodes(
        self, tenant: Tenant, node_ids: Sequence[str], *, near: Sequence[str] = (), filters: Filter | None = None
    ) -> dict[str, GraphNode]:
        if not node_ids:
            return {}

        def by_opencypher() -> dict[str, GraphNode]:
            query, ids = _DISTANCES if near else _NODES, list(dict.fromkeys([*node_ids, *near]))
            with excerpt(self._client, query, tenant, filters, ids=ids) as graph:
                return graph.nodes(tenant, node_ids, near=near, filters=admitted(filters))

        def by_gremlin(gremlin: Walks) -> dict[str, GraphNode]:
            found = self.nodes(tenant, node_ids, filters=filters)
            hops = distances(gremlin, tenant, found, near, filters) if found else {}
            return {id_: replace(node, hops=hops.get(id_)) for id_, node in found.items()}

        return self._walked(by_gremlin, by_opencypher) if near and not isinstance(tenant, View) else by_opencypher()

    def matching(
        self,
        tenant: Tenant,
        pattern: TextPattern,
        node_ids: Sequence[str] = (),
        *,
        near: Sequence[str] = (),
        most: int = 1_000,
        filters: Filter | None = None,
    ) -> Matches:
        look, most_looked_at = Look(pattern, most), _LOOKED_AT if pattern.fragments else _BROUGHT
        wanted = {f"fragment{n}": fragment.lower() for n, fragment in enumerate(pattern.fragments)}
        if isinstance(tenant, View):
            named = [[e.id, e.value] for e in every_entity(self._client, tenant)]
            rows = self._client.read(_seen_texts_query(len(wanted)), tenant=tenant, **wanted)
            rows.append({"looked_at": len(named), "texts": named})
        else:
            rows = self._client.read(_texts_query(len(wanted)), tenant=tenant, **wanted)
        found = [id_ for row in rows for id_ in look.best((id_, id_, text) for id_, text in row["texts"])]
        complete = look.complete and all(row["looked_at"] <= most_looked_at for row in rows)
        return Matches(self.nodes(tenant, list(dict.fromkeys([*node_ids, *found])), near=near, filters=filters), complete)

    def surroundings(
        self, tenant: Tenant, node_ids: Sequence[str], *, per_node: int = 10, filters: Filter | None = None
    ) -> Surroundings:
        if not node_ids:
            return Surroundings()
        with excerpt(self._client, _AROUND, tenant, filters, ids=list(dict.fromkeys(node_ids)), per_node=per_node) as graph:
            return graph.surroundings(tenant, node_ids, per_node=per_node, filters=admitted(filters))
