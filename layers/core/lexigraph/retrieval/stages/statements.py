"""Which statements of the chunks found answer: scored by their own words, by a reranker, and by the link they carry."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lexigraph.inference.protocols import Reranker
from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement
from lexigraph.retrieval.stages.args import RankingArgs
from lexigraph.retrieval.stages.expansion import Expansion
from lexigraph.retrieval.stages.ranking import Ranked, Weights
from lexigraph.retrieval.stages.reranking import min_max, scored
from lexigraph.retrieval.stages.results import scored_statement
from lexigraph.retrieval.stages.trace import Trace

_READ = 2  # chunks looked at for each result that may be returned
_RERANKED = 10  # statements of a chunk given to a reranker, those that fit best


@dataclass(slots=True)
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


class Placed(NamedTuple):
    """A statement with its score, what of it comes of its place within its chunk, and the chunk."""

    score: float
    within: float
    row: StatementRow
    chunk: Ranked

    def scored(self, reason: str) -> ScoredStatement:
        """Return the statement with the parts of its score."""
        parts = {**self.chunk.parts, "within": self.within} if self.within else self.chunk.parts
        return scored_statement(self.row, self.score, reason, parts, self.chunk.path)


def rank_statements(
    expansion: Expansion[RankingArgs], queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> Iterator[tuple[ScoredStatement, StatementRow]]:
    """Return the statements of the best chunks, best first, each once; each is put together when it is read.

    ``queries`` is what the reranker compares with: the question and the names of the entities looked up (G-35).
    """
    args, weights, candidates = expansion.args, expansion.ranker.weights, expansion.found.candidates
    ranked = expansion.rank().best(None if args.max_search_results is None else _READ * args.max_search_results)
    fits = _fits(expansion, ranked)
    _rerank(fits.values(), queries, reranker, trace)
    lifted = []
    for chunk in ranked:
        if not fits[chunk.id]:
            continue  # a link led to a chunk that says nothing: a page of navigation
        bonus = weights.rerank * max(f.rerank for f in fits[chunk.id])
        lifted.append(chunk._replace(score=chunk.score + bonus, parts={**chunk.parts, "rerank": bonus}))
    lifted.sort(key=lambda r: (-round(r.score, 6), r.id))
    chosen = expansion.ranker.diversify(lifted, candidates)
    placed = [statement for chunk in chosen for statement in _placed(chunk, fits[chunk.id], weights)]
    placed.sort(key=lambda p: (-p.score, p.row.id, p.row.chunk_id))
    first: dict[str, Placed] = {}
    for statement in placed:  # a sentence may stand in several chunks of a topic
        first.setdefault(statement.row.id, statement)
    return ((p.scored(candidates[p.chunk.id].reason), p.row) for p in first.values())


def _fits(expansion: Expansion[RankingArgs], ranked: Sequence[Ranked]) -> dict[str, list[Fit]]:
    """Return, by chunk, how far each statement answers what was open, or leads on to a chunk that does; best first."""
    coverage, found = expansion.ranker.coverage, expansion.found
    leads: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    most = expansion.ranker.weights.best_link
    for chunk in ranked:
        if chunk.via:
            name = found.entities[chunk.via.entity_id].value.casefold()
            leads[chunk.via.from_chunk].append((chunk.via.entity_id, name, chunk.parts["link"] / most))
    rows = [list(found.said(chunk.id).values()) for chunk in ranked]
    held = coverage.held([f"{row.value}\n{row.details}" for of_chunk in rows for row in of_chunk])
    fits, at = {}, 0
    for chunk, of_chunk in zip(ranked, rows, strict=True):
        answers = coverage.shares(held[at : at + len(of_chunk)], chunk.wanted).tolist()
        at += len(of_chunk)
        fit = [Fit(row, min(1.0, a + leads_on(row, leads[chunk.id]))) for row, a in zip(of_chunk, answers, strict=True)]
        fits[chunk.id] = sorted(fit, key=lambda f: f.order)
    return fits


def leads_on(row: StatementRow, leads: Sequence[tuple[str, str, float]]) -> float:
    """Return the worth of the best link that leaves the chunk through an entity which the statement names."""
    if not leads:
        return 0.0
    text = row.value.casefold()
    return max((worth for entity, name, worth in leads if entity in row.entities or _holds(text, name)), default=0.0)


def _holds(text: str, name: str) -> bool:
    """Tell whether a text holds a name as words of its own: ``Ada`` is not in ``Canada``."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _rerank(fits: Collection[list[Fit]], queries: Sequence[str], reranker: Reranker | None, trace: Trace) -> None:
    """Add the reranker's scores as shares of the best: of each statement with its topic and source title (G-33, G-34)."""
    if reranker is None:
        return
    rows = [fit.row for of_chunk in fits for fit in of_chunk[:_RERANKED]]
    texts = ["\n".join(filter(None, dict.fromkeys((r.source.title, r.topic, r.value, r.details)))) for r in rows]
    scores = scored(reranker, queries, texts, trace, instead="statements keep the order without it")
    if scores is None:
        return
    share = dict(zip((row.id for row in rows), min_max(scores), strict=True))
    for of_chunk in fits:
        for fit in of_chunk:
            fit.rerank = share.get(fit.row.id, 0.0)
        of_chunk.sort(key=lambda f: f.order)


def _placed(chunk: Ranked, fits: Sequence[Fit], weights: Weights) -> Iterator[Placed]:
    """Yield a chunk's statements: the best has all of its score, each further one less. What is shown is rounded.

    What counts is by how much less it fits: where none fits well, all fit about as well.
    """
    bound, best = weights.bound, fits[0].total
    parts = {name: share for name, value in chunk.parts.items() if (share := round(value / bound, 6))}
    total, shown = sum(parts.values()), chunk._replace(parts=parts)
    for at, fit in enumerate(fits):
        share = (1.0 - weights.within * min(1.0, best - fit.total)) * weights.repeat**at
        within = round(chunk.score * (share - 1) / bound, 6)
        yield Placed(min(max(round(total + within, 6), 0.0), 1.0), within, fit.row, shown)
