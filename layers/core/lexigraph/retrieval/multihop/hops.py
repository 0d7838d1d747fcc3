"""Hop by hop through chunks: each hop asks the question anew, together with what the one before has reached.

One vector call a hop and, between two hops, one graph call; one more of the graph for what is not placed by then.
"""

import logging
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.graph import Source
from lexigraph.retrieval.multihop.inquiry import Answers, Array, Inquiry
from lexigraph.retrieval.stages.args import Args, Range, Share
from lexigraph.retrieval.stages.text import STOP_WORDS, words
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import ChunkEdge, ChunkPlace, Hit, SearchRequest

ROLE = "paragraph"  # H-05: the role looked for when none is given
# H-28: what can be looked for; chunks are no smaller than paragraphs
_ROLES = {role: role for role in ("paragraph", "list", "table", "code", "row", "heading")} | {"sentence": "paragraph"}
ROLE_SHARE = 0.05  # of a score with symbolic steps: the chunk has the role looked for; the rest is relevance
PER_KIND = 5  # symbolic edges of one kind followed out of one chunk
SEEN_FIRST = 50  # chunks nearest by vector, and by words, that tell how rare the words of the question are
SEMANTIC, IN_ORDER = 0.2, 0.3  # how specific it is to be alike, and to stand side by side
_NAMES, _NAMED = 8, 10  # rarest names of a chunk that are looked for, and chunks found by them
_WORD = re.compile(r"[^\W\d_]\w+")
_SEMANTIC = "semantic"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MultihopArgs(Args):
    """Parameters of multi-hop search.

    | parameter | meaning | default |
    |---|---|---|
    | ``role`` | role to prefer (paragraph, list, table, code, row or heading); only with ``use_symbolic``. None: paragraph \
| None |
    | ``use_symbolic`` | follow symbolic edges (reading order, headings, entities, topics) and prefer the role | True |
    | ``num_hops`` | hops, including the first search, 1 to 8 | 3 |
    | ``top_k_per_hop`` | chunks kept per hop, 1 to 200 | 15 |
    | ``final_top_k`` | chunks in the final ranking, 1 to 100 | 10 |
    | ``hop_decay`` | factor by which scores decrease per hop, above 0 and up to 1; 1: no decay | 0.85 |
    | ``context_expansion_ratio`` | share of a hop's best chunks that the next hop starts from, above 0 and up to 1 | 0.5 |
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
                raise InvalidInput(f"{name} must be greater than 0 and at most 1, got 0")
        if self.role is not None and not (isinstance(self.role, str) and self.role.strip() in _ROLES):
            raise InvalidInput(f"role must be one of {', '.join(_ROLES)}, or null")


@dataclass(frozen=True, slots=True)
class Cell:
    """A chunk as a hop reached it: how well it answers, and what led to it: ``semantic``, ``name`` or a kind of edge.

    Relevance is ``likeness`` plus ``words``; ``said`` is how far the chain up to here answers each word of the question.
    """

    id: str
    hop: int
    likeness: float
    words: float
    reason: str
    said: Array

    @property
    def relevance(self) -> float:
        """Relevance to the question of this hop, 0 to 1."""
        return finite(self.likeness + self.words)


class _Seen(NamedTuple):
    """What a search told of a chunk: its vector, the question's words that it holds, and words written as names are."""

    vector: FloatArray
    held: Array
    names: frozenset[str]


def finite(score: float) -> float:
    """Return a score within 0 to 1, 6 digits; 0.0 for what is no finite number."""
    # sums of products may leave the range by a rounding error
    return round(min(1.0, max(0.0, score)), 6) if math.isfinite(score) else 0.0


