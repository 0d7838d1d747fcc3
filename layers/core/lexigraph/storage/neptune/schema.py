"""The lexical graph in Neptune: labels, edges, property names, and what of it readers may see.

Every node has its public id as ``~id`` (``id(n)``) and the property ``tenant``; every edge has a ``~id`` that follows from
its ends and its owner (:func:`edge_id`), so that writing it again changes nothing. Properties are scalars; what is not goes
as JSON text. No property is ever absent but for ``touched``, ``claim``, ``untold`` and a chunk's ``statements``; and for
``kind`` and ``original`` where they were not known yet when a statement was written (prose, and empty).

===========  =====================================================================================================
node         properties
===========  =====================================================================================================
Source       ``uri namespace title metadata`` (JSON text; what filters see are further properties, one a key of
             ``Source.filterable``: :func:`~lexigraph.storage.neptune.filters.filter_properties`),
             ``live`` (0: readers see nothing of it), ``untold`` (the tenant, while entities of the version that just
             became live are not marked yet)
Chunk        ``source`` (id), ``aliases`` (JSON: pairs of entity ids it owns an ALIAS_OF between), ``statements``
             (JSON, see :func:`statements_text`; absent while the chunk is not complete)
Topic        ``source`` (id), ``value``
Statement    ``value details kind``
Fact         ``subject predicate object`` (texts)
Entity       ``value class df degree`` (derived), ``touched`` (the tenant, while they have to be computed anew),
             ``claim`` (the number of the computation under way, taken off by whoever touches it meanwhile)
===========  =====================================================================================================

=================================  ===============================================================================
edge                               properties
=================================  ===============================================================================
Chunk-EXTRACTED_FROM->Source       ``since until seq start end role parent``: the place of a chunk in the versions
                                   ``since <= v < until``; ``until`` is :data:`OPEN` for an open end, 0 when the
                                   source was withdrawn. A chunk that moved has two until it is collected
Topic-MENTIONED_IN->Chunk
Statement-MENTIONED_IN->Chunk      ``position start end original``
Statement-BELONGS_TO->Topic
Statement-MENTIONS->Entity         ``chunk form class``; also of subjects and objects of its facts
Fact-SUPPORTS->Statement           ``chunk confidence``
Entity-SUBJECT->Fact               one a fact
Entity-OBJECT->Fact                ``chunk statement``; one a support, none when the object is no entity
Source-ABOUT->Entity               ``form``; of the live version
Entity-ALIAS_OF->Entity            ``chunk`` (or :func:`synonyms_owner`, :func:`senses_owner`) ``alias_form target_form``
Chunk-REL->Chunk                   ``type observer confidence evidence``
Chunk-OBSERVED->Chunk              ``observer how failed``: which pairs an observer was asked about, first to second
=================================  ===============================================================================

An edge with the property ``chunk`` counts only where that chunk is live. ``chunk`` is the id of a chunk in which the
statement stands: from a statement, go over MENTIONED_IN to the chunk whose ``id`` it is, never look for it by value. Readers
match ``(c:Chunk)-[p:EXTRACTED_FROM]->(s:Source)`` with the condition :data:`LIVE` and the parameter ``tenant``.
"""

import json
from collections.abc import Sequence
from typing import Any

from lexigraph.model.graph import ChunkGraph, Source
from lexigraph.model.ids import content_hash
from lexigraph.model.tenant import Tenant

# ``until`` of a chunk that stays: larger than any version, exact as a double
OPEN = 2**53 - 1

# A chunk placed by ``p`` in a source ``s`` that readers of ``$tenant`` see
LIVE = "s.tenant = $tenant AND p.since <= s.live AND s.live < p.until"
# The same of a second chunk, placed by ``q`` in ``z``; and a source ``s`` of which they see something
LIVE_OTHER = "z.tenant = $tenant AND q.since <= z.live AND z.live < q.until"
SHOWN = "s.tenant = $tenant AND s.live > 0"

# What a query returns of a source, in the order of :func:`source_of`
SOURCE_COLUMNS = (
    "id(s) AS source, s.uri AS uri, s.namespace AS namespace, s.title AS title, s.metadata AS metadata, s.live AS live"
)


def edge_id(edge: str, *parts: str | int) -> str:
    """Return the id of an edge of this type that these parts tell apart from every other: its ends and its owner."""
    return f"{edge.lower()}:{content_hash(*map(str, parts))[:32]}"


def synonyms_owner(tenant: Tenant) -> str:
    """Return what stands for the chunk in a tenant's ALIAS_OF edges that no chunk owns."""
    return f"synonyms:{tenant.whole}"


def senses_owner(tenant: Tenant) -> str:
    """Return the same of those that lead from a name to what it means in some documents, and never back."""
    return f"senses:{tenant.whole}"


def source_of(row: dict[str, Any]) -> Source:
    """Return the source in a row that has :data:`SOURCE_COLUMNS`."""
    return Source(row["source"], row["uri"], row["namespace"], row["title"], json.loads(row["metadata"]), row["live"])


def metadata_text(source: Source) -> str:
    """Return a source's metadata as the JSON of its property."""
    return json.dumps(dict(source.metadata), ensure_ascii=False, sort_keys=True)


def aliases_text(chunk: ChunkGraph | None) -> str:
    """Return the pairs of entities between which a chunk owns an ALIAS_OF, as the JSON of its property ``aliases``."""
    return json.dumps([(a.alias, a.target) for a in chunk.aliases] if chunk else [])


def statements_text(chunk: ChunkGraph) -> str:
    """Return all that a chunk says, as the JSON of its property ``statements``: ``[topics, said]``.

    ``topics`` are ``[id, title]``. ``said`` are, in reading order, ``[id, value, details, index of the topic, position,
    start, end, ids of the entities named, facts, kind, original]``; chunks written when these two were not known lack them.
    ``facts`` are the parts of :class:`~lexigraph.model.graph.FactRow`. What it holds never changes while the chunk exists,
    so that one hop reads a chunk; place, source and liveness come with the row.
    """
    names: dict[str, set[str]] = {}
    facts: dict[str, dict[str, Sequence[str | None]]] = {}
    for m in chunk.mentions:
        names.setdefault(m.statement_id, set()).add(m.entity_id)
    for f in chunk.facts:
        names.setdefault(f.statement_id, set()).update(filter(None, (f.subject_id, f.object_id)))
        row = (f.id, f.subject, f.predicate, f.object, f.subject_id, f.object_id)
        facts.setdefault(f.statement_id, {}).setdefault(f.id, row)
    titles = {t.id: t.value for t in reversed(chunk.topics)}
    topics = list(dict.fromkeys(t.id for t in chunk.topics))
    first = {s.id: s for s in reversed(chunk.statements)}
    said = [
        (
            *(s.id, s.value, s.details, topics.index(s.topic_id), s.position, s.start, s.end),
            sorted(names.get(s.id, ())),
            sorted(facts.get(s.id, {}).values(), key=lambda row: str(row[0])),
            *(s.kind, s.original),
        )
        for s in sorted(first.values(), key=lambda s: (s.position, s.id))
    ]
    return json.dumps(([(t, titles[t]) for t in topics], said), ensure_ascii=False, separators=(",", ":"))
