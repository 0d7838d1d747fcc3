"""A part of the graph as nodes and edges."""

from pydantic import Field

from lexigraph.api.limits import Reply


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
