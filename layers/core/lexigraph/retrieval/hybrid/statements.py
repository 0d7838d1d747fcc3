"""From ranked chunks to ranked statements."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement
from lexigraph.retrieval.hybrid.args import HybridArgs, HybridWeights
from lexigraph.retrieval.hybrid.results import HybridItem
from lexigraph.retrieval.stages.ranking import Coverage
from lexigraph.retrieval.stages.results import scored_statement


def contexts_with_sources(items: Sequence[HybridItem], rows: Sequence[StatementRow]) -> list[HybridItem]:
    """Return the items with uri and title of their sources."""
    source = {row.chunk_id: row.source for row in rows}
    return [
        replace(item, uri=source[item.id].uri, title=source[item.id].title) if item.id in source else item for item in items
    ]


def context_statements(
    question: str, items: Sequence[HybridItem], rows: Sequence[StatementRow], args: HybridArgs, weights: HybridWeights
) -> Iterator[tuple[ScoredStatement, StatementRow]]:
    """Yield the statements of the chunks, best first: each a share of its chunk's score, more for more of the question's
    words. Scores lie between 0 and 1.
    """
    of_chunk: dict[str, list[StatementRow]] = defaultdict(list)
    for row in rows:
        of_chunk[row.chunk_id].append(row)
    coverage = Coverage(question)
    coverage.weigh(coverage.held([" ".join(r.value for r in said) for said in of_chunk.values()]))
    bound = _bound(args, weights)
    scored = [
        (_statement(item, row, share, bound), row)
        for item in items
        for row, share in _shares(of_chunk.get(item.id, []), coverage, weights)
    ]
    yield from sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))


def _bound(args: HybridArgs, w: HybridWeights) -> float:
    """Return the highest score a chunk can have."""
    best_type = max((*w.relation_types.values(), w.other_type))
    related = best_type * w.subgraph_relation * sum(w.relation_decay**at for at in range(w.most_relations))
    relation = max(w.relates, w.entity, w.cooccur, best_type, w.subgraph + related) if args.relation_bonus else 0.0
    return 1.0 + args.bm25_weight + relation + args.path_weight + args.graph_rank_weight


def _shares(rows: Sequence[StatementRow], coverage: Coverage, w: HybridWeights) -> list[tuple[StatementRow, float]]:
    """Return the share of its chunk's score that each statement has: the best has all, each further one less."""
    if not rows:
        return []
    answers = coverage.shares(coverage.held([f"{row.value}\n{row.details}" for row in rows])).tolist()
    order = sorted(zip(rows, answers, strict=True), key=lambda pair: (-round(pair[1], 6), pair[0].position, pair[0].id))
    best = order[0][1]
    return [(row, (1.0 - w.within * (best - fit)) * w.repeat**at) for at, (row, fit) in enumerate(order)]


def _statement(item: HybridItem, row: StatementRow, share: float, bound: float) -> ScoredStatement:
    whole = {
        "vector": item.base_norm,
        **item.parts,
        "rerank": item.final_score - item.composite_score,
        "within": item.final_score * (share - 1),
    }
    parts = {name: round(value / bound, 6) for name, value in whole.items()}
    score = min(max(round(sum(parts.values()), 6), 0.0), 1.0)
    return scored_statement(row, score, item.reason, {name: value for name, value in parts.items() if value}, item.path)
