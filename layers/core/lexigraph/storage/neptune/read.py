"""Entities and statements of chunks from Neptune, each answered with one query (:func:`evidence_query` for statements).

The queries bring candidates, ordered by what the protocol ranks by before any limit; the code of the embedded store makes
the answer of them (:mod:`~lexigraph.storage.neptune.excerpt`, which names the kinds of rows).
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from lexigraph.model.filters import Filter
from lexigraph.model.graph import StatementRow
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.derive import every_entity
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.protocols import EntityLookup, EvidenceRequest, Hit, SearchRequest
from lexigraph.storage.sqlite.graph.read import HUB, TITLES
from lexigraph.storage.sqlite.graph.topics import BESIDE, CHUNKS, SHARED
from lexigraph.storage.sqlite.names import Names

_GROUP = 100  # other names of one entity, beyond which some that share a fact with it might be missed

# ---------------------------------------------------------------- pieces of queries

# From a chunk to what it says: the chunk `c` of a mention `m`, placed for readers
MENTIONED = "-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE id(c) = m.chunk AND SEEN"
PLACED = "(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN"
# A row for each chunk `c` in the source `s` at `p`, with all that it says; and one for each source
CHUNK = "'chunk' AS kind, [id(c), id(s), p.seq, p.`start`, p.`end`, p.role, p.parent, c.statements] AS row"
PLACE = "'place' AS kind, [id(c), id(s), p.seq, p.`start`, p.`end`, p.role, p.parent] AS row"
SOURCE_ROW = "['source', [id(s), s.uri, s.namespace, s.title, s.metadata, s.live]]"
SOURCE = "'source' AS kind, [id(s), s.uri, s.namespace, s.title, s.metadata, s.live] AS row"
ENTITY = "'entity' AS kind, [id(e), e.value, e.class, e.df, e.degree] AS row"

# An ALIAS_OF between `e` and `o` counts where its `owner` gives it: one of these, or a text that readers see. There is an
# owner here: a look for the chunk null could be one at all chunks.
SAID = """
    OPTIONAL MATCH (c:Chunk {{`~id`: owner}})-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    WITH {0}, owner, count(s) AS places
    WITH {0}, owner, owner IN {1} OR places > 0 AS said WHERE said
"""


# The other names `others` of an entity `e`
OTHERS = f"""
    CALL {{
        WITH e
        MATCH (e)-[a:ALIAS_OF]-(o:Entity)
        WITH o, a.chunk AS owner
        {SAID.format("o", "[$synonyms]")}
        RETURN collect(DISTINCT o) AS others
    }}
"""
# The same of (k, e), and of a name of the question, whose k is '', also what it means in some documents
OTHERS_ASKED = f"""
    CALL {{
        WITH k, e
        MATCH (e)-[a:ALIAS_OF]-(o:Entity) WHERE a.chunk <> $senses OR (k = '' AND id(startNode(a)) = id(e))
        WITH o, a.chunk AS owner
        {SAID.format("o", "[$synonyms, $senses]")}
        RETURN collect(DISTINCT o) AS others
    }}
"""


_STEP = "UNWIND [e] + others AS near WITH DISTINCT near AS e MATCH (e:Entity)"
# From entities `e` to them and all that mean the same
SAME = f"{OTHERS} {_STEP} {OTHERS} {_STEP} RETURN collect(e) AS wanted"
# A step from (k, e) to itself and these, and two from entities that were asked for
STEP_ASKED = f"{OTHERS_ASKED} UNWIND [e] + others AS near WITH DISTINCT k, near AS e MATCH (e:Entity)"
_SAME_ASKED = f"WITH '' AS k, e {STEP_ASKED} {STEP_ASKED} RETURN collect(e) AS wanted"

# Neptune has to know that what comes out of a list is a node before it reads a property: MATCH says so.
ENTITIES = f"UNWIND wanted AS e MATCH (e:Entity) RETURN {ENTITY}"
ALIASES = f"""
    UNWIND wanted AS e
    MATCH (e)-[a:ALIAS_OF]->(o:Entity)
    WITH e, o, a.chunk AS owner
    {SAID.format("e, o", "[$synonyms, $senses]")}
    RETURN DISTINCT 'alias' AS kind, [id(e), id(o), owner = $senses] AS row
