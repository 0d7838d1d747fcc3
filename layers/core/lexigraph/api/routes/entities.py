"""Entities: found by name, what is known of one, where it stands, and what stands beside it."""

from itertools import groupby
from typing import Annotated
from unicodedata import combining, normalize

from fastapi import Path, Query

from lexigraph.api.access.auth import Reader
from lexigraph.api.errors import ApiError
from lexigraph.api.limits import TEXT, WHOLE
from lexigraph.api.openapi.document import errors
from lexigraph.api.routes.reading import Cursor, with_names
from lexigraph.api.schemas.entities import (
    EntityList,
    EntityReply,
    EntityStatements,
    EntitySummary,
    NeighbourList,
    NeighbourReply,
    SourceStatements,
)
from lexigraph.api.schemas.explore import DocumentTitle, NamedReply
from lexigraph.api.service import Service, TheService
from lexigraph.api.tagged import tagged_router
from lexigraph.model.graph import Entity, StatementRow
from lexigraph.model.ids import node_id
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.protocols import EvidenceRequest, SearchRequest

router = tagged_router("/entities", "entities")
_FOUND = 1_000  # names that are looked at
_CHUNKS = 40  # that a page of statements reads at most
EntityId = Annotated[
    str,
    Path(
        pattern="^entity:[0-9a-f]{32}$",
        description="entity id",
        examples=["entity:3c067f04242ced37302a063b8b72672e"],
    ),
]


@router.get("", operation_id="find_entities", summary="Search entities")
async def find_entities(
    who: Reader,
    service: TheService,
    q: Annotated[str, Query(max_length=200, description="a name or the beginning of one", examples=["tove"]), TEXT] = "",
    cursor: Cursor = "",
    limit: Annotated[int, Query(ge=1, le=100, description="maximum number", examples=[20]), WHOLE] = 20,
) -> EntityList:
    """Return entities whose names contain the given words; the last word may be a prefix. Case and accents are ignored.

    Order: an exact match, then names that begin with the words, then names with all words, then names with some; within
    each group by number of documents, descending. Without ``q``, all entities by number of documents. Entities that occur
    only in titles are left out.
    """

    def work() -> EntityList:
        begin = int(cursor or 0)
        found = _by_name(service, who.tenant, q) if q.strip() else _named_most(service, who.tenant, begin + limit + 1)
        page = [EntitySummary.of(entity) for entity in found[begin : begin + limit]]
        return EntityList(entities=page, next=str(begin + limit) if begin + limit < len(found) else None)

    return await service.run(work, asks=who.tenant.whole)


@router.get("/{entity_id}", operation_id="get_entity", summary="Get an entity", responses=errors(404))
async def get_entity(who: Reader, service: TheService, entity_id: EntityId) -> EntityReply:
    """Return an entity with its names, classes, aliases and counts."""

    def work() -> EntityReply:
        graph = service.stores.graph
        known = graph.entities(who.tenant, [entity_id])
        if entity_id not in known.found:
            raise _unknown()
        aliases = [NamedReply(id=e.id, name=e.value) for e in known.aliases.get(entity_id, ())]
        return EntityReply.made(known.found[entity_id], graph.profile(who.tenant, entity_id), aliases)

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/{entity_id}/statements",
    operation_id="entity_statements",
    summary="List an entity's statements",
    responses=errors(404),
)
async def entity_statements(
    who: Reader,
    service: TheService,
    entity_id: EntityId,
    document: Annotated[
        str,
        Query(
            pattern="^(source:[0-9a-f]{32})?$",
            description="only statements of this document",
            examples=["source:3c067f04242ced37302a063b8b72672e"],
        ),
    ] = "",
    cursor: Annotated[
        str,
        Query(
            pattern=r"^([0-9a-f]{32}\.[0-9]{1,9}\.[0-9]{1,9})?$", description="`next` of the previous page", examples=[""]
        ),
    ] = "",
    limit: Annotated[int, Query(ge=1, le=200, description="maximum number of statements", examples=[50]), WHOLE] = 50,
) -> EntityStatements:
    """Return a page of the statements that mention an entity, grouped by document, in reading order.

    The first document of a page may continue the last one of the previous page. A page may be short.
    """

    def work() -> EntityStatements:
        graph = service.stores.graph
        digits, seq, position = cursor.split(".") if cursor else ("", "0", "0")
        begin = (f"source:{digits}", int(seq), int(position))
        after = (begin[0], begin[1] - 1) if cursor else None
        read = min(limit, _CHUNKS)
        chunks = graph.naming(who.tenant, entity_id, source_id=document, after=after, limit=read + 1)
        if not chunks and entity_id not in graph.entities(who.tenant, [entity_id]).found:
            raise _unknown()
        asked = EvidenceRequest(chunks=tuple(chunk.id for chunk in chunks[:read]), neighbours=False)
        said = graph.evidence(who.tenant, asked) if chunks else []
        rows = sorted((r for r in said if entity_id in r.entities and _place(r) >= begin), key=lambda r: (*_place(r), r.id))
        more = (chunks[read].source_id, chunks[read].seq, 0) if len(chunks) > read else None
        if len(rows) > limit:
            more = _place(rows[limit])
        told = zip(rows[:limit], with_names(service, who.tenant, rows[:limit]), strict=True)
        return EntityStatements(
            sources=[
                SourceStatements(document=DocumentTitle.of(source), statements=[reply for _, reply in group])
                for source, group in groupby(told, key=lambda pair: pair[0].source)
            ],
            next=f"{more[0].removeprefix('source:')}.{more[1]}.{more[2]}" if more else None,
        )

    return await service.run(work, asks=who.tenant.whole)


