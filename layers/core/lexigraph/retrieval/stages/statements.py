"""Which statements of the chunks found answer: scored by their own words, by a reranker, and by the link they carry."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lexigraph.inference.protocols import Reranker
from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement
from lexigraph.retrieval.stages.args import RankingArgs
from lexigraph.retrieval.stages.expansion import Expansion
from lexigraph.retrieval.stages.packing import Worth, packed
from lexigraph.retrieval.stages.ranking import Array, Coverage, Ranked
from lexigraph.retrieval.stages.reranking import min_max, scored
from lexigraph.retrieval.stages.results import scored_statement
from lexigraph.retrieval.stages.trace import Trace

RANKED = 32  # best chunks whose statements are ranked
_RERANKED = 10  # statements of a chunk given to a reranker, those that fit best


@dataclass(slots=True)
class Fit:
    """A statement of the chunk number ``chunk``: how well it fits by itself.

    ``answers`` is the share of the open words that it holds, or of a link that leaves through it; ``like`` how like the
    question it is, as a share of the most like one; ``rerank`` its reranking. All 0 to 1.
    """

    row: StatementRow
    chunk: int
    answers: float
    like: float = 0.0
    rerank: float = 0.0


def rank_statements(
    expansion: Expansion[RankingArgs], queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> Iterator[tuple[ScoredStatement, StatementRow]]:
    """Yield the statements of the best chunks, best first, each once, whatever number of them is read.

    A statement is judged together with the chunk around it. ``queries`` is what the reranker compares with: the question
    and the names of the entities looked up (G-35).
    """
    found, weights = expansion.found, expansion.ranker.weights
    # a link may lead to a chunk that says nothing: a page of navigation
    ranked = [chunk for chunk in expansion.rank().best(RANKED) if found.said(chunk.id)]
    fits = _fits(expansion, ranked)
    _liken(expansion, fits)
    _rerank(fits, queries, reranker, trace)
    totals, worth = _worth(expansion, ranked, fits)
    bound, total = weights.bound, totals.tolist()
    of_chunks = [_shown(chunk.parts, bound) for chunk in ranked]
    for at, value in packed(worth, expansion.args.diversity, weights) if fits else ():
        fit, chunk = fits[at], ranked[fits[at].chunk]
        rerank = weights.rerank * fit.rerank
        own = {"rerank": rerank, "within": total[at] - chunk.score - rerank, "diversity": value - total[at]}
        score = round(value / bound, 6)
        shown = _summing_to(score, of_chunks[fit.chunk] | _shown(own, bound))
        score = min(max(score, 0.0), 1.0)
        yield scored_statement(fit.row, score, found.candidates[chunk.id].reason, shown, chunk.path), fit.row


def _summing_to(score: float, shown: dict[str, float]) -> dict[str, float]:
    """Return parts with what rounding each of them lost or added in the largest, lest scores rise where ranks fall."""
    if shown and (rest := round(score - sum(shown.values()), 6)):
        largest = max(shown, key=lambda name: abs(shown[name]))
        shown[largest] = round(shown[largest] + rest, 6)
    return shown


def _shown(parts: Mapping[str, float], bound: float) -> dict[str, float]:
    """Return the parts of a score as they are shown: as shares of the highest score there can be, without those of 0."""
    return {name: share for name, part in parts.items() if (share := round(part / bound, 6))}


def _worth(expansion: Expansion[RankingArgs], ranked: Sequence[Ranked], fits: Sequence[Fit]) -> tuple[Array, Worth]:
    """Return what each statement is worth before it is compared with others, and the same taken apart for packing."""
    coverage, weights, candidates = expansion.ranker.coverage, expansion.ranker.weights, expansion.found.candidates
    of = np.array([f.chunk for f in fits], np.intp)
    links = np.array([c.parts["link"] for c in ranked])
    answers, best = np.array([f.answers for f in fits]), np.zeros(len(ranked))
    np.maximum.at(best, of, answers)
    likeness = np.array([sum(c.parts[name] for name in ("vector", "bm25", "coverage")) for c in ranked])
    # title, entities and topic speak for every statement of the chunk
    unlike = weights.statement * (1.0 - np.array([f.like for f in fits]))
    own = (np.array([c.score for c in ranked]) - links)[of] - likeness[of] * unlike
    # what counts is by how much less it answers: where none answers well, all answer about as well
    added = links[of] * (1.0 - weights.within * (best[of] - answers)) + weights.rerank * np.array([f.rerank for f in fits])
    topics = {topic: at for at, topic in enumerate(dict.fromkeys(f.row.topic_id for f in fits))}
    held = np.array([candidates[c.id].held for c in ranked]).reshape(len(ranked), len(coverage.words))
    return own + added, Worth(
        own,
        added,
        chunk=[f.chunk for f in fits],
        topic=[topics[f.row.topic_id] for f in fits],
        asked=held * coverage.idf,
        texts=[f.row.value for f in fits],
    )


def _fits(expansion: Expansion[RankingArgs], ranked: Sequence[Ranked]) -> list[Fit]:
    """Return how far the statements answer what was open, or lead on to a chunk that does, those of the best chunk first."""
    coverage, found = expansion.ranker.coverage, expansion.found
    leads: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    most = expansion.ranker.weights.best_link
    for chunk in ranked:
        if chunk.via:
            name = found.entities[chunk.via.entity_id].value.casefold()
            leads[chunk.via.from_chunk].append((chunk.via.entity_id, name, chunk.parts["link"] / most))
    first: dict[str, tuple[StatementRow, int]] = {}
    for at, chunk in enumerate(ranked):
        for row in sorted(found.said(chunk.id).values(), key=lambda row: (row.position, row.id)):
            first.setdefault(row.id, (row, at))  # a sentence may stand in several chunks of a topic
    held = coverage.held([_text(row) for row, _ in first.values()])
    wanted = np.array([ranked[at].wanted for _, at in first.values()]).reshape(held.shape)
    answers = coverage.shares_each(held, wanted).tolist()
    return [
        Fit(row, at, min(1.0, share + leads_on(row, leads[ranked[at].id])))
        for (row, at), share in zip(first.values(), answers, strict=True)
    ]


def _liken(expansion: Expansion[RankingArgs], fits: Sequence[Fit]) -> None:
    """Say how like the question statements are."""
    like = likeness([f.row for f in fits], expansion.ranker.coverage, expansion.cosines, expansion.args.bm25_weight)
    for fit, value in zip(fits, like.tolist(), strict=True):
        fit.like = value


def likeness(rows: Sequence[StatementRow], coverage: Coverage, cosines: Mapping[str, float], bm25_weight: float) -> Array:
    """Return how like the question statements are, by cosine and by the words they hold, as shares of the most like one.

    ``cosines`` are those known, by id; without any, words alone tell.
    """
    # a step of a manual says little without the heading above it
    held = np.maximum(coverage.held([row.topic for row in rows]), coverage.held([_text(row) for row in rows]))
    by_words = np.array(min_max([0.0, *coverage.best_shares(held).tolist()])[1:])
    known = [max(cosines.get(row.id, 0.0), 0.0) for row in rows]
    words_count = bm25_weight if any(known) else 1.0
    like = (1 - words_count) * np.array(min_max(known)) + words_count * by_words
    shares: Array = like / (like.max(initial=0.0) or 1.0)
    return shares


def _text(row: StatementRow) -> str:
    return f"{row.value}\n{row.details}"


def leads_on(row: StatementRow, leads: Sequence[tuple[str, str, float]]) -> float:
    """Return the worth of the best link that leaves the chunk through an entity which the statement names."""
    if not leads:
        return 0.0
    text = row.value.casefold()
    return max((worth for entity, name, worth in leads if entity in row.entities or _holds(text, name)), default=0.0)


def _holds(text: str, name: str) -> bool:
    """Tell whether a text holds a name as words of its own: ``Ada`` is not in ``Canada``."""
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _rerank(fits: Sequence[Fit], queries: Sequence[str], reranker: Reranker | None, trace: Trace) -> None:
    """Add the reranker's scores as shares of the best: of each statement with its topic and source title (G-33, G-34)."""
    if reranker is None:
        return
    of_chunk: dict[int, list[Fit]] = defaultdict(list)
    for fit in fits:
        of_chunk[fit.chunk].append(fit)
    chosen = [f for some in of_chunk.values() for f in sorted(some, key=lambda f: -f.answers - f.like)[:_RERANKED]]
    rows = [fit.row for fit in chosen]
    texts = ["\n".join(filter(None, dict.fromkeys((r.source.title, r.topic, r.value, r.details)))) for r in rows]
    scores = scored(reranker, queries, texts, trace, instead="statements keep the order of the search")
    for fit, share in zip(chosen, min_max(scores), strict=True) if scores else ():
        fit.rerank = share