"""
# Whether a text or a title that readers see names the entity `e`: one place of each is looked for.
VISIBLE = f"""
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement){MENTIONED} WITH m LIMIT 1 RETURN count(m) AS texts }}
    CALL {{
        WITH e
        MATCH (e)<-[:ABOUT]-(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE SEEN
        WITH c LIMIT 1 RETURN count(c) AS titles
    }}
"""
# An entity's `df` tells that all but of what is asked within filters, and of what is not settled yet.
NAMED = f"""
    UNWIND wanted AS e
    MATCH (e:Entity) WHERE e.df = 0 OR $filtered
    {VISIBLE}
    WITH e, texts + titles AS places WHERE places > 0
    RETURN 'seen' AS kind, [id(e)] AS row
"""
TOLD = (ENTITIES, ALIASES, NAMED)


def together(sets: Sequence[str], names: str, parts: Sequence[str]) -> str:
    """Return a query whose ``sets`` each find one row, and whose parts make rows of those ``names``."""
    found = "".join(f"CALL {{ {one} }}\n" for one in sets)
    return f"{found}CALL {{ {' UNION ALL '.join(f'WITH {names} {part}' for part in parts)} }}\nRETURN kind, row"


# ---------------------------------------------------------------- entities

_ASKED = f"MATCH (e:Entity) WHERE id(e) IN $ids AND e.tenant = $tenant {_SAME_ASKED}"
# The rarest entities that share a fact with each, of those that are not named too often
_CONNECTED = f"""
    UNWIND wanted AS e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {HUB + 1} RETURN count(m) AS times }}
    WITH e, times WHERE times <= {HUB}
    CALL {{
        WITH e MATCH (e)-[:SUBJECT]->(f:Fact)<-[m:OBJECT]-(x:Entity)
        MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
        WITH DISTINCT x ORDER BY x.df, id(x) LIMIT $most
        RETURN x
        UNION WITH e MATCH (e)-[m:OBJECT]->(f:Fact)<-[:SUBJECT]-(x:Entity)
        MATCH (f)-[:SUPPORTS]->(st:Statement){MENTIONED} AND id(st) = m.statement
        WITH DISTINCT x ORDER BY x.df, id(x) LIMIT $most
        RETURN x
    }}
    RETURN 'joined' AS kind, [id(e), id(x), x.value, x.class, x.df, x.degree] AS row
"""
LOOK_UP = together([_ASKED], "wanted", TOLD)
LOOK_UP_CONNECTED = together([_ASKED], "wanted", (*TOLD, _CONNECTED))


class NeptuneRead:
    """What is known of entities, and what is said."""

    _client: NeptuneClient
    _names: Names

    def entities(
        self, tenant: Tenant, entity_ids: Sequence[str], *, connected: int = 0, filters: Filter | None = None
    ) -> EntityLookup:
        if not entity_ids:
            return EntityLookup()
        query = LOOK_UP_CONNECTED if connected else LOOK_UP
        with excerpt(self._client, query, tenant, filters, ids=list(entity_ids), most=connected + _GROUP) as graph:
            return graph.entities(tenant, entity_ids, connected=connected, filters=admitted(filters))

    def names(self, view: View, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        # nothing tells in one read that names have changed: they are read anew as often as that may be
        return self._names.search(view, time.monotonic_ns(), lambda: self._names_of(view), requests)

    def _names_of(self, view: View) -> list[tuple[str, str]]:
        return [(entity.id, entity.value) for entity in every_entity(self._client, view)]

    def evidence(self, tenant: Tenant, request: EvidenceRequest) -> list[StatementRow]:
        if not (request.chunks or request.statements or request.entities or request.topics):
            return []
        query = evidence_query(request.neighbours, bool(request.entities), bool(request.topics))
        with excerpt(
            self._client,
            query,
            tenant,
            request.filters,
            chunks=list(request.chunks),
            statements=list(request.statements),
            entities=list(request.entities),
            topics=list(request.topics),
            whole=request.whole_chunks,
            per_entity=request.per_entity,
            topic_reach=request.topic_reach,
            topic_links=request.topic_links,
        ) as graph:
            return graph.evidence(tenant, replace(request, filters=admitted(request.filters)))


# ---------------------------------------------------------------- evidence

_WANTED = f"MATCH (e:Entity) WHERE id(e) IN $entities AND e.tenant = $tenant {SAME}"
_CHUNKS_ASKED = "MATCH (c:Chunk) WHERE id(c) IN $chunks RETURN collect(c) AS asked"
_CHUNKS_TOLD = """
    MATCH (st:Statement)-[:MENTIONED_IN]->(c:Chunk) WHERE id(st) IN $statements RETURN collect(DISTINCT c) AS told
