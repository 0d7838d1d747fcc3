"""Recall from memory (M)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from lexigraph.api.access.auth import Reader
from lexigraph.api.errors import NOT_BLANK
from lexigraph.api.limits import Name, Reply
from lexigraph.api.schemas.search import Filtered, NoticeReply
from lexigraph.api.service import TheService
from lexigraph.retrieval.recall.args import RecallArgs

router = APIRouter(prefix="/api/v1/memory", tags=["recall"])


class RecallRequest(Filtered):
    """What to recall (M-02 to M-05)."""

    query: str = Field(
        min_length=1,
        max_length=4_000,
        pattern=NOT_BLANK,
        description="words or a regular expression",
        examples=["JWT authentication decisions"],
    )
    session_id: Name = Field(
        "default",
        description="session whose earlier recalls are taken into account; default: one per key",
        examples=["default"],
    )
    max_results: int = Field(10, description="maximum number of nodes", ge=1, le=50, examples=[10])
    force_regex: bool = Field(default=False, description="treat the query as a regular expression (RE2)", examples=[False])


class MemoryNode(Reply):
    """A node and its score. Fields that do not apply are omitted."""

    model_config = ConfigDict(serialize_by_alias=True, populate_by_name=True)

    key: str = Field(description="id of the node", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    type: str = Field(description="entity, statement or topic", examples=["entity"])
    name: str = Field(description="name, or the beginning of the text", examples=["JWT"])
    description: str = Field(description="properties", examples=["JWT replaced session cookies in 2024"])
    score: float = Field(description="higher is better", examples=[0.91])
    scores: dict[str, float] = Field(description="score parts", examples=[{"general": 1.0, "topical": 0.5, "session": 0.7}])
    source: str = Field(description="first of `sources`", examples=["bm25_nodes"])
    sources: list[str] = Field(description="the strategies that found it", examples=[["bm25_nodes", "vector"]])
    class_: Annotated[str | None, Field(alias="class", description="class of an entity", examples=["concept"])] = None
    title: str | None = Field(None, description="title of the document", examples=["Decisions"])
    uri: str | None = Field(None, description="URI of the document", examples=["upload://default/decisions.md"])
    via: str | None = Field(None, description="node for which it is context", examples=[None])


class MemoryEdge(Reply):
    """An edge between two of the nodes (M-18)."""

    edge_id: str = Field(description="edge id", examples=["fact:6e7013c1fb155a8b81e41154d64cb7a6"])
    source: str = Field(description="id of the start node", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    relationship: str = Field(description="predicate or kind of edge, as text", examples=["replaced"])
    target: str = Field(description="id of the end node", examples=["entity:5b18f04242ced37302a063b8b726712a"])
    type: str = Field(description="kind of edge", examples=["RELATION"])


class StrategyReply(Reply):
    """Result of a strategy."""

    name: str = Field(description="name of the strategy", examples=["vector"])
    found: int = Field(description="number of nodes found", examples=[7])
    error: str | None = Field(None, description="reason of the failure", examples=[None])
    skipped: str | None = Field(None, description="reason it was skipped", examples=[None])
    incomplete: str | None = Field(None, description="whether a limit was reached, so that more may exist", examples=[None])


class SessionReply(Reply):
    """The session before this recall."""

    id: str = Field(description="session id", examples=["default"])
    recalls: int = Field(description="number of recalls so far", examples=[3])
    hot: list[str] = Field(description="most recently seen nodes", examples=[["entity:3c067f04242ced37302a063b8b72672e"]])


class RecallMetadata(Reply):
    """How the ranking was computed (M-19)."""

    phase: str = Field(description="early, mid or deep", examples=["mid"])
    weights: dict[str, float] = Field(
        description="weights of the score parts", examples=[{"general": 0.5, "topical": 0.3, "session": 0.2}]
    )
    tiers: dict[str, int] = Field(description="nodes by strategy", examples=[{"vector": 4, "context": 3}])
    strategies: list[StrategyReply] = Field(description="strategies")
    session: SessionReply
    warnings: list[NoticeReply] = Field(description="warnings")
    timings: dict[str, float] = Field(description="milliseconds by step", examples=[{"total": 9.1}])
    calls: dict[str, int] = Field(description="store calls", examples=[{"vector": 1, "graph": 2, "registry": 2}])


class RecallReply(Reply):
    """Ranked nodes, the context of the best of them, and their edges (M-17 to M-19)."""

    query: str = Field(description="as it was asked", examples=["JWT authentication decisions"])
    nodes: list[MemoryNode] = Field(description="best first")
    context: list[MemoryNode] = Field(description="context of the best nodes")
    edges: list[MemoryEdge] = Field(description="edges between the nodes")
    metadata: RecallMetadata


@router.post(
    "/recall",
    operation_id="hm_recall",
    summary="Recall",
    response_model=RecallReply,
    response_model_exclude_unset=True,
)
async def recall(who: Reader, service: TheService, body: RecallRequest) -> dict[str, Any]:
    """Return entities, statements and topics that match words or a pattern, weighted by the session so far."""
    args = RecallArgs(body.session_id, body.max_results, body.force_regex)

    def work() -> dict[str, Any]:
        return service.recall(who.tenant, body.query, body.where(), args, caller=who.key_id).to_dict()

    return await service.run(work, asks=who.tenant.whole)
