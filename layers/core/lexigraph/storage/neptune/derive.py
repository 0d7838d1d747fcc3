"""Derived properties of entities in Neptune: value, class, df and degree, computed from live edges.

Whoever changes an edge sets ``touched``. A computation puts its number on the entities that it takes (``claim``) before it
reads their edges; a touch takes the number off. So what is stored and settled was computed after the last touch, though
reading, storing and settling are queries of their own. A process that was stopped in between, until another computed anew,
leaves them touched when it goes on.

Of what is named more often than retrieval follows (``HUB``) as many mentions are read as that, wherever they stand: a new
document costs the same in a tenant of any size. Its name and class are those of most of them; its ``df`` is all sources, at
most as many, for how many of these name it would take the others to tell; its ``degree`` counts the facts of as many.
"""

import secrets
from collections import Counter
from collections.abc import Sequence

from lexigraph.model.batches import batched
from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.contribution import majority
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.publish import tell
from lexigraph.storage.neptune.schema import LIVE, SHOWN, senses_owner, synonyms_owner
from lexigraph.storage.protocols import Derived
from lexigraph.storage.sqlite.graph.read import HUB

_MOST = 10_000  # entities in one call
_ENTITIES_AT_ONCE = 500

# Found by a read: a query that changes something would lock all that it looks through against whoever touches more.
_DUE = f"MATCH (e:Entity) WHERE e.touched = $tenant RETURN id(e) AS id LIMIT {_MOST}"
_CLAIM = """
UNWIND $rows AS row
MATCH (e:Entity {`~id`: row.id}) WHERE e.touched = $tenant
SET e.claim = $stamp
RETURN id(e) AS id
"""
# Of what is named very often no more than that is looked at, whatever the tenant holds.
_MENTIONS = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})
CALL {{
    WITH e
    MATCH (e)<-[m:MENTIONS]-(:Statement)-[:MENTIONED_IN]->(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)
    WHERE id(c) = m.chunk AND {LIVE}
    RETURN m.form AS form, m.class AS class, id(s) AS source LIMIT {HUB + 1}
}}
RETURN id, form, class, source, count(*) AS times
"""
_SOURCES = f"MATCH (s:Source) WHERE {SHOWN} WITH s LIMIT {HUB} RETURN count(s) AS sources"
# What a view sees of titles, and other names with their owners; of all sources, any name
_TITLES = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})
CALL {{ WITH e MATCH (e)<-[a:ABOUT]-(s:Source) WHERE {SHOWN} RETURN a.form AS form LIMIT {HUB + 1} }}
RETURN id, form
"""
_OTHER_FORMS = f"""{_TITLES.replace(f"WHERE {SHOWN} ", "")}
UNION ALL
UNWIND $ids AS id MATCH (e:Entity {{`~id`: id}})-[r:ALIAS_OF]->(:Entity) RETURN id, r.alias_form AS form
UNION ALL
UNWIND $ids AS id MATCH (e:Entity {{`~id`: id}})<-[r:ALIAS_OF]-(:Entity) RETURN id, r.target_form AS form
"""
_OTHER_NAMES = """
UNWIND $ids AS id MATCH (e:Entity {`~id`: id})-[r:ALIAS_OF]->(:Entity) RETURN id, r.alias_form AS form, r.chunk AS chunk
UNION ALL
UNWIND $ids AS id MATCH (e:Entity {`~id`: id})<-[r:ALIAS_OF]-(:Entity) RETURN id, r.target_form AS form, r.chunk AS chunk
"""
_NAMED = f"""
MATCH (s:Source)<-[p:EXTRACTED_FROM]-(c:Chunk) WHERE {LIVE}
MATCH (c)<-[:MENTIONED_IN]-(:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = id(c)
RETURN DISTINCT id(e) AS id
UNION
MATCH (s:Source)-[:ABOUT]->(e:Entity) WHERE {SHOWN}
RETURN DISTINCT id(e) AS id
"""
_EVERY_ALIAS = """
MATCH (a:Entity)-[r:ALIAS_OF]->(b:Entity) WHERE b.tenant = $tenant
RETURN id(b) AS id, id(a) AS other_id, r.chunk AS chunk
"""
_LIVE_CHUNKS = f"""
UNWIND $ids AS id
MATCH (c:Chunk {{`~id`: id}})-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
RETURN DISTINCT id
"""
_DEGREE = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})-[b:SUBJECT|OBJECT]->(f:Fact)-[u:SUPPORTS]->(x:Statement)-[i:MENTIONED_IN]->(c:Chunk)
WHERE type(b) = 'SUBJECT' OR b.chunk = u.chunk
WITH id, f, u, c WHERE id(c) = u.chunk
MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
RETURN id, count(DISTINCT id(f)) AS facts
"""
_DEGREE_OF_CROWDED = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})
CALL {{
    WITH e
    MATCH (e)-[b:SUBJECT|OBJECT]->(f:Fact)-[u:SUPPORTS]->(:Statement)-[:MENTIONED_IN]->(c:Chunk)
    WHERE id(c) = u.chunk AND (type(b) = 'SUBJECT' OR b.chunk = u.chunk)
    MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
    RETURN id(f) AS fact LIMIT {HUB + 1}
}}
RETURN id, count(DISTINCT fact) AS facts
"""
_STORE = """
UNWIND $rows AS row
MATCH (e:Entity {`~id`: row.id}) WHERE e.claim = $stamp
SET e.value = row.value, e.class = row.class, e.df = row.df, e.degree = row.degree
"""
_STORE_UNNAMED = """
UNWIND $rows AS row
MATCH (e:Entity {`~id`: row.id}) WHERE e.claim = $stamp
SET e.df = 0, e.degree = 0
"""
_DELETE_UNSUPPORTED = """
UNWIND $rows AS row
MATCH (e:Entity {`~id`: row.id}) WHERE e.tenant = $tenant AND e.claim = $stamp
OPTIONAL MATCH (e)-[edge]-()
WITH e, count(edge) AS edges WHERE edges = 0
DELETE e
"""
# Null takes a property off. Who lost its claim has told the index of names what is not the last word: it is due again.
_SETTLE = """
UNWIND $rows AS row
MATCH (e:Entity {`~id`: row.id}) WHERE e.tenant = $tenant
SET e.touched = CASE WHEN e.claim = $stamp THEN null ELSE $tenant END,
    e.claim = CASE WHEN e.claim = $stamp THEN null ELSE 0 END
"""