"""
# The chunks right before and after that go on with a topic
_CHUNKS_BESIDE = """
    WITH asked, told
    UNWIND CASE WHEN $whole THEN asked + told ELSE asked END AS c
    MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    MATCH (c)<-[:MENTIONED_IN]-(:Topic)-[:MENTIONED_IN]->(d:Chunk)-[q:EXTRACTED_FROM]->(s)
    WHERE abs(q.seq - p.seq) = 1 AND q.since <= s.live AND s.live < q.until
    RETURN collect(DISTINCT d) AS beside
"""
_FEW_AND_HUBS = f"""
    WITH wanted
    UNWIND wanted AS e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement){MENTIONED} WITH m LIMIT {HUB + 1} RETURN count(m) AS times }}
    RETURN collect(CASE WHEN times <= {HUB} THEN e END) AS few, collect(CASE WHEN times > {HUB} THEN e END) AS hubs
"""
# Of a statement `st` that names `e` in the chunk `c`: how many others wanted it names, and whether `e` stands in its facts.
_BESIDE = "-[n:MENTIONS]->(x:Entity) WHERE n.chunk = id(c) AND x IN wanted AND id(x) <> id(e)"
_RANKED = f"""
    OPTIONAL MATCH (st){_BESIDE}
    WITH e, st, c, count(DISTINCT x) AS others
    OPTIONAL MATCH (st)<-[u:SUPPORTS]-(:Fact)<-[o:SUBJECT|OBJECT]-(e)
    WHERE u.chunk = id(c) AND (type(o) = 'SUBJECT' OR (o.chunk = id(c) AND o.statement = id(st)))
    WITH st, c, others, count(o) > 0 AS stands
    ORDER BY others DESC, stands DESC, id(st), id(c) LIMIT $per_entity
    RETURN c
"""
_CHUNKS_OF_FEW = f"""
    WITH wanted, few
    UNWIND few AS e
    CALL {{ WITH wanted, e MATCH (e)<-[m:MENTIONS]-(st:Statement){MENTIONED} WITH wanted, e, st, c {_RANKED} }}
    RETURN collect(DISTINCT c) AS of_few
"""
# What is named very often is evidence only beside another that was asked for.
_CHUNKS_OF_HUBS = f"""
    WITH wanted, few, hubs
    UNWIND hubs AS e
    CALL {{
        WITH wanted, few, e
        UNWIND few AS f
        MATCH (f)<-[n:MENTIONS]-(st:Statement)-[m:MENTIONS]->(e) WHERE m.chunk = n.chunk
        MATCH (st){MENTIONED}
        WITH DISTINCT wanted, e, st, c
        {_RANKED}
    }}
    RETURN collect(DISTINCT c) AS of_hubs
