"""Recall from memory within a session (M)."""

from typing import Annotated

from pydantic import ConfigDict, Field

from lexigraph.api.limits import Reply
from lexigraph.api.schemas.search import Filtered, NoticeReply


class RecallRequest(Filtered):
    """What to recall (M-02 to M-05)."""

    query: str = Field(
        min_length=1,
        max_length=4_000,
        pattern=r"\S",
        description="words or a regular expression",
        examples=["JWT authentication decisions"],
    )
    session_id: str = Field("default", min_length=1, max_length=128, examples=["default"])
    max_results: int = Field(10, ge=1, le=50, examples=[10])
    force_regex: bool = Field(default=False, description="the query is a regular expression (RE2)", examples=[False])


class NodeReply(Reply):
    """A node and its score. What does not apply is left out."""

    model_config = ConfigDict(serialize_by_alias=True, populate_by_name=True)

    key: str = Field(examples=["entity:3c067f04242ced37302a063b8b72672e"])
    type: str = Field(description="entity, statement or topic", examples=["entity"])
    name: str = Field(examples=["JWT"])
    description: str = Field(examples=["JWT replaced session cookies in 2024"])
    score: float = Field(examples=[0.91])
    scores: dict[str, float] = Field(examples=[{"general": 1.0, "topical": 0.5, "session": 0.7}])
    source: str = Field(description="the first of sources", examples=["bm25_nodes"])
    sources: list[str] = Field(description="the strategies that found it", examples=[["bm25_nodes", "vector"]])
    class_: Annotated[str | None, Field(alias="class", description="of an entity", examples=["concept"])] = None
    title: str | None = Field(None, description="of its document", examples=["Decisions"])
    uri: str | None = Field(None, description="of its document", examples=["upload://default/decisions.md"])
    via: str | None = Field(None, description="the node it lies around", examples=[None])


class EdgeReply(Reply):
    """An edge between two of the nodes (M-18)."""

    edge_id: str = Field(examples=["fact:6e7013c1fb155a8b81e41154d64cb7a6"])
    source: str = Field(examples=["entity:3c067f04242ced37302a063b8b72672e"])
    relationship: str = Field(examples=["replaced"])
    target: str = Field(examples=["entity:5b18f04242ced37302a063b8b726712a"])
    type: str = Field(examples=["RELATION"])


class StrategyReply(Reply):
    """What a strategy found, or why it did not."""

    name: str = Field(examples=["vector"])
    found: int = Field(examples=[7])
    error: str | None = Field(None, examples=[None])
    skipped: str | None = Field(None, examples=[None])


class SessionReply(Reply):
    """The session before this recall."""

    id: str = Field(examples=["default"])
    recalls: int = Field(examples=[3])
    hot: list[str] = Field(description="its nodes seen last", examples=[["entity:3c067f04242ced37302a063b8b72672e"]])


class RecallMetadata(Reply):
    """How the ranking came about (M-19)."""

    phase: str = Field(description="early, mid or deep", examples=["mid"])
    weights: dict[str, float] = Field(examples=[{"general": 0.5, "topical": 0.3, "session": 0.2}])
    tiers: dict[str, int] = Field(description="nodes by strategy", examples=[{"vector": 4, "context": 3}])
    strategies: list[StrategyReply]
    session: SessionReply
    warnings: list[NoticeReply]
    timings: dict[str, float] = Field(description="milliseconds by step", examples=[{"total": 9.1}])
    calls: dict[str, int] = Field(description="store calls", examples=[{"vector": 1, "graph": 2, "registry": 2}])


class RecallReply(Reply):
    """Ranked nodes, what lies around the best of them, and the edges between (M-17 to M-19)."""

    query: str = Field(examples=["JWT authentication decisions"])
    nodes: list[NodeReply]
    context: list[NodeReply]
    edges: list[EdgeReply]
    metadata: RecallMetadata
