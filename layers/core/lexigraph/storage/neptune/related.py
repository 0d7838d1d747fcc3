"""Steps from chunks to others in Neptune: entities in common, what stands together, observed relations. One query."""

from dataclasses import replace
from functools import cache

from lexigraph.model.relations import Step
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.links import SEEDS, SEEDS_STAND, SEEDS_TITLES
from lexigraph.storage.neptune.read import MENTIONED, PLACED, STEP_ASKED, TOLD, VISIBLE, together
from lexigraph.storage.protocols import RelatedRequest
from lexigraph.storage.sqlite.graph.read import HUB
from lexigraph.storage.sqlite.graph.related import TOGETHER
from lexigraph.storage.sqlite.graph.relations import COMMON

# Of what is asked within filters, that readers see an entity is looked up.
_TELLING = "e.df <= $max_df AND size(e.value) >= $min_name AND (NOT $filtered OR texts + titles > 0)"
# What the chunks `k` and the question ('') name, by how many of them it is named, and whether the question does
_NAMED = f"""
    WITH seeds
    CALL {{
        WITH seeds
        UNWIND seeds AS c
        MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
        RETURN id(c) AS k, e
        UNION WITH seeds
        UNWIND seeds AS c
        MATCH (c)-[p:EXTRACTED_FROM]->(s:Source)-[:ABOUT]->(e:Entity) WHERE SEEN
        RETURN id(c) AS k, e
        UNION WITH seeds
        UNWIND seeds AS c
        UNWIND $names AS name
        WITH id(c) AS k, name WHERE name.chunk = k
        MATCH (e:Entity {{`~id`: name.entity}}) WHERE e.tenant = $tenant
        RETURN k, e
        UNION
        MATCH (e:Entity) WHERE id(e) IN $asked AND e.tenant = $tenant
        RETURN '' AS k, e
    }}
    WITH DISTINCT k, e
    {STEP_ASKED}{STEP_ASKED}
    WITH e, count(k) AS namers, sum(CASE WHEN k = '' THEN 1 ELSE 0 END) AS asked
    {VISIBLE}
    WITH e, namers, asked, {_TELLING} AS telling
    RETURN collect(e) AS wanted, collect(CASE WHEN telling THEN [id(e), namers, asked, e.df] END) AS told
"""
# Of these what is followed: the question's first, then what several sources and most of the chunks name, then the rarest
_FOLLOWED = """
    WITH told
    CALL {
        WITH told
        UNWIND told AS one
        WITH one[0] AS key, one[1] AS namers, one[2] AS asked, one[3] AS df
        RETURN key ORDER BY asked DESC, df < 2, namers DESC, df, key LIMIT $max_entities
    }
    MATCH (e:Entity {`~id`: key})
    RETURN collect(e) AS followed
"""
# The chunks of entities: those that name one, unless too many do, and the first of each source about it
_NAMING = f"""
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {HUB + 1} RETURN count(m) AS times }}
    CALL {{
        WITH e, times
        WITH e, times WHERE times <= {HUB}
        MATCH (e)<-[m:MENTIONS]-(:Statement){MENTIONED}
        WITH c, count(m) AS times
        RETURN collect(id(c)) AS naming, collect([id(c), times]) AS counted
    }}
    CALL {{ WITH e MATCH (e)<-[b:ABOUT]-(:Source) WITH b LIMIT {HUB + 1} RETURN count(b) AS bearers }}
    CALL {{
        WITH e, bearers
        WITH e, bearers WHERE bearers <= {HUB}
        MATCH (e)<-[:ABOUT]-(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE p.seq < $per_entity AND SEEN
        RETURN collect(id(c)) AS about, collect([id(c), id(s), p.seq]) AS places
    }}
"""
_CHUNKS_FOLLOWED = f"""
    WITH followed
    UNWIND followed AS e
    {_NAMING}
    RETURN collect([id(e), counted, places]) AS reached, collect([id(e), naming + about]) AS led
"""
# Entities that stand together with one that is followed in several chunks, where few chunks name that: most often first
_FURTHER = f"""
    WITH followed, led
    UNWIND led AS pair
    UNWIND pair[1] AS key
    WITH followed, pair[0] AS one, collect(DISTINCT key) AS chunks
    WITH followed, one, chunks WHERE $least_together <= size(chunks) AND size(chunks) <= {COMMON}
    UNWIND chunks AS key
    WITH followed, key, collect(one) AS ones
    MATCH (c:Chunk {{`~id`: key}})
    MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e) WHERE m.chunk = key AND NOT e IN followed
    WITH DISTINCT ones, key, e
    UNWIND ones AS one
    WITH one, e, count(key) AS together
    WITH e, max(together) AS most WHERE most >= $least_together
    {VISIBLE}
    WITH e, most, {_TELLING} AS telling WHERE telling
    WITH e ORDER BY most DESC, e.df, id(e) LIMIT {TOGETHER}
    RETURN collect(e) AS further
"""
_CHUNKS_FURTHER = f"""
    WITH further
    UNWIND further AS e
    {_NAMING}
    RETURN collect([id(e), counted, places]) AS reached_further
"""
_NAMING_ROWS = """
    UNWIND reached AS one
    UNWIND one[1] AS counted
    RETURN 'naming' AS kind, [counted[0], one[0], counted[1]] AS row
"""
_ABOUT_ROWS = """
    UNWIND reached AS one
    UNWIND one[2] AS place
    RETURN DISTINCT 'about' AS kind, [place[1], one[0]] AS row
"""
_PLACE_ROWS = "UNWIND reached AS one UNWIND one[2] AS place RETURN DISTINCT 'stands' AS kind, place AS row"
_SEEDS_NAME = """
    UNWIND seeds AS c
    MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
    WITH c, e, count(m) AS times
    RETURN 'naming' AS kind, [id(c), id(e), times] AS row
"""
# Which of two ends the chunk is that was asked for, the other may be anywhere that readers see.
_OBSERVED = """
    UNWIND seeds AS seed
    MATCH (seed)-[r:REL]-(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    RETURN 'rel' AS kind, [id(startNode(r)), id(endNode(r)), r.type, r.observer, r.confidence, r.evidence] AS row
"""
_FIRST = f"""
    MATCH {PLACED}
    WITH c, s, p ORDER BY id(s), p.seq LIMIT $first
    RETURN 'stands' AS kind, [id(c), id(s), p.seq] AS row
"""


