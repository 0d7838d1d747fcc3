"""Showing and hiding versions in Neptune, synonyms, and which entities have to be computed anew because of it.

What readers see changes in one query. The entities that it concerns are marked in further ones; until they all are, the
source is marked itself (``untold``), in the query that showed it: whoever derives next does what a killed process left.
"""

import json
from collections.abc import Iterable, Sequence

from lexigraph.model.errors import Conflict
from lexigraph.model.graph import Source
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.contribution import expect_version
from lexigraph.storage.neptune.client import NeptuneClient, Row
from lexigraph.storage.neptune.filters import filter_properties
from lexigraph.storage.neptune.schema import edge_id, metadata_text, senses_owner, synonyms_owner
from lexigraph.storage.neptune.write import SOURCES_AS_THEY_ARE

# What a touch sets on an entity `e`: it is due, and a computation that is under way is no longer the last word
TOUCH = "SET e.touched = $tenant, e.claim = 0"
# Whether that would change anything. To read it keeps others from claiming the entity, not from touching it: what very many
# texts name would be in the way of all that are published.
UNTOUCHED = "coalesce(e.claim, 1) <> 0"

_ABOUT = """
UNWIND $ids AS id MATCH (s:Source {`~id`: id})-[a:ABOUT]->(e:Entity)
RETURN id(s) AS source, id(a) AS id
"""
# After an aggregate without a key there is one row, also where there was none.
_SHOW = f"""
UNWIND $shown AS row
MATCH (s:Source {{`~id`: row.id}})
SET s.live = row.version, s.uri = row.uri, s.namespace = row.namespace, s.title = row.title, s.metadata = row.metadata,
    s.untold = $tenant
SET s += row.compared
WITH count(*) AS sources
UNWIND $names AS name
MATCH (s:Source {{`~id`: name.source}})
MERGE (e:Entity {{`~id`: name.entity}})
ON CREATE SET e.tenant = $tenant, e.value = name.form, e.class = '', e.df = 0, e.degree = 0
MERGE (s)-[a:ABOUT {{`~id`: name.id}}]->(e)
SET a.form = name.form
{TOUCH}
WITH count(*) AS named
UNWIND $former AS old
MATCH (s:Source {{`~id`: old.source}})-[a:ABOUT {{`~id`: old.id}}]->(e:Entity)
{TOUCH}
DELETE a
"""
_HIDE = f"""
UNWIND $ids AS id
MATCH (s:Source {{`~id`: id}}) WHERE s.tenant = $tenant
SET s.live = 0
REMOVE s.untold
WITH count(*) AS hidden
UNWIND $ids AS id
MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {{`~id`: id}}) WHERE s.tenant = $tenant
SET p.until = 0
WITH count(*) AS closed
UNWIND $ids AS id
MATCH (s:Source {{`~id`: id}})-[a:ABOUT]->(e:Entity) WHERE s.tenant = $tenant
{TOUCH}
DELETE a
"""
_UNTOLD = """
MATCH (s:Source) WHERE s.untold = $tenant
RETURN id(s) AS id, s.live AS version
"""
_CHANGED_CHUNKS = """
UNWIND $sources AS row
MATCH (c:Chunk)-[p:EXTRACTED_FROM]->(s:Source {`~id`: row.id}) WHERE p.since = row.version OR p.until = row.version
RETURN DISTINCT id(c) AS id, c.aliases AS aliases
"""
_TOUCH_NAMED = f"""
UNWIND $rows AS row
MATCH (c:Chunk {{`~id`: row.id}})<-[:MENTIONED_IN]-(x:Statement)-[m:MENTIONS]->(e:Entity) WHERE m.chunk = row.id
WITH DISTINCT e WHERE {UNTOUCHED}
{TOUCH}
"""
_TOUCH = f"""
UNWIND $rows AS row
MATCH (e:Entity {{`~id`: row.id}}) WHERE e.tenant = $tenant AND {UNTOUCHED}
{TOUCH}
"""
_TOLD = """
UNWIND $rows AS row
MATCH (s:Source {`~id`: row.id}) WHERE s.untold = $tenant AND s.live = row.version
REMOVE s.untold
"""
_SYNONYMS = """
MATCH (a:Entity)-[r:ALIAS_OF]->(b:Entity) WHERE r.chunk IN $owners
RETURN id(r) AS id, id(a) AS alias, id(b) AS target
"""
_REPLACE_SYNONYMS = """
UNWIND $made AS row
MERGE (a:Entity {`~id`: row.alias})
ON CREATE SET a.tenant = $tenant, a.value = row.alias_form, a.class = '', a.df = 0, a.degree = 0
MERGE (b:Entity {`~id`: row.target})
ON CREATE SET b.tenant = $tenant, b.value = row.target_form, b.class = '', b.df = 0, b.degree = 0
MERGE (a)-[r:ALIAS_OF {`~id`: row.id}]->(b)
SET r.chunk = row.owner, r.alias_form = row.alias_form, r.target_form = row.target_form,
    a.touched = $tenant, a.claim = 0, b.touched = $tenant, b.claim = 0
WITH count(*) AS made
UNWIND $former AS old
MATCH (a:Entity {`~id`: old.alias})-[r:ALIAS_OF {`~id`: old.id}]->(b:Entity)
SET a.touched = $tenant, a.claim = 0, b.touched = $tenant, b.claim = 0
DELETE r
"""


