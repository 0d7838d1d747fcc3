"""From ranked chunks and statements to results: statements with their place and score, grouped by topic and source, cut."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lexigraph.model.graph import Placement, StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult
from lexigraph.retrieval.stages.args import ResultArgs

_READ_ON = 0.98  # a statement counts a little less than the one before it in its chunk


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


def scored_statement(
    row: StatementRow, score: float, reason: str, parts: Mapping[str, float], path: tuple[str, ...] = ()
) -> ScoredStatement:
    """Return a statement with its place in the document, its score and why it was found."""
    start, end = row.chunk_start + row.start, row.chunk_start + row.end
    found = row.id, row.value, score, reason, row.chunk_id, start, end
    return ScoredStatement(*found, path=path, parts=parts, kind=row.kind, original=row.original)


def read_on(
    rows: Sequence[StatementRow],
    parts: Mapping[str, Mapping[str, float]],
    reasons: Mapping[str, str] | None = None,
) -> list[tuple[ScoredStatement, StatementRow]]:
    """Return the statements of the chunks in ``parts``, each a little below the one before it in its chunk; best first, ties
    by id.

    ``parts`` maps a chunk to the named contributions that its score is the sum of, ``reasons`` to how it was found.
    """
    scored = []
    place: dict[str, int] = {}
    for row in sorted((row for row in rows if row.chunk_id in parts), key=lambda r: (r.chunk_id, r.position, r.id)):
        at = place[row.chunk_id] = place.get(row.chunk_id, -1) + 1
        shares = {name: round(value * _READ_ON**at, 6) for name, value in parts[row.chunk_id].items()}
        score = round(sum(shares.values()), 6)
        scored.append((scored_statement(row, score, (reasons or {}).get(row.chunk_id, "chunk"), shares), row))
    return sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))


def passage(indexed: str, placement: Placement) -> str:
    """Return a chunk's own text: the end of what is indexed, as long as the chunk is in the document."""
    return indexed[max(0, len(indexed) - (placement.end - placement.start)) :]
