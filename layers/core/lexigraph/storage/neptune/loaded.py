"""Which chunks are in the graph with all that they contribute, though nobody said so: what the bulk loader brought.

A load may have failed half way, and what it brought may have been collected before anybody placed it. So nothing is taken
for granted: under the lease of the document its edges are counted, a read for some dozens of chunks.
"""

from collections import Counter
from collections.abc import Sequence

from lexigraph.model.batches import batched
from lexigraph.model.graph import ChunkGraph
from lexigraph.storage.common.contribution import entity_forms
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.contributed import aliases_of, facts_of, mentions_of, objects_of, statements_of, topics_of

_CHUNKS_AT_ONCE = 50

_SAID = "UNWIND $ids AS id MATCH (c:Chunk {`~id`: id})<-[:MENTIONED_IN]-(x:Statement)"
_SUPPORTED = f"{_SAID}<-[u:SUPPORTS]-(f:Fact) WHERE u.chunk = id"
# What is owned by a chunk, and what hangs on it: a fact has one subject, a statement one topic
_COUNTS = f"""
UNWIND $ids AS id MATCH (c:Chunk {{`~id`: id}})<-[:MENTIONED_IN]-(t:Topic) RETURN 'topics' AS what, id, count(t) AS number
UNION ALL
{_SAID}-[:BELONGS_TO]->(:Topic) RETURN 'statements' AS what, id, count(x) AS number
UNION ALL
{_SAID}-[m:MENTIONS]->(:Entity) WHERE m.chunk = id RETURN 'mentions' AS what, id, count(m) AS number
UNION ALL
{_SUPPORTED} MATCH (f)<-[:SUBJECT]-(:Entity) RETURN 'facts' AS what, id, count(u) AS number
UNION ALL
{_SUPPORTED} MATCH (f)<-[o:OBJECT]-(:Entity) WHERE o.chunk = id AND o.statement = id(x)
RETURN 'objects' AS what, id, count(o) AS number
"""
_ALIASES = """
UNWIND $rows AS row
MATCH (a:Entity {`~id`: row.alias})-[r:ALIAS_OF {`~id`: row.id}]->(b:Entity)
RETURN row.chunk AS id, count(r) AS number
"""
# AWS says of the loader's Gremlin format that it takes an empty text for no value, and nothing of this one
_FILL = (
    "<-[:MENTIONED_IN]-(x:Statement) WHERE x.details IS NULL SET x.details = ''",
    "<-[i:MENTIONED_IN]-(:Statement) WHERE i.original IS NULL SET i.original = ''",
    "<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(:Entity) WHERE m.chunk = row.id AND m.class IS NULL SET m.class = ''",
    "<-[:MENTIONED_IN]-(:Statement)-[:MENTIONS]->(e:Entity) WHERE e.class IS NULL SET e.class = ''",
)


def whole(client: NeptuneClient, chunks: Sequence[ChunkGraph]) -> set[str]:
    """Return those of some chunks whose edges are all there."""
    there: set[str] = set()
    for part in batched(chunks, _CHUNKS_AT_ONCE):
        found: Counter[tuple[str, str]] = Counter()
        for row in client.read_latest(_COUNTS, ids=[c.chunk_id for c in part]):
            found[row["id"], row["what"]] += row["number"]
        forms = entity_forms(part)
        aliases = [row for c in part for row in aliases_of(c, forms)]
        for row in client.read_latest(_ALIASES, rows=aliases) if aliases else ():
            found[row["id"], "aliases"] += row["number"]
        there |= {c.chunk_id for c in part if all(found[c.chunk_id, what] == n for what, n in _expected(c, forms).items())}
    return there


def fill(client: NeptuneClient, chunks: Sequence[ChunkGraph]) -> None:
    """Set the empty texts that did not come with some chunks."""
    rows = [{"id": c.chunk_id} for c in chunks]
    for found in _FILL:
        client.write(f"UNWIND $rows AS row MATCH (c:Chunk {{`~id`: row.id}}){found}", rows)


def _expected(c: ChunkGraph, forms: dict[str, str]) -> dict[str, int]:
    rows = {
        "topics": topics_of(c),
        "statements": statements_of(c),
        "mentions": mentions_of(c, forms),
        "facts": facts_of(c),
        "objects": objects_of(c),
        "aliases": aliases_of(c, forms),
    }
    return {what: len(found) for what, found in rows.items()}
