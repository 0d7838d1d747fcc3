"""BM25 over a partition: from the words of a request to scored keys, in bounded time.

FTS5 scores every row that holds any of the words, about a microsecond each. In a large partition the rarest words alone
choose the rows, up to ``_CHOSEN`` of them; the other words only add to their scores. A row with none of the rare words
could hardly have been among the best. In an index of names a word that is in very many of them chooses none: it is no name;
unless somebody is typing one, and has only begun.
BM25 is that of Lucene, as OpenSearch has it: k1 1.2, b 0.75, idf ln(1 + (N - n + 0.5) / (n + 0.5)). FTS5 weighs a word by
ln((N - n + 0.5) / (n + 0.5)), at least 1e-6, and its frequency by k1 + 1 more; so each word is searched alone.
"""

import sqlite3
from collections.abc import Callable, Sequence
from math import log, log1p

import numpy as np

from lexigraph.storage.common.words import looked_up
from lexigraph.storage.sqlite.filters import Sql
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.recent import Recent, Scored

_USED = 32  # words of a search, rarest first
_CHOSEN = 4_000  # rows that words may choose
_CHOSEN_NAMES = 500  # likewise of an index of names, where a word in more of them tells nothing
_ADDED = 30_000  # rows that further words may score
# a word in more of the rows than this says little; it is left out unless there is no other
_FREQUENT_SHARE = 0.2
_FREQUENT_ROWS = 20_000
K1 = 1.2
LEAST = 1e-6  # FTS5's weight of a word in half of the rows and more
_ROW = np.dtype([("key", np.int64), ("score", np.float64)])

Counted = tuple[int, str]  # in how many rows an FTS5 term is


def score_words(
    connection: sqlite3.Connection,
    partition: Partition,
    text: str,
    recent: Recent,
    *,
    prefix: bool = False,
    tagged: Sql | None = None,
) -> Scored:
    """Return the rows that a text finds, with their BM25 scores.

    ``prefix``: the last word may be the beginning of one. ``tagged``: a condition on the ``tags`` of a record's source. Any
    text is harmless.
    """
    known = recent.scored(partition, text, prefix) if tagged is None else None
    if known is not None:
        return known
    chosen, added = split(partition, _counted(connection, partition, terms_of(text, prefix), recent))
    where = connection, partition
    rows = [_rows(*where, term, tagged) if tagged else _postings(*where, term, recent) for _, term in chosen]
    scored = added_up(rows, [_factor(partition, count) for count, _ in chosen])
    if added:
        plain = added_up(rows)
        any_chosen = " OR ".join(term for _, term in chosen)
        rows = []
        for _, term in added:
            # all rows of a word cost more than those of them that are chosen, but once
            if tagged is None and recent.met(partition, term):
                rows.append(_postings(*where, term, recent).among(plain.keys))
            else:
                r = _rows(*where, f"({any_chosen}) AND {term}", tagged)
                # what the chosen words give is in these scores, too
                rows.append(Scored(r.keys, r.scores - plain.scores[np.searchsorted(plain.keys, r.keys)]))
        scored = added_up([scored, *rows], [1.0, *(_factor(partition, count) for count, _ in added)])
    scored = Scored(scored.keys, np.round(scored.scores, 6))
    if tagged is None:
        recent.keep(partition, text, prefix, scored)
    return scored


def _postings(connection: sqlite3.Connection, partition: Partition, term: str, recent: Recent) -> Scored:
    """Return the rows with a term: those of the last searches are known."""
    rows = recent.postings(partition, term)
    if rows is None:
        recent.keep_postings(partition, term, rows := _rows(connection, partition, term, None))
    return rows


def _rows(connection: sqlite3.Connection, partition: Partition, expression: str, tagged: Sql | None) -> Scored:
    """Return the rows that match, with FTS5's scores."""
    where: str = ""
    parameters: list[object] = [expression]
    if tagged is not None:
        # asked of the rows found: there are fewer of them than of sources that pass
        where += f" AND EXISTS (SELECT 1 FROM {partition.records} AS r JOIN tags ON tags.source = r.source"
        where += f" WHERE r.key = {partition.words}.rowid AND {tagged[0]})"
        parameters += tagged[1]
    query = f"SELECT rowid, bm25({partition.words}) FROM {partition.words} WHERE {partition.words} MATCH ?{where}"
    rows = np.fromiter(connection.execute(query, parameters), _ROW)
    return Scored(rows["key"], -rows["score"])


def added_up(parts: Sequence[Scored], factors: Sequence[float] | None = None) -> Scored:
    """Return the rows of all parts, by key, with the sums of their scores times the factors, by default 1."""
    if not parts:
        return Scored(np.zeros(0, np.int64), np.zeros(0))
    factors = factors or [1.0] * len(parts)
    keys, places = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    scores = np.concatenate([part.scores * factor for part, factor in zip(parts, factors, strict=True)])
    return Scored(keys, np.bincount(places, scores, len(keys)).astype(np.float64, copy=False))


def _factor(partition: Partition, count: int) -> float:
    """Return what makes Lucene's score of FTS5's, for a word in this many rows."""
    odds = (partition.live - count + 0.5) / (count + 0.5)
    return log1p(odds) / (K1 + 1) / (log(odds) if odds > 1 else LEAST)


def split(partition: Partition, counted: list[Counted]) -> tuple[list[Counted], list[Counted]]:
    """Return the words that choose the rows, and those that only add to the scores of these."""
    chosen, added = list[Counted](), list[Counted]()
    rows, most = 0, _CHOSEN_NAMES if partition.name == "entity" else _CHOSEN
    for count, term in counted[:_USED]:
        rows += count
        if rows <= most or not chosen:
            chosen.append((count, term))
        elif rows <= _ADDED:
            added.append((count, term))
    return chosen, added


def terms_of(text: str, prefix: bool) -> list[str]:
    """Return the FTS5 terms of a text."""
    words, begun = looked_up(text, prefix)
    return [f'"{word}"' for word in words] + ([f'"{begun}"*'] if begun else [])


def _counted(connection: sqlite3.Connection, partition: Partition, terms: list[str], recent: Recent) -> list[Counted]:
    """Return what :func:`telling` does of all rows."""
    known = recent.counts(partition)

    def rows_with(term: str, limit: int) -> int:
        count = known.get((term, limit))
        if count is None:
            query = f"SELECT count(*) FROM (SELECT 1 FROM {partition.words} WHERE {partition.words} MATCH ? LIMIT ?)"
            count = known[term, limit] = int(connection.execute(query, (term, limit)).fetchone()[0])
        return count

    return telling(partition, partition.live, terms, rows_with)


def telling(partition: Partition, live: int, terms: list[str], rows_with: Callable[[str, int], int]) -> list[Counted]:
    """Return the terms that occur with their numbers of rows, of ``live`` ones, rarest first, without the very frequent.

    ``rows_with`` counts the rows with a term, up to a limit (-1: none).
    """
    names = partition.name == "entity"
    frequent = _CHOSEN_NAMES if names else max(_CHOSEN, int(min(_FREQUENT_ROWS, live * _FREQUENT_SHARE)))
    counted = sorted((rows_with(term, frequent + 1), term) for term in terms)
    few = [(count, term) for count, term in counted if 0 < count <= frequent]
    begun = any(term.endswith("*") for term in terms)
    if few or (names and not begun):
        return few
    return sorted((rows_with(term, -1), term) for count, term in counted if count)