def _of(part: str, which: str) -> str:
    return part.replace("UNWIND reached ", f"UNWIND {which} ", 1)


@cache
def related_query(all_kinds: bool, first: bool) -> str:
    """Return the query for steps over one entity; with ``all_kinds`` for the others, with ``first`` for the first chunks."""
    sets, names = [SEEDS, _NAMED, _FOLLOWED, _CHUNKS_FOLLOWED], ["seeds", "wanted", "reached"]
    parts = [SEEDS_STAND, SEEDS_TITLES, _SEEDS_NAME, *TOLD, _NAMING_ROWS, _ABOUT_ROWS, _PLACE_ROWS]
    if all_kinds:
        sets += [_FURTHER, _CHUNKS_FURTHER]
        names += ["further", "reached_further"]
        parts += [_of(part, "reached_further") for part in (_NAMING_ROWS, _ABOUT_ROWS, _PLACE_ROWS)]
        parts += [part.replace("UNWIND wanted AS e", "UNWIND further AS e", 1) for part in TOLD]
        parts += [_OBSERVED]
    return together(sets, ", ".join(names), [*parts, _FIRST] if first else parts)


class NeptuneRelated:
    """Which steps lead on."""

    _client: NeptuneClient

    def related(self, tenant: Tenant, request: RelatedRequest) -> list[Step]:
        if not (request.chunks or request.names or request.first):
            return []
        with excerpt(
            self._client,
            related_query(request.all_kinds, bool(request.first)),
            tenant,
            request.filters,
            chunks=list(request.chunks),
            asked=list(request.names.get("", ())),
            names=[{"chunk": chunk, "entity": e} for chunk, found in request.names.items() if chunk for e in found],
            max_entities=request.max_entities,
            max_df=request.max_df,
            min_name=request.min_name,
            per_entity=request.per_entity,
            least_together=request.least_together,
            first=request.first,
        ) as graph:
            return graph.related(tenant, replace(request, filters=admitted(request.filters)))