"""
# The first chunks of sources titled by an entity, those first that name others wanted; none of a title that many bear
_CHUNKS_ABOUT = f"""
    WITH wanted
    UNWIND wanted AS e
    CALL {{ WITH e MATCH (e)<-[b:ABOUT]-(:Source) WITH b LIMIT {TITLES + 1} RETURN count(b) AS bearers }}
    WITH wanted, e, bearers WHERE bearers <= {TITLES}
    CALL {{
        WITH wanted, e
        MATCH (e)<-[:ABOUT]-(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE p.seq < $per_entity AND SEEN
        OPTIONAL MATCH (c)<-[:MENTIONED_IN]-(st:Statement){_BESIDE}
        WITH e, s, p, c, st, count(DISTINCT x) AS others
        WITH e, s, p, c, max(others) AS others
        ORDER BY others DESC, id(s), p.seq LIMIT $per_entity
        RETURN c, id(s) AS titled
    }}
    RETURN collect(DISTINCT c) AS of_titles, collect(DISTINCT [titled, id(e)]) AS titles
"""
_TOPICS = "MATCH (t:Topic) WHERE id(t) IN $topics AND t.tenant = $tenant RETURN collect(t) AS topics"
# Topics that stand up to `topic_reach` chunks before or after each, the nearest first
_TOPICS_NEAR = f"""
    WITH topics
    UNWIND topics AS t
    CALL {{
        WITH topics, t
        MATCH (t)-[:MENTIONED_IN]->(:Chunk)-[o:EXTRACTED_FROM]->(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk)
        WHERE o.since <= s.live AND s.live < o.until AND abs(p.seq - o.seq) <= $topic_reach AND SEEN
        MATCH (c)<-[:MENTIONED_IN]-(b:Topic) WHERE NOT b IN topics
        WITH b, min(abs(p.seq - o.seq)) AS apart, min(p.seq) AS at
        ORDER BY apart, at, id(b) LIMIT {BESIDE}
        RETURN b
    }}
    RETURN collect(DISTINCT b) AS near
"""
# Topics that name an entity of the topics asked for, too; and entities that too many statements or topics name for that
_TOPICS_SHARING = f"""
    WITH topics
    UNWIND topics AS t
    MATCH (t)<-[:BELONGS_TO]-(:Statement)-[:MENTIONS]->(e:Entity)
    WITH DISTINCT topics, e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {SHARED + 1} RETURN count(m) AS times }}
    CALL {{
        WITH topics, e, times
        WITH topics, e, times WHERE times <= {SHARED}
        MATCH (e)<-[m:MENTIONS]-(st:Statement){MENTIONED}
        MATCH (st)-[:BELONGS_TO]->(b:Topic) WHERE NOT b IN topics
        RETURN collect(DISTINCT id(b)) AS found
    }}
    WITH e, found, times <= {SHARED} AND size(found) <= $topic_links AS telling
    RETURN collect(CASE WHEN telling THEN found END) AS shared, collect(CASE WHEN NOT telling THEN id(e) END) AS crowded
"""
# The chunks of topics, in reading order
_CHUNKS_OF_TOPICS = f"""
    WITH topics, near, shared
    CALL {{
        WITH topics, near UNWIND topics + near AS t RETURN t
        UNION WITH shared UNWIND shared AS some UNWIND some AS key MATCH (t:Topic {{`~id`: key}}) RETURN t
    }}
    CALL {{
        WITH t
        MATCH (t)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
        WITH c, p ORDER BY p.seq, id(c) LIMIT {CHUNKS}
        RETURN c
    }}
    RETURN collect(DISTINCT c) AS of_topics
"""
_HUBS = "UNWIND hubs AS e RETURN 'hub' AS kind, [id(e)] AS row"
_TITLED = "UNWIND titles AS pair RETURN 'about' AS kind, pair AS row"
_CROWDED = f"UNWIND crowded AS id RETURN 'named' AS kind, [id, {SHARED + 1}] AS row"


@cache
def evidence_query(neighbours: bool, entities: bool, topics: bool) -> str:
    """Return the query for statements of chunks; further with ``neighbours``, of ``entities`` and of ``topics``."""
    sets, names, chunks, parts = [_CHUNKS_ASKED, _CHUNKS_TOLD], ["asked", "told"], ["asked", "told"], []
    if neighbours:
        sets, names, chunks = [*sets, _CHUNKS_BESIDE], [*names, "beside"], [*chunks, "beside"]
    if entities:
        sets += [_WANTED, _FEW_AND_HUBS, _CHUNKS_OF_FEW, _CHUNKS_OF_HUBS, _CHUNKS_ABOUT]
        names += ["wanted", "hubs", "of_few", "of_hubs", "of_titles", "titles"]
        chunks += ["of_few", "of_hubs", "of_titles"]
        parts += [ENTITIES, ALIASES, _HUBS, _TITLED]
    if topics:
        sets += [_TOPICS, _TOPICS_NEAR, _TOPICS_SHARING, _CHUNKS_OF_TOPICS]
        names += ["crowded", "of_topics"]
        chunks += ["of_topics"]
        parts += [_CROWDED]
    every = f"UNWIND {' + '.join(chunks)} AS c WITH DISTINCT c MATCH {PLACED}"
    return together(sets, ", ".join(names), [f"{every} RETURN {CHUNK}", f"{every} RETURN DISTINCT {SOURCE}", *parts])
