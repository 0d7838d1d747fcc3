"""From ranked chunks to ranked statements."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement, Stop
from lexigraph.retrieval.hybrid.args import HybridArgs, HybridWeights
from lexigraph.retrieval.hybrid.results import HybridItem
from lexigraph.retrieval.stages.args import RankingArgs
from lexigraph.retrieval.stages.packing import Worth, packed
from lexigraph.retrieval.stages.ranking import WEIGHTS, Array, Coverage
from lexigraph.retrieval.stages.results import scored_statement
from lexigraph.retrieval.stages.statements import likeness

_LINKS = ("relation", "path", "link", "graph_rank")  # parts of a chunk's score that the graph brings


def contexts_with_sources(items: Sequence[HybridItem], rows: Sequence[StatementRow]) -> list[HybridItem]:
    """Return the items with uri, title and id of their sources."""
    source = {row.chunk_id: row.source for row in rows}
    return [
        replace(item, uri=(of := source[item.id]).uri, title=of.title, document_id=of.id) if item.id in source else item
        for item in items
    ]


def ranked_statements(
    question: str,
    items: Sequence[HybridItem],
    rows: Sequence[StatementRow],
    cosines: Mapping[str, float],
    args: HybridArgs,
    weights: HybridWeights,
) -> Iterator[tuple[ScoredStatement, StatementRow]]:
    """Yield the statements of the chunks, best first, each once: judged with its chunk, and taken for what it adds.

    ``cosines`` say how like the question statements are, as far as they are known. Scores lie between 0 and 1.
    """
    place = {item.id: at for at, item in enumerate(items)}
    order = sorted((row for row in rows if row.chunk_id in place), key=lambda r: (place[r.chunk_id], r.position, r.id))
    said = list({row.id: row for row in reversed(order)}.values())[::-1]  # a sentence may stand in several chunks
    if not said:
        return
    of = np.array([place[row.chunk_id] for row in said], np.intp)
    coverage, asked = _coverage(question, len(items), said, of)
    final, linked = np.array([item.final_score for item in items]), _by_links(items, args)
    answers, most = coverage.shares(coverage.held([f"{row.value}\n{row.details}" for row in said])), np.zeros(len(items))
    np.maximum.at(most, of, answers)
    own = (final - linked)[of] * (
        1.0 - WEIGHTS.statement * (1.0 - likeness(said, coverage, cosines, RankingArgs.bm25_weight))
    )
    added = linked[of] * (1.0 - WEIGHTS.within * (most[of] - answers))
    topics = {topic: at for at, topic in enumerate(dict.fromkeys(row.topic_id for row in said))}
    texts = [row.value for row in said]
    worth = Worth(own, added, of.tolist(), [topics[row.topic_id] for row in said], asked * coverage.idf, texts)
    bound = _bound(args, weights)
    for at, value in packed(worth, args.diversity, WEIGHTS):
        yield _statement(items[of[at]], said[at], float(own[at] + added[at]), value, bound), said[at]


def _coverage(question: str, chunks: int, said: Sequence[StatementRow], of: NDArray[np.intp]) -> tuple[Coverage, Array]:
    """Return the words of the question, and which of them each chunk holds."""
    texts: list[list[str]] = [[] for _ in range(chunks)]
    for row, at in zip(said, of.tolist(), strict=True):
        texts[at].append(row.value)
    coverage = Coverage(question)
    held = coverage.held([" ".join(lines) for lines in texts])
    coverage.weigh(held)
    return coverage, held


def _by_links(items: Sequence[HybridItem], args: HybridArgs) -> Array:
    """Return the part of each chunk's final score that the graph brings, which is not lost for repeating."""
    reranked = any(item.final_score != item.composite_score for item in items)
    share = args.rerank_alpha if reranked else 1.0
    return share * np.array([sum(item.parts.get(name, 0.0) for name in _LINKS) for item in items])


def _bound(args: HybridArgs, w: HybridWeights) -> float:
    """Return the highest score a chunk can have."""
    best_type = max((*w.relation_types.values(), w.other_type))
    related = best_type * w.subgraph_relation * sum(w.relation_decay**at for at in range(w.most_relations))
    relation = max(w.relates, w.entity, w.cooccur, best_type, w.subgraph + related) if args.relation_bonus else 0.0
    linked = args.path_weight + args.link_weight * w.best_link + args.graph_rank_weight
    return 1.0 + args.bm25_weight + w.title + relation + linked


def _statement(item: HybridItem, row: StatementRow, total: float, value: float, bound: float) -> ScoredStatement:
    whole = {
        "vector": item.base_norm,
        **item.parts,
        "rerank": item.final_score - item.composite_score,
        "within": total - item.final_score,
        "diversity": value - total,
    }
    parts = {name: share for name, part in whole.items() if (share := round(part / bound, 6))}
    score = min(max(round(sum(parts.values()), 6), 0.0), 1.0)
    return scored_statement(row, score, item.reason, parts, list(map(Stop, item.path, item.path_ids)))
