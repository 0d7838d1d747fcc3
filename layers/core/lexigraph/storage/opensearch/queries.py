"""Requests as OpenSearch queries, and what they find as hits.

A hit of a vector search is scored here, in double precision, from the copy of the vector that travels with it: what the
service says is of compressed vectors, by which the best are not always first. So more are asked for than are wanted
(docs/benchmarks.md has what that finds).
"""

import base64
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast
from unicodedata import combining, normalize

import numpy as np

from lexigraph.model.batches import batched
from lexigraph.model.stemmers import snowball
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.words import further_words, looked_up
from lexigraph.storage.opensearch.connection import Json
from lexigraph.storage.opensearch.schema import WORDS, words_key
from lexigraph.storage.opensearch.tags import tag_query
from lexigraph.storage.protocols import VECTOR_INDEXES, FloatArray, Hit, SearchRequest, VectorRecord

MOST_FOUND = 10_000  # the service returns no more of one search
_GIVEN_AT_ONCE = 5_000
AT_ONCE = 1_000  # ids of a search
_MORE = 8  # found beyond k, so that ties at the edge go by id
_TIMES, _MORE_BY_VECTOR = 4, 50  # compressed vectors find k of the best among 4k + 50
_DECIMALS = 6  # of a number of a vector that is sent: an error of a cosine below 1e-6, and half the bytes
# letters that asciifolding takes apart, and Unicode does not
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
# a beginning stands for so many words; all count as one word, as rare as the most frequent of them
BEGUN = "top_terms_blended_freqs_64"


class Query(NamedTuple):
    """A body to be sent for a request; ``size`` is how many it asks for, 0 when it asks for given ids."""

    request: SearchRequest
    body: Json
    size: int


def queries(request: SearchRequest, tenant: Tenant, more: int = 0) -> list[Query]:
    """Return what has to be asked for a request: nothing when nothing can be found, several for very many ids.

    ``more``: how many to find beyond those that the request takes.
    """
    wanted = request.k + _MORE if request.vector is None else _TIMES * request.k + _MORE_BY_VECTOR
    size = 0 if request.ids is not None else max(0, min(MOST_FOUND, wanted + more))
    given = [None] if request.ids is None else list(batched(sorted(set(request.ids)), _GIVEN_AT_ONCE))
    if request.ids is None and request.k < 1:
        return []
    asked = []
    for ids in given:
        filters = _filters(request, tenant, ids)
        if request.vector is None:
            body = _by_words(request, tenant, filters)
        elif ids is None:
            knn = {"vector": _sent(request.vector), "k": size, "filter": _all(filters)}
            body = {"query": {"knn": {"vector": knn}}}
        else:
            body = {"query": _all(filters)}
        if body:
            body |= {"size": size or len(ids or ()), "_source": _fields(request), "track_total_hits": False}
            asked.append(Query(request, body, size))
    return asked


def hits(request: SearchRequest, found: Sequence[Json]) -> list[Hit]:
    """Return all that was found as hits, best first, ties by id."""
    if request.vector is None:
        scores = [round(max(0.0, float(row["_score"])), 6) for row in found]
    else:
        scores = _cosines(found, request.vector)
    bring = request.vectors and request.index in VECTOR_INDEXES
    made = []
    for row, score in zip(found, scores, strict=True):
        source = row["_source"]
        vector = unpacked(source["packed"]) if bring else None
        if request.cosines_alone:
            made.append(Hit(source["doc_key"], score, "", "", ""))
        else:
            made.append(Hit(source["doc_key"], score, _text(source), source["source_id"], source["chunk_id"], vector))
    return sorted(made, key=lambda hit: (-hit.score, hit.id))


def cut_in_a_tie(query: Query, found: Sequence[Json], ranked: Sequence[Hit]) -> bool:
    """Tell whether records that were not found might tie with the last of the best."""
    k = query.request.k
    if not query.size or len(found) < query.size or query.size >= MOST_FOUND or len(ranked) <= k:
        return False
    if query.request.vector is None and len({row["_score"] for row in found[k - 1 :]}) == 1:
        return False  # found in the order of their ids
    return ranked[k - 1].score == ranked[-1].score


