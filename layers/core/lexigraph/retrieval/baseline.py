"""Baseline retrievers without graph search: chunks by vector, by BM25, or by both, with their statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lexigraph.inference.protocols import Embedder, FloatArray
from lexigraph.model.errors import InvalidInput
from lexigraph.model.results import SearchResults
from lexigraph.retrieval.stages.args import Known, RankingArgs, ResultArgs, Share, names_of
from lexigraph.retrieval.stages.reranking import min_max
from lexigraph.retrieval.stages.results import assemble, by_chunk, looking, read_on
from lexigraph.retrieval.stages.retriever import StatementRetriever
from lexigraph.retrieval.stages.trace import BoundStores, Trace
from lexigraph.settings import Settings
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, SearchRequest, VectorStore

Mode = Literal["vector", "bm25", "fused"]
_POOL = 100  # best chunks of each list


@dataclass(frozen=True, slots=True)
class BaselineArgs(ResultArgs):
    """The parameters of every retriever, and the share of BM25 in the mode ``fused``."""

    bm25_weight: Share = RankingArgs.bm25_weight


class BaselineRetriever(StatementRetriever[SearchResults]):
    """Ranks chunks by similarity to the question alone: by cosine (``vector``), by ``bm25``, or by both (``fused``).

    ``fused`` is the weighted sum of BM25 (``bm25_weight``, default 0.3) and cosine, each min-max scaled over the union of
    the best 100 chunks of both. The statements of a chunk come in reading order. Each question takes one graph call, and
    one vector call, or two with ``fused``. If the embedding model fails, ``fused`` uses BM25 alone, with a warning, and
    ``vector`` raises ``ModelUnavailable``. ``args`` are those of
    :class:`~lexigraph.retrieval.stages.args.ResultArgs` and, with ``fused``, ``bm25_weight``.
    """

    def __init__(
        self,
        graph_store: GraphStore,
        vector_store: VectorStore,
        mode: Mode = "fused",
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
        **args: Any,
    ) -> None:
        super().__init__(graph_store, vector_store, embedder, settings)
        self.mode = mode
        self.parameters(mode).check(args)
        self.args = BaselineArgs.of(args)

    @staticmethod
    def parameters(mode: Mode) -> Known:
        """Return the parameters that have an effect in a mode. Raise ``InvalidInput`` for an unknown mode."""
        if mode not in get_args(Mode):
            raise InvalidInput(f"mode {mode!r} is unknown: use one of {', '.join(get_args(Mode))}")
        fused = mode == "fused"
        return Known(names_of(BaselineArgs if fused else ResultArgs), {} if fused else {"bm25_weight": "mode fused"})

    def _find(self, stores: BoundStores, text: str) -> SearchResults:
        parts = self._scores(stores, text)
        scores = {i: sum(p.values()) for i, p in parts.items()}
        best = sorted(scores, key=lambda i: (-round(scores[i], 6), i))[:_POOL]
        rows = stores.evidence(
            "evidence", EvidenceRequest(chunks=tuple(best), neighbours=False, facts=self.args.include_facts)
        )
        looked_at, ranked = looking(read_on(rows, parts))
        return SearchResults(text, assemble(ranked, self.args, by_chunk(rows)), looked_at=looked_at)

    def _scores(self, stores: BoundStores, text: str) -> dict[str, dict[str, float]]:
        """Return the scaled parts of each chunk's score."""
        vector = None if self.mode == "bm25" else self._vector(text, stores.trace)
        requests = [SearchRequest("chunk", vector=vector, k=_POOL)] if vector is not None else []
        if self.mode != "vector":
            requests.append(SearchRequest("chunk", text=text, k=_POOL))
        found = [{hit.id: hit.score for hit in hits} for hits in stores.search("search", requests)]
        union = tuple(sorted({i for scores in found for i in scores}))
        if len(found) < 2:
            return {i: {"bm25" if vector is None else "vector": value} for i, value in _scaled(found[0], union).items()}
        exact = stores.search("scores", _of_ids(requests, union)) if union else [[], []]
        cosine, bm25 = (_scaled({hit.id: hit.score for hit in hits}, union) for hits in exact)
        share = self.args.bm25_weight
        return {i: {"vector": (1 - share) * cosine[i], "bm25": share * bm25[i]} for i in union}

    def _vector(self, text: str, trace: Trace) -> FloatArray | None:
        if self.mode == "fused":
            return self.models.vectors([text], trace)[0]
        with trace.step("embed"):
            vector: FloatArray = self.models.embedder.embed_questions([text])[0]
        return vector


def _of_ids(requests: Sequence[SearchRequest], ids: tuple[str, ...]) -> list[SearchRequest]:
    return [SearchRequest(r.index, vector=r.vector, text=r.text, ids=ids) for r in requests]


def _scaled(scores: Mapping[str, float], union: Sequence[str]) -> dict[str, float]:
    """Scale to 0..1 over the union; what no search found has the lowest score, 0 for BM25."""
    return dict(zip(union, min_max([scores.get(i, 0.0) for i in union], equal=1.0), strict=True))
