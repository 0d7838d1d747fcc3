"""Entities: their names, what is said of them, and what they are named with."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply
from lexigraph.api.schemas.explore import DocumentTitle, NamedReply, PlacedStatement
from lexigraph.model.graph import Entity
from lexigraph.storage.protocols import Companion, EntityProfile


class EntitySummary(NamedReply):
    """An entity with its counts."""

    class_: str = Field(alias="class", description="most frequent class; empty if none is known", examples=["Person"])
    documents: int = Field(description="number of documents that name it", examples=[3])
    facts: int = Field(description="number of facts about it", examples=[5])

    @classmethod
    def of(cls, entity: Entity) -> "EntitySummary":
        """Return the reply for an entity."""
        return cls(**entity.to_dict())


class EntityList(Reply):
    """A page of entities, best first."""

    entities: list[EntitySummary] = Field(description="the page")
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class Times(Reply):
    """A name and its frequency."""

    name: str = Field(description="spelling", examples=["T. Lund"])
    count: int = Field(description="mentions", examples=[4])


class EntityReply(EntitySummary):
    """An entity with its names, classes and counts."""

    statements: int = Field(description="number of statements that name it", examples=[12])
    neighbours: int = Field(description="number of entities that occur in the same statements", examples=[9])
    complete: bool = Field(description="whether the counts are complete; at most 20,000 mentions are read", examples=[True])
    names: list[Times] = Field(description="spellings, most frequent first")
    classes: list[Times] = Field(description="classes, most frequent first")
    aliases: list[NamedReply] = Field(description="aliases of the entity")

    @classmethod
    def made(cls, entity: Entity, profile: EntityProfile, aliases: list[NamedReply]) -> "EntityReply":
        """Return the reply for an entity with its profile."""
        return cls(
            **entity.to_dict(),
            statements=profile.statements,
            neighbours=profile.neighbours,
            complete=profile.complete,
            names=_times(profile.forms),
            classes=_times(profile.classes),
            aliases=aliases,
        )


class SourceStatements(Reply):
    """Statements of one document."""

    document: DocumentTitle = Field(description="document")
    statements: list[PlacedStatement] = Field(description="statements of the document")


class EntityStatements(Reply):
    """A page of statements, grouped by document. It may be short."""

    sources: list[SourceStatements] = Field(description="the page")
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class RelationReply(Reply):
    """A relation between two entities."""

    predicate: str = Field(description="predicate", examples=["signs"])
    direction: Literal["out", "in"] = Field(description="outgoing or incoming", examples=["out"])
    count: int = Field(description="number of statements that support it", examples=[3])


class NeighbourReply(EntitySummary):
    """An entity that occurs in statements with another."""

    together: int = Field(description="number of statements that mention both", examples=[12])
    relations: list[RelationReply] = Field(description="relations between the two, most frequent first")

    @classmethod
    def made(cls, entity: Entity, companion: Companion) -> "NeighbourReply":
        """Return the reply for an entity that stands beside another."""
        relations = [
            RelationReply(predicate=r.predicate, direction="out" if r.outgoing else "in", count=r.statements)
            for r in companion.relations
        ]
        return cls(**entity.to_dict(), together=companion.statements, relations=relations)


class NeighbourList(Reply):
    """A page of neighbours, most statements first."""

    neighbours: list[NeighbourReply] = Field(description="the page")
    total: int = Field(description="total number of neighbours", examples=[91])
    complete: bool = Field(description="whether the counts are complete; at most 20,000 mentions are read", examples=[True])
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


def _times(counted: Iterable[tuple[str, int]]) -> list[Times]:
    return [Times(name=name, count=count) for name, count in counted]
