"""Probes of the models: one call of each kind, as short as it can be."""

from functions.probes.report import ProbeFailed, Report
from functions.settings import settings
from lexigraph.inference.factory import make_embedder, make_llm, make_reranker
from lexigraph.inference.protocols import Prompt
from lexigraph.settings import Settings

_SECONDS, _TRIES, _TOKENS = 20.0, 2, 64
_WORD, _SCHEMA = "harbour", {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
_OTHER = "name another model with -c llm= or -c embedding_model=, and report the probe's JSON"


def embed(report: Report) -> None:
    """Embed a word."""
    made = _hurried()
    with report.part("models.embed", f"a word embedded by {made.embedding_model}") as detail:
        found = make_embedder(made).embed_questions([_WORD])
        detail["dimension"] = int(found.shape[1])
        if found.shape != (1, made.embedding.dimension):
            raise ProbeFailed(f"{found.shape[1]} numbers instead of {made.embedding.dimension}", _OTHER)


def converse(report: Report, *, streamed: bool = False) -> None:
    """Have the language model call a tool, as extraction does; ``streamed``: also write a word in pieces."""
    made = _hurried()
    llm = make_llm(made)
    if llm is None:
        return report.skip("models.converse", "a reply by a tool", "no language model is configured")
    with report.part("models.converse", f"a reply of {made.llm} by a tool"):
        reply = llm.structured(Prompt(f"Give the word {_WORD}.", max_tokens=_TOKENS), _SCHEMA)
        if not isinstance(reply, dict) or not isinstance(reply.get("word"), str):
            raise ProbeFailed("the model does not keep to the schema of a tool", _OTHER)
    if streamed:
        with report.part("models.stream", f"a reply of {made.llm} in pieces") as detail:
            pieces = list(llm.stream(Prompt(f"Write the word {_WORD}.", max_tokens=_TOKENS)))
            detail["pieces"] = len(pieces)
            if not "".join(pieces).strip():
                raise ProbeFailed("the model streams nothing", _OTHER)
    return None


def rerank(report: Report) -> None:
    """Rank two texts, where the deployment reranks by Bedrock."""
    made = _hurried()
    what = f"two texts ranked by {made.rerank_model}"
    if made.rerank_model == "none":
        return report.skip("models.rerank", "two texts ranked", "no model of Bedrock reranks here (-c rerank_model=...)")
    with report.part("models.rerank", what) as detail:
        reranker = make_reranker("bedrock", made)
        scores = reranker.score(["Who leads the team?"], ["Ines leads the team.", "It rains."]) if reranker else []
        detail["scores"] = scores
        if len(scores) != 2 or scores[0] <= scores[1]:
            raise ProbeFailed("the ranking is not one", _OTHER)
    return None


def _hurried() -> Settings:
    """Return the settings with a patience that fits into one call of `query`."""
    return settings().model_copy(update={"model_timeout": _SECONDS, "model_attempts": _TRIES})
