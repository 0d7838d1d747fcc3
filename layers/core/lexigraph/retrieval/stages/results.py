"""From ranked chunks and statements to results: statements with their place and score, grouped by topic and source, cut."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice

from lexigraph.model.graph import Placement, StatementRow
from lexigraph.model.results import ScoredStatement, SearchResult, Stop
from lexigraph.retrieval.stages.args import ResultArgs

_TOKEN = re.compile(r"[^\W\u3040-\u9fff\uac00-\ud7af]+|\S")
CONTEXT = "context"  # the reason of a statement that is there for the one beside it
_WITH_CONTEXT = 10  # of the best statements
_LOOKED_AT = 100  # of the best statements tell whether a question can be answered
_READ_ON = 0.98  # a statement counts a little less than the one before it in its chunk

Pair = tuple[ScoredStatement, StatementRow]


def assemble(
    ranked: Iterable[Pair], args: ResultArgs, said: Callable[[str], Iterable[StatementRow]]
) -> tuple[SearchResult, ...]:
    """Group statements, best first, into results of one topic of one source, ordered by their best statement.

    What there is room for is decided first, statement by statement: ``max_statements_per_topic``, then ``most`` and
    ``max_context_tokens``. ``max_search_results`` takes the first of these results, as they are (G-31, G-32).
    ``said`` returns the statements known of a chunk, in any order: those beside the best ones are their context.
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
    found = list(filter(None, groups.values()))
    context = _context([pair for pairs in found for pair in pairs], said)  # of all, so that a prefix stays one
    return tuple(
        SearchResult(
            source=pairs[0][1].source,
            topic=pairs[0][1].topic,
            statements=tuple(_shown(*pair, context, facts=args.include_facts) for pair in pairs),
            score=pairs[0][0].score,
        )
        for pairs in found[: args.max_search_results]
    )


def looking(ranked: Iterable[Pair]) -> tuple[tuple[SearchResult, ...], Iterable[Pair]]:
    """Return the best statements, each by itself, whatever limits cut off, and all of them again."""
    following = iter(ranked)
    first = tuple(islice(following, _LOOKED_AT))
    best = tuple(SearchResult(source=r.source, topic=r.topic, statements=(s,), score=s.score) for s, r in first)
    return best, chain(first, following)


def size(text: str) -> int:
    """Return how many words and punctuation marks a text has, a letter of scripts without blanks counted as a word."""
    return len(_TOKEN.findall(text))


def by_chunk(rows: Iterable[StatementRow]) -> Callable[[str], Iterable[StatementRow]]:
    """Return what each chunk says."""
    said = defaultdict[str, list[StatementRow]](list)
    for row in rows:
        said[row.chunk_id].append(row)
    return lambda chunk_id: said.get(chunk_id, ())


def _context(
    pairs: Sequence[tuple[ScoredStatement, StatementRow]], said: Callable[[str], Iterable[StatementRow]]
) -> dict[str, tuple[ScoredStatement, ...]]:
    """Return what stands right before and after the best statements, by their ids: each once, and no result again."""
    taken = {row.id for _, row in pairs}
    context = {}
    for _, row in sorted(pairs, key=lambda pair: -pair[0].score)[:_WITH_CONTEXT]:
        beside = [
            other
            for other in sorted(said(row.chunk_id), key=lambda r: r.position)
            if abs(other.position - row.position) == 1 and other.topic_id == row.topic_id and other.id not in taken
        ]
        taken.update(other.id for other in beside)
        context[row.id] = tuple(scored_statement(other, 0.0, CONTEXT, {}) for other in beside)
    return context


def _shown(
    statement: ScoredStatement, row: StatementRow, context: Mapping[str, tuple[ScoredStatement, ...]], *, facts: bool
) -> ScoredStatement:
    told = tuple(dict.fromkeys(map(str, row.facts))) if facts else ()
    beside = context.get(row.id, ())
    return replace(statement, facts=told, context=beside) if told or beside else statement


def scored_statement(
    row: StatementRow, score: float, reason: str, parts: Mapping[str, float], path: Sequence[Stop] = ()
) -> ScoredStatement:
    """Return a statement with its place in the document, its score and why it was found."""
    start, end = row.chunk_start + row.start, row.chunk_start + row.end
    found = row.id, row.value, score, reason, row.chunk_id, start, end
    names, ids = tuple(stop.name for stop in path), tuple(stop.id for stop in path)
    return ScoredStatement(*found, path=names, path_ids=ids, parts=parts, kind=row.kind, original=row.original)


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
