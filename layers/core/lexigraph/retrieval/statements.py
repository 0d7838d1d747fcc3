"""Which statements of the chunks found answer: scored by their own words, by a reranker, and by the link they carry."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lexigraph.inference.protocols import Reranker
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement
from lexigraph.retrieval.expansion import Expansion
from lexigraph.retrieval.ranking import Ranked
from lexigraph.retrieval.trace import Trace

_READ = 2  # statements looked at for each one that may be returned: those of the best chunks


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a statement fits by itself: the open words it answers or the link it carries (0 to 1), and its reranking."""

    row: StatementRow
    answers: float
    rerank: float = 0.0

    @property
    def order(self) -> tuple[float, int, str]:
        """Best first, then as the chunk reads."""
        return (-round(self.answers + self.rerank, 6), self.row.position, self.row.id)


def rank_statements(
    expansion: Expansion, ranked: Sequence[Ranked], queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> list[tuple[ScoredStatement, StatementRow]]:
    """Return the statements of all chunks, best first.

    ``queries`` is what the reranker compares with: the question and the names of the entities looked up (G-35).
    """
    ranked = _best_chunks(expansion, ranked)
    fits = _fits(expansion, ranked)
    fits = _reranked(fits, ranked, queries, reranker, trace)
    weights, found = expansion.ranker.weights, expansion.found
    lifted = []
    for chunk in ranked:
        best = min(fits[chunk.id], key=lambda f: f.order)
        own = {"statement": weights.fit * best.answers, "rerank": weights.rerank * best.rerank}
        lifted.append(replace(chunk, score=chunk.score + sum(own.values()), parts={**chunk.parts, **own}))
    lifted.sort(key=lambda r: (-round(r.score, 6), r.id))
    chosen = expansion.ranker.diversify(lifted, found.candidates)
    scored = [pair for chunk in chosen for pair in _of_chunk(expansion, chunk, fits[chunk.id])]
    return sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))


def _best_chunks(expansion: Expansion, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the best chunks that hold together several times the statements wanted: all when all are wanted."""
    args = expansion.args
    if args.max_statements is None or not args.reranks:
        return list(ranked)
    kept, count = [], 0
    for chunk in ranked:
        if count >= _READ * args.max_statements:
            break
        kept.append(chunk)
        count += len(expansion.found.rows[chunk.id])
    return kept


def _fits(expansion: Expansion, ranked: Sequence[Ranked]) -> dict[str, list[Fit]]:
    """Return, by chunk, how far each statement answers what was open, or leads on to a chunk that does."""
    coverage, found = expansion.ranker.coverage, expansion.found
    leads: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    most = expansion.ranker.weights.best_link
    for chunk in ranked:
        if chunk.via:
            entity = found.entities.get(chunk.via.entity_id)
            name = entity.value.casefold() if entity else ""
            leads[chunk.via.from_chunk].append((chunk.via.entity_id, name, chunk.parts["link"] / most))
    fits = {}
    for chunk in ranked:
        rows = sorted(found.rows[chunk.id].values(), key=lambda row: (row.position, row.id))
        fits[chunk.id] = [
            Fit(row, min(1.0, coverage.share(coverage.held(_words_of(row)), chunk.wanted) + _leads_on(row, leads[chunk.id])))
            for row in rows
        ]
    return fits


def _words_of(row: StatementRow) -> str:
    return f"{row.value}\n{row.details}"


def _leads_on(row: StatementRow, leads: Sequence[tuple[str, str, float]]) -> float:
    """Return the worth of the best link that leaves the chunk through an entity which the statement names."""
    text = row.value.casefold()
    return max((worth for entity, name, worth in leads if entity in row.entities or (name and name in text)), default=0.0)


def _reranked(
    fits: Mapping[str, list[Fit]], ranked: Sequence[Ranked], queries: Sequence[str], reranker: Reranker | None, trace: Trace
) -> dict[str, list[Fit]]:
    """Add the reranker's scores as shares of the best: of each statement with its topic and source title (G-33, G-34)."""
    if reranker is None:
        return dict(fits)
    rows = [fit.row for chunk in ranked for fit in fits[chunk.id]]
    texts = ["\n".join(dict.fromkeys((row.source.title, row.topic, row.value, row.details))) for row in rows]
    try:
        with trace.step("rerank"):
            scores = reranker.score(queries, texts)
    except ModelUnavailable as error:
        trace.warn("rerank_failed", f"the reranker {reranker.name} failed ({error}); statements keep the order without it")
        return dict(fits)
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    share = {row.id: (score - low) / (high - low) if high > low else 0.0 for row, score in zip(rows, scores, strict=True)}
    return {i: [replace(fit, rerank=share.get(fit.row.id, 0.0)) for fit in of_chunk] for i, of_chunk in fits.items()}


def _of_chunk(expansion: Expansion, chunk: Ranked, fits: Sequence[Fit]) -> list[tuple[ScoredStatement, StatementRow]]:
    """Score the statements of one chunk: the best has the chunk's score, each further one less."""
    w = expansion.ranker.weights
    ordered = sorted(fits, key=lambda f: f.order)
    best = ordered[0].answers + ordered[0].rerank
    out = []
    for at, fit in enumerate(ordered):
        own = (fit.answers + fit.rerank) / best if best > 0 else 1.0
        factor = (1 - w.within + w.within * own) * w.repeat**at
        parts = {name: round(value / w.bound, 6) for name, value in chunk.parts.items() if value}
        parts["within"] = round(chunk.score * (factor - 1) / w.bound, 6)
        score = round(sum(parts.values()), 6)
        row = fit.row
        out.append((
            ScoredStatement(
                id=row.id, text=row.value, score=min(max(score, 0.0), 1.0), reason=chunk.reason, chunk_id=row.chunk_id,
                start=row.chunk_start + row.start, end=row.chunk_start + row.end, path=chunk.path,
                parts={name: value for name, value in parts.items() if value},
            ),
            row,
        ))
    return out
