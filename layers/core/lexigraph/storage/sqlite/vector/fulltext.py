"""BM25 over a partition: from the words of a request to scored keys, in bounded time.

In a large partition the rarest words alone choose the rows, up to ``_CHOSEN`` of them; the other words only add to their
scores. A row with none of the rare words could hardly have been among the best. In an index of names a word that is in very
many of them chooses none: it is no name; unless somebody is typing one, and has only begun.
BM25 is that of Lucene, as OpenSearch has it: k1 1.2, b 0.75, idf ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

import sqlite3
from collections.abc import Callable, Sequence
from math import log1p

import numpy as np

from lexigraph.storage.common.words import looked_up
from lexigraph.storage.sqlite.vector.partitions import Partition
from lexigraph.storage.sqlite.vector.postings import Lengths, average_length, occurrences, shares, with_words
from lexigraph.storage.sqlite.vector.recent import Recent, Scored

_USED = 32  # words of a search, rarest first
_CHOSEN = 4_000  # rows that words may choose
_CHOSEN_NAMES = 500  # likewise of an index of names, where a word in more of them tells nothing
_ADDED = 30_000  # rows that further words may score
# a word in more of the rows than this says little; it is left out unless there is no other
_FREQUENT_SHARE = 0.2
_FREQUENT_ROWS = 20_000

_ALL = "", 0  # stands for all texts, where those with a term are counted

Counted = tuple[int, str]  # in how many rows an FTS5 term is


def score_words(
    connection: sqlite3.Connection,
    partition: Partition,
    text: str,
    recent: Recent,
    lengths: Lengths,
    *,
    prefix: bool = False,
) -> Scored:
    """Return the rows that a text finds, with their BM25 scores.

    ``prefix``: the last word may be the beginning of one. Any text is harmless.
    """
    known = recent.scored(partition, text, prefix)
    if known is not None:
        return known

    def rows_with(words: list[Counted]) -> list[Scored]:
        where = connection, partition, recent, lengths
        return [weighed(_postings(*where, term), _texts(*where[:3]), count) for count, term in words]

    chosen, added = split(partition, _counted(connection, partition, terms_of(text, prefix), recent))
    scored = added_up(rows_with(chosen))
    if added:
        scored = added_up([scored, *(rows.among(scored.keys) for rows in rows_with(added))])
    scored = Scored(scored.keys, np.round(scored.scores, 6))
    recent.keep(partition, text, prefix, scored)
    return scored


def _postings(connection: sqlite3.Connection, partition: Partition, recent: Recent, lengths: Lengths, term: str) -> Scored:
    """Return the rows with a term, scored before its idf: those of the last searches are known."""
    rows = recent.postings(partition, term)
    if rows is None:
        keys, times = occurrences(connection, partition, term)
        average = average_length(connection, partition, _texts(connection, partition, recent))
        rows = Scored(keys, shares(times, lengths.of(connection, partition, keys), average))
        recent.keep_postings(partition, term, rows)
    return rows


def _texts(connection: sqlite3.Connection, partition: Partition, recent: Recent) -> int:
    """Return how many texts there are, as BM25 counts them: those without a word are none."""
    known = recent.counts(partition)
    if _ALL not in known:
        known[_ALL] = with_words(connection, partition)
    return known[_ALL]


def added_up(parts: Sequence[Scored]) -> Scored:
    """Return the rows of all parts, by key, with the sums of their scores."""
    if not parts:
        return Scored(np.zeros(0, np.int64), np.zeros(0))
    keys, places = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    scores = np.concatenate([part.scores for part in parts])
    return Scored(keys, np.bincount(places, scores, len(keys)).astype(np.float64, copy=False))


def weighed(rows: Scored, live: int, count: int) -> Scored:
    """Return the scores of rows with a word, times its idf: ``count`` of ``live`` rows have it."""
    return Scored(rows.keys, rows.scores * log1p((live - count + 0.5) / (count + 0.5)))


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
