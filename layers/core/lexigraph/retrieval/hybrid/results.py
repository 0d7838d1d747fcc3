"""What hybrid search gives back: the chunks with their explained scores, and the statements in them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lexigraph.model.results import SearchResults

WARNING_ID = "__warning__"


@dataclass(frozen=True, slots=True)
class HybridItem:
    """A chunk that was ranked, and why (E-60).

    ``reason`` is how it was reached: ``vector``, ``bm25``, ``entity``, ``relates``, ``cooccur``, ``llm_rel``, ``subgraph``,
    or ``first`` when no search was possible. ``score_raw`` is the cosine with the question, None where none was computed;
    ``composite_score`` is ``base_norm + bonus``, ``final_score`` the same after reranking; ``parts`` sum up to ``bonus``.
    ``rel_type`` and ``rel_conf`` are those of the observed relation that counts most, ``evidence`` its words; ``path`` are
    the entities that led to the chunk, ``path_ids`` their ids.
    """

    id: str
    reason: str
    score_raw: float | None
    base_norm: float
    bonus: float
    composite_score: float
    final_score: float
    rel_type: str | None = None
    rel_conf: float | None = None
    evidence: str = ""
    path: tuple[str, ...] = ()
    path_ids: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    uri: str = ""
    title: str = ""
    document_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return an item of ``/ranking/preview``: the reference's fields, then ours."""
        return {**asdict(self), "path": list(self.path), "path_ids": list(self.path_ids)}

    def source(self, rank: int) -> dict[str, Any]:
        """Return an entry of ``sources`` of ``/query`` (E-43); ``score`` is the raw one."""
        item = self.to_dict()
        return {"id": item.pop("id"), "rank": rank, "reason": item.pop("reason"), "score": item.pop("score_raw"), **item}


@dataclass(frozen=True, slots=True)
class HybridResults(SearchResults):
    """Results of hybrid search: those of every retriever, and ``items``, the chunks they are of, best first.

    ``degraded`` is set when a search that should have taken part failed; the warnings say which, and what else went wrong.
    """

    items: tuple[HybridItem, ...] = ()
    degraded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: that of every retriever, with ``degraded`` and ``items``."""
        return {**SearchResults.to_dict(self), "degraded": self.degraded, "items": [i.to_dict() for i in self.items]}

    def preview(self) -> dict[str, Any]:
        """Return the reply of ``/ranking/preview``; ``warn`` says what failed when it is degraded."""
        warn = {"warn": self._warn()} if self.degraded else {}
        items = [item.to_dict() for item in self.items]
        warnings = [asdict(warning) for warning in self.warnings]
        return {"question": self.question, "degraded": self.degraded, **warn, "items": items, "warnings": warnings}

    def sources(self) -> list[dict[str, Any]]:
        """Return ``sources`` of ``/query``, ranks from 1; what failed comes first, with rank 0."""
        listed = [item.source(rank) for rank, item in enumerate(self.items, 1)]
        if self.degraded:
            empty = HybridItem(WARNING_ID, "warning", None, 0.0, 0.0, 0.0, 0.0)
            listed.insert(0, {**empty.source(0), "text": self._warn()})
        return listed

    def item(self, chunk_id: str) -> HybridItem | None:
        """Return the item of a chunk: what explains a statement by its ``chunk_id``."""
        return next((item for item in self.items if item.id == chunk_id), None)

    def _warn(self) -> str:
        return "; ".join(warning.detail for warning in self.warnings)