class NeptunePublish:
    """Which versions readers see."""

    _client: NeptuneClient

    def publish(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        found = {row["id"]: row for row in self._client.read_latest(SOURCES_AS_THEY_ARE, ids=[s.id for s in sources])}
        for s in sources:
            if s.id not in found or found[s.id]["tenant"] != tenant:
                raise Conflict(f"{s.id}: no chunk of it was written; ingest the document again")
            expect_version(s, found[s.id]["version"], allow_repeat=True)
        # which entities the version before concerned can no longer be told afterwards
        tell(self._client, tenant, [row for row in found.values() if row["untold"]])
        names = {row["id"]: row for s in sources for row in _titled(tenant, s)}
        about = self._client.read_latest(_ABOUT, ids=[s.id for s in sources])
        shown = [
            {
                "id": s.id,
                "version": s.version,
                "uri": s.uri,
                "namespace": s.namespace,
                "title": s.title,
                "metadata": metadata_text(s),
                # null takes a property off
                "compared": {**dict.fromkeys(_compared_before(found[s.id])), **filter_properties(s)},
            }
            for s in sources
        ]
        self._client.write(
            _SHOW,
            tenant=tenant,
            shown=sorted(shown, key=lambda row: str(row["id"])),
            names=sorted(names.values(), key=lambda row: str(row["entity"])),
            former=[row for row in about if row["id"] not in names],
        )
        tell(self._client, tenant, [{"id": s.id, "version": s.version} for s in sources])

    def withdraw(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        self._client.write(_HIDE, tenant=tenant, ids=sorted(set(source_ids)))

    def set_synonyms(self, tenant: Tenant, pairs: Sequence[tuple[str, str]], senses: Sequence[tuple[str, str]] = ()) -> None:
        owners = synonyms_owner(tenant), senses_owner(tenant)
        made: dict[str, Row] = {}
        for owner, name, target in [(owners[0], *pair) for pair in pairs] + [(owners[1], *pair) for pair in senses]:
            a, b = entity_id(tenant, name), entity_id(tenant, target)
            if a != b:
                row = {"id": edge_id("ALIAS_OF", a, b, owner), "owner": owner, "alias": a, "target": b}
                made.setdefault(row["id"], {**row, "alias_form": name, "target_form": target})
        former = [row for row in self._client.read_latest(_SYNONYMS, owners=list(owners)) if row["id"] not in made]
        rows = sorted(made.values(), key=lambda row: row["id"])
        self._client.write(_REPLACE_SYNONYMS, tenant=tenant, made=rows, former=former)


def _compared_before(row: Row) -> Iterable[str]:
    """Return the names of the properties that filters were compared with until now."""
    former = Source(row["id"], row["uri"], row["namespace"], row["title"], json.loads(row["metadata"]))
    return filter_properties(former)


def _titled(tenant: str, source: Source) -> list[Row]:
    forms = {entity_id(tenant, name): name for name in source.titled}
    return [
        {"id": edge_id("ABOUT", source.id, entity), "source": source.id, "entity": entity, "form": form}
        for entity, form in forms.items()
    ]


def tell(client: NeptuneClient, tenant: str, sources: Sequence[Row] | None = None) -> None:
    """Mark the entities that versions (``id``, ``version``) concern which became live; None: all that are not told yet."""
    if sources is None:
        sources = client.read_latest(_UNTOLD, tenant=tenant)
    if not sources:
        return
    shown = [{"id": row["id"], "version": row["version"]} for row in sources]
    chunks = client.read_latest(_CHANGED_CHUNKS, sources=shown)
    client.write(_TOUCH_NAMED, [{"id": row["id"]} for row in chunks], tenant=tenant)
    aliases = sorted({entity for row in chunks for pair in json.loads(row["aliases"]) for entity in pair})
    client.write(_TOUCH, [{"id": i} for i in aliases], tenant=tenant)
    client.write(_TOLD, shown, tenant=tenant)
