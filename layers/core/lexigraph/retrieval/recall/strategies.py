"""The four strategies of a recall (M-06 to M-10): what each asks of the vector store, and what it makes of the hits.

Three of them search in one call, the graph finds patterns. Pure but for :func:`search`. All scores are absolute, 0 to 1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from lexigraph.model.errors import LexigraphError
from lexigraph.model.graph import StatementRow
from lexigraph.retrieval.stages.text import stems
from lexigraph.retrieval.stages.trace import BoundStores
from lexigraph.storage.protocols import FloatArray, GraphNode, Hit, SearchRequest

BM25, VECTOR, EDGE_LABELS, REGEX = STRATEGIES = ("bm25", "vector", "edge_labels", "regex")
_APART = ((BM25,), (VECTOR,), (EDGE_LABELS,))  # what is asked together when all at once fails
MIN_COSINE = 0.35  # M-08
RRF_K = 60
HALF = 8.0  # BM25 that counts a half: that of a name which a single one of some thousands of texts holds
_POOL = 100  # hits of a strategy in each index
_LABELLED = 20  # chunks whose edges are looked at for their labels
_LEAST = 1e-6

Scores = dict[str, float]


def requests_of(text: str, vector: FloatArray | None) -> dict[str, list[SearchRequest]]:
    """Return the requests of each strategy that searches."""
    requests: dict[str, list[SearchRequest]] = {
        BM25: [SearchRequest(index, text=text, k=_POOL) for index in ("entity", "statement", "topic")],
        EDGE_LABELS: [SearchRequest("relation", text=text, k=_LABELLED)],
    }
    if vector is not None:
        requests[VECTOR] = [SearchRequest(index, vector=vector, k=_POOL) for index in ("statement", "topic")]
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


def text_scores(lists: Iterable[Sequence[Hit]]) -> Scores:
    """Return nodes by BM25 (M-07), in which rare words count most, saturated: a half where it is ``HALF``, never 1."""
    return {hit.id: _saturated(hit.score) for hits in lists for hit in hits}


def vector_scores(lists: Iterable[Sequence[Hit]]) -> Scores:
    """Return nodes by cosine, from the threshold on (M-08)."""
    return {hit.id: hit.score for hits in lists for hit in hits if hit.score >= MIN_COSINE}


def label_scores(text: str, hits: Sequence[Hit], rows: Iterable[StatementRow]) -> Scores:
    """Return both ends of the relations whose label shares words with the query (M-09): BM25 of the labels of a chunk,
    saturated, times the share of the label that the query says.
    """
    wanted = set(stems(text))
    of_chunk = {hit.id: _saturated(hit.score) for hit in hits}
    scores: Scores = {}
    for row in rows:
        for fact in row.facts:
            label = set(stems(fact.predicate))
            score = of_chunk.get(row.chunk_id, 0.0) * len(label & wanted) / max(len(label), 1)
            for end in (fact.subject_id, fact.object_id):
                if end and score > scores.get(end, 0.0):
                    scores[end] = score
    return dict(sorted(scores.items(), key=lambda found: (-found[1], found[0]))[:_POOL])


def _saturated(score: float) -> float:
    # a word that most texts hold scores nothing, but was found
    return max(score / (score + HALF), _LEAST)


def exact_scores(worth: Callable[[Sequence[str]], list[float]], nodes: Iterable[GraphNode]) -> Scores:
    """Return the nodes that are worth something by their texts (M-10)."""
    tried = list(nodes)
    texts = [f"{node.value}\n{node.details}" if node.kind == "statement" else node.value for node in tried]
    return {node.id: score for node, score in zip(tried, worth(texts), strict=True) if score > 0}


def general(strategies: Iterable[Mapping[str, float]]) -> Scores:
    """Return the general score (M-12): absolute, at least the best over the strategies, more where several found a node.

    As if each strategy said how likely it is that a node fits, and each for reasons of its own.
    """
    unfit: Scores = {}
    for scores in strategies:
        for node, score in scores.items():
            unfit[node] = unfit.get(node, 1.0) * (1 - min(score, 1.0))
    return {node: round(1 - left, 6) for node, left in unfit.items()}


def agreement(strategies: Iterable[Mapping[str, float]]) -> Scores:
    """Return what breaks ties of the general score: reciprocal rank fusion, equal scores of a strategy at one rank."""
    fused: Scores = {}
    for scores in strategies:
        rank, last = 0, float("inf")
        for at, node in enumerate(sorted(scores, key=lambda n: -scores[n]), 1):
            if scores[node] < last:
                rank, last = at, scores[node]
            fused[node] = fused.get(node, 0.0) + 1 / (RRF_K + rank)
    return fused
