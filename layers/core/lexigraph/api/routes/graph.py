"""What is around a node of the graph: for a picture of it."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from lexigraph.api.access.auth import Reader
from lexigraph.api.limits import TEXT, WHOLE, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import TheService

router = APIRouter(prefix="/graph", tags=["graph"])


class NodeReply(Reply):
    """A node; ``label`` is its name or text."""

    id: str = Field(description="of the node", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(description="its name or text", examples=["Tove Lund"])
    type: str = Field(description="kind of node", examples=["Entity"])


class EdgeReply(Reply):
    """An edge between two nodes."""

    source: str = Field(description="where it begins", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    target: str = Field(description="where it ends", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    type: str = Field(description="kind of edge", examples=["MENTIONS"])


class Egonet(Reply):
    """What is around a node, the node too."""

    nodes: list[NodeReply] = Field(description="the nodes")
    edges: list[EdgeReply] = Field(description="the edges between them")


@router.get("/egonet", operation_id="egonet", summary="Show what is around a node", responses=errors(404))
async def egonet(
    who: Reader,
    service: TheService,
    node: Annotated[
        str,
        Query(
            alias="id",
            max_length=100,
            pattern="^(source|chunk|topic|statement|fact|entity):.",
            description="of a node",
            examples=["entity:3c067f04242ced37302a063b8b72672e"],
        ),
        TEXT,
    ],
    depth: Annotated[int, Query(ge=1, le=3, description="steps from the node", examples=[1]), WHOLE] = 1,
    limit: Annotated[int, Query(ge=1, le=500, description="at most so many nodes", examples=[120]), WHOLE] = 120,
) -> Egonet:
    """Return the nodes within ``depth`` steps of a node, and the edges between them."""
    graph = service.stores.graph
    work = partial(graph.egonet, who.tenant, node, depth=depth, limit=limit)
    return Egonet.model_validate(await service.run(work, asks=who.tenant.whole))
