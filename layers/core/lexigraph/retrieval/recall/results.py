"""What a recall gives back: ranked nodes, what lies around the best of them, the edges between, and how it came about."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.model.results import Notice
from lexigraph.retrieval.recall.sessions import Weights
from lexigraph.storage.protocols import GraphNode, Surroundings

_NAME = 80  # characters of a statement that serve as its name
_DESCRIPTION = 500
_TOLD = 3  # facts or statements that describe an entity or topic


@dataclass(frozen=True, slots=True)
class RecallNode:
    """A node found. ``score`` is the weighted sum of ``scores`` (general, topical, session; each 0 to 1).

    ``key`` is its id in the graph, ``sources`` are the strategies that found it, ``("context",)`` for what lies around a
    better node, ``via``, and has half of its score. ``title`` and ``uri`` are those of the document a statement or topic
    stands in; ``class_`` is an entity's.
    """

    key: str
    type: str
    name: str
    description: str
    score: float
    scores: Mapping[str, float]
    sources: tuple[str, ...]
    class_: str = ""
    title: str = ""
    uri: str = ""
    via: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what does not apply is left out."""
        own = asdict(self)
        sources = {"source": self.sources[0], "sources": list(own.pop("sources"))}
        optional = {"class": own.pop("class_"), **{name: own.pop(name) for name in ("title", "uri", "via")}}
        return {**own, **sources, **{name: value for name, value in optional.items() if value}}


@dataclass(frozen=True, slots=True)
class RecallEdge:
    """An edge between two of the nodes and of the context; ``edge_id`` is that of its fact, or made of its ends."""

    edge_id: str
    source: str
    relationship: str
    target: str
    type: str


@dataclass(frozen=True, slots=True)
class StrategyReport:
    """What a strategy did: ``found`` live nodes, or ``error`` (a stable code), or ``skipped`` and why.

    ``incomplete`` says that a bound was met, so that there may be more.
    """

    name: str
    found: int = 0
    error: str = ""
    skipped: str = ""
    incomplete: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; what does not apply is left out."""
        return {name: value for name, value in asdict(self).items() if value or name in ("name", "found")}


@dataclass(frozen=True, slots=True)
class RecallResults:
    """The answer of a recall. ``recalls`` were made in the session before it; ``hot`` are the nodes it was near to."""

    query: str
    nodes: tuple[RecallNode, ...]
    context: tuple[RecallNode, ...]
    edges: tuple[RecallEdge, ...]
    phase: str
    weights: Weights
    tiers: Mapping[str, int]
    strategies: tuple[StrategyReport, ...]
    session_id: str
    recalls: int = 0
    hot: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the reply of ``POST /api/v1/memory/recall``: ranked nodes, connected edges, metadata (M-17 to M-19)."""
        return {
            "query": self.query,
            "nodes": [node.to_dict() for node in self.nodes],
            "context": [node.to_dict() for node in self.context],
            "edges": [asdict(edge) for edge in self.edges],
            "metadata": {
                "phase": self.phase,
                "weights": asdict(self.weights),
                "tiers": dict(self.tiers),
                "strategies": [report.to_dict() for report in self.strategies],
                "session": {"id": self.session_id, "recalls": self.recalls, "hot": list(self.hot)},
                "warnings": [asdict(warning) for warning in self.warnings],
                "timings": dict(self.timings),
                "calls": dict(self.calls),
            },
        }


def described(
    node: GraphNode,
    around: Surroundings,
    score: float,
    scores: Mapping[str, float],
    sources: tuple[str, ...],
    via: str = "",
) -> RecallNode:
    """Return a node of the graph as a result: a statement describes itself, others what the edges say of them."""
    return RecallNode(
        node.id,
        node.kind,
        _cut(" ".join(node.value.split()), _NAME) if node.kind == "statement" else node.value,
        _cut(_description(node, around), _DESCRIPTION),
        score,
        scores,
        sources,
        class_=node.details if node.kind == "entity" else "",
        title=node.source.title if node.source else "",
        uri=node.source.uri if node.source else "",
        via=via,
    )


def _description(node: GraphNode, around: Surroundings) -> str:
    if node.kind == "statement":
        return f"{node.value}\n{node.details}".strip()
    ends = around.nodes
    facts = [
        f"{ends[e.from_id].value} {e.label} {ends[e.to_id].value}"
        for e in around.edges
        if e.kind == "RELATION" and node.id in (e.from_id, e.to_id)
    ]
    said = [ends[e.from_id].value for e in around.edges if e.kind != "RELATION" and e.to_id == node.id]
    return "; ".join(facts[:_TOLD]) or " ".join(said[:_TOLD])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
