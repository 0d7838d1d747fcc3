"""From a request to ``/query`` to its reply: asked, remembered, and in the reference's shape (E-42 to E-46)."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from lexigraph.answering.response import QueryResponse, StreamingQueryResponse
from lexigraph.api.schemas.query import QueryRequest
from lexigraph.api.schemas.search import EvidenceReply
from lexigraph.api.service import Service
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.results import Citation, ScoredStatement
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.drawing import draw, locate
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.stages.results import CONTEXT
from lexigraph.storage.protocols import EvidenceRequest

_MOST_ENTITIES = 50
# a reply with one of these would be another a moment later
_PASSING = frozenset(
    {
        "model_unavailable",
        "answer_cut",
        "embedding_failed",
        "rerank_failed",
        "vector_failed",
        "graph_failed",
        "followup_failed",
    }
)


class Answers:
    """Answers one request."""

    def __init__(self, service: Service, tenant: Tenant, body: QueryRequest) -> None:
        self._service, self._tenant, self._body = service, tenant, body
        asked = body.model_dump(exclude={"stream"})
        self._key = service.answer_key(tenant, "query", asked)

    def whole(self) -> dict[str, Any]:
        """Return the reply, remembered or new."""
        return self.known() or self.finish(self.begin())

    def known(self) -> dict[str, Any] | None:
        """Return the reply when it is remembered, whether it was asked for whole or in pieces."""
        known = self._service.answers.get(self._key)
        return None if known is None else {**known, "cached": True}

    def begin(self) -> StreamingQueryResponse:
        """Retrieve, and return the answer to come in pieces. Raises like the query engine."""
        body = self._body
        engine = self._service.engine(self._tenant, body.retriever, body.parameters)
        return engine.stream(
            body.question,
            filters=body.where(),
            history=[(turn.role, turn.content) for turn in body.history or ()],
            context=[c if isinstance(c, str) else {"id": c.id or "", "text": c.text} for c in body.context or ()],
            strict=body.strict,
        )

    def finish(self, pieces: StreamingQueryResponse) -> dict[str, Any]:
        """Read the answer to its end; return the reply and remember it."""
        answer = pieces.complete()
        items = answer.results if isinstance(answer.results, HybridResults) else None
        found = {s.id: s for s in answer.results.statements} if answer.results else {}
        sources = [
            _source(at, c, items.item(c.chunk_id) if items and c.reason != CONTEXT else None, found.get(c.statement_id))
            for at, c in enumerate(answer.sources, 1)
        ]
        cited = {c.label for c in answer.citations}
        reply = {
            "question": answer.question,
            "rewritten": answer.rewritten,
            "answer": answer.response,
            "sources": sources,
            "references": [
                {name: s[name] for name in ("label", "id", "score", "composite_score")}
                for s in sources
                if s["label"] in cited
            ],
            "entities": self._entities(answer),
            "unsupported": [asdict(u) for u in answer.unsupported],
            "warnings": [asdict(w) for w in answer.warnings],
            "answerable": answer.answerable,
            "confidence": answer.confidence,
            "extractive": answer.extractive,
            "retriever": self._body.retriever,
            "cached": False,
            "timings": dict(answer.timings),
        }
        if self._body.evidence and answer.results:
            labels = {c.statement_id: c.label for c in answer.sources if c.statement_id}
            drawing = draw(answer.results, most=self._body.evidence_limit, citations=labels)
            locate(drawing, self._service.stores.graph, self._tenant)
            reply["evidence"] = EvidenceReply.of(drawing).model_dump(by_alias=True)
        if not _PASSING & {w.type for w in answer.warnings}:
            self._service.answers.put(self._key, reply)
        return dict(reply)

    def _entities(self, answer: QueryResponse) -> list[dict[str, Any]]:
        """Return the entities that the chunks of the sources name, those of most chunks first."""
        chunks = tuple(dict.fromkeys(c.chunk_id for c in answer.sources if c.chunk_id))
        if not chunks:
            return []
        graph = self._service.stores.graph
        try:
            rows = graph.evidence(self._tenant, EvidenceRequest(chunks=chunks, neighbours=False, facts=False))
            in_chunks = {(entity, row.chunk_id) for row in rows for entity in row.entities}
            counts = Counter(entity for entity, _ in in_chunks)
            best = sorted(counts, key=lambda e: (-counts[e], e))[:_MOST_ENTITIES]
            found = graph.entities(self._tenant, best).found
        except StoreUnavailable:
            return []
        named = [{"id": e, "name": found[e].value, "freq": counts[e]} for e in best if e in found]
        return sorted(named, key=lambda e: (-e["freq"], e["name"]))


def _source(rank: int, citation: Citation, item: HybridItem | None, found: ScoredStatement | None) -> dict[str, Any]:
    return {
        "id": citation.chunk_id or citation.statement_id,
        "label": citation.label,
        "rank": rank,
        "reason": item.reason if item else citation.reason,
        "score": item.score_raw if item else round(citation.score, 4),
        "base_norm": item.base_norm if item else None,
        "bonus": item.bonus if item else None,
        "composite_score": item.composite_score if item else None,
        "final_score": round(citation.score, 4),
        "rel_type": item.rel_type if item else None,
        "rel_conf": item.rel_conf if item else None,
        "statement_id": citation.statement_id,
        "text": citation.text,
        "kind": citation.kind,
        "resolved": citation.resolved,
        "uri": citation.uri,
        "title": citation.title,
        "document_id": citation.source_id,
        "start": citation.start,
        "end": citation.end,
        "path": list(found.path) if found else [],
        "path_ids": list(found.path_ids) if found else [],
        "parts": dict(found.parts) if found else {},
    }
