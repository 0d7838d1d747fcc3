"""From scored chunks to scored statements: those of a chunk in reading order, each a little below the one before. Pure."""

from collections.abc import Mapping, Sequence

from lexigraph.model.graph import StatementRow
from lexigraph.model.results import ScoredStatement

_READ_ON = 0.98  # a statement counts a little less than the one before it in its chunk


def read_on(
    rows: Sequence[StatementRow],
    parts: Mapping[str, Mapping[str, float]],
    reasons: Mapping[str, str] | None = None,
) -> list[tuple[ScoredStatement, StatementRow]]:
    """Return the statements of the chunks in ``parts``, best first, ties by id.

    ``parts`` maps a chunk to the named contributions that its score is the sum of, ``reasons`` to how it was found.
    """
    scored = []
    place: dict[str, int] = {}
    for row in sorted((row for row in rows if row.chunk_id in parts), key=lambda r: (r.chunk_id, r.position, r.id)):
        at = place[row.chunk_id] = place.get(row.chunk_id, -1) + 1
        shares = {name: round(value * _READ_ON**at, 6) for name, value in parts[row.chunk_id].items()}
        score = round(sum(shares.values()), 6)
        where = (row.chunk_id, row.chunk_start + row.start, row.chunk_start + row.end)
        reason = (reasons or {}).get(row.chunk_id, "chunk")
        scored.append((ScoredStatement(row.id, row.value, score, reason, *where, parts=shares), row))
    return sorted(scored, key=lambda pair: (-pair[0].score, pair[0].id))
