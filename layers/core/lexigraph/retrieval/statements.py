"""Which statements of the chunks found answer: scored by their own words, by a reranker, and by the link they carry."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lexigraph.inference.protocols import Reranker
from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement
from lexigraph.retrieval.expansion import Expansion
from lexigraph.retrieval.ranking import Ranked, Weights
from lexigraph.retrieval.reranking import scored
from lexigraph.retrieval.trace import Trace

_READ = 3  # chunks looked at for each result that may be returned
_RERANKED = 10  # statements of a chunk given to a reranker, those that fit best


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a statement fits by itself: the open words it answers or the link it carries (0 to 1), and its reranking."""

    row: StatementRow
    answers: float
    rerank: float = 0.0

    @property
    def total(self) -> float:
        """What statements of one chunk are ordered by."""
        return self.answers + self.rerank

    @property
    def order(self) -> tuple[float, int, str]:
        """Best first, then as the chunk reads."""
        return (-round(self.total, 6), self.row.position, self.row.id)


def rank_statements(
    expansion: Expansion, queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> list[tuple[ScoredStatement, StatementRow]]:
    """Return the statements of the best chunks, best first, each once.

    ``queries`` is what the reranker compares with: the question and the names of the entities looked up (G-35).
    """
    args, weights = expansion.args, expansion.ranker.weights
    ranked = expansion.rank(None if args.max_search_results is None else _READ * args.max_search_results)
    fits = _reranked(_fits(expansion, ranked), queries, reranker, trace)
    lifted = []
    for chunk in ranked:
        bonus = weights.rerank * max(f.rerank for f in fits[chunk.id])
        lifted.append(replace(chunk, score=chunk.score + bonus, parts={**chunk.parts, "rerank": bonus}))
    lifted.sort(key=lambda r: (-round(r.score, 6), r.id))
    chosen = expansion.ranker.diversify(lifted, expansion.found.candidates)
    placed = [(chunk, *place) for chunk in chosen for place in _within(fits[chunk.id], weights)]
    placed.sort(key=lambda p: (-round(p[0].score * p[2], 6), p[1].id))
    reason = {i: c.reason for i, c in expansion.found.candidates.items()}
    found = [(_scored(chunk, row, factor, reason[chunk.id], weights.bound), row) for chunk, row, factor in placed]
    # shown parts are rounded, and what is shown is in order
    found.sort(key=lambda pair: (-pair[0].score, pair[0].id, pair[0].chunk_id))
    first: dict[str, tuple[ScoredStatement, StatementRow]] = {}
    for pair in found:  # a sentence may stand in several chunks of a topic
        first.setdefault(pair[0].id, pair)
    return list(first.values())


def _fits(expansion: Expansion, ranked: Sequence[Ranked]) -> dict[str, list[Fit]]:
    """Return, by chunk, how far each statement answers what was open, or leads on to a chunk that does; best first."""
    coverage, found = expansion.ranker.coverage, expansion.found
    leads: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    most = expansion.ranker.weights.best_link
    for chunk in ranked:
        if chunk.via:
            name = found.entities[chunk.via.entity_id].value.casefold()
            leads[chunk.via.from_chunk].append((chunk.via.entity_id, name, chunk.parts["link"] / most))
    fits = {}
    for chunk in ranked:
        rows = list(found.rows[chunk.id].values())
        held = np.stack([coverage.held(f"{row.value}\n{row.details}") for row in rows])
        answers = coverage.shares(held, chunk.wanted).tolist()
        of_chunk = [Fit(row, min(1.0, a + leads_on(row, leads[chunk.id]))) for row, a in zip(rows, answers, strict=True)]
        fits[chunk.id] = sorted(of_chunk, key=lambda f: f.order)
    return fits


def leads_on(row: StatementRow, leads: Sequence[tuple[str, str, float]]) -> float:
    """Return the worth of the best link that leaves the chunk through an entity which the statement names."""
    text = row.value.casefold() if leads else ""
    return max((worth for entity, name, worth in leads if entity in row.entities or _holds(text, name)), default=0.0)


def _holds(text: str, name: str) -> bool:
    """Tell whether a text holds a name as words of its own: ``Ada`` is not in ``Canada``."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _reranked(
    fits: Mapping[str, list[Fit]], queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> Mapping[str, list[Fit]]:
    """Add the reranker's scores as shares of the best: of each statement with its topic and source title (G-33, G-34)."""
    if reranker is None:
        return fits
    rows = [fit.row for of_chunk in fits.values() for fit in of_chunk[:_RERANKED]]
    texts = ["\n".join(filter(None, dict.fromkeys((r.source.title, r.topic, r.value, r.details)))) for r in rows]
    scores = scored(reranker, queries, texts, trace, instead="statements keep the order without it")
    if scores is None:
        return fits
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    share = {row.id: (score - low) / (high - low) if high > low else 0.0 for row, score in zip(rows, scores, strict=True)}
    again = {i: [replace(fit, rerank=share.get(fit.row.id, 0.0)) for fit in of_chunk] for i, of_chunk in fits.items()}
    return {i: sorted(of_chunk, key=lambda f: f.order) for i, of_chunk in again.items()}


def _within(fits: Sequence[Fit], weights: Weights) -> list[tuple[StatementRow, float]]:
    """Return the share of its chunk's score that each statement has: the best has all, each further one less.

    What counts is by how much less it fits: where none fits well, all fit about as well.
    """
    shares = [1.0 - weights.within * min(1.0, fits[0].total - fit.total) for fit in fits]
    return [(fit.row, share * weights.repeat**at) for at, (fit, share) in enumerate(zip(fits, shares, strict=True))]


def _scored(chunk: Ranked, row: StatementRow, factor: float, reason: str, bound: float) -> ScoredStatement:
    parts = {name: round(value / bound, 6) for name, value in chunk.parts.items()}
    parts["within"] = round(chunk.score * (factor - 1) / bound, 6)
    return ScoredStatement(
        id=row.id,
        text=row.value,
        score=min(max(round(sum(parts.values()), 6), 0.0), 1.0),
        reason=reason,
        chunk_id=row.chunk_id,
        start=row.chunk_start + row.start,
        end=row.chunk_start + row.end,
        path=chunk.path,
        parts={name: value for name, value in parts.items() if value},
    )
