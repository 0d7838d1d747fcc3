"""What works, what is in the stores, and how ranking is set (E-48 to E-56)."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar

from fastapi import APIRouter
from pydantic import Field

from lexigraph import __version__
from lexigraph.api.access.auth import Reader
from lexigraph.api.limits import Reply
from lexigraph.api.service import Service, TheService
from lexigraph.inference.protocols import Standing
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreDamaged, StoreUnavailable
from lexigraph.model.ids import node_id
from lexigraph.model.normalise import entity_key
from lexigraph.model.relations import RelationCounts
from lexigraph.model.tenant import Tenant, View
from lexigraph.retrieval.catalogue import set_by
from lexigraph.retrieval.hybrid.args import RELATION_WEIGHTS, HybridArgs
from lexigraph.settings import Settings
from lexigraph.storage.common.counts import live_counts
from lexigraph.storage.protocols import GraphStore

router = APIRouter(tags=["service"])
_RELATIONS = "lexigraph.ingestion.relations"  # where relations are found, and logged
Samples = tuple[tuple[str, tuple[str, ...]], ...]
T = TypeVar("T")


StoreState = Literal["ok", "unavailable", "damaged"]


class GraphState(Reply):
    """State and counts of the graph store (E-49)."""

    graph: bool = Field(description="whether the graph store answers", examples=[True])
    detail: dict[str, int] = Field(description="live counts by kind", examples=[{"sources": 3, "chunks": 41}])


class VectorState(Reply):
    """The vector index of chunks (E-50)."""

    vector_index: bool = Field(description="whether it contains vectors of the embedding model", examples=[True])
    name: str = Field(description="label of embedding and dimension", examples=["minilm-384"])
    dimension: int = Field(description="vector dimension", examples=[384])


class ModelState(Reply):
    """State of the language model (E-51), from its provider's model list, which uses no tokens. Cached for ten seconds."""

    llm_api: bool | None = Field(
        description="whether the provider answers and the last call succeeded; null if unknown", examples=[False]
    )
    model_listed: bool | None = Field(description="whether the provider lists the model; null if unknown", examples=[False])
    name: str = Field(description="none, or the model's name", examples=["none"])


class EmbeddingState(Reply):
    """The embedding model (E-51)."""

    embedding_api: bool | None = Field(
        description="whether the embedding model answers; null if it has not within five seconds", examples=[True]
    )
    dimension: int = Field(description="vector dimension", examples=[384])


class RelationState(Reply):
    """Relations by kind (E-52)."""

    llm_rel: int = Field(description="number of chunk relations found by a model", examples=[0])
    relates_to: int = Field(description="number of chunk pairs that share entities", examples=[120])
    co_occurs_with: int = Field(description="number of co-occurring entity pairs", examples=[345])
    total: int = Field(description="total", examples=[465])
    relation_extraction_enabled: bool = Field(
        description="whether ingestion uses a model to relate chunks", examples=[False]
    )
    relation_debug: bool = Field(description="whether each chunk pair sent to the model is logged", examples=[False])


class NoiseControl(Reply):
    """Thresholds of entity relations (E-55)."""

    entity_min_length: int = Field(description="minimum length of entity names", examples=[2])
    cooccur_min_count: int = Field(description="minimum number of common chunks", examples=[2])


class AliasSample(Reply):
    """An entity with its other names (E-56)."""

    name: str = Field(description="name", examples=["Neptune"])
    aliases: list[str] = Field(description="other names", examples=[["Amazon Neptune"]])
    alias_count: int = Field(description="number of other names", examples=[1])


class AliasState(Reply):
    """How many entities have other names (E-56)."""

    total_entities: int = Field(description="number of entities", examples=[430])
    with_aliases: int = Field(description="number of entities with other names", examples=[120])
    ratio: float = Field(description="share of entities with other names, rounded to 4 digits", examples=[0.2791])
    sample_top5: list[AliasSample] = Field(
        description="the five entities with the most other names",
        examples=[[{"name": "Neptune", "aliases": ["Amazon Neptune"], "alias_count": 1}]],
    )


class Diagnostics(Reply):
    """State of stores and models. Unavailable ones are reported here (E-71)."""

    api_version: str = Field(description="version of the HTTP API (semantic versioning)", examples=["0.1.0"])
    stores: dict[str, StoreState] = Field(
        description="state of each store: ok, busy or unreachable, or damaged (needs repair)",
        examples=[{"graph": "ok", "vectors": "ok", "registry": "ok"}],
    )
    graph: GraphState
    vector_index: VectorState
    llm: ModelState
    embedding: EmbeddingState
    relations: RelationState
    relation_weights: dict[str, float] = Field(
        description="bonus by relation type", examples=[{"STEP_NEXT": 0.12, "CAUSES": 0.22}]
    )
    feature_flags: dict[str, bool] = Field(
        description="enabled features, each controlled by a setting",
        examples=[{"bm25_enabled": True, "rerank_enabled": False}],
    )
    noise_control: NoiseControl
    entity_aliases: AliasState


