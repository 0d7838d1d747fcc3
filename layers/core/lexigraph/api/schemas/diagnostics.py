"""What ``/diagnostics`` answers (E-48 to E-56)."""

from pydantic import Field

from lexigraph.api.limits import Reply


class GraphState(Reply):
    """Whether the graph can be read, and what is in it (E-49)."""

    graph: bool = Field(description="the graph store answers", examples=[True])
    detail: dict[str, int] = Field(description="live counts by kind", examples=[{"sources": 3, "chunks": 41}])


class VectorState(Reply):
    """The vector index of chunks (E-50)."""

    vector_index: bool = Field(description="it holds vectors of the embedding model", examples=[True])
    name: str = Field(description="label of embedding and dimension", examples=["minilm-384"])
    dimension: int = Field(description="numbers in a vector", examples=[384])


class ModelState(Reply):
    """The language model (E-51): found out when it was last used, for asking costs tokens."""

    llm_api: bool = Field(description="a language model is configured, and its last call did not fail", examples=[False])
    model_listed: bool = Field(description="the model is configured", examples=[False])
    name: str = Field(description="none, or the model's name", examples=["none"])


class EmbeddingState(Reply):
    """The embedding model (E-51)."""

    embedding_api: bool = Field(description="the embedding model answers", examples=[True])
    dimension: int = Field(description="numbers in a vector", examples=[384])


class RelationState(Reply):
    """Relations by kind (E-52)."""

    llm_rel: int = Field(description="relations that a model found between chunks", examples=[0])
    relates_to: int = Field(description="pairs of chunks that share entities", examples=[120])
    co_occurs_with: int = Field(description="pairs of entities that stand in common chunks", examples=[345])
    total: int = Field(description="of all kinds", examples=[465])
    relation_extraction_enabled: bool = Field(description="ingestion asks a model for relations", examples=[False])
    relation_debug: bool = Field(description="each pair of chunks that a model was asked about is logged", examples=[False])


class NoiseControl(Reply):
    """What is too little to count (E-55)."""

    entity_min_length: int = Field(description="shortest name of an entity", examples=[2])
    cooccur_min_count: int = Field(description="common chunks at least", examples=[2])


class AliasSample(Reply):
    """An entity with its other names (E-56)."""

    name: str = Field(description="its name", examples=["Neptune"])
    aliases: list[str] = Field(description="its other names", examples=[["Amazon Neptune"]])
    alias_count: int = Field(description="how many", examples=[1])


class AliasState(Reply):
    """How many entities have other names (E-56)."""

    total_entities: int = Field(description="all entities", examples=[430])
    with_aliases: int = Field(description="those with other names", examples=[120])
    ratio: float = Field(description="four digits", examples=[0.2791])
    sample_top5: list[AliasSample] = Field(
        description="those with most other names",
        examples=[[{"name": "Neptune", "aliases": ["Amazon Neptune"], "alias_count": 1}]],
    )


class Diagnostics(Reply):
    """What works and what is in the stores. A store or model that is down is seen here, not a crash (E-71)."""

    api_version: str = Field(description="of the HTTP API, semantic versioning", examples=["0.1.0"])
    graph: GraphState
    vector_index: VectorState
    llm: ModelState
    embedding: EmbeddingState
    relations: RelationState
    relation_weights: dict[str, float] = Field(
        description="bonus by kind of relation", examples=[{"STEP_NEXT": 0.12, "CAUSES": 0.22}]
    )
    feature_flags: dict[str, bool] = Field(
        description="what is switched on", examples=[{"bm25_enabled": True, "rerank_enabled": False}]
    )
    noise_control: NoiseControl
    entity_aliases: AliasState
