"""The four strategies of a recall (M-06 to M-10): what each asks of the vector store, and what it makes of the hits.

Their requests travel in one call. Pure but for :func:`search`. A strategy's scores are its own: only their order counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from lexigraph.model.errors import LexigraphError
from lexigraph.model.graph import StatementRow
from lexigraph.retrieval.recall.patterns import Pattern
from lexigraph.retrieval.stages.text import stems
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import FloatArray, GraphNode, Hit, SearchRequest

BM25, VECTOR, EDGE_LABELS, REGEX = STRATEGIES = ("bm25", "vector", "edge_labels", "regex")
_APART = ((BM25, REGEX), (VECTOR,), (EDGE_LABELS,))  # what is asked together when all at once fails
MIN_COSINE = 0.35  # M-08
RRF_K = 60
CANDIDATES = 1_500  # nodes that a regular expression is tried on
_POOL = 100  # hits of a strategy in each index
_LABELLED = 20  # chunks whose edges are looked at for their labels
_BEGINNING = 4  # letters of a word by which words of statements are found: stems keep that much

Scores = dict[str, float]


def requests_of(
    text: str, vector: FloatArray | None, pattern: Pattern | None, *, words: bool = True
) -> dict[str, list[SearchRequest]]:
    """Return the requests of each strategy that takes part; without ``words`` only those of the pattern."""
    requests: dict[str, list[SearchRequest]] = {}
    if words:
        requests[BM25] = [SearchRequest(index, text=text, k=_POOL) for index in ("entity", "statement", "topic")]
        requests[EDGE_LABELS] = [SearchRequest("relation", text=text, k=_LABELLED)]
        if vector is not None:
            requests[VECTOR] = [SearchRequest(index, vector=vector, k=_POOL) for index in ("statement", "topic")]
    if pattern is not None:
        requests[REGEX] = _preselecting(pattern, vector)
    return requests


def _preselecting(pattern: Pattern, vector: FloatArray | None) -> list[SearchRequest]:
    """Return requests for what may hold the pattern: its words; where it needs none, the statements nearest by vector."""
    requests = []
    for word in pattern.words:
        begins = word[:_BEGINNING]
        requests += [
            SearchRequest("entity", text=word, k=300, prefix=True),
            SearchRequest("statement", text=word, k=300),
            SearchRequest("statement", text=begins, k=300, prefix=True),
            SearchRequest("topic", text=begins, k=_POOL, prefix=True),
        ]
    if not pattern.words and vector is not None:
        requests = [SearchRequest("statement", vector=vector, k=1_000), SearchRequest("topic", vector=vector, k=200)]
    return requests


def search(
    stores: BoundStores, requests: Mapping[str, list[SearchRequest]]
) -> tuple[dict[str, list[list[Hit]]], dict[str, str]]:
    """Run all requests in one call. Return the hits by strategy, and the error (code) of those that failed.

    When the call fails, the strategies are asked once more, apart, so that one failing leaves the others. Raise when all do.
    """
    try:
        return _together("search", stores, requests), {}
    except LexigraphError:
        hits: dict[str, list[list[Hit]]] = {}
        errors: dict[str, str] = {}
        for group in _APART:
            part = {name: requests[name] for name in group if requests.get(name)}
            try:
                hits |= _together("search", stores, part)
            except LexigraphError as error:
                errors |= dict.fromkeys(part, error.code)
        if not hits:
            raise
        return hits, errors


def _together(step: str, stores: BoundStores, requests: Mapping[str, list[SearchRequest]]) -> dict[str, list[list[Hit]]]:
    found = iter(stores.search(step, [request for of in requests.values() for request in of]))
    return {name: [next(found) for _ in of] for name, of in requests.items()}


def text_scores(text: str, lists: Iterable[Sequence[Hit]]) -> Scores:
    """Return nodes by BM25 (M-07), which no two indexes count alike: as a share of the best of its index, times the share
    of the query's words that the node's text holds.
    """
    wanted = set(stems(text))
    scores: Scores = {}
    for hits in lists:
        shares = _of_best(hits)
        for hit in hits:
            held = len(wanted.intersection(stems(hit.text))) / len(wanted) if wanted else 1.0
            if held:
                scores[hit.id] = shares[hit.id] * held
    return scores


def vector_scores(lists: Iterable[Sequence[Hit]]) -> Scores:
    """Return nodes by cosine, from the threshold on (M-08)."""
    return {hit.id: hit.score for hits in lists for hit in hits if hit.score >= MIN_COSINE}


def label_scores(text: str, hits: Sequence[Hit], rows: Iterable[StatementRow]) -> Scores:
    """Return both ends of the relations whose label shares words with the query (M-09): BM25 of the labels of a chunk, as
    a share of the best, times the share of the label that the query says.
    """
    wanted = set(stems(text))
    of_chunk = _of_best(hits)
    scores: Scores = {}
    for row in rows:
        for fact in row.facts:
            label = set(stems(fact.predicate))
            score = of_chunk.get(row.chunk_id, 0.0) * len(label & wanted) / max(len(label), 1)
            for end in (fact.subject_id, fact.object_id):
                if end and score > scores.get(end, 0.0):
                    scores[end] = score
    return dict(sorted(scores.items(), key=lambda found: (-found[1], found[0]))[:_POOL])


def _of_best(hits: Sequence[Hit]) -> Scores:
    """Return the scores as shares of the best; a word that most texts hold scores nothing, but was found."""
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    return {hit.id: max(hit.score / best, 1e-6) for hit in hits}


def candidates(lists: Iterable[Sequence[Hit]]) -> list[str]:
    """Return the nodes that a pattern is tried on, the best of each list first, up to ``CANDIDATES``."""
    in_turn = (hit.id for hits in zip_longest(*lists) for hit in hits if hit)
    return list(dict.fromkeys(in_turn))[:CANDIDATES]


def pattern_scores(pattern: Pattern, nodes: Iterable[GraphNode]) -> Scores:
    """Return the nodes whose text the pattern is found in (M-10): the more of it the match covers, the better."""
    tried = list(nodes)
    shares = pattern.covers([f"{node.value}\n{node.details}" if node.kind == "statement" else node.value for node in tried])
    return {node.id: round(share, 6) for node, share in zip(tried, shares, strict=True) if share > 0}


def fuse(strategies: Iterable[Mapping[str, float]]) -> Scores:
    """Return the general score (M-12): reciprocal rank fusion, equal scores of a strategy at one rank; the best is 1."""
    fused: Scores = {}
    for scores in strategies:
        rank, last = 0, float("inf")
        for at, node in enumerate(sorted(scores, key=lambda n: -scores[n]), 1):
            if scores[node] < last:
                rank, last = at, scores[node]
            fused[node] = fused.get(node, 0.0) + 1 / (RRF_K + rank)
    best = max(fused.values(), default=1.0)
    return {node: score / best for node, score in fused.items()}
