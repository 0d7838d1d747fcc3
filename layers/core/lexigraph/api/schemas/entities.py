"""Entities: their names, what is said of them, and what they are named with."""

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from lexigraph.api.limits import Reply
from lexigraph.api.schemas.explore import DocumentTitle, NamedReply, PlacedStatement
from lexigraph.model.graph import Entity
from lexigraph.storage.protocols import Companion, EntityProfile


class EntitySummary(NamedReply):
    """An entity, and how much there is of it."""

    class_: str = Field(alias="class", description="what it is, as most say; empty where none does", examples=["Person"])
    documents: int = Field(description="that name it", examples=[3])
    facts: int = Field(description="in which it stands", examples=[5])

    @classmethod
    def of(cls, entity: Entity) -> "EntitySummary":
        """Return the reply for an entity."""
        return cls(**_told(entity))


class EntityList(Reply):
    """A page of entities, best first."""

    entities: list[EntitySummary] = Field(description="the page")
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class Times(Reply):
    """A name, and how often it is given."""

    name: str = Field(description="as it is written", examples=["T. Lund"])
    count: int = Field(description="mentions", examples=[4])


class EntityReply(EntitySummary):
    """What is known of an entity."""

    statements: int = Field(description="that name it", examples=[12])
    neighbours: int = Field(description="other entities that one of these names, too", examples=[9])
    complete: bool = Field(description="these are all: 20,000 mentions are read at most", examples=[True])
    names: list[Times] = Field(description="how it is written, most often first")
    classes: list[Times] = Field(description="as what it is seen, most often first")
    aliases: list[NamedReply] = Field(description="other entities that mean the same")

    @classmethod
    def made(cls, entity: Entity, profile: EntityProfile, aliases: list[NamedReply]) -> "EntityReply":
        """Return the reply for an entity with its profile."""
        return cls(
            **_told(entity),
            statements=profile.statements,
            neighbours=profile.neighbours,
            complete=profile.complete,
            names=_times(profile.forms),
            classes=_times(profile.classes),
            aliases=aliases,
        )


class SourceStatements(Reply):
    """Statements of one document."""

    document: DocumentTitle = Field(description="where they stand")
    statements: list[PlacedStatement] = Field(description="as it reads")


class EntityStatements(Reply):
    """A page of statements, by document. It may be shorter than asked for."""

    sources: list[SourceStatements] = Field(description="the page")
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


class RelationReply(Reply):
    """What facts say of two entities."""

    predicate: str = Field(description="what is said", examples=["signs"])
    direction: Literal["out", "in"] = Field(description="of the entity asked about, or about it", examples=["out"])
    count: int = Field(description="statements that say it", examples=[3])


class NeighbourReply(EntitySummary):
    """An entity that is named beside another."""

    together: int = Field(description="statements that name both", examples=[12])
    relations: list[RelationReply] = Field(description="what facts say of the two, most often said first")

    @classmethod
    def made(cls, entity: Entity, companion: Companion) -> "NeighbourReply":
        """Return the reply for an entity that stands beside another."""
        relations = [
            RelationReply(predicate=r.predicate, direction="out" if r.outgoing else "in", count=r.statements)
            for r in companion.relations
        ]
        return cls(**_told(entity), together=companion.statements, relations=relations)


class NeighbourList(Reply):
    """A page of neighbours, those of most statements first."""

    neighbours: list[NeighbourReply] = Field(description="the page")
    total: int = Field(description="neighbours in all", examples=[91])
    complete: bool = Field(description="these are all: 20,000 mentions are read at most", examples=[True])
    next: str | None = Field(description="`cursor` of the next page, null at the end", examples=[None])


def _told(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.value,
        "class": entity.class_,
        "documents": entity.df,
        "facts": entity.degree,
    }


def _times(counted: Iterable[tuple[str, int]]) -> list[Times]:
    return [Times(name=name, count=count) for name, count in counted]
