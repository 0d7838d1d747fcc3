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
_LEAST = 1e-12  # instead of the length 0 of what shares no trigram
_Ints = NDArray[np.signedinteger[Any]]
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
        asked = [queries[0], *dict.fromkeys(queries[1:])]
        owner, term, count = _terms([*asked, *texts])
        of_text, terms = owner >= len(asked), int(term.max(initial=0)) + 1
        held_by = np.bincount(term[of_text], minlength=terms)
        idf = (np.log((1 + len(texts)) / (1 + held_by)) + 1) ** RARITY
        weight = (1 + np.log(count)) * idf[term]

        # the cosine is linear in the query, so that all queries together cost as much as one
        of_query = ~of_text & (held_by[term] > 0)
        query, its = owner[of_query], weight[of_query]
        share = np.full(len(asked), NAMES_WEIGHT / max(len(asked) - 1, 1))
        share[0] = 1.0
        wanted = _sums(term[of_query], its * (share / np.maximum(_lengths(query, its, len(asked)), _LEAST))[query], terms)

        owner, term, weight = owner[of_text] - len(asked), term[of_text], weight[of_text]
        length = _lengths(owner, weight, len(texts))
        divisor: _Floats = LENGTH * length + (1 - LENGTH) * fsum(length) / len(texts)  # the order of texts plays no part
        scores = _sums(owner, weight * wanted[term], len(texts)) / np.maximum(divisor, _LEAST)
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
        if not queries or not texts:
            return [0.0] * len(texts)
        encoder = self._encoder()
        query = "\n".join(filter(str.strip, queries))
        try:
            scores = encoder.predict([(query, text) for text in texts], activation_fn=_sigmoid, show_progress_bar=False)
        except (RuntimeError, ValueError) as error:
            raise ModelUnavailable(f"reranker model {self.model} failed ({type(error).__name__})") from error
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
                f"reranker model {self.model} cannot be loaded ({type(error).__name__}); set LEXIGRAPH_RERANK_MODEL"
            ) from error


def _sigmoid(scores: Any) -> Any:
    # some cross-encoders are saved with it, some without
    return scores.sigmoid()


def _terms(texts: Sequence[str]) -> tuple[_Ints, _Ints, _Ints]:
    """Return which text holds which trigram how often; trigrams are numbered from 0 as they sort."""
    joined = " \0 ".join(text.replace("\0", " ") for text in texts)
    folded = unicodedata.normalize("NFKC", f" {joined} ").casefold()
    points = _letters(folded)
    space = points == 1
    points = points[~np.concatenate(([False], space[:-1] & space[1:]))]
    letter, text = int(points.max()).bit_length(), len(texts).bit_length()
    points = points.astype(np.int32 if 3 * letter + text < 32 else np.int64)  # the narrower, the sooner sorted
    owner = np.cumsum(points == 0, dtype=points.dtype)
    first, second, third = points[:-2], points[1:-1], points[2:]
    inside = (first != 0) & (second != 0) & (third != 0)
    gram = (first << 2 * letter) | (second << letter) | third
    pair = np.sort((gram << text | owner[1:-1])[inside])  # sorted once, equal pairs and equal trigrams stand together
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    count, pair = np.diff(start, append=len(pair)), pair[start]
    term = np.cumsum(np.diff(pair >> text, prepend=-1) > 0) - 1
    return pair & ((1 << text) - 1), term, count


def _letters(text: str) -> _Ints:
    """Return the characters of a text as numbers in the order of their code points: 0 parts texts, 1 is what parts words."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    number = np.zeros(int(points.max()) + 1, np.int64)
    number[points] = 1
    present = [chr(point) for point in np.flatnonzero(number)]
    in_words = [ord(c) for c in present if c.isalnum() or unicodedata.category(c)[0] == "M"]
    number[in_words] = np.arange(2, len(in_words) + 2)
    number[0] = 0
    return number[points]


def _sums(group: _Ints, values: _Floats, groups: int) -> _Floats:
    sums: _Floats = np.bincount(group, values, minlength=groups).astype(np.float64)
    return sums


def _lengths(group: _Ints, values: _Floats, groups: int) -> _Floats:
    lengths: _Floats = np.sqrt(_sums(group, values**2, groups))
    return lengths
