"""Hop by hop through chunks: from those most like the question to those beside them and to those like them.

One vector call a hop and, between two hops, one graph call; one more of the graph for what is not placed by then.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.graph import Source
from lexigraph.retrieval.stages.args import Args, Range, Share
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import ChunkEdge, ChunkPlace, Hit, SearchRequest

ROLE = "paragraph"  # H-05: the role looked for when none is given
# H-28: what can be looked for; chunks are no smaller than paragraphs
_ROLES = {role: role for role in ("paragraph", "list", "table", "code", "row", "heading")} | {"sentence": "paragraph"}
ROLE_SHARE = 0.05  # of a score with symbolic steps: the chunk has the role looked for; the rest is its likeness
PER_KIND = 5  # symbolic edges of one kind followed out of one chunk
_SEMANTIC = "semantic"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MultihopArgs(Args):
    """Parameters of multi-hop search.

    | parameter | meaning | default |
    |---|---|---|
    | ``role`` | chunks of this role (paragraph, list, table, code, row, heading) count a little more; only with \
``use_symbolic``. None: paragraph | None |
    | ``use_symbolic`` | follow symbolic edges (reading order, headings, entities, topics) and heed the role | True |
    | ``num_hops`` | hops, the first search being one, 1 to 8 | 3 |
    | ``top_k_per_hop`` | chunks kept at a hop, 1 to 200 | 15 |
    | ``final_top_k`` | chunks in the final ranking, 1 to 100 | 10 |
    | ``hop_decay`` | what a score is multiplied by with every hop, over 0 to 1; 1 leaves it alone | 0.85 |
    | ``context_expansion_ratio`` | share of a hop's chunks, the best, that the next starts from, over 0 to 1 | 0.5 |
    """

    role: str | None = None
    use_symbolic: bool = True
    num_hops: Annotated[int, Range(1, 8)] = 3
    top_k_per_hop: Annotated[int, Range(1, 200)] = 15
    final_top_k: Annotated[int, Range(1, 100)] = 10
    hop_decay: Share = 0.85
    context_expansion_ratio: Share = 0.5

    def __post_init__(self) -> None:
        Args.__post_init__(self)
        for name in ("hop_decay", "context_expansion_ratio"):
            if getattr(self, name) == 0:
                raise InvalidInput(f"{name} must be more than 0 and at most 1, got 0: a small number such as 0.1 is allowed")
        if self.role is not None and not (isinstance(self.role, str) and self.role.strip() in _ROLES):
            raise InvalidInput(f"role must be one of {', '.join(_ROLES)}, or null")


@dataclass(frozen=True, slots=True)
class Cell:
    """A chunk reached at a hop: how like the question it is, 0 to 1, and what led to it (``semantic`` or a kind of edge)."""

    id: str
    hop: int
    likeness: float
    reason: str
    vector: FloatArray | None = None


def finite(score: float) -> float:
    """Return a score within 0 to 1, 6 digits; 0.0 for what is no finite number."""
    # sums of products may leave the range by a rounding error
    return round(min(1.0, max(0.0, score)), 6) if math.isfinite(score) else 0.0


class Walk:
    """The hops of one question: ``hops`` holds the chunks of each, most like the question first."""

    def __init__(self, stores: BoundStores, question: str, vector: FloatArray | None, args: MultihopArgs) -> None:
        self.stores, self.args = stores, args
        self.hops: list[list[Cell]] = []
        self.places: dict[str, ChunkPlace] = {}
        self.sources: dict[str, Source] = {}
        self.failures = 0
        self._question, self._vector = question, vector
        self._role = _ROLES[(args.role or ROLE).strip()]
        self._seen: set[str] = set()
        self._best_bm25 = 0.0

    def run(self) -> None:
        """Walk. Raise ``StoreUnavailable`` when a store is lost."""
        args = self.args
        found = self._first()
        while found:
            kept = sorted(found, key=lambda c: (-c.likeness, c.id))[: args.top_k_per_hop]
            self._seen.update(c.id for c in kept)
            last = len(self.hops) + 1 == args.num_hops
            edges = self._edges(kept) if args.use_symbolic and not last else []
            self.hops.append(kept)
            if last:
                break
            found = self._onward(self._seeds(kept), edges)
        self._place([c.id for c in self.cells if c.id not in self.places])
        self.hops = [[c for c in hop if c.id in self.places] for hop in self.hops]
        while self.hops and not self.hops[-1]:
            self.hops.pop()

    @property
    def cells(self) -> list[Cell]:
        """Every chunk reached, hop by hop; each stands once, at the hop that reached it first."""
        return [cell for hop in self.hops for cell in hop]

    def parts(self, cell: Cell) -> dict[str, float]:
        """Return what the score of a chunk is the sum of: its likeness, its role, and what the hops took away."""
        likeness, role = cell.likeness, 0.0
        if self.args.use_symbolic:
            likeness, role = (1 - ROLE_SHARE) * likeness, ROLE_SHARE * self.has_role(cell)
        lost = (likeness + role) * (self.args.hop_decay**cell.hop - 1)
        return {name: value for name, value in (("likeness", likeness), ("role", role), ("decay", lost)) if value}

    def score(self, cell: Cell) -> float:
        """Return relevance * hop_decay^hop, 0 to 1, 6 digits; 0.0 for what is no finite number (H-16, H-22)."""
        return finite(sum(self.parts(cell).values()))

    def has_role(self, cell: Cell) -> bool:
        """Tell whether a chunk has the role looked for."""
        place = self.places.get(cell.id)
        return place is not None and place.placement.role == self._role

    def is_symbolic(self, cell: Cell) -> bool:
        """Tell whether a chunk came by a symbolic edge, at the first hop by its role."""
        if cell.hop == 0:
            return self.args.use_symbolic and self.has_role(cell)
        return cell.reason != _SEMANTIC

    def _first(self) -> list[Cell]:
        hits = self.stores.search("hop_0", [self._request(k=self.args.top_k_per_hop)])[0]
        self._best_bm25 = max((hit.score for hit in hits), default=0.0)
        return [self._cell(hit, _SEMANTIC) for hit in hits]

    def _seeds(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the best share of a hop's chunks, one at least."""
        best = sorted(cells, key=lambda c: (-self.score(c), c.id))
        return best[: max(1, math.ceil(self.args.context_expansion_ratio * len(best)))]

    def _edges(self, cells: list[Cell]) -> list[ChunkEdge]:
        """Look up what is beside the chunks, and drop those that readers do not see; none when the graph fails (H-15)."""
        hop = len(self.hops)
        try:
            around = self.stores.adjacent(f"symbolic_{hop}", [c.id for c in cells], PER_KIND)
        except StoreUnavailable as error:
            self.failures += 1
            logger.warning("multihop: symbolic step of hop %d skipped: %s", hop, error)
            self.stores.trace.warn("symbolic_failed", f"hop {hop} went without symbolic edges: the graph cannot be read")
            return []
        self.places.update(around.places)
        self.sources.update(around.sources)
        cells[:] = [c for c in cells if c.id in around.places]
        return list(around.edges)

    def _onward(self, seeds: Sequence[Cell], edges: Sequence[ChunkEdge]) -> list[Cell]:
        """Return what the edges out of the seeds lead to, and what is nearest to the question and the seeds together."""
        starts = {c.id for c in seeds}
        reasons: dict[str, str] = {}
        for edge in edges:
            if edge.from_chunk in starts and edge.to_chunk not in self._seen:
                reasons.setdefault(edge.to_chunk, edge.kind)
        requests = [self._request(ids=tuple(sorted(reasons)))] if reasons else []
        if (middle := self._middle(seeds)) is not None:
            most = self.args.top_k_per_hop + len(self._seen)
            requests.append(SearchRequest("chunk", vector=middle, k=most, vectors=True))
        found: dict[str, Cell] = {}
        for hits in self.stores.search(f"hop_{len(self.hops)}", requests):
            for hit in hits:
                if hit.id not in self._seen:
                    found.setdefault(hit.id, self._cell(hit, reasons.get(hit.id, _SEMANTIC)))
        return list(found.values())

    def _middle(self, seeds: Sequence[Cell]) -> FloatArray | None:
        """Return the mean of the question's vector and the seeds', of length 1; None when there is none."""
        if self._vector is None:
            return None
        mean = np.mean([self._vector, *(c.vector for c in seeds if c.vector is not None)], axis=0)
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length > 0 else None

    def _request(self, *, k: int = 0, ids: tuple[str, ...] | None = None) -> SearchRequest:
        if self._vector is None:
            return SearchRequest("chunk", text=self._question, k=k, ids=ids, vectors=True)
        return SearchRequest("chunk", vector=self._vector, k=k, ids=ids, vectors=True)

    def _cell(self, hit: Hit, reason: str) -> Cell:
        if self._vector is None:
            likeness = hit.score / self._best_bm25 if self._best_bm25 else 0.0
        else:
            likeness = (1 + float(self._vector.astype(np.float64) @ hit.vector)) / 2 if hit.vector is not None else 0.0
        return Cell(hit.id, len(self.hops), finite(likeness), reason, hit.vector)

    def _place(self, chunk_ids: Sequence[str]) -> None:
        around = self.stores.adjacent("places", chunk_ids)
        self.places.update(around.places)
        self.sources.update(around.sources)
