"""What is around a node of the graph: for a picture of it."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from lexigraph.api.access.auth import Reader
from lexigraph.api.limits import TEXT, WHOLE, Reply
from lexigraph.api.openapi.document import errors
from lexigraph.api.service import TheService
from lexigraph.api.tagged import tagged_router
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, GraphStore

router = tagged_router("/graph", "graph")
_KINDS = "(source|chunk|topic|statement|fact|entity)"


class NodeReply(Reply):
    """A node; ``label`` is its name or text."""

    id: str = Field(description="node id", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(description="name or text", examples=["Tove Lund"])
    type: str = Field(description="kind of node", examples=["entity"])
    properties: dict[str, Any] = Field(
        description="properties, depending on the kind", examples=[{"class": "Person", "documents": 3, "facts": 5}]
    )


class EdgeReply(Reply):
    """An edge between two nodes."""

    source: str = Field(description="id of the start node", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    target: str = Field(description="id of the end node", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    type: str = Field(description="kind of edge", examples=["MENTIONS"])


class NetTotals(Reply):
    """Size of a neighbourhood."""

    nodes: int = Field(description="number of nodes, including the node itself", examples=[340])
    edges: int = Field(description="edges between the nodes", examples=[610])
    complete: bool = Field(
        description="whether the counts are complete; at most 2,000 edges per type are read", examples=[True]
    )


class Egonet(Reply):
    """The neighbourhood of a node, including the node."""

    nodes: list[NodeReply] = Field(description="the nodes")
    edges: list[EdgeReply] = Field(description="the edges between them")
    totals: NetTotals = Field(description="totals, including what is not shown")
    offset: int = Field(description="number of neighbours skipped", examples=[0])
    next_offset: int | None = Field(
        description="value of `offset` for the next page; null on the last page", examples=[None]
    )


@router.get("/egonet", operation_id="egonet", summary="Get the neighbourhood of a node", responses=errors(404))
async def egonet(
    who: Reader,
    service: TheService,
    node: Annotated[
        str,
        Query(
            alias="id",
            max_length=100,
            pattern=f"^{_KINDS}:.",
            description="node id",
            examples=["entity:3c067f04242ced37302a063b8b72672e"],
        ),
        TEXT,
    ],
    depth: Annotated[int, Query(ge=1, le=3, description="maximum distance from the node", examples=[1]), WHOLE] = 1,
    limit: Annotated[int, Query(ge=1, le=500, description="maximum number of nodes", examples=[120]), WHOLE] = 120,
    offset: Annotated[
        int, Query(ge=0, le=100_000, description="number of direct neighbours to skip", examples=[0]), WHOLE
    ] = 0,
    kinds: Annotated[
        str,
        Query(
            pattern=f"^({_KINDS}(,{_KINDS}){{0,5}})?$",
            description="comma-separated node kinds to include; default: all",
            examples=["statement,entity"],
        ),
    ] = "",
) -> Egonet:
    """Return the nodes within ``depth`` steps of a node, with their properties and the edges between them.

    If more neighbours exist than fit, ``next_offset`` is the ``offset`` of the next page.
    """

    def work() -> Egonet:
        graph = service.stores.graph
        net = graph.egonet(
            who.tenant, node, depth=depth, limit=limit, offset=offset, kinds=kinds.split(",") if kinds else ()
        )
        known = _properties(graph, who.tenant, [each["id"] for each in net["nodes"]])
        nodes = [{**each, "properties": known.get(each["id"], {})} for each in net["nodes"]]
        return Egonet.model_validate({**net, "nodes": nodes})

    return await service.run(work, asks=who.tenant.whole)


def _properties(graph: GraphStore, tenant: Tenant, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what is known of nodes: one call for each kind that is among them."""
    of = {kind: [i for i in ids if i.startswith(f"{kind}:")] for kind in ("entity", "statement", "chunk", "source")}
    found: dict[str, dict[str, Any]] = {}
    if of["entity"]:
        for i, e in graph.entities(tenant, of["entity"]).found.items():
            found[i] = {"class": e.class_, "documents": e.df, "facts": e.degree}
    if of["statement"]:
        for row in graph.evidence(tenant, EvidenceRequest(statements=tuple(of["statement"]), neighbours=False)):
            place = {"start": row.chunk_start + row.start, "end": row.chunk_start + row.end}
            relations = [{"subject": f.subject_id, "predicate": f.predicate, "object": f.object_id} for f in row.facts]
            found[row.id] = {
                "document_id": row.source.id,
                "chunk_id": row.chunk_id,
                "kind": row.kind,
                "relations": relations,
                **place,
            }
            for f in row.facts:
                found[f.id] = {"subject": f.subject, "predicate": f.predicate, "object": f.object}
    if of["chunk"]:
        for i, p in graph.adjacent(tenant, of["chunk"]).places.items():
            at = p.placement
            found[i] = {"document_id": p.source_id, "seq": at.seq, "start": at.start, "end": at.end}
    if of["source"]:
        for i, s in graph.sources(tenant, of["source"]).items():
            found[i] = {"uri": s.uri, "title": s.title, "namespace": s.namespace, "version": s.version}
    return found
