"""The state of stores and models as one reply; whatever is down is told, not raised (E-71)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from lexigraph import __version__
from lexigraph.api.schemas.diagnostics import (
    AliasSample,
    AliasState,
    Diagnostics,
    EmbeddingState,
    GraphState,
    ModelState,
    NoiseControl,
    RelationState,
    VectorState,
)
from lexigraph.api.service import Service
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.model.relations import RelationCounts
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.hybrid.args import RELATION_WEIGHTS, HybridArgs

_RELATIONS = "lexigraph.ingestion.relations"  # where relations are found, and logged
T = TypeVar("T")


def diagnose(service: Service, tenant: Tenant) -> Diagnostics:
    """Return the state of everything that the tenant's questions need."""
    settings, hybrid = service.settings, HybridArgs()
    stores = service.stores
    nothing: dict[str, int] = {}
    counts = _or(lambda: stores.graph.stats(tenant), nothing)
    related = _or(lambda: _related(service, tenant), RelationCounts())
    vectors = _or(lambda: stores.vectors.stats(tenant), nothing)
    return Diagnostics(
        api_version=__version__,
        graph=GraphState(graph=bool(counts), detail=dict(counts)),
        vector_index=VectorState(
            vector_index=bool(vectors.get("chunk")), name=stores.vectors.label, dimension=stores.vectors.dimension
        ),
        llm=_model(service),
        embedding=EmbeddingState(
            embedding_api=_or(lambda: bool(len(service.embedder(tenant).embed_questions(["diagnostics"]))), False),
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
        feature_flags=_flags(hybrid),
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
    """Return what is counted over every mention: once for each state of the documents."""
    settings, stores = service.settings, service.stores
    key = (tenant, str(stores.registry.revision(tenant)))
    if (known := service.counts.get(key)) is None:
        known = stores.graph.relation_counts(
            tenant, least_together=settings.cooccur_min_count, min_name=settings.entity_min_length
        )
        service.counts.put(key, known, "relations")
    return known


def _model(service: Service) -> ModelState:
    """Tell of the language model what is known without a call: it costs tokens."""
    llm = _or(lambda: service.llm, None)
    name = service.settings.llm if llm is None else llm.name
    return ModelState(llm_api=llm is not None and llm.answers, model_listed=llm is not None, name=name)


def _flags(args: HybridArgs) -> dict[str, bool]:
    return {
        "rerank_enabled": args.reranker not in (None, "none"),
        "bm25_enabled": args.bm25,
        "graph_rank_enabled": args.graph_rank != "none",
        "hash_incremental_enabled": True,
        "entity_normalize_enabled": True,
    }


def _or(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except (StoreUnavailable, ModelUnavailable, InvalidInput):
        return otherwise
