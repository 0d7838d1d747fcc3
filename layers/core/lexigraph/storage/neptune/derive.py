"""Derived properties of entities in Neptune: value, class, df and degree, computed from live edges.

Whoever changes an edge sets ``touched``. A computation puts its number on the entities that it takes (``claim``) before it
reads their edges; a touch takes the number off. So what is stored and settled was computed after the last touch, though
reading, storing and settling are queries of their own. A process that was stopped in between, until another computed anew,
leaves them touched when it goes on.
"""

import secrets
from collections import Counter
from collections.abc import Sequence

from lexigraph.model.graph import Entity
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import majority
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.publish import tell
from lexigraph.storage.neptune.schema import LIVE
from lexigraph.storage.protocols import Derived

_MOST = 10_000  # entities in one call
_ENTITIES_AT_ONCE = 500

_CLAIM = """
MATCH (e:Entity) WHERE e.touched = $tenant
WITH e LIMIT $most
SET e.claim = $stamp
RETURN id(e) AS id
"""
_MENTIONS = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})<-[m:MENTIONS]-(x:Statement)-[i:MENTIONED_IN]->(c:Chunk)
WITH id, m, c WHERE id(c) = m.chunk
MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
RETURN id, m.form AS form, m.class AS class, id(s) AS source, count(*) AS times
"""
_OTHER_FORMS = """
UNWIND $ids AS id MATCH (e:Entity {`~id`: id})<-[a:ABOUT]-(:Source) RETURN id, a.form AS form
UNION ALL
UNWIND $ids AS id MATCH (e:Entity {`~id`: id})-[r:ALIAS_OF]->(:Entity) RETURN id, r.alias_form AS form
UNION ALL
UNWIND $ids AS id MATCH (e:Entity {`~id`: id})<-[r:ALIAS_OF]-(:Entity) RETURN id, r.target_form AS form
"""
_DEGREE = f"""
UNWIND $ids AS id
MATCH (e:Entity {{`~id`: id}})-[b:SUBJECT|OBJECT]->(f:Fact)-[u:SUPPORTS]->(x:Statement)-[i:MENTIONED_IN]->(c:Chunk)
WHERE type(b) = 'SUBJECT' OR b.chunk = u.chunk
WITH id, f, u, c WHERE id(c) = u.chunk
MATCH (c)-[p:EXTRACTED_FROM]->(s:Source) WHERE {LIVE}
RETURN id, count(DISTINCT id(f)) AS facts
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
        due = sorted(str(row["id"]) for row in self._client.write(_CLAIM, tenant=tenant, most=_MOST, stamp=stamp))
        present: list[Entity] = []
        for at in range(0, len(due), _ENTITIES_AT_ONCE):
            present += _computed(self._client, tenant, due[at : at + _ENTITIES_AT_ONCE])
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


def _computed(client: NeptuneClient, tenant: str, ids: Sequence[str]) -> list[Entity]:
    mentions = client.read_latest(_MENTIONS, ids=ids, tenant=tenant)
    other = client.read_latest(_OTHER_FORMS, ids=ids)
    forms = [(str(m["id"]), str(m["form"]), int(m["times"])) for m in mentions]
    value = majority([*forms, *((str(o["id"]), str(o["form"]), 1) for o in other)])
    class_ = majority((str(m["id"]), str(m["class"]), int(m["times"])) for m in mentions)
    df = Counter(i for i, _ in {(m["id"], m["source"]) for m in mentions})
    degree = {row["id"]: row["facts"] for row in client.read_latest(_DEGREE, ids=ids, tenant=tenant)}
    return [Entity(i, value[i], class_.get(i, ""), df[i], degree.get(i, 0)) for i in ids if i in value]


def _ids(ids: Sequence[str]) -> list[Row]:
    return [{"id": i} for i in ids]
