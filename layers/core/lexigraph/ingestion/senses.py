"""What names mean in the documents in which curators split them: another entity, under another name. Pure.

Extractions are kept as they were found, so that a split needs no model, and undoing it brings back what was there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from lexigraph.model.curation import Decision
from lexigraph.model.extraction import ExtractedStatement, Extraction
from lexigraph.model.ids import content_hash, source_id
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant

Means = Mapping[str, str]  # by key of a name in the text, the name of the entity that it means
_TAG = " split:"


def by_document(tenant: Tenant, decisions: Iterable[Decision]) -> dict[str, dict[str, str]]:
    """Return what names mean, by id of the documents in which decisions that hold split them."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for one in decisions:
        for name, other in one.senses:
            for document in one.documents:
                found[source_id(tenant.whole, *document)][entity_key(name)] = other
    return dict(found)


def made_by(extractor: str, means: Means) -> str:
    """Return what made the extractions of a document: an extractor, and the splits that were applied to what it found."""
    return f"{extractor}{_TAG}{content_hash(*map(str, sorted(means.items())))[:16]}" if means else extractor


def without_splits(made_by_: str) -> str:
    """Return the extractor alone of what :func:`made_by` made."""
    return made_by_.partition(_TAG)[0]


def renamed(extraction: Extraction, means: Means) -> Extraction:
    """Return an extraction in which names are those of what they mean: in entities, facts and aliases, not in the text."""
    if not means or extraction.failed:
        return extraction
    topics = tuple(replace(t, statements=tuple(_renamed(s, means) for s in t.statements)) for t in extraction.topics)
    aliases = tuple((_meant(other, means), _meant(name, means)) for other, name in extraction.aliases)
    return replace(extraction, topics=topics, aliases=aliases)


def _renamed(said: ExtractedStatement, means: Means) -> ExtractedStatement:
    named = {entity_key(one.name) for one in said.entities}
    entities = tuple(replace(one, name=_meant(one.name, means)) for one in said.entities)
    facts = tuple(
        replace(
            fact,
            subject=_meant(fact.subject, means),
            # what is no entity is a text
            object=_meant(fact.object, means) if entity_key(fact.object) in named else fact.object,
        )
        for fact in said.facts
    )
    return replace(said, entities=entities, facts=facts)


def _meant(name: str, means: Means) -> str:
    return means.get(entity_key(name), name)
