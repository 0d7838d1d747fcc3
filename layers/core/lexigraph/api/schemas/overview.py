"""What there is at a glance."""

from typing import Literal

from pydantic import Field

from lexigraph.api.limits import Reply

State = Literal["ok", "unavailable", "damaged"]


class NamedCount(Reply):
    """How many documents there are of a kind."""

    name: str = Field(description="of the kind; empty where it is not known", examples=["en"])
    documents: int = Field(description="of it", examples=[12])


class Day(Reply):
    """What was last changed on a day."""

    day: str = Field(description="in UTC", examples=["2026-11-22"])
    documents: int = Field(description="last changed then", examples=[5])
    characters: int = Field(description="of their texts", examples=[8_412])


class NamedModel(Reply):
    """A model."""

    name: str = Field(description="of the model, or none", examples=["none"])
    answers: bool | None = Field(description="it answers; null: not known", examples=[True])


class EmbeddingModel(NamedModel):
    """The embedding model."""

    dimension: int = Field(description="numbers in a vector", examples=[384])


class Models(Reply):
    """The models of the server."""

    llm: NamedModel = Field(description="the language model")
    embedding: EmbeddingModel = Field(description="the embedding model")


class Warned(Reply):
    """Something is amiss, or good to know."""

    type: str = Field(description="stable and machine readable", examples=["no_language_model"])
    detail: str = Field(description="in words", examples=["no language model is set: answers are quotations"])
    remedy: str = Field(description="what to do", examples=["set LEXIGRAPH_LLM, or go on without"])


class Overview(Reply):
    """What there is, and how it stands."""

    version: str = Field(description="of the HTTP API", examples=["0.1.0"])
    counts: dict[str, int] = Field(
        description="what questions see, by kind",
        examples=[{"documents": 3, "chunks": 41, "topics": 52, "statements": 230, "facts": 60, "entities": 118}],
    )
    counted_at: str = Field(
        description="time of the counts, UTC; empty while they are counted first", examples=["2026-11-22T06:08:29+00:00"]
    )
    documents: dict[str, int] = Field(
        description="by state", examples=[{"BUILDING": 0, "READY": 3, "REMOVING": 0, "FAILED": 0}]
    )
    languages: list[NamedCount] = Field(description="of documents, most first")
    file_types: list[NamedCount] = Field(description="of documents, most first")
    growth: list[Day] = Field(description="by the day on which documents were last changed, oldest first")
    jobs: dict[str, int] = Field(
        description="how the latest 200 stand", examples=[{"RUNNING": 0, "SUCCEEDED": 9, "FAILED": 1}]
    )
    stores: dict[str, State] = Field(
        description="how each stands", examples=[{"graph": "ok", "vectors": "ok", "registry": "ok"}]
    )
    models: Models = Field(description="how each stands")
    warnings: list[Warned] = Field(description="what is amiss, or good to know")
