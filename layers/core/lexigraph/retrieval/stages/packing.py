"""In which order statements go into a result: each for what it adds to those before it. Pure, no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from lexigraph.retrieval.stages.ranking import Array, Weights
from lexigraph.retrieval.stages.text import words


@dataclass(frozen=True, slots=True)
class Worth:
    """What statements are worth by themselves, an entry a statement.

    ``own`` is worth for being like the question, and shrinks as its words are said; ``added`` is worth for what a link or a
    reranker says. ``chunk`` and ``topic`` number where a statement stands. ``asked`` has a row a chunk: the weights of the
    question's words that it holds.
    """

    own: Array
    added: Array
    chunk: Sequence[int]
    topic: Sequence[int]
    asked: Array
    texts: Sequence[str]


def packed(worth: Worth, diversity: float, weights: Weights) -> Iterator[tuple[int, float]]:
    """Yield places of statements with what they are worth beside those before them, which never rises.

    What is like the question loses about the share ``diversity`` of it when statements before it say all of its words, and
    again, when chunks before it hold all words of the question that its own does. A further statement of a chunk, and a
    further chunk of a topic, counts a little less each time. Ties go by place. The first are the same however many are read.
    """
    chunk, topic, asked, count = np.asarray(worth.chunk), np.asarray(worth.topic), worth.asked, len(worth.texts)
    said_by, said, ends = _words(worth.texts)
    size, all_asked = np.maximum(said_by.sum(axis=0), 1e-9), np.maximum(asked.sum(axis=1), 1e-9)
    open_words, members = np.ones(len(said_by), np.bool_), _places(chunk)
    repeated, heard, open_asked = np.zeros(count), np.zeros(len(asked)), np.ones(asked.shape[1], np.bool_)
    again, chunks, taken = np.ones(count), set[int](), np.zeros(count)
    of_chunk = np.ones(count)  # what is left of worth by the words of the question that were heard
    values, said_again = np.empty(count), weights.said_again * diversity
    for _ in range(count):
        # (own * ((1 - what was said) * of_chunk) + added) * again; in place, since it is worked out for every place
        np.multiply(repeated, said_again, out=values)
        np.divide(values, size, out=values)
        np.minimum(values, 1.0, out=values)
        np.subtract(1.0, values, out=values)
        np.multiply(values, of_chunk, out=values)
        np.multiply(values, worth.own, out=values)
        np.add(values, worth.added, out=values)
        np.multiply(values, again, out=values)
        values.round(6, out=values)
        np.add(values, taken, out=values)
        best = int(values.argmax())
        yield best, float(values[best])
        taken[best] = -np.inf
        of_best = said[ends[best] : ends[best + 1]]
        new = of_best[open_words[of_best]]
        np.add(repeated, np.add.reduce(said_by[new]), out=repeated)
        open_words[new] = False
        here = worth.chunk[best]
        again[members[here]] *= weights.repeat
        if here not in chunks:
            chunks.add(here)
            told = open_asked & (asked[here] > 0)
            if told.any():
                heard += asked[:, told].sum(axis=1)
                open_asked &= ~told
                of_chunk = (1 - weights.asked_again * diversity * heard / all_asked)[chunk]
            again[(topic == topic[best]) & (chunk != here)] *= weights.same_topic


def _words(texts: Sequence[str]) -> tuple[Array, NDArray[np.intp], list[int]]:
    """Return a row a word, its weight in each text that has it, more the fewer have it; the rows of the words of the first
    text, then of the next and so on; and where among these a text begins and ends.
    """
    held = [dict.fromkeys(words(text)) for text in texts]
    at = {word: row for row, word in enumerate(dict.fromkeys(chain.from_iterable(held)))}
    said = np.fromiter(map(at.__getitem__, chain.from_iterable(held)), np.intp)
    sizes = [len(of_text) for of_text in held]
    said_by = np.zeros((len(at), len(texts)))
    said_by[said, np.repeat(np.arange(len(texts)), sizes)] = 1.0
    df = said_by.sum(axis=1, keepdims=True)
    said_by *= np.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
    return said_by, said, list(accumulate(sizes, initial=0))


def _places(numbers: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return where each number stands, by number."""
    if not len(numbers):
        return []
    return np.split(np.argsort(numbers, kind="stable"), np.bincount(numbers).cumsum()[:-1])
