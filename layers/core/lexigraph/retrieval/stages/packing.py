"""In which order statements go into a result: each for what it adds to those before it. Pure, no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

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
    chunk, topic, asked = np.asarray(worth.chunk), np.asarray(worth.topic), worth.asked
    said_by = _words(worth.texts)
    size, all_asked = np.maximum(said_by.sum(axis=1), 1e-9), np.maximum(asked.sum(axis=1), 1e-9)
    repeated, heard = np.zeros(len(chunk)), np.zeros(len(asked))
    open_words, open_asked = np.ones(said_by.shape[1], np.bool_), np.ones(asked.shape[1], np.bool_)
    again, chunks, left = np.ones(len(chunk)), set[int](), np.ones(len(chunk), np.bool_)
    for _ in range(len(chunk)):
        said_again = np.minimum(weights.said_again * diversity * repeated / size, 1.0)
        fresh = (1 - said_again) * (1 - weights.asked_again * diversity * heard / all_asked)[chunk]
        values = np.where(left, ((worth.own * fresh + worth.added) * again).round(6), -np.inf)
        best = int(values.argmax())
        yield best, float(values[best])
        left[best] = False
        new, told = open_words & (said_by[best] > 0), open_asked & (asked[chunk[best]] > 0)
        repeated += said_by[:, new].sum(axis=1)
        heard += asked[:, told].sum(axis=1)
        open_words &= ~new
        open_asked &= ~told
        again[chunk == chunk[best]] *= weights.repeat
        if chunk[best] not in chunks:
            chunks.add(int(chunk[best]))
            again[(topic == topic[best]) & (chunk != chunk[best])] *= weights.same_topic


def _words(texts: Sequence[str]) -> Array:
    """Return a row a text: the weights of the words in it, the more the fewer of the texts have them."""
    at: dict[str, int] = {}
    held = [sorted({at.setdefault(word, len(at)) for word in words(text)}) for text in texts]
    said_by = np.zeros((len(texts), len(at)))
    for row, places in enumerate(held):
        said_by[row, places] = 1.0
    df = said_by.sum(axis=0)
    weighted: Array = said_by * np.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
    return weighted