class Walk:
    """The hops of one question: ``hops`` holds the chunks that each reached first, the most relevant first."""

    def __init__(self, stores: BoundStores, question: str, vector: FloatArray | None, args: MultihopArgs) -> None:
        self.stores, self.args = stores, args
        self.hops: list[list[Cell]] = []
        self.places: dict[str, ChunkPlace] = {}
        self.sources: dict[str, Source] = {}
        self.failures = 0
        self._question, self._vector, self._inquiry = question, vector, Inquiry(question, vector)
        self._role = _ROLES[(args.role or ROLE).strip()]
        self._seen: dict[str, _Seen] = {}
        self._ways: dict[str, list[Cell]] = defaultdict(list)
        self._nearest: set[str] = set()  # what the last hop found to be most like its question
        self._bearing: Counter[str] = Counter()  # in how many of the chunks seen a name stands
        self._asked = set(words(question))
        self._small = set(STOP_WORDS)  # what is no name; also what is written small somewhere

    def run(self) -> None:
        """Walk. Raise ``StoreUnavailable`` when a store is lost."""
        args = self.args
        found = self._first()
        while found:
            kept = self._kept(found)
            last = len(self.hops) + 1 == args.num_hops
            edges = self._edges(kept) if args.use_symbolic and not last else []
            self.hops.append(kept)
            for cell in kept:
                self._ways[cell.id].append(cell)
            if last or not kept:
                break
            found = self._onward(kept[: max(1, math.ceil(args.context_expansion_ratio * len(kept)))], edges)
        self._place([i for i in self._ways if i not in self.places])
        self.hops = [[c for c in hop if c.id in self.places] for hop in self.hops]
        while self.hops and not self.hops[-1]:
            self.hops.pop()

    @property
    def cells(self) -> list[Cell]:
        """Every chunk reached, once, as the hop that gave it its best score reached it."""
        reached = (self._ways[cell.id] for hop in self.hops for cell in hop)
        return [max(ways, key=lambda c: (self.score(c), -c.hop)) for ways in reached]

    def parts(self, cell: Cell) -> dict[str, float]:
        """Return what the score of a chunk is the sum of: likeness, words, role, and what the hops took away."""
        whole, role = 1.0, 0.0
        if self.args.use_symbolic:
            whole, role = 1 - ROLE_SHARE, ROLE_SHARE * self.has_role(cell)
        parts = {"likeness": whole * cell.likeness, "words": whole * cell.words, "role": role}
        parts["decay"] = sum(parts.values()) * (self.args.hop_decay**cell.hop - 1)
        return {name: value for name, value in parts.items() if value}

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
        """Return the best by vector and by words; the words of all that these searches see tell which words are rare."""
        most = max(SEEN_FIRST, self.args.top_k_per_hop)
        requests = [SearchRequest("chunk", text=self._question, k=most, vectors=True)]
        if self._vector is not None:
            requests.append(SearchRequest("chunk", vector=self._vector, k=most, vectors=True))
        found = self.stores.search("hop_0", requests)
        self._see(hit for hits in found for hit in hits)
        names = (self._asked & self._bearing.keys()) - self._small
        self._inquiry.weigh(np.array([seen.held for seen in self._seen.values()]), names)
        best = list(dict.fromkeys(hit.id for hits in found for hit in hits[: self.args.top_k_per_hop]))
        if not best:
            return []
        vectors, held = self._rows(best)
        none = np.zeros((1, vectors.shape[1])), np.zeros((1, held.shape[1]))
        answers = self._inquiry.answers(vectors, held, np.zeros((1, len(best))), *none)
        return [self._cell(i, answers, (0, at), _SEMANTIC, held[at]) for at, i in enumerate(best)]

    def _kept(self, found: Sequence[Cell]) -> list[Cell]:
        """Return ``top_k_per_hop`` chunks, the most relevant first: what edges lead to and what is alike have half each.

        What one of the two does not fill goes to the other.
        """
        best = sorted(found, key=lambda c: (-c.relevance, c.id))
        most = self.args.top_k_per_hop
        by_edge = [c.id for c in best if c.reason != _SEMANTIC]
        alike = [c.id for c in best if c.id in self._nearest]
        shares = (*by_edge[: math.ceil(most / 2)], *alike, *by_edge, *(c.id for c in best))
        kept = set(list(dict.fromkeys(shares))[:most])
        return [c for c in best if c.id in kept]

    def _edges(self, cells: list[Cell]) -> list[ChunkEdge]:
        """Look up what is beside the chunks, and drop those that readers do not see; none when the graph fails (H-15)."""
        hop = len(self.hops)
        try:
            around = self.stores.adjacent(f"symbolic_{hop}", [c.id for c in cells], PER_KIND)
        except StoreUnavailable as error:
            self.failures += 1
            logger.warning("multihop: symbolic step of hop %d skipped: %s", hop, error)
            self.stores.trace.warn("symbolic_failed", f"hop {hop} did not use symbolic edges: the graph cannot be read")
            return []
        self.places.update(around.places)
        self.sources.update(around.sources)
        cells[:] = [c for c in cells if c.id in around.places]
        return list(around.edges)

    def _onward(self, seeds: Sequence[Cell], edges: Sequence[ChunkEdge]) -> list[Cell]:
        """Return what is new of all that the seeds lead to, each by the seed from which it answers most.

        What was reached before is measured again: where a chain leads to it, it may answer more.
        """
        leading: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
        starts = {c.id for c in seeds}
        for edge in (e for e in edges if e.from_chunk in starts):
            _join(leading[edge.from_chunk], edge.to_chunk, _specific(edge.kind, edge.among), edge.kind)
        found = self.stores.search(f"hop_{len(self.hops)}", self._requests(seeds, leading))
        self._see(hit for hits in found for hit in hits)
        if self._vector is not None:
            new_ones = [hit.id for hit in found[-1] if hit.id not in self._ways]
            self._nearest = set(new_ones[: self.args.top_k_per_hop])
        best = self._best(seeds, leading)
        new = [cell for cell in best if cell.id not in self._ways]
        for cell in (c for c in best if c.id in self._ways):
            self._ways[cell.id].append(cell)
        return new

    def _requests(self, seeds: Sequence[Cell], leading: Mapping[str, Mapping[str, object]]) -> list[SearchRequest]:
        """Return the searches of a hop: for what edges lead to, for the names in each seed, and last for what is alike."""
        requests: list[SearchRequest] = []
        if beside := tuple(sorted({i for of in leading.values() for i in of} - self._seen.keys())):
            requests.append(SearchRequest("chunk", vector=self._vector, text=self._question, ids=beside, vectors=True))
        if self.args.use_symbolic:
            named = [sorted(self._names(s.id), key=lambda name: (self._bearing[name], name))[:_NAMES] for s in seeds]
            requests += [SearchRequest("chunk", text=" ".join(of), k=_NAMED, vectors=True) for of in named if of]
        if self._vector is not None:
            middle = np.mean([self._vector, *(self._seen[s.id].vector for s in seeds)], axis=0)
            vector = (middle / max(float(np.linalg.norm(middle)), 1e-9)).astype(np.float32)
            most = self.args.top_k_per_hop + len(self._ways)
            requests.append(SearchRequest("chunk", vector=vector, k=most, vectors=True))
        return requests

    def _best(self, seeds: Sequence[Cell], leading: Mapping[str, dict[str, tuple[float, str]]]) -> list[Cell]:
        """Return all chunks seen, each as it answers when reached from the seed from which it answers most."""
        column = {i: at for at, i in enumerate(self._seen)}
        specific = np.full((len(seeds), len(column)), SEMANTIC)
        for row, seed in enumerate(seeds):
            self._join_by_names(seed, leading[seed.id])
            for i, (share, _) in leading[seed.id].items():
                if i in column:
                    specific[row, column[i]] = share
        vectors, held = self._rows(column)
        own = [column[seed.id] for seed in seeds]
        said = np.array([seed.said for seed in seeds])
        answers = self._inquiry.answers(vectors, held, specific, vectors[own], said)
        relevance = answers.relevance
        relevance[range(len(seeds)), own] = -1.0  # none leads to itself
        cells = []
        for (i, at), row in zip(column.items(), relevance.argmax(axis=0).tolist(), strict=True):
            if relevance[row, at] >= 0:
                reason = leading[seeds[row].id].get(i, (SEMANTIC, _SEMANTIC))[1]
                reached = np.maximum(held[at], specific[row, at] * said[row])
                cells.append(self._cell(i, answers, (row, at), reason, reached))
        return cells

    def _join_by_names(self, seed: Cell, leading: dict[str, tuple[float, str]]) -> None:
        """Note which of the chunks seen share a name with a seed."""
        own = self._names(seed.id) if self.args.use_symbolic else frozenset()
        for i, seen in self._seen.items() if own else ():
            if shared := own & seen.names:
                _join(leading, i, _specific("name", min(self._bearing[name] for name in shared)), "name")

    def _cell(self, chunk_id: str, answers: Answers, at: tuple[int, int], reason: str, said: Array) -> Cell:
        return Cell(chunk_id, len(self.hops), float(answers.likeness[at]), float(answers.words[at]), reason, said)

    def _rows(self, ids: Iterable[str]) -> tuple[Array, Array]:
        """Return the vectors and the held words of chunks seen, a row a chunk."""
        seen = [self._seen[i] for i in ids]
        return np.array([s.vector for s in seen], np.float64), np.array([s.held for s in seen])

    def _see(self, hits: Iterable[Hit]) -> None:
        """Take in what searches found, each chunk once."""
        new = list({hit.id: hit for hit in hits if hit.id not in self._seen and hit.vector is not None}.values())
        for hit, held in zip(new, self._inquiry.held([hit.text for hit in new]), strict=True):
            written = set(_WORD.findall(hit.text))
            names = frozenset(word.lower() for word in written if word[0].isupper())
            self._bearing.update(names)
            self._small.update(word for word in written if word[0].islower())
            self._seen[hit.id] = _Seen(np.zeros(0, np.float32) if hit.vector is None else hit.vector, held, names)

    def _names(self, chunk_id: str) -> frozenset[str]:
        """Return the names in a chunk that the question does not have: words never written small."""
        return self._seen[chunk_id].names - self._small - self._asked

    def _place(self, chunk_ids: Sequence[str]) -> None:
        around = self.stores.adjacent("places", chunk_ids)
        self.places.update(around.places)
        self.sources.update(around.sources)


def _join(leading: dict[str, tuple[float, str]], chunk_id: str, specific: float, reason: str) -> None:
    """Note an edge unless a more specific one is known."""
    if chunk_id not in leading or specific > leading[chunk_id][0]:
        leading[chunk_id] = (specific, reason)


def _specific(kind: str, among: int) -> float:
    """Return how specific an edge is, 0 to 1: the fewer chunks have in common what joins two, the more."""
    return IN_ORDER if kind in ("next", "previous") else 1 / math.log2(max(among, 2))
