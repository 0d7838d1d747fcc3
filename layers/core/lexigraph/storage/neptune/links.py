"""Links out of chunks in Neptune: through the entities that they mention to other chunks. One query."""

from collections.abc import Mapping, Sequence

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.read import CHUNK, MENTIONED, PLACED, SAME, SOURCE, TOLD, together
from lexigraph.storage.protocols import Neighbourhood
from lexigraph.storage.sqlite.graph.read import HUB

SEEDS = f"MATCH {PLACED} AND id(c) IN $chunks RETURN collect(DISTINCT c) AS seeds"
_TITLES = """
    WITH seeds
    UNWIND seeds AS c
    MATCH (c)-[p:EXTRACTED_FROM]->(s:Source)-[:ABOUT]->(e:Entity) WHERE SEEN
    RETURN collect(DISTINCT e) AS titles
"""
# What the chunks mention, what was found in their texts, and what means the same
_WANTED = f"""
    WITH seeds
    CALL {{
        WITH seeds
        UNWIND seeds AS c
        MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
        RETURN e
        UNION MATCH (e:Entity) WHERE id(e) IN $names AND e.tenant = $tenant RETURN e
    }}
    WITH DISTINCT e
    {SAME}
"""
# Where a chunk `c` stands among those to prefer; behind them, when it is none of them
_PREFERENCE = "coalesce(head([i IN range(0, size($prefer) - 1) WHERE $prefer[i] = id(c)]), size($prefer))"
# The first chunks of sources about an entity: whether there are more than asked for, and those to lead to
_FIRST_ABOUT = """
    WITH wanted
    UNWIND wanted AS e
    CALL {
        WITH e
        MATCH (e)<-[:ABOUT]-(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE p.seq <= $per_entity AND SEEN
        RETURN [id(c), id(s), p.seq] AS place ORDER BY id(s), p.seq LIMIT $beyond
    }
    RETURN collect(place) AS first, collect(DISTINCT [place[1], id(e)]) AS first_titles
"""
_CHUNKS_ABOUT = f"""
    WITH wanted
    UNWIND wanted AS e
    CALL {{
        WITH e
        MATCH (e)<-[:ABOUT]-(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk)
        WHERE (p.seq <= $per_entity OR id(c) IN $prefer) AND SEEN
        RETURN c, id(s) AS titled ORDER BY {_PREFERENCE}, id(s), p.seq LIMIT $per_entity
    }}
    RETURN collect(DISTINCT c) AS about, collect(DISTINCT [titled, id(e)]) AS bearers
"""
# The entities whose mentions are followed, and those of them that are named too often for that
_RARE = f"""
    WITH wanted, titles
    UNWIND [e IN wanted WHERE e.df <= $max_df] + [e IN titles WHERE e.df <= 4 * $max_df] AS e
    WITH DISTINCT e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {HUB + 1} RETURN count(m) AS times }}
    RETURN collect(CASE WHEN times <= {HUB} THEN e END) AS rare, collect(CASE WHEN times > {HUB} THEN id(e) END) AS crowded
"""
# Chunks that mention an entity: those to prefer, then those that mention it most
_CHUNKS_SHARING = f"""
    WITH rare
    UNWIND rare AS e
    CALL {{
        WITH e
        MATCH (e)<-[m:MENTIONS]-(st:Statement){MENTIONED}
        WITH c, count(m) AS times
        RETURN c ORDER BY {_PREFERENCE}, times DESC, id(c) LIMIT $per_entity
    }}
    RETURN collect(DISTINCT c) AS sharing
"""
_SEEDS_SAY = """
    UNWIND seeds AS c
    MATCH (c)<-[:MENTIONED_IN]-(st:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
    RETURN 'mention' AS kind, [id(c), id(st), id(e)] AS row
"""
SEEDS_STAND = f"UNWIND seeds AS c MATCH {PLACED} RETURN 'stands' AS kind, [id(c), id(s), p.seq] AS row"
SEEDS_TITLES = """
    UNWIND seeds AS c
    MATCH (c)-[p:EXTRACTED_FROM]->(s:Source)-[:ABOUT]->(e:Entity) WHERE SEEN
    RETURN 'about' AS kind, [id(s), id(e)] AS row
"""
_EVERY = f"UNWIND about + sharing AS c WITH DISTINCT c MATCH {PLACED}"
_SOURCES = f"UNWIND about + sharing + seeds AS c WITH DISTINCT c MATCH {PLACED} RETURN DISTINCT {SOURCE}"
_PASSED = [part.replace("UNWIND wanted AS e", "UNWIND wanted + titles AS e WITH DISTINCT e", 1) for part in TOLD]

NEIGHBOURHOOD = together(
    [SEEDS, _TITLES, _WANTED, _FIRST_ABOUT, _CHUNKS_ABOUT, _RARE, _CHUNKS_SHARING],
    "seeds, titles, wanted, first, first_titles, about, bearers, crowded, sharing",
    [
        *(f"{_EVERY} RETURN {CHUNK}", _SOURCES, _SEEDS_SAY, SEEDS_STAND, SEEDS_TITLES),
        *_PASSED,
        "UNWIND first AS place RETURN 'stands' AS kind, place AS row",
        "UNWIND first_titles + bearers AS pair RETURN DISTINCT 'about' AS kind, pair AS row",
        f"UNWIND crowded AS id RETURN 'named' AS kind, [id, {HUB + 1}] AS row",
    ],
)


class NeptuneLinks:
    """Where the entities of chunks lead."""

    _client: NeptuneClient

    def neighbourhood(
        self,
        tenant: Tenant,
        chunk_ids: Sequence[str],
        *,
        names: Mapping[str, Sequence[str]] | None = None,
        max_df: int = 15,
        per_entity: int = 10,
        prefer: Sequence[str] = (),
        facts: bool = True,
        filters: Filter | None = None,
    ) -> Neighbourhood:
        if not chunk_ids:
            return Neighbourhood()
        with excerpt(
            self._client,
            NEIGHBOURHOOD,
            tenant,
            filters,
            chunks=list(chunk_ids),
            names=sorted({e for found in (names or {}).values() for e in found}),
            max_df=max_df,
            per_entity=per_entity,
            beyond=per_entity + 1,
            prefer=list(prefer),
        ) as graph:
            return graph.neighbourhood(
                tenant,
                chunk_ids,
                names=names,
                max_df=max_df,
                per_entity=per_entity,
                prefer=prefer,
                facts=facts,
                filters=admitted(filters),
            )
