"""BM25 for a view: what the service finds by words within the rights, scored here.

The service counts words, texts and lengths over all of a tenant, so that its scores would tell of texts that a view does
not see. In how many texts a word is, and how many there are, is asked for within the rights; how often a text holds it is
counted in the text. Lengths are held against a typical one of the index: their average within filters is not told.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log1p
from typing import NamedTuple

from lexigraph.model.tenant import View
from lexigraph.storage.common.words import further_words, looked_up
from lexigraph.storage.opensearch.connection import Json
from lexigraph.storage.opensearch.queries import BEGUN, as_indexed, owned
from lexigraph.storage.opensearch.schema import WORDS, words_key
from lexigraph.storage.protocols import Hit, SearchRequest

_K1, _B = 1.2, 0.75
_TYPICAL = {"chunk": 180.0, "statement": 22.0, "topic": 5.0, "relation": 12.0}  # words of a text
_AT_LEAST, _TIMES = 200, 4  # texts that are scored, to find the best of them
_WORD = re.compile(r"[^\W_]+")


class Term(NamedTuple):
    """A word of a request as it stands in the index, or the beginning of one, and the query for it."""

    form: str
    begun: bool
    query: Json

    @property
    def name(self) -> str:
        """What tells it from the others of an index."""
        return f"{self.form}*" if self.begun else self.form


def is_scored(request: SearchRequest) -> bool:
    """Tell whether a request of a view is by words; in the index of names a view sees nothing."""
    return request.vector is None and request.index != "entity"


def wider(request: SearchRequest) -> SearchRequest:
    """Return a request for the texts among which the best are looked for."""
    return request if request.ids is not None or request.k < 1 else replace(request, k=max(_AT_LEAST, _TIMES * request.k))


def terms_of(request: SearchRequest, view: View) -> list[Term]:
    """Return what a request looks for, each word once."""
    field = f"{WORDS}.{words_key(view.whole)}"
    words, begun = looked_up(request.text, request.prefix)
    terms = {form: Term(form, False, {"match": {field: {"query": word}}}) for word in words if (form := as_indexed(word))}
    found = list(terms.values())
    if begun:
        form = as_indexed(begun)
        found.append(Term(form, True, {"prefix": {field: {"value": form, "rewrite": BEGUN}}}))
    return found


def count_query(view: View, term: Term | None) -> Json:
    """Return the body that counts the texts that a view sees, those with a term or all."""
    wanted = [*owned(view), *([term.query] if term else [])]
    return {"query": {"bool": {"filter": wanted}}, "size": 0, "track_total_hits": True}


def scored(request: SearchRequest, hits: Sequence[Hit], terms: Sequence[Term], counts: Mapping[str, int]) -> list[Hit]:
    """Return hits with the scores of a view, best first, ties by id.

    ``counts`` are the texts that hold each term, by its name, and under the empty name all that the view sees.
    """
    texts = counts[""]
    # a text may come or go between two counts
    weights = [(t, log1p(max(0.0, texts - counts[t.name] + 0.5) / (counts[t.name] + 0.5))) for t in terms]
    found = [hit._replace(score=score) for hit in hits if (score := _score(hit.text, weights, _TYPICAL[request.index]))]
    best = sorted(found, key=lambda hit: (-hit.score, hit.id))
    return best if request.ids is not None else best[: request.k]


def _score(text: str, weights: Sequence[tuple[Term, float]], typical: float) -> float:
    forms = [as_indexed(word) for word in (*_WORD.findall(text.lower()), *further_words(text))]
    length = _K1 * (1 - _B + _B * len(forms) / typical)
    total = 0.0
    for term, weight in weights:
        times = sum(form.startswith(term.form) if term.begun else form == term.form for form in forms)
        total += weight * times / (times + length)
    return round(total, 6)
