"""BM25 over a partition: from the words of a request to scored keys, in bounded time.

FTS5 scores every row that holds any of the words, about a microsecond each. In a large partition the rarest words alone
choose the rows, up to ``_CHOSEN`` of them; the other words only add to their scores. A row with none of the rare words
could hardly have been among the best. In an index of names a word that is in very many of them chooses none: it is no name.
BM25 is that of FTS5: k1 1.2, b 0.75; a word in more than half of the rows counts next to nothing.
"""

import json
import re
import sqlite3
from collections.abc import Sequence

from lexigraph.storage.protocols import VECTOR_INDEXES
from lexigraph.storage.sqlite_filters import Sql
from lexigraph.storage.vector.partitions import Partition

_WORD = re.compile(r"[^\W_]+")
_LOOKED_UP = 200  # words of a text, from its beginning
_USED = 32  # words of a search, rarest first
_CHOSEN = 4_000  # rows that words may choose
_CHOSEN_NAMES = 500  # likewise of an index of names, where a word in more of them tells nothing
_ADDED = 30_000  # rows that further words may score
# a word in more of the rows than this says little; it is left out unless there is no other
_FREQUENT_SHARE = 0.2
_FREQUENT_ROWS = 20_000

_STOP_TEXT = (
    "a about above after again against all also am an and any are as at be because been before being below "
    "between both but by can could d did do does doing done down during each either else ever few for from "
    "further had has have having he her here hers herself him himself his how however i if in into is it its "
    "itself just ll m me more most must my myself no nor not now of off on once only onto or other ought our ours "
    "ourselves out over own per re s same shall she should since so some such t than that the their theirs them "
    "themselves then there these they this those though through thus to too toward towards under until up upon ve "
    "very via was we were what when where whether which while who whom whose why with within without would yet "
    "you your yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())


def score_words(
    connection: sqlite3.Connection,
    partition: Partition,
    text: str,
    k: int,
    *,
    prefix: bool = False,
    keys: Sequence[int] | None = None,
    tagged: Sql | None = None,
) -> list[tuple[int, float]]:
    """Return keys with their BM25 scores, rounded to 6 digits: the ``k`` best and all that tie with the last of them.

    ``keys``: score exactly these, whatever ``k``. ``tagged``: a condition on the ``tags`` of a record's source.
    ``prefix``: the last word may be the beginning of one. Any text is harmless.
    """
    where = ""
    parameters: list[object] = []
    if keys is not None:
        # the plus keeps SQLite from running the whole search once a key
        where += f" AND +{partition.words}.rowid IN (SELECT value FROM json_each(?))"
        parameters.append(json.dumps(list(keys)))
        k = -1
    if tagged is not None:
        # asked of the rows found: there are fewer of them than of sources that pass
        where += f" AND EXISTS (SELECT 1 FROM {partition.records} AS r JOIN tags ON tags.source = r.source"
        where += f" WHERE r.key = {partition.words}.rowid AND {tagged[0]})"
        parameters += tagged[1]
    best: dict[int, float] = {}
    for expression in _expressions(connection, partition, text, prefix):
        for key, score in _scored(connection, partition, expression, where, parameters, k):
            best[key] = max(score, best.get(key, 0.0))
    return list(best.items())


def _scored(
    connection: sqlite3.Connection, partition: Partition, expression: str, where: str, parameters: Sequence[object], k: int
) -> list[tuple[int, float]]:
    # ORDER BY rank, which FTS5 would do itself, takes longer
    query = (
        f"SELECT rowid, bm25({partition.words}) AS score FROM {partition.words} "
        f"WHERE {partition.words} MATCH ?{where} ORDER BY score LIMIT ?"
    )
    limit = 2 * k + 10 if k >= 0 else -1
    while True:
        rows = connection.execute(query, (expression, *parameters, limit)).fetchall()
        scored = [(key, round(max(0.0, -score), 6)) for key, score in rows]
        if len(scored) != limit:
            return scored
        last = scored[k - 1][1]
        if scored[-1][1] < last:
            return [found for found in scored if found[1] >= last]
        limit = -1  # a tie that is longer than expected


def _expressions(connection: sqlite3.Connection, partition: Partition, text: str, prefix: bool) -> list[str]:
    """Return the FTS5 queries whose scores together, the higher one counting, are those of the text."""
    counted = _counted(connection, partition, _terms(text, prefix))
    if not counted:
        return []
    chosen: list[str] = []
    added: list[str] = []
    rows, most = 0, _CHOSEN if partition.name in VECTOR_INDEXES else _CHOSEN_NAMES
    for count, term in counted[:_USED]:
        rows += count
        if rows <= most or not chosen:
            chosen.append(term)
        elif rows <= _ADDED:
            added.append(term)
    any_chosen = " OR ".join(chosen)
    return [any_chosen, f"({any_chosen}) AND ({' OR '.join(added)})"] if added else [any_chosen]


def _terms(text: str, prefix: bool) -> list[str]:
    """Return the words of a text as FTS5 terms, each once, without stop words unless there are only those."""
    words = [word.lower() for word in _WORD.findall(text)[:_LOOKED_UP]]
    last = [f'"{words.pop()}"*'] if words and prefix else []
    telling = [word for word in words if word not in STOP_WORDS]
    if not telling and not last:
        telling = words
    return [*(f'"{word}"' for word in dict.fromkeys(telling)), *last]


def _counted(connection: sqlite3.Connection, partition: Partition, terms: list[str]) -> list[tuple[int, str]]:
    """Return the terms that occur with their numbers of rows, rarest first, without the very frequent."""
    names = partition.name not in VECTOR_INDEXES
    frequent = _CHOSEN_NAMES if names else max(_CHOSEN, int(min(_FREQUENT_ROWS, partition.live * _FREQUENT_SHARE)))
    counted = sorted((_rows_with(connection, partition, term, frequent + 1), term) for term in terms)
    telling = [(count, term) for count, term in counted if 0 < count <= frequent]
    if telling or names:
        return telling
    return sorted((_rows_with(connection, partition, term, -1), term) for count, term in counted if count)


def _rows_with(connection: sqlite3.Connection, partition: Partition, term: str, limit: int) -> int:
    query = f"SELECT count(*) FROM (SELECT 1 FROM {partition.words} WHERE {partition.words} MATCH ? LIMIT ?)"
    count: int = connection.execute(query, (term, limit)).fetchone()[0]
    return count
