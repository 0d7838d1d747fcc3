"""From a request to ``/query`` to its reply: asked, remembered, and in the reference's shape (E-42 to E-46)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from lexigraph.answering.response import StreamingQueryResponse
from lexigraph.api.schemas.query import QueryRequest
from lexigraph.api.schemas.search import EvidenceReply
from lexigraph.api.service import Service
from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.graph import StatementRow
from lexigraph.model.normalise import entity_key
from lexigraph.model.results import Citation, ScoredStatement, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.drawing import draw, locate
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.stages.results import CONTEXT
from lexigraph.storage.protocols import EvidenceRequest

_MOST_ENTITIES = 50
# a reply with one of these would be another a moment later, as would one that a step had no part in (``..._failed``)
_PASSING = frozenset({"model_unavailable", "answer_cut", "store_damaged"})


class Answers:
    """Answers one request."""

    def __init__(self, service: Service, tenant: Tenant, body: QueryRequest) -> None:
        self._service, self._tenant, self._body = service, tenant, body
        asked = body.model_dump(exclude={"stream", "sources_first"})
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
            history=[(turn.role, turn.content) for turn in body.history],
            context=[c if isinstance(c, str) else {"id": c.id or "", "text": c.text} for c in body.context],
            strict=body.strict,
        )

    def finish(self, pieces: StreamingQueryResponse) -> dict[str, Any]:
        """Read the answer to its end; return the reply and remember it."""
        answer = pieces.complete()
        rows = self._rows(answer.sources)
        sources = _sources(answer.sources, answer.results, rows)
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
            "entities": self._entities(rows, {c.statement_id for c in answer.sources}),
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
        if not any(w.type in _PASSING or w.type.endswith("_failed") for w in answer.warnings):
            self._service.answers.put(self._key, reply)
        return dict(reply)

    def offered(self, pieces: StreamingQueryResponse) -> list[dict[str, Any]]:
        """Return the sources that the answer may cite, before it is there, if that is asked for."""
        if not (self._body.sources_first and pieces.offered):
            return []
        return _sources(pieces.offered, pieces.results, self._rows(pieces.offered))

    def _rows(self, sources: Sequence[Citation]) -> list[StatementRow]:
        """Return what the chunks of the sources say."""
        chunks = tuple(dict.fromkeys(c.chunk_id for c in sources if c.chunk_id))
        request = EvidenceRequest(chunks=chunks, neighbours=False)
        try:
            return self._service.stores.graph.evidence(self._tenant, request) if chunks else []
        except StoreUnavailable:
            return []

    def _entities(self, rows: Sequence[StatementRow], shown: AbstractSet[str]) -> list[dict[str, Any]]:
        """Return the entities that the statements ``shown`` name, those of most chunks first."""
        in_chunks = {(entity, row.chunk_id) for row in rows if row.id in shown for entity in row.entities}
        counts = Counter(entity for entity, _ in in_chunks)
        best = sorted(counts, key=lambda e: (-counts[e], e))[:_MOST_ENTITIES]
        try:
            found = self._service.stores.graph.entities(self._tenant, best).found if best else {}
        except StoreUnavailable:
            return []
        named = [{"id": e, "name": found[e].value, "freq": counts[e]} for e in best if e in found]
        return sorted(named, key=lambda e: (-e["freq"], e["name"]))


def _relation(stated: Mapping[tuple[str, str], str], first: str, second: str) -> dict[str, Any]:
    """Return how two stops of a path are related, in the direction that is stated."""
    forward, back = stated.get((first, second), ""), stated.get((second, first), "")
    return {"label": forward or back, "reverse": bool(back and not forward)}


def _sources(cited: Sequence[Citation], results: SearchResults | None, rows: Sequence[StatementRow]) -> list[dict[str, Any]]:
    items = results if isinstance(results, HybridResults) else None
    found = {s.id: s for s in results.statements} if results else {}
    facts = [fact for row in reversed(rows) for fact in row.facts]
    stated = {(entity_key(f.subject), entity_key(f.object)): f.predicate for f in facts}
    ranks = results.ranks if results else {}
    sources = []
    for at, c in enumerate(cited, 1):
        beside = c.reason == CONTEXT  # no search found it
        item = items.item(c.chunk_id) if items and not beside else None
        places = {} if beside else {**ranks.get(c.statement_id, {}), **ranks.get(c.chunk_id, {})}
        sources.append(_source(at, c, item, found.get(c.statement_id), stated, places))
    return sources


def _source(
    rank: int,
    citation: Citation,
    item: HybridItem | None,
    found: ScoredStatement | None,
    stated: Mapping[tuple[str, str], str],
    ranks: Mapping[str, int],
) -> dict[str, Any]:
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
        "path_relations": [_relation(stated, *pair) for pair in pairwise(map(entity_key, found.path))] if found else [],
        "ranks": dict(ranks),
        "parts": dict(found.parts) if found else {},
    }