class NeptuneDerive:
    """What follows from the edges of entities."""

    _client: NeptuneClient

    def derive(self, tenant: Tenant) -> Derived:
        tell(self._client, tenant)
        stamp = secrets.randbelow(2**53 - 1) + 1
        touched = sorted(str(row["id"]) for row in self._client.read_latest(_DUE, tenant=tenant))
        due = [str(row["id"]) for row in self._client.write(_CLAIM, _ids(touched), tenant=tenant, stamp=stamp)]
        present = computed(self._client, tenant, due)
        rows = [{"id": e.id, "value": e.value, "class": e.class_, "df": e.df, "degree": e.degree} for e in present]
        self._client.write(_STORE, rows, stamp=stamp)
        named = {e.id for e in present}
        # what only unpublished chunks name is gone for readers until it is published, which touches it again
        gone = [i for i in due if i not in named]
        self._client.write(_STORE_UNNAMED, _ids(gone), stamp=stamp)
        return Derived(present=tuple(present), gone=tuple(gone), stamp=stamp)

    def settle(self, tenant: Tenant, derived: Derived) -> None:
        self._client.write(_DELETE_UNSUPPORTED, _ids(derived.gone), tenant=tenant, stamp=derived.stamp)
        everything = sorted([*derived.gone, *(e.id for e in derived.present)])
        self._client.write(_SETTLE, _ids(everything), tenant=tenant, stamp=derived.stamp)


def every_entity(client: NeptuneClient, view: View) -> list[Entity]:
    """Return the entities that a text, a title or another name names which a view sees, as it sees them."""
    named = {row["id"] for row in client.read_latest(_NAMED, tenant=view)}
    aliases = client.read_latest(_EVERY_ALIAS, tenant=view.whole)
    named |= {row[end] for row in seen_aliases(client, view, aliases) for end in ("id", "other_id")}
    return computed(client, view, sorted(named))


def computed(client: NeptuneClient, tenant: Tenant, ids: Sequence[str]) -> list[Entity]:
    """Return those of these entities that readers see named, with what is derived from what they, or a view, see."""
    return [entity for part in batched(ids, _ENTITIES_AT_ONCE) for entity in _computed(client, tenant, part)]


def seen_aliases(client: NeptuneClient, tenant: Tenant, rows: Sequence[Row]) -> list[Row]:
    """Return the rows whose ``chunk``, the owner of an alias, readers see or stands for no chunk."""
    owners = sorted({row["chunk"] for row in rows})
    live = {row["id"] for row in client.read_latest(_LIVE_CHUNKS, ids=owners, tenant=tenant)}
    live |= {synonyms_owner(tenant), senses_owner(tenant)}
    return [row for row in rows if row["chunk"] in live]


def _computed(client: NeptuneClient, tenant: Tenant, ids: Sequence[str]) -> list[Entity]:
    mentions = client.read_in_parts(_MENTIONS, ids, tenant=tenant)
    if isinstance(tenant, View):
        other = client.read_in_parts(_TITLES, ids, tenant=tenant)
        other += seen_aliases(client, tenant, client.read_in_parts(_OTHER_NAMES, ids))
    else:
        other = client.read_in_parts(_OTHER_FORMS, ids)
    forms = [(str(m["id"]), str(m["form"]), int(m["times"])) for m in mentions]
    value = majority([*forms, *((str(o["id"]), str(o["form"]), 1) for o in other)])
    class_ = majority((str(m["id"]), str(m["class"]), int(m["times"])) for m in mentions)
    df = Counter(i for i, _ in {(m["id"], m["source"]) for m in mentions})
    times = Counter[str]()
    for m in mentions:
        times[m["id"]] += m["times"]
    crowded = [i for i in ids if times[i] > HUB]
    facts = client.read_in_parts(_DEGREE, [i for i in ids if times[i] <= HUB], tenant=tenant)
    if crowded:
        facts += client.read_in_parts(_DEGREE_OF_CROWDED, crowded, tenant=tenant)
        sources = client.read_latest(_SOURCES, tenant=tenant)[0]["sources"]
        df |= Counter(dict.fromkeys(crowded, sources))
    degree = {row["id"]: min(row["facts"], HUB) if times[row["id"]] > HUB else row["facts"] for row in facts}
    return [Entity(i, value[i], class_.get(i, ""), df[i], degree.get(i, 0)) for i in ids if i in value]


def _ids(ids: Sequence[str]) -> list[Row]:
    return [{"id": i} for i in ids]