@router.get(
    "/{entity_id}/neighbours",
    operation_id="entity_neighbours",
    summary="List an entity's neighbours",
    responses=errors(404),
)
async def entity_neighbours(
    who: Reader,
    service: TheService,
    entity_id: EntityId,
    cursor: Cursor = "",
    limit: Annotated[int, Query(ge=1, le=200, description="maximum number", examples=[50]), WHOLE] = 50,
) -> NeighbourList:
    """Return a page of the entities in the same statements, most frequent first, with their relations."""

    def work() -> NeighbourList:
        graph, begin = service.stores.graph, int(cursor or 0)
        companions, total, complete = graph.companions(who.tenant, entity_id, offset=begin, limit=limit)
        known = graph.entities(who.tenant, [entity_id, *(c.id for c in companions)]).found
        if entity_id not in known:
            raise _unknown()
        return NeighbourList(
            neighbours=[NeighbourReply.made(known[c.id], c) for c in companions if c.id in known],
            total=total,
            complete=complete,
            next=str(begin + limit) if begin + limit < total else None,
        )

    return await service.run(work, asks=who.tenant.whole)


def _by_name(service: Service, tenant: Tenant, q: str) -> list[Entity]:
    """Return the entities that a name, or how one begins, finds, best first: one search and one look-up."""
    stores, request = service.stores, SearchRequest("entity", text=normalize("NFC", q), k=_FOUND, prefix=True)
    (hits,) = (
        stores.graph.names(tenant, [request]) if isinstance(tenant, View) else stores.vectors.search_many(tenant, [request])
    )
    exact, wanted = node_id("entity", tenant, entity_key(q)), _folded(q)
    words = wanted.split()

    def rank(entity: Entity) -> tuple[object, ...]:
        name = _folded(entity.value)
        every = all(f" {word}" in f" {name}" for word in words)
        return entity.id != exact, not name.startswith(wanted), not every, -entity.df, -entity.degree, name, entity.id

    known = stores.graph.entities(tenant, list(dict.fromkeys([exact, *(hit.id for hit in hits)])))
    # a title that no text names leads nowhere, if it is not another name of what texts name
    return sorted((e for i, e in known.found.items() if e.df or i in known.aliases), key=rank)


def _named_most(service: Service, tenant: Tenant, limit: int) -> list[Entity]:
    return service.stores.graph.leading(tenant, min(limit, _FOUND))


def _folded(name: str) -> str:
    return "".join(c for c in normalize("NFKD", entity_key(name)) if not combining(c))


def _place(row: StatementRow) -> tuple[str, int, int]:
    return row.source.id, row.seq, row.position


def _unknown() -> ApiError:
    return ApiError(404, "no such entity", hint="what names it may have changed or been removed")
