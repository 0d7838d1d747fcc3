"""Relations between chunks in Neptune: what observers said of pairs, and how many relations there are.

OBSERVED notes which pairs were asked about, REL what came of it, an edge an observer. Both are owned by both of their chunks
and go with either.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from lexigraph.model.relations import PairObservation, RelationCounts
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.derive import every_entity, seen_aliases
from lexigraph.storage.neptune.schema import LIVE, LIVE_OTHER, edge_id
from lexigraph.storage.sqlite.graph.relations import COMMON, counts_of

_EXISTING = """
UNWIND $ids AS id
MATCH (c:Chunk {`~id`: id}) WHERE c.tenant = $tenant
RETURN id(c) AS id
"""
_BETWEEN = """
UNWIND $pairs AS pair
MATCH (a:Chunk {`~id`: pair.first})-[r:REL]->(b:Chunk {`~id`: pair.second})
RETURN id(r) AS id, id(a) AS src, id(b) AS dst, r.type AS type, r.observer AS observer
UNION
UNWIND $pairs AS pair
MATCH (b:Chunk {`~id`: pair.second})-[r:REL]->(a:Chunk {`~id`: pair.first})
RETURN id(r) AS id, id(b) AS src, id(a) AS dst, r.type AS type, r.observer AS observer
"""
# After an aggregate without a key there is one row, also where there was none.
_RELATE = """
UNWIND $observed AS row
MATCH (a:Chunk {`~id`: row.first})
MATCH (b:Chunk {`~id`: row.second})
MERGE (a)-[o:OBSERVED {`~id`: row.id}]->(b)
SET o.observer = row.observer, o.how = row.how, o.failed = row.failed
WITH count(*) AS observations
UNWIND $made AS row
MATCH (a:Chunk {`~id`: row.src})
MATCH (b:Chunk {`~id`: row.dst})
MERGE (a)-[r:REL {`~id`: row.id}]->(b)
SET r.type = row.type, r.observer = row.observer, r.confidence = row.confidence, r.evidence = row.evidence
WITH count(*) AS relations
UNWIND $gone AS row
MATCH (a:Chunk {`~id`: row.src})-[r:REL {`~id`: row.id}]->(b:Chunk)
DELETE r
"""
_OBSERVED = """
UNWIND $ids AS id
MATCH (a:Chunk {`~id`: id})-[o:OBSERVED]->(b:Chunk)
WHERE a.tenant = $tenant AND o.observer = $observer AND o.how = $how AND o.failed = false
RETURN id(a) AS first, id(b) AS second
"""
_LIVE_RELATIONS = f"""
MATCH (s:Source)<-[p:EXTRACTED_FROM]-(a:Chunk)-[r:REL]->(b:Chunk)-[q:EXTRACTED_FROM]->(z:Source)
WHERE {LIVE} AND {LIVE_OTHER}
RETURN DISTINCT id(a) AS src, id(b) AS dst, r.type AS type
"""
# One row for each entity and live chunk that names it; what too many chunks name, live or not, is left out below.
_NAMED = f"""
MATCH (e:Entity)<-[m:MENTIONS]-(x:Statement)-[i:MENTIONED_IN]->(c:Chunk)
WHERE e.tenant = $tenant AND size(e.value) >= $min_name
WITH e, m, c WHERE id(c) = m.chunk
MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
RETURN DISTINCT id(e) AS entity, id(c) AS chunk
"""
_COMMON = """
MATCH (e:Entity)<-[m:MENTIONS]-(:Statement) WHERE e.tenant = $tenant
WITH e, count(DISTINCT m.chunk) AS chunks WHERE chunks > $common
RETURN id(e) AS id
"""
_ALIASES = """
MATCH (a:Entity)-[r:ALIAS_OF]->(b:Entity) WHERE b.tenant = $tenant
RETURN id(b) AS id, b.value AS value, id(a) AS other_id, a.value AS other, r.chunk AS chunk
"""
_ENTITIES = "MATCH (e:Entity) WHERE e.tenant = $tenant AND e.df > 0 RETURN count(*) AS entities"


class NeptuneRelations:
    """What observers said of pairs of chunks."""

    _client: NeptuneClient

    def relate(self, tenant: Tenant, observations: Sequence[PairObservation], *, keep: bool = False) -> tuple[int, int]:
        ids = sorted({i for o in observations for i in (o.first, o.second)})
        chunks = {row["id"] for row in self._client.read_latest(_EXISTING, ids=ids, tenant=tenant)}
        # a chunk may have gone meanwhile, and what was said of it goes with it
        observations = [o for o in observations if o.first in chunks and o.second in chunks]
        if not observations:
            return 0, 0
        existing = _between(self._client, {(o.first, o.second) for o in observations})
        before = dict(existing)
        observed: dict[str, Row] = {}
        made: dict[str, Row] = {}
        created = known = 0
        for o in observations:
            row = {"first": o.first, "second": o.second, "observer": o.observer, "how": o.how, "failed": bool(o.failed)}
            key = edge_id("OBSERVED", o.first, o.second, o.observer)
            observed[key] = {"id": key, **row}
            if o.failed:
                continue
            ends = {(o.first, o.second), (o.second, o.first)}
            there = {(r["src"], r["dst"], r["type"]) for r in existing.values() if (r["src"], r["dst"]) in ends}
            for i, r in list(existing.items()) if not keep else ():
                if (r["src"], r["dst"]) in ends and r["observer"] == o.observer:
                    del existing[i]
                    made.pop(i, None)
            for relation in o.relations:
                edge = (relation.src, relation.dst, relation.type)
                known += edge in there
                created += edge not in there
                if not (keep and edge in there):
                    i = edge_id("REL", *edge, o.observer)
                    existing[i] = {"id": i, "src": edge[0], "dst": edge[1], "type": edge[2], "observer": o.observer}
                    made[i] = {**existing[i], "confidence": relation.confidence, "evidence": relation.evidence}
        gone = [row for i, row in sorted(before.items()) if i not in existing]
        self._client.write(_RELATE, observed=_in_order(observed.values()), made=_in_order(made.values()), gone=gone)
        return created, known

    def observed(self, tenant: Tenant, chunk_ids: Sequence[str], observer: str, how: str) -> dict[tuple[str, str], int]:
        rows = self._client.read_latest(_OBSERVED, ids=sorted(set(chunk_ids)), tenant=tenant, observer=observer, how=how)
        pairs = {(row["first"], row["second"]) for row in rows}
        found: dict[tuple[str, str], set[tuple[str, str, str]]] = defaultdict(set)
        for r in _between(self._client, pairs).values() if pairs else ():
            for pair in ((r["src"], r["dst"]), (r["dst"], r["src"])):
                found[pair].add((r["src"], r["dst"], r["type"]))
        return {pair: len(found[pair]) for pair in pairs}

    def relation_counts(self, tenant: Tenant, *, least_together: int = 2, min_name: int = 2) -> RelationCounts:
        if isinstance(tenant, View):
            return self._counts_of_view(tenant, least_together, min_name)
        common = {row["id"] for row in self._client.read(_COMMON, tenant=tenant, common=COMMON)}
        rows = self._client.read(_NAMED, tenant=tenant, min_name=min_name)
        named = [(row["entity"], row["chunk"]) for row in rows if row["entity"] not in common]
        entity, chunk = ({i: k for k, i in enumerate({pair[side] for pair in named})} for side in (0, 1))
        others: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for row in self._aliases(tenant):
            others[row["id"], row["value"]].add((row["other"], row["other_id"]))
        return counts_of(
            len(self._client.read(_LIVE_RELATIONS, tenant=tenant)),
            ((entity[e], chunk[c]) for e, c in named),
            least_together,
            self._client.read(_ENTITIES, tenant=tenant)[0]["entities"],
            {one: [name for name, _ in found] for one, found in others.items()},
        )

    def _counts_of_view(self, view: View, least_together: int, min_name: int) -> RelationCounts:
        """Count as :meth:`relation_counts` does; what entities are called, and which are common, follows from the view."""
        entities = {e.id: e for e in every_entity(self._client, view)}
        rows = self._client.read(_NAMED, tenant=view, min_name=0)
        chunks = Counter(row["entity"] for row in rows)
        telling = {i for i, count in chunks.items() if count <= COMMON and len(entities[i].value) >= min_name}
        entity, chunk = ({i: k for k, i in enumerate({row[side] for row in rows})} for side in ("entity", "chunk"))
        others: dict[tuple[str, str], list[str]] = defaultdict(list)
        for other_id, id_ in {(row["other_id"], row["id"]) for row in self._aliases(view)}:
            others[id_, entities[id_].value].append(entities[other_id].value)
        return counts_of(
            len(self._client.read(_LIVE_RELATIONS, tenant=view)),
            ((entity[row["entity"]], chunk[row["chunk"]]) for row in rows if row["entity"] in telling),
            least_together,
            sum(e.df > 0 for e in entities.values()),
            others,
        )

    def _aliases(self, tenant: Tenant) -> list[Row]:
        """Return the other names that the synonyms, or texts that readers see, give."""
        return seen_aliases(self._client, tenant, self._client.read(_ALIASES, tenant=tenant.whole))


def _in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row["id"]))


def _between(client: NeptuneClient, pairs: Iterable[tuple[str, str]]) -> dict[str, Row]:
    """Return the relations between the chunks of each pair, in either direction, by id."""
    rows = client.read_latest(_BETWEEN, pairs=[{"first": a, "second": b} for a, b in sorted(pairs)])
    return {row["id"]: row for row in rows}
