"""The part of the graph around what the searches found: up to two levels of steps, each level within its quota (E-70)."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lexigraph.model.graph import StatementRow
from lexigraph.model.ids import node_id
from lexigraph.model.relations import Step
from lexigraph.retrieval.hybrid.args import READ, HybridArgs, HybridWeights
from lexigraph.retrieval.stages.ranking import title_matches
from lexigraph.retrieval.stages.text import names
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import Hit, RelatedRequest

_REACHED = 100  # chunks of a level that are scored at most


@dataclass(slots=True)
class Context:
    """A chunk that may be shown to answer a question.

    ``level`` is 0 for what a search found, else the number of steps from there; ``arrivals`` are the steps that lead to it,
    each with its depth. ``cosine`` is None where no vector was compared, ``named`` how far the question names the title of
    its source, ``path`` the names that led there first.
    """

    id: str
    reason: str
    level: int = 0
    arrivals: list[tuple[int, Step]] = field(default_factory=list)
    cosine: float | None = None
    bm25: float = 0.0
    named: float = 0.0
    text: str = ""
    path: tuple[str, ...] = ()

    @property
    def relations(self) -> list[Step]:
        """The observed relations that lead to the chunk, each once, the most certain first."""
        found = {(s.from_chunk, s.type): s for _, s in self.arrivals if s.kind == "llm_rel"}
        return [] if not found else sorted(found.values(), key=lambda s: (-s.weight, s.type, s.from_chunk))


class Subgraph:
    """Collects chunks around some hits: two graph calls at most.

    ``pool`` are further chunks that a search found, with their hits: what leads to one of them is preferred.
    """

    def __init__(self, stores: BoundStores, question: str, args: HybridArgs, weights: HybridWeights) -> None:
        self.stores, self.question, self.args, self.weights = stores, question, args, weights
        self.contexts: dict[str, Context] = {}
        self._starts: dict[str, None] = {}
        self.steps: list[Step] = []
        self._found: Mapping[str, Sequence[Hit]] = {}
        self._pool: dict[str, Hit] = {}
        self._fixed = {"entity": weights.entity, "relates": weights.relates, "cooccur": weights.cooccur}

    def start(self, found: Mapping[str, Sequence[Hit]]) -> None:
        """Take in what the searches found; ``found`` are the hits of each by the reason they give, the best first.

        The graph is followed from the first of each.
        """
        self._found = found
        for reason, hits in found.items():
            self._starts.update((hit.id, None) for hit in hits[: self.args.start_chunks])
            for hit in hits[: self.args.top_k or READ]:
                self.contexts.setdefault(hit.id, Context(hit.id, reason))
            self._pool.update({hit.id: hit for hit in hits})
        self.compare(found)

    def grow(self, score: Callable[[Iterable[Context]], Mapping[str, float]]) -> None:
        """Follow the steps out of the start, then out of the best chunks they lead to. ``score`` says which are best."""
        args = self.args
        if args.expand_hops or args.subgraph_depth:
            self._follow("expansion", list(self._starts), 1)
        if args.subgraph_depth > 1:
            first = score(c for c in self.contexts.values() if c.level == 1)
            best = sorted(first, key=lambda i: (-first[i], i))[: 2 * args.start_chunks]
            self._follow("subgraph", best, 2)

    def compare(self, scores: Mapping[str, Sequence[Hit]]) -> None:
        """Note how like the question the chunks are: ``scores`` are the hits of all of them by search."""
        for name, hits in scores.items():
            for hit in hits:
                if (context := self.contexts.get(hit.id)) is None:
                    continue
                context.text = hit.text
                if name == "vector":
                    context.cosine = hit.score
                else:
                    context.bm25 = hit.score

    def compare_titles(self, rows: Iterable[StatementRow]) -> None:
        """Note how far the question names the titles of the chunks' sources, as the statements tell them."""
        titles = {row.chunk_id: row.source.title for row in rows}
        for chunk, share in title_matches(titles, names(self.question, capitals=False)).items():
            self.contexts[chunk].named = share

    def first_chunks(self) -> None:
        """Take the first chunks there are: better than nothing when no search is possible."""
        most = self.args.start_chunks
        request = RelatedRequest(names=self._names([]), first=most, per_entity=most, all_kinds=False)
        for step in self.stores.related("expansion", request):
            self.contexts.setdefault(step.to_chunk, Context(step.to_chunk, step.kind, path=step.names))

    def choose(self, scores: Mapping[str, float]) -> list[Context]:
        """Return what stays: what was searched, the best of the expansion, then the subgraph within its quotas.

        The expansion has twice as many places as a search finds, the subgraph as many again; a share of them is kept for
        its second level, which also gets what the first one leaves.
        """
        places = 2 * (self.args.top_k or READ)
        order = sorted(self.contexts.values(), key=lambda c: (-scores[c.id], c.id))
        levels = [[c for c in order if c.level == level] for level in (0, 1, 2)]
        expanded = [c for c in levels[1] if self._expands(c)][:places]
        taken = {c.id for c in expanded}
        left = [c for c in levels[1] if c.id not in taken] if self.args.subgraph_depth else []
        reserve = math.ceil(self.weights.reserve * places) if levels[2] else 0
        near = left[: places - reserve]
        far = levels[2][: places - len(near)]
        for context in (*near, *far):
            context.reason = "subgraph"
        return [*levels[0], *expanded, *near, *far]

    def _expands(self, context: Context) -> bool:
        """Tell whether the expansion, which may be off or go over one entity only, reaches a chunk of the first level."""
        if self.args.expand_hops != 1:
            return self.args.expand_hops == 2
        over_entity = any(step.kind in ("entity", "relates") for _, step in context.arrivals)
        if over_entity:
            context.reason = "entity"
        return over_entity

    def _follow(self, name: str, chunks: Sequence[str], level: int) -> None:
        args = self.args
        request = RelatedRequest(
            chunks=tuple(chunks),
            names=self._names(chunks) if level == 1 else {},
            prefer=tuple(self._pool),
            max_entities=args.max_entities,
            max_df=args.max_link_df,
            per_entity=args.max_links_per_entity,
            min_name=args.entity_min_length,
            all_kinds=args.expand_hops == 2 or args.subgraph_depth > 0,
            least_together=args.cooccur_min_count,
            min_confidence=args.min_rel_confidence,
        )
        steps = self.stores.related(name, request) if chunks or level == 1 else []
        self.steps += steps
        new = 0
        for step in sorted(steps, key=lambda s: (-self._bonus(s), -s.weight, s.to_chunk, s.from_chunk, s.kind, s.names)):
            context = self.contexts.get(step.to_chunk)
            if context is None and new < _REACHED:
                new += 1
                before = self.contexts[step.from_chunk].path if step.from_chunk else ()
                path = tuple(dict.fromkeys((*before, *step.names)))
                context = self.contexts[step.to_chunk] = Context(step.to_chunk, step.kind, level, path=path)
            if context is not None:
                context.arrivals.append((level, step))
        self.compare(self._found)

    def _bonus(self, step: Step) -> float:
        fixed = self._fixed.get(step.kind)
        return self.weights.of_type(step.type) * step.weight if fixed is None else fixed

    def _names(self, chunks: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of what may be names in the question, under ``""``, and in the texts of chunks."""
        tenant = self.stores.tenant
        keys = {"": {n.key for n in names(self.question, capitals=False)}}
        keys.update({i: {n.key for n in names(self._pool[i].text)} for i in chunks if i in self._pool})
        return {i: [node_id("entity", tenant, key) for key in sorted(found)] for i, found in keys.items()}
