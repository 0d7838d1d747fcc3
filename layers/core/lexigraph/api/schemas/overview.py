"""What there is at a glance."""

from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply

State = Literal["ok", "unavailable", "damaged"]


class NamedCount(Reply):
    """Number of documents of a kind."""

    name: str = Field(description="kind; empty if unknown", examples=["en"])
    documents: int = Field(description="number of documents", examples=[12])


class Day(Reply):
    """Documents last changed on a day."""

    day: str = Field(description="date, UTC", examples=["2026-11-22"])
    documents: int = Field(description="number of documents last changed that day", examples=[5])
    characters: int = Field(description="number of characters in their texts", examples=[8_412])


class NamedModel(Reply):
    """A model."""

    name: str = Field(description="name of the model, or none", examples=["none"])
    answers: bool | None = Field(description="whether it answers; null if unknown", examples=[True])


class EmbeddingModel(NamedModel):
    """The embedding model."""

    dimension: int = Field(description="vector dimension", examples=[384])


class Models(Reply):
    """The models of the server."""

    llm: NamedModel = Field(description="the language model")
    embedding: EmbeddingModel = Field(description="the embedding model")


class Warned(Reply):
    """A warning or note."""

    type: str = Field(description="stable, machine-readable code", examples=["no_language_model"])
    detail: str = Field(description="description", examples=["no language model is set: answers are quotations"])
    remedy: str = Field(description="what to do", examples=["set LEXIGRAPH_LLM, or go on without"])


class Overview(Reply):
    """Overview of a tenant."""

    version: str = Field(description="version of the HTTP API", examples=["0.1.0"])
    counts: dict[str, int] = Field(
        description="live counts by kind",
        examples=[{"documents": 3, "chunks": 41, "topics": 52, "statements": 230, "facts": 60, "entities": 118}],
    )
    counted_at: str = Field(
        description="time of the counts, UTC; empty during the first count", examples=["2026-11-22T06:08:29+00:00"]
    )
    documents: dict[str, int] = Field(
        description="number of documents by state", examples=[{"BUILDING": 0, "READY": 3, "REMOVING": 0, "FAILED": 0}]
    )
    languages: list[NamedCount] = Field(description="languages of documents, most frequent first")
    file_types: list[NamedCount] = Field(description="file types of documents, most frequent first")
    growth: list[Day] = Field(description="documents by day of last change, oldest first")
    jobs: dict[str, int] = Field(
        description="the latest 200 jobs by status", examples=[{"RUNNING": 0, "SUCCEEDED": 9, "FAILED": 1}]
    )
    stores: dict[str, State] = Field(
        description="state of each store", examples=[{"graph": "ok", "vectors": "ok", "registry": "ok"}]
    )
    models: Models = Field(description="state of the models")
    warnings: list[Warned] = Field(description="warnings and notes")
