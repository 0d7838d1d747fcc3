"""The explained scores of hybrid search: likeness to the question plus named bonuses (E-61 to E-64, E-70). Pure, no I/O.

``base_norm`` is the cosine, min-max scaled over the set; ``bonus`` a sum of parts: words, a title that the question names,
the relation by which a chunk was reached, the paths that lead to it, what it adds to the chunk they lead from, centrality.
All are rounded to 4 digits, so that what is shown adds up.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from lexigraph.model.relations import Step
from lexigraph.retrieval.hybrid.args import HybridArgs, HybridWeights
from lexigraph.retrieval.hybrid.links import Added
from lexigraph.retrieval.hybrid.results import HybridItem
from lexigraph.retrieval.hybrid.subgraph import Context
from lexigraph.retrieval.stages.ranking import Array

_NOTHING = Added(0.0, ())
_DAMPING = 0.85
_ROUNDS = 30

_BY_RELATION = ("llm_rel", "subgraph")  # reasons for which the type of a relation counts


class Pruned(Protocol):
    """What :func:`prune` looks at of a chunk."""

    @property
    def id(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def composite_score(self) -> float: ...


P = TypeVar("P", bound=Pruned)


class Composite(NamedTuple):
    """A chunk with its score alone."""

    id: str
    reason: str
    composite_score: float


class _Scores(NamedTuple):
    """Scores of contexts, an entry a context, rounded to 4 digits."""

    norm: Array
    parts: Mapping[str, Array]
    bonus: Array
    composite: Array


def composites(
    contexts: Sequence[Context],
    steps: Sequence[Step],
    args: HybridArgs,
    weights: HybridWeights,
    added: Mapping[str, Added] = MappingProxyType({}),
) -> list[Composite]:
    """Return what :func:`score_contexts` does of each, without its parts, in the order of the contexts."""
    total = _scores(contexts, steps, args, weights, added).composite.tolist()
    return [Composite(c.id, c.reason, score) for c, score in zip(contexts, total, strict=True)]


def score_contexts(
    contexts: Sequence[Context],
    steps: Sequence[Step],
    args: HybridArgs,
    weights: HybridWeights,
    added: Mapping[str, Added] = MappingProxyType({}),
) -> list[HybridItem]:
    """Return the contexts with their scores, best first, ties by id; ``added`` is what links bring, by chunk."""
    scores = _scores(contexts, steps, args, weights, added)
    columns = scores.norm.tolist(), scores.bonus.tolist(), scores.composite.tolist()
    parts = zip(*(part.tolist() for part in scores.parts.values()), strict=True)
    items = []
    for c, norm, bonus, composite, values in zip(contexts, *columns, parts, strict=True):
        counted = c.relations if args.relation_bonus and c.reason in _BY_RELATION else ()
        related = max(counted, key=lambda s: weights.of_type(s.type) * s.weight, default=None)
        items.append(
            HybridItem(
                id=c.id,
                reason=c.reason,
                score_raw=c.cosine,
                base_norm=norm,
                bonus=bonus,
                composite_score=composite,
                final_score=composite,
                rel_type=related.type if related else None,
                rel_conf=related.weight if related else None,
                evidence=related.evidence if related else "",
                path=c.path or added.get(c.id, _NOTHING).names,
                parts={name: value for name, value in zip(scores.parts, values, strict=True) if value},
            )
        )
    return sorted(items, key=lambda item: (-item.composite_score, item.id))


def _scores(
    contexts: Sequence[Context],
    steps: Sequence[Step],
    args: HybridArgs,
    weights: HybridWeights,
    added: Mapping[str, Added],
) -> _Scores:
    words = _scaled([c.bm25 for c in contexts]) if args.bm25 else np.zeros(len(contexts))
    central = centrality(args.graph_rank, [c.id for c in contexts], steps)
    relations = [relation_bonus(c, weights) for c in contexts] if args.relation_bonus else []
    parts = {
        "bm25": args.bm25_weight * words,
        "title": weights.title * np.array([c.named for c in contexts]),
        "relation": np.array(relations or [0.0] * len(contexts)),
        "path": args.path_weight * np.array([path_score(c, weights) for c in contexts]),
        "link": args.link_weight * np.array([added.get(c.id, _NOTHING).worth for c in contexts]),
        "graph_rank": args.graph_rank_weight * np.array([central.get(c.id, 0.0) for c in contexts]),
    }
    shown = {name: _rounded(part) for name, part in parts.items()}
    norm = _rounded(_scaled([c.cosine for c in contexts]))
    bonus = sum(shown.values(), np.zeros(len(contexts))).round(4)
    return _Scores(norm, shown, bonus, (norm + bonus).round(4))


def _scaled(values: Sequence[float | None]) -> Array:
    """Scale to 0..1, the lowest to 0 and the highest to 1; what is unknown is 0, and so are all where they are equal."""
    known = np.array([np.nan if value is None else value for value in values])
    if np.isnan(known).all():
        return np.zeros(len(values))
    low, high = np.nanmin(known), np.nanmax(known)
    scaled: Array = np.nan_to_num((known - low) / (high - low)) if high > low else np.zeros(len(values))
    return scaled


def _rounded(values: Array) -> Array:
    # not by numpy: weights have few digits, and so have halves, which go by the number itself and not by 10,000 times it
    return np.array([round(value, 4) for value in values.tolist()]) if values.any() else values


def relation_bonus(context: Context, weights: HybridWeights) -> float:
    """Return what a chunk gets for the way it was reached; nothing when a search found it."""
    if context.reason == "subgraph":
        return weights.subgraph + _of_relations(context.relations, weights)
    if context.reason == "llm_rel":
        return max(weights.of_type(s.type) * s.weight for s in context.relations)
    return {"entity": weights.entity, "relates": weights.relates, "cooccur": weights.cooccur}.get(context.reason, 0.0)


def _of_relations(relations: Sequence[Step], w: HybridWeights) -> float:
    """Return the worth of the relations of a chunk of the subgraph: each further one less, less in a dense place."""
    worth = sorted((w.of_type(s.type) * s.weight * w.subgraph_relation for s in relations), reverse=True)
    total = sum(one * w.relation_decay**at for at, one in enumerate(worth[: w.most_relations]))
    return total / (1 + w.density * (len(relations) - w.dense)) if len(relations) > w.dense else total


def path_score(context: Context, w: HybridWeights) -> float:
    """Return the worth of the best steps that lead to a chunk, each less the further it is from the start: below 1.

    It nears 1 the slower the more there are, so that chunks with many paths can still be told apart.
    """
    if not context.arrivals:
        return 0.0
    worth = []
    for depth, step in context.arrivals:
        if step.kind == "llm_rel":
            worth.append(w.relation_step * step.weight * w.relation_decay ** (depth - 1))
        else:
            # two entities that stand together are two steps
            further = depth + (step.kind == "cooccur")
            worth.append(w.entity_step * w.entity_decay ** (further - 1))
    total = sum(sorted(worth, reverse=True)[: w.most_paths])
    return total / (1.0 + total)


def centrality(kind: str, ids: Sequence[str], steps: Sequence[Step]) -> dict[str, float]:
    """Return how central each chunk is among those fetched, as a share of the most central one; empty for ``none``."""
    if kind == "none":
        return {}
    near: dict[str, set[str]] = defaultdict(set)
    inside = set(ids)
    for step in steps:
        if step.from_chunk in inside and step.to_chunk in inside:
            near[step.from_chunk].add(step.to_chunk)
            near[step.to_chunk].add(step.from_chunk)
    if not near:
        return {}
    values = {i: float(len(near[i])) for i in ids} if kind == "degree" else _page_rank(ids, near)
    top = max(values.values())
    return {i: value / top for i, value in values.items()}


def _page_rank(ids: Sequence[str], near: Mapping[str, set[str]]) -> dict[str, float]:
    at = {i: row for row, i in enumerate(sorted(ids))}
    flow = np.zeros((len(at), len(at)))
    for i, row in at.items():
        others = sorted(near.get(i, ()))
        for other in others:
            flow[at[other], row] = 1 / len(others)
        if not others:
            flow[:, row] = 1 / len(at)
    rank = np.full(len(at), 1 / len(at))
    for _ in range(_ROUNDS):
        rank = (1 - _DAMPING) / len(at) + _DAMPING * (flow @ rank)
    return {i: float(rank[row]) for i, row in at.items()}


def prune(items: Sequence[P], target: int, w: HybridWeights) -> list[P]:
    """Return the items that stay, in order: all up to ``1.6 * target``; else what comes before a wide gap, then ``target``.

    The gap must leave 60 % of the target. Of each reason the best two stay, then the best.
    """
    if len(items) <= target * w.slack:
        return list(items)
    least = max(1, math.ceil(target * w.kept))
    gaps = (at for at in range(least, len(items)) if items[at - 1].composite_score - items[at].composite_score > w.gap)
    left = items[: next(gaps, len(items))]
    seen: Counter[str] = Counter()
    first: list[P] = []
    rest: list[P] = []
    for item in left:
        (first if seen[item.reason] < w.per_reason else rest).append(item)
        seen[item.reason] += 1
    kept = {item.id for item in (*first, *rest)[: max(target, 1)]}
    return [item for item in left if item.id in kept]
