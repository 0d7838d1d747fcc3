"""From ranked statements to results: grouped by topic and source, cut, best first."""

import math
from collections.abc import Iterable
from dataclasses import replace

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult
from lexigraph.retrieval.stages.args import ResultArgs


def assemble(ranked: Iterable[tuple[ScoredStatement, StatementRow]], args: ResultArgs) -> tuple[SearchResult, ...]:
    """Group statements, best first, into results of one topic of one source, ordered by their best statement.

    Cuts come after ranking: ``max_search_results`` and ``max_statements_per_topic``, then ``most``, which counts what is
    returned (G-31, G-32).
    """
    groups: dict[tuple[str, str], list[tuple[ScoredStatement, StatementRow]]] = {}
    most = args.max_search_results, args.max_statements_per_topic, args.most
    results, a_topic, left = (math.inf if limit is None else limit for limit in most)
    for pair in ranked:
        key = (pair[1].source.id, pair[1].topic_id)
        taken = len(groups.get(key, ()))
        if taken < a_topic and (taken or len(groups) < results):
            groups.setdefault(key, []).append(pair)
            left -= 1
            if not left:
                break
    return tuple(
        SearchResult(
            source=pairs[0][1].source,
            topic=pairs[0][1].topic,
            statements=tuple(_with_facts(*pair) if args.include_facts else pair[0] for pair in pairs),
            score=pairs[0][0].score,
        )
        for pairs in groups.values()
    )


def _with_facts(statement: ScoredStatement, row: StatementRow) -> ScoredStatement:
    return replace(statement, facts=tuple(dict.fromkeys(map(str, row.facts))))
