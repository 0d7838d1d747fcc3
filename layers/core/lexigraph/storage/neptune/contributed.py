"""What a chunk contributes to the graph, as rows: each an edge, with the node that it supports. Pure."""

from collections.abc import Mapping

from lexigraph.model.graph import ChunkGraph, Mention
from lexigraph.storage.neptune.client import Row
from lexigraph.storage.neptune.schema import edge_id


def topics_of(c: ChunkGraph) -> list[Row]:
    """Return the rows of a chunk's topics: each with the edge by which the chunk mentions it."""
    titles = {t.id: t.value for t in reversed(c.topics)}
    return [
        {"id": i, "value": value, "chunk": c.chunk_id, "said": edge_id("MENTIONED_IN", i, c.chunk_id)}
        for i, value in titles.items()
    ]


def statements_of(c: ChunkGraph) -> list[Row]:
    """Return the rows of a chunk's statements, with the edges to the chunk and to the topic."""
    first = {s.id: s for s in reversed(c.statements)}
    return [
        {
            "id": s.id,
            "chunk": c.chunk_id,
            "topic": s.topic_id,
            "said": edge_id("MENTIONED_IN", s.id, c.chunk_id),
            "belongs": edge_id("BELONGS_TO", s.id, s.topic_id),
            **{name: getattr(s, name) for name in ("value", "details", "kind", "position", "start", "end", "original")},
        }
        for s in first.values()
    ]


def mentions_of(c: ChunkGraph, forms: Mapping[str, str]) -> list[Row]:
    """Return the rows of a chunk's mentions, with the entity that each names; ``forms`` are the names of all of them."""
    # whoever stands in a fact is named by its statement: one edge type leads from entities to statements
    subjects = [Mention(f.statement_id, f.subject_id, f.subject, "") for f in c.facts]
    objects = [Mention(f.statement_id, f.object_id, f.object, "") for f in c.facts if f.object_id]
    first: dict[tuple[str, str], Mention] = {}
    for m in (*c.mentions, *subjects, *objects):
        first.setdefault((m.statement_id, m.entity_id), m)
    return [
        {
            "id": edge_id("MENTIONS", statement, entity, c.chunk_id),
            "statement": statement,
            "entity": entity,
            "chunk": c.chunk_id,
            "form": m.form,
            "class": m.class_,
            "value": forms[entity],
        }
        for (statement, entity), m in first.items()
    ]


def facts_of(c: ChunkGraph) -> list[Row]:
    """Return the rows of a chunk's facts, with the edges to the statement that supports each and from its subject."""
    first = {(f.statement_id, f.id): f for f in reversed(c.facts)}
    return [
        {
            "id": fact,
            "statement": statement,
            "chunk": c.chunk_id,
            "supports": edge_id("SUPPORTS", fact, statement, c.chunk_id),
            "stands": edge_id("SUBJECT", f.subject_id, fact),
            **{name: getattr(f, name) for name in ("subject", "predicate", "object", "subject_id", "confidence")},
        }
        for (statement, fact), f in first.items()
    ]


def objects_of(c: ChunkGraph) -> list[Row]:
    """Return the rows of a chunk's edges from the objects of facts."""
    first = {(f.statement_id, f.id): f for f in reversed(c.facts)}
    return [
        {
            "id": edge_id("OBJECT", f.object_id, fact, statement, c.chunk_id),
            "fact": fact,
            "entity": f.object_id,
            "chunk": c.chunk_id,
            "statement": statement,
        }
        for (statement, fact), f in first.items()
        if f.object_id
    ]


def aliases_of(c: ChunkGraph, forms: Mapping[str, str]) -> list[Row]:
    """Return the rows of a chunk's other names."""
    first = {(a.alias, a.target): a for a in reversed(c.aliases)}
    return [
        {
            "id": edge_id("ALIAS_OF", alias, target, c.chunk_id),
            "alias": alias,
            "target": target,
            "chunk": c.chunk_id,
            "alias_value": forms[alias],
            "target_value": forms[target],
            "alias_form": a.alias_form,
            "target_form": a.target_form,
        }
        for (alias, target), a in first.items()
    ]
