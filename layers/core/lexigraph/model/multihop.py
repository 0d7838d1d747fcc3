"""What a multi-hop search gets back: the hops one by one, the final ranking, and the symbolic edges that were followed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.model.results import Notice


@dataclass(frozen=True, slots=True)
class Hop:
    """A hop, counted from 0, with its first texts (three at most, of 200 characters at most)."""

    hop: int
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SymbolicEdge:
    """A chunk (its row id) that entered at a hop through a symbolic edge, at hop 0 by its role."""

    hop: int
    doc_idx: int


@dataclass(frozen=True, slots=True)
class MultihopResult:
    """A chunk of the final ranking.

    ``row_id`` numbers it within its namespace, ``value`` is its text, ``parent`` names the first chunk under the same
    headings (``chunk_6``), ``score`` is 0 to 1, the best over the hops. ``hop`` and ``reason`` are those that gave it:
    ``semantic``, ``next``, ``previous``, ``parent``, ``entity``, ``topic`` or ``name``.
    ``start`` and ``end`` are offsets in the parsed document.
    """

    row_id: int
    value: str
    role: str
    parent: str
    score: float
    hop: int
    reason: str
    chunk_id: str
    uri: str
    title: str
    start: int
    end: int

    def to_dict(self) -> dict[str, Any]:
        """Return the reference page's fields, ``text`` being ``value`` again, and what else is known."""
        own = asdict(self)
        first = {name: own.pop(name) for name in ("row_id", "value", "role", "parent")}
        return {**first, "text": self.value, **own}


@dataclass(frozen=True, slots=True)
class MultihopResults:
    """All that one multi-hop search found. ``timings`` are milliseconds by step, ``calls`` store calls by store.

    ``symbolic_failures`` counts the hops that went without symbolic edges because the graph could not be read.
    """

    query: str
    namespace: str
    hops: tuple[Hop, ...] = ()
    final_results: tuple[MultihopResult, ...] = ()
    symbolic_edges: tuple[SymbolicEdge, ...] = ()
    symbolic_failures: int = 0
    warnings: tuple[Notice, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    calls: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the reply of ``POST /unstructured/multihop_query/``."""
        return {**asdict(self), "final_results": [r.to_dict() for r in self.final_results]}
