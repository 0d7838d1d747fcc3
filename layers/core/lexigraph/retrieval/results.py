"""From ranked statements to results: grouped by topic and source, cut, best first."""

from collections.abc import Sequence
from dataclasses import replace

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult
from lexigraph.retrieval.args import TraversalArgs


def assemble(ranked: Sequence[tuple[ScoredStatement, StatementRow]], args: TraversalArgs) -> tuple[SearchResult, ...]:
    """Group statements, best first, into results of one topic of one source, ordered by their best statement.

    Cuts come after ranking: ``max_statements_per_topic``, then ``max_search_results``.
    """
    groups: dict[tuple[str, str], list[tuple[ScoredStatement, StatementRow]]] = {}
    for pair in ranked:
        groups.setdefault((pair[1].source.id, pair[1].topic_id), []).append(pair)
    return tuple(
        SearchResult(
            source=pairs[0][1].source,
            topic=pairs[0][1].topic,
            statements=tuple(
                _with_facts(*pair) if args.include_facts else pair[0] for pair in pairs[: args.max_statements_per_topic]
            ),
            score=pairs[0][0].score,
        )
        for pairs in list(groups.values())[: args.max_search_results]
    )


def _with_facts(statement: ScoredStatement, row: StatementRow) -> ScoredStatement:
    return replace(statement, facts=tuple(dict.fromkeys(map(str, row.facts))))