@router.get("/diagnostics", operation_id="diagnostics", summary="Run diagnostics")
async def diagnostics(who: Reader, service: TheService) -> Diagnostics:
    """Check stores and models, and return counts and settings. Uses no model tokens.

    Unavailable components are reported in the response and are not errors (E-71).
    """
    return await service.run(lambda: diagnose(service, who.tenant))


def diagnose(service: Service, tenant: Tenant) -> Diagnostics:
    """Return the state of everything that the tenant's questions need."""
    settings = service.settings
    stores = service.stores
    states = {
        "graph": state_of(lambda: stores.graph.source_ids(tenant, limit=1)),
        "vectors": state_of(lambda: stores.vectors.stats(tenant)),
        "registry": state_of(lambda: stores.registry.stats(tenant)),
    }
    service.damaged = "damaged" in states.values()
    nothing: dict[str, int] = {}
    counts = _or(lambda: live_counts(stores, tenant), nothing)
    related = _or(lambda: _related(service, tenant), RelationCounts())
    vectors = _or(lambda: stores.vectors.stats(tenant), nothing)
    return Diagnostics(
        api_version=__version__,
        stores=states,
        graph=GraphState(graph=bool(counts), detail=dict(counts)),
        vector_index=VectorState(
            vector_index=bool(vectors.get("chunk")), name=stores.vectors.label, dimension=stores.vectors.dimension
        ),
        llm=_model(service),
        embedding=EmbeddingState(
            embedding_api=service.embeds(),
            dimension=stores.vectors.dimension,
        ),
        relations=RelationState(
            llm_rel=related.llm_rel,
            relates_to=related.relates_to,
            co_occurs_with=related.co_occurs_with,
            total=related.llm_rel + related.relates_to + related.co_occurs_with,
            relation_extraction_enabled=settings.relations and settings.llm != "none",
            relation_debug=logging.getLogger(_RELATIONS).isEnabledFor(logging.DEBUG),
        ),
        relation_weights=dict(RELATION_WEIGHTS),
        feature_flags=_flags(settings),
        noise_control=NoiseControl(
            entity_min_length=settings.entity_min_length, cooccur_min_count=settings.cooccur_min_count
        ),
        entity_aliases=AliasState(
            total_entities=related.entities,
            with_aliases=related.with_aliases,
            ratio=round(related.with_aliases / related.entities, 4) if related.entities else 0.0,
            sample_top5=[AliasSample(name=n, aliases=list(a), alias_count=len(a)) for n, a in related.samples],
        ),
    )


def _related(service: Service, tenant: Tenant) -> RelationCounts:
    """Return what is counted over every mention: once for each state of documents and decisions."""
    settings, stores = service.settings, service.stores
    key = (tenant, str(stores.registry.freshness(tenant)))
    if (known := service.counts.get(key)) is None:
        known = stores.graph.relation_counts(
            tenant, least_together=settings.cooccur_min_count, min_name=settings.entity_min_length
        )
        if isinstance(tenant, View):
            known = replace(known, samples=_seen(stores.graph, tenant, known.samples))
        service.counts.put(key, known)
    return known


def _seen(graph: GraphStore, view: View, samples: Samples) -> Samples:
    """Leave out the names that no document of the view has: synonyms and decisions hold for the whole tenant."""
    names = {name for name, others in samples for name in (name, *others)}
    ids = {name: node_id("entity", view, entity_key(name)) for name in names}
    found = graph.entities(view, sorted(ids.values())).found
    kept = ((name, tuple(o for o in others if ids[o] in found)) for name, others in samples if ids[name] in found)
    return tuple((name, others) for name, others in kept if others)


def _model(service: Service) -> ModelState:
    llm = _or(lambda: service.llm, None)
    found = _or(service.standing, Standing(answers=False))
    name = service.settings.llm if llm is None else llm.name
    return ModelState(llm_api=found.answers, model_listed=found.listed, name=name)


def _flags(settings: Settings) -> dict[str, bool]:
    """Return what is on where a question says nothing else; the settings of the same names change each (E-54)."""
    args = HybridArgs.of(set_by(settings, "hybrid"))
    return {
        "rerank_enabled": args.reranker not in (None, "none"),
        "bm25_enabled": args.bm25,
        "graph_rank_enabled": args.graph_rank != "none",
        "hash_incremental_enabled": settings.hash_incremental,
        "entity_normalize_enabled": settings.entity_normalize,
    }


def state_of(ask: Callable[[], object]) -> StoreState:
    """Return how a store stands, by a question to it."""
    try:
        ask()
    except StoreDamaged:
        return "damaged"
    except (StoreUnavailable, InvalidInput):
        return "unavailable"
    return "ok"


def _or(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except (StoreUnavailable, ModelUnavailable, InvalidInput):
        return otherwise