def record_body(tenant: Tenant, record: VectorRecord, vectors: bool) -> Json:
    """Return what is kept of a record, but for label, tags and edition."""
    body: Json = {"doc_key": record.id, "source_id": record.source_id, "chunk_id": record.chunk_id}
    further = further_words(record.text)
    # both values of one field: counted together
    text = [record.text, " ".join(further)] if further else record.text
    body |= {"tenant": str(tenant), WORDS: {words_key(tenant): text}}
    if vectors and record.vector is not None:
        vector = np.asarray(record.vector, "<f4")
        body |= {"vector": _sent(vector), "packed": base64.b64encode(vector.tobytes()).decode("ascii")}
    return body


def _sent(vector: FloatArray) -> list[float]:
    """Return a vector as the service gets it, which compresses it anyway."""
    return cast(list[float], np.round(np.asarray(vector, float), _DECIMALS).tolist())


def record_of(source: Json) -> VectorRecord:
    """Return the record that a document holds."""
    vector = unpacked(source["packed"]) if "packed" in source else None
    return VectorRecord(source["doc_key"], _text(source), source["source_id"], source["chunk_id"], vector)


def _text(source: Json) -> str:
    (text,) = source[WORDS].values()  # the record is of one tenant
    return str(text[0] if isinstance(text, list) else text)


def unpacked(packed: str) -> FloatArray:
    """Return the vector of its packed form, bit for bit."""
    return np.frombuffer(base64.b64decode(packed), "<f4")


def of_tenant(tenant: Tenant, **terms: Any) -> Json:
    """Return the query for the documents of a tenant whose fields have these values, or one of a list of values.

    Of a view: for those with tags that pass its rights.
    """
    wanted = [{"terms" if isinstance(value, list) else "term": {name: value}} for name, value in terms.items()]
    return _all([*owned(tenant), *wanted])


def owned(tenant: Tenant) -> list[Json]:
    """Return the conditions on documents of a tenant, or on those that a view sees."""
    rights = [tag_query(tenant.rights)] if isinstance(tenant, View) else []
    return [{"term": {"tenant": str(tenant.whole)}}, *rights]


def _by_words(request: SearchRequest, tenant: Tenant, filters: list[Json]) -> Json:
    field = f"{WORDS}.{words_key(tenant.whole)}"
    words, begun = looked_up(request.text, request.prefix)
    some: list[Json] = []
    if words:
        some.append({"match": {field: {"query": " ".join(words)}}})
    if begun:
        some.append({"prefix": {field: {"value": as_indexed(begun, request.index != "entity"), "rewrite": BEGUN}}})
    if not some:
        return {}
    query = {"bool": {"should": some, "minimum_should_match": 1, "filter": filters}}
    return {"query": query, "sort": [{"_score": "desc"}, {"doc_key": "asc"}]}


def as_indexed(word: str, stemmed: bool = True) -> str:
    """Return a beginning in the form that words have in the index: a query for beginnings is not analysed there."""
    folded = "".join(map(_without_accent, word)).translate(_FOLDED)[:200]
    # as in SQLite and in Lucene, there is nothing to stem in two letters
    return _stem(folded) if stemmed and len(folded) > 2 else folded


def _without_accent(letter: str) -> str:
    bare = "".join(c for c in normalize("NFKD", letter) if not combining(c))
    return bare if bare.isascii() else letter  # asciifolding leaves other scripts as they are


@lru_cache(4_096)
def _stem(word: str) -> str:
    return snowball(word, "porter")


def _filters(request: SearchRequest, tenant: Tenant, ids: list[str] | None) -> list[Json]:
    filters = owned(tenant)
    if ids is not None:
        filters.append({"terms": {"doc_key": ids}})
    if request.filters is not None:
        filters.append(tag_query(request.filters))
    return filters


def _fields(request: SearchRequest) -> list[str]:
    bring = request.vectors and request.index in VECTOR_INDEXES
    fields = ["doc_key"] if request.cosines_alone else ["doc_key", "source_id", "chunk_id", WORDS]
    return [*fields, "packed"] if bring or request.vector is not None else fields


def _cosines(rows: Sequence[Json], vector: FloatArray) -> list[float]:
    if not rows:
        return []
    vectors = np.stack([unpacked(row["_source"]["packed"]) for row in rows]).astype(np.float64)
    cosines = np.einsum("ij,j->i", vectors, np.asarray(vector, np.float32).astype(np.float64))
    # adding zero turns -0.0 into 0.0
    return [float(score) for score in np.round(cosines, 6) + 0.0]


def _all(parts: list[Json]) -> Json:
    return {"bool": {"filter": parts}}
