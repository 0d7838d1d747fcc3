"""Rerankers that run here: tf-idf over character trigrams (numpy, no model) and cross-encoders.

Queries are the question first, then the names of entities it speaks of (G-35).
"""

import unicodedata
from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraph.inference.lazy import Lazy
from lexigraph.model.errors import ModelUnavailable

# Chosen on the visible questions of HotpotQA, MuSiQue and 2WikiMultiHopQA (docs/decisions.md)
NAMES_WEIGHT = 0.25  # of the mean likeness to the names, beside the question's
RARITY = 1.5  # power of idf
LENGTH = 0.5  # share of a text's own length in what it is divided by; the rest is the mean length
_BITS = 21  # of a code point
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class TfidfReranker:
    """Cosine of tf-idf vectors of character trigrams, fitted on the texts themselves; pure and deterministic.

    Trigrams find inflected and compound forms in any language without a word list. Length is normalised only in part:
    very short texts would win otherwise (pivoted normalisation, Singhal et al. 1996).
    """

    name = "tfidf"

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return one score a text, 0 when it shares no trigram with a query."""
        if not queries or not texts:
            return [0.0] * len(texts)
        grams, owner = _trigrams(texts)
        vocabulary, term = np.unique(grams, return_inverse=True)
        if not len(vocabulary):
            return [0.0] * len(texts)
        pair, count = np.unique(owner * len(vocabulary) + term, return_counts=True)
        owner, term = np.divmod(pair, len(vocabulary))
        held_by = np.bincount(term, minlength=len(vocabulary))
        idf = (np.log((1 + len(texts)) / (1 + held_by)) + 1) ** RARITY
        weight = (1 + np.log(count)) * idf[term]
        length = np.sqrt(_sums(owner, weight**2, len(texts)))
        divisor: _Floats = LENGTH * length + (1 - LENGTH) * fsum(length) / len(texts)  # the order of texts plays no part

        # the cosine is linear in the query, so that all queries together cost as much as one
        wanted = _query_vector(queries[0], vocabulary, idf)
        if names := [_query_vector(name, vocabulary, idf) for name in dict.fromkeys(queries[1:])]:
            wanted = wanted + NAMES_WEIGHT * np.mean(names, axis=0)
        scores = _sums(owner, weight * wanted[term], len(texts)) / divisor
        return [float(score) for score in scores]


class CrossEncoderReranker:
    """A sentence-transformers ``CrossEncoder``, loaded at the first use; scores lie between 0 and 1.

    ``model`` is a name at the Hugging Face hub or a folder. Raises ``ModelUnavailable`` without ``lexigraph[model]``.
    """

    name = "model"

    def __init__(self, model: str) -> None:
        self.model = model
        self._encoder = Lazy(self._load)

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return one score a text, for the pair of the queries together and the text."""
        if not queries or not texts:
            return [0.0] * len(texts)
        encoder = self._encoder()
        query = "\n".join(filter(str.strip, queries))
        try:
            scores = encoder.predict([(query, text) for text in texts], activation_fn=_sigmoid, show_progress_bar=False)
        except (RuntimeError, ValueError) as error:
            raise ModelUnavailable(f"reranker model {self.model}: {error}") from error
        return [float(score) for score in np.asarray(scores).reshape(len(texts))]

    def _load(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ModelUnavailable(
                'reranker model needs sentence-transformers; run: pip install "lexigraph[model]"'
            ) from error
        try:
            return CrossEncoder(self.model)
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelUnavailable(
                f"reranker model {self.model} cannot be loaded: {error}; set LEXIGRAPH_RERANK_MODEL"
            ) from error


def _sigmoid(scores: Any) -> Any:
    # some cross-encoders are saved with it, some without
    return scores.sigmoid()


def _trigrams(texts: Sequence[str]) -> tuple[_Ints, _Ints]:
    """Return the trigrams of all texts as numbers (three code points side by side) and the text each stands in."""
    joined = " \0 ".join(text.replace("\0", " ") for text in texts)
    folded = unicodedata.normalize("NFKC", f" {joined} ").casefold()
    points = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    blank = [ord(c) for c in set(folded) if not (c.isalnum() or c == "\0" or unicodedata.category(c)[0] == "M")]
    space = np.isin(points, blank)
    again = np.concatenate(([False], space[:-1] & space[1:]))
    points = np.where(space, ord(" "), points)[~again]
    owner = np.cumsum(points == 0)
    first, second, third = points[:-2], points[1:-1], points[2:]
    inside = (first != 0) & (second != 0) & (third != 0)
    grams = (first << 2 * _BITS) | (second << _BITS) | third
    return grams[inside], owner[1:-1][inside]


def _sums(group: _Ints, values: _Floats, groups: int) -> _Floats:
    sums: _Floats = np.bincount(group, values, minlength=groups).astype(np.float64)
    return sums


def _query_vector(query: str, vocabulary: _Ints, idf: _Floats) -> _Floats:
    """Return the query's unit vector over the vocabulary; trigrams that no text holds are left out."""
    grams, count = np.unique(_trigrams([query])[0], return_counts=True)
    place = np.minimum(np.searchsorted(vocabulary, grams), len(vocabulary) - 1)
    known = vocabulary[place] == grams
    vector = np.zeros(len(vocabulary))
    vector[place[known]] = (1 + np.log(count[known])) * idf[place[known]]
    length = np.linalg.norm(vector)
    return vector / length if length else vector
