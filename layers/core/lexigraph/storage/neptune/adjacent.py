"""Chunks beside chunks in Neptune: in reading order, under the same headings, by entity and by topic. One query."""

from collections.abc import Sequence

from lexigraph.model.filters import Filter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.excerpt import admitted, excerpt
from lexigraph.storage.neptune.links import SEEDS
from lexigraph.storage.neptune.read import MENTIONED, PLACE, PLACED, SOURCE, together
from lexigraph.storage.protocols import Adjacency
from lexigraph.storage.sqlite.graph.adjacent import SHARED

_SEEDS_STAND = f"UNWIND seeds AS c MATCH {PLACED} RETURN {PLACE}"
# The first chunk under the headings of each chunk; and every chunk of its source
_FIRST = f"""
    UNWIND CHUNKS AS d
    CALL {{
        WITH d
        MATCH (d)-[q:EXTRACTED_FROM]->(s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk)
        WHERE q.since <= s.live AND s.live < q.until AND p.parent = q.parent AND SEEN
        RETURN c, p, s ORDER BY p.seq LIMIT 1
    }}
    RETURN {PLACE}
"""
_SOURCES = f"UNWIND CHUNKS AS c MATCH {PLACED} RETURN DISTINCT {SOURCE}"
_CHUNKS_OF_SOURCES = f"""
    UNWIND seeds AS d
    MATCH (d)-[q:EXTRACTED_FROM]->(s:Source) WHERE q.since <= s.live AND s.live < q.until
    WITH DISTINCT s
    MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s) WHERE SEEN
    RETURN {PLACE}
"""
# The entities that the chunks mention and not too many others, each with the chunks that mention it
_SHARING = f"""
    WITH seeds
    UNWIND seeds AS d
    MATCH (d)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(d)
    WITH DISTINCT e
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement) WITH m LIMIT {SHARED + 1} RETURN count(m) AS times }}
    WITH e, times WHERE times <= {SHARED}
    CALL {{ WITH e MATCH (e)<-[m:MENTIONS]-(:Statement){MENTIONED} RETURN collect(DISTINCT id(c)) AS naming }}
    RETURN collect([id(e), naming]) AS sharing
"""
# Those that share the rarest with each chunk; rounded, as sums come in any order
_TARGETS = """
    WITH seeds, sharing
    UNWIND seeds AS d
    CALL {
        WITH d, sharing
        UNWIND sharing AS pair
        WITH d, pair[1] AS naming WHERE id(d) IN naming
        UNWIND naming AS key
        WITH d, key, 1.0 / size(naming) AS rare WHERE key <> id(d)
        WITH key, sum(rare) AS weight
        RETURN key ORDER BY round(weight * 1000000000) DESC, key LIMIT $per_kind
    }
    WITH DISTINCT key
    MATCH (c:Chunk {`~id`: key})
    RETURN collect(c) AS targets
"""
_NAMING = """
    UNWIND sharing AS pair
    UNWIND pair[1] AS chunk
    RETURN 'naming' AS kind, [chunk, pair[0], 1] AS row
"""
_TOPICS = """
    UNWIND seeds AS d
    MATCH (d)<-[:MENTIONED_IN]-(t:Topic)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source) WHERE SEEN
    RETURN DISTINCT 'topic_in' AS kind, [id(c), id(t)] AS row
"""
PLACES = together([SEEDS], "seeds", [_SEEDS_STAND, _FIRST.replace("CHUNKS", "seeds"), _SOURCES.replace("CHUNKS", "seeds")])
ADJACENT = together(
    [SEEDS, _SHARING, _TARGETS],
    "seeds, sharing, targets",
    [
        _CHUNKS_OF_SOURCES,
        _SOURCES.replace("CHUNKS", "seeds + targets"),
        f"UNWIND targets AS c MATCH {PLACED} RETURN {PLACE}",
        _FIRST.replace("CHUNKS", "targets"),
        _NAMING,
        _TOPICS,
    ],
)


class NeptuneAdjacent:
    """What stands beside chunks."""

    _client: NeptuneClient

    def adjacent(
        self, tenant: Tenant, chunk_ids: Sequence[str], *, per_kind: int = 0, filters: Filter | None = None
    ) -> Adjacency:
        if not chunk_ids:
            return Adjacency()
        with excerpt(
            self._client, ADJACENT if per_kind else PLACES, tenant, filters, chunks=list(chunk_ids), per_kind=per_kind
        ) as graph:
            return graph.adjacent(tenant, chunk_ids, per_kind=per_kind, filters=admitted(filters))
