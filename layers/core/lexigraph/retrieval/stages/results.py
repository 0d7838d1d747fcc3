"""From ranked chunks and statements to results: statements with their place and score, grouped by topic and source, cut."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lexigraph.model.graph import Placement, StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult
from lexigraph.retrieval.stages.args import ResultArgs

_TOKEN = re.compile(r"[^\W\u3040-\u9fff\uac00-\ud7af]+|\S")
_READ_ON = 0.98  # a statement counts a little less than the one before it in its chunk


def assemble(ranked: Iterable[tuple[ScoredStatement, StatementRow]], args: ResultArgs) -> tuple[SearchResult, ...]:
    """Group statements, best first, into results of one topic of one source, ordered by their best statement.

    What there is room for is decided first, statement by statement: ``max_statements_per_topic``, then ``most`` and
    ``max_context_tokens``. ``max_search_results`` takes the first of these results, as they are (G-31, G-32).
    """
    groups: dict[tuple[str, str], list[tuple[ScoredStatement, StatementRow]]] = {}
    a_topic, left, room = (
        math.inf if limit is None else limit for limit in (args.max_statements_per_topic, args.most, args.max_context_tokens)
    )
    for pair in ranked:
        group = groups.setdefault((pair[1].source.id, pair[1].topic_id), [])
        if len(group) >= a_topic:
            continue
        room -= size(pair[0].text)
        if room < 0 and len(groups) + len(group) > 1:
            break
        group.append(pair)
        left -= 1
        if left <= 0 or room <= 0:
            break
    return tuple(
        SearchResult(
            source=pairs[0][1].source,
            topic=pairs[0][1].topic,
            statements=tuple(_with_facts(*pair) if args.include_facts else pair[0] for pair in pairs),
            score=pairs[0][0].score,
        )
        for pairs in list(filter(None, groups.values()))[: args.max_search_results]
    )


def size(text: str) -> int:
    """Return how many words and punctuation marks a text has, a letter of scripts without blanks counted as a word."""
    return len(_TOKEN.findall(text))


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
