"""What tools return: what a model reads, and nothing that only a program would.

A client hands the whole result to its model: with score parts, second wordings, neighbours and timings, a search limited to
2,000 tokens would fill 10,000 of the model's.
"""

from collections.abc import Mapping
from typing import Any

from lexigraph.model.results import ScoredStatement, SearchResults

_CITED = ("label", "text", "resolved", "kind", "title", "uri", "document_id", "statement_id", "start", "end")
_ANSWER = ("question", "rewritten", "answer", "answerable", "confidence", "extractive", "unsupported", "warnings")


def found(results: SearchResults) -> dict[str, Any]:
    """Return the statements with their documents and reasons, best first."""
    groups = [
        {
            "title": result.source.title,
            "topic": result.topic,
            "uri": result.source.uri,
            "document_id": result.source.id,
            "statements": [_statement(s) for s in result.statements],
        }
        for result in results.results
    ]
    return {"results": groups, "warnings": [{"type": w.type, "detail": w.detail} for w in results.warnings]}


def answered(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a reply to ``/query``, with the sources that it cites."""
    cited = {reference["label"] for reference in reply["references"]}
    sources = [source for source in reply["sources"] if source["label"] in cited]
    return {
        **{name: reply[name] for name in _ANSWER},
        "sources": [{name: source[name] for name in _CITED if source[name] != ""} for source in sources],
    }


def _statement(s: ScoredStatement) -> dict[str, Any]:
    told = {"text": s.text, "score": s.score, "reason": s.reason, "id": s.id, "start": s.start, "end": s.end}
    path = {"path": list(s.path)} if s.path else {}
    kind = {"kind": s.kind} if s.kind != "prose" else {}
    return {**told, **path, **kind}
