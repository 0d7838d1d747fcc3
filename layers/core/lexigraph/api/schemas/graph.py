"""A part of the graph as nodes and edges."""

from pydantic import Field

from lexigraph.api.limits import Reply


class NodeReply(Reply):
    """A node; ``label`` is its name or text."""

    id: str = Field(examples=["entity:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(examples=["Tove Lund"])
    type: str = Field(examples=["Entity"])


class EdgeReply(Reply):
    """An edge between two nodes."""

    source: str = Field(examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    target: str = Field(examples=["entity:3c067f04242ced37302a063b8b72672e"])
    type: str = Field(examples=["MENTIONS"])


class Egonet(Reply):
    """What is around a node, the node too."""

    nodes: list[NodeReply]
    edges: list[EdgeReply]
