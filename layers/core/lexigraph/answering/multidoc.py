"""An answer from several documents: what a synthesizer retrieved, put into words (W-18)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lexigraph.answering.context import Turn
from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.answering.support import Unsupported
from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.multidoc import MultidocContext
from lexigraph.model.question import Question
from lexigraph.model.results import Citation, Notice, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.multidoc.articles import RetrievalFailed
from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer
from lexigraph.retrieval.stages.args import ResultArgs
from lexigraph.retrieval.stages.results import assemble, by_chunk, looking, read_on
from lexigraph.storage.protocols import EvidenceRequest

MAX_EXAMPLES = 20

Example = tuple[str, str] | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MultidocAnswer:
    """An answer with the context it was made from. ``citations`` are what its labels (``[S1]``) stand for, ``unsupported``
    what of it they do not bear out.
    """

    answer: str
    context: MultidocContext
    citations: tuple[Citation, ...] = ()
    extractive: bool = False
    warnings: tuple[Notice, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    confidence: float = 1.0
    answerable: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the reference page's answer, sources, facts and num_articles, and what else is known."""
        context = self.context.to_dict()
        return {
            "answer": self.answer,
            "sources": context["sources"],
            "facts": context["facts"],
            "num_articles": len(self.context.articles),
            "fact_support": context["fact_support"],
            "best_relevance": context["best_relevance"],
            "articles": context["articles"],
            "sections": context["sections"],
            "citations": [asdict(c) for c in self.citations],
            "unsupported": [asdict(u) for u in self.unsupported],
            "answerable": self.answerable,
            "confidence": self.confidence,
            "extractive": self.extractive,
            "warnings": [asdict(w) for w in self.warnings],
        }


def query_multidoc(
    synthesizer: MultiDocSynthesizer,
    question: str,
    embedding_generator: Embedder,
    *,
    llm: LanguageModel | None = None,
    examples: Sequence[Example] = (),
    **answering: Any,
) -> MultidocAnswer:
    """Answer a question from the sections that a synthesizer finds.

    The language model is shown the statements of these sections and cites them; without one, or when it fails, the best of
    them are quoted. ``examples`` are up to 20 (question, answer) pairs, or objects with these, that show the model how to
    answer (W-25). ``answering`` are arguments of :class:`~lexigraph.answering.query_engine.AnswerArgs`. One graph call more
    than :meth:`MultiDocSynthesizer.find`, and the same errors.
    """
    turns = _turns(examples)
    context = synthesizer.find(question, embedding_generator)
    answering = {**answering, "complete_followups": False}  # examples are no conversation
    engine = LexicalGraphQueryEngine(_Found(synthesizer, context), llm, tenant=synthesizer.tenant, **answering)
    answer = engine.query(context.question, filters=synthesizer.filters, history=turns)
    return MultidocAnswer(
        answer=answer.response,
        context=context,
        citations=answer.citations,
        extractive=answer.extractive,
        warnings=answer.warnings,
        unsupported=answer.unsupported,
        confidence=answer.confidence,
        answerable=answer.answerable,
    )


class _Found:
    """A retriever that returns the statements of the sections found already."""

    def __init__(self, synthesizer: MultiDocSynthesizer, context: MultidocContext) -> None:
        self.synthesizer, self.context = synthesizer, context

    def retrieve(self, tenant: Tenant, question: Question) -> SearchResults:
        parts = {s["section_id"]: {"relevance": s["relevance_score"]} for s in self.context.sections}
        request = EvidenceRequest(chunks=tuple(parts), neighbours=False, filters=question.filters)
        try:
            rows = self.synthesizer.conn.graph.evidence(tenant, request) if parts else []
        except StoreUnavailable as error:
            raise RetrievalFailed(str(error)) from error
        everything = ResultArgs(max_search_results=None, max_statements_per_topic=None)
        cosines = {s["section_id"]: 2 * s["relevance_score"] - 1 for s in self.context.sections}
        looked_at, ranked = looking(read_on(rows, parts))
        return SearchResults(
            question.text,
            assemble(ranked, everything, by_chunk(rows)),
            looked_at=looked_at,
            warnings=self.context.warnings,
            cosines=cosines,
            nearest=max(cosines.values(), default=None),
            embedding=self.synthesizer.conn.vectors.label,
        )


def _turns(examples: Sequence[Example]) -> list[Turn]:
    """Return examples as turns of a conversation. Raise ``InvalidInput`` for anything else."""
    if not isinstance(examples, (list, tuple)) or len(examples) > MAX_EXAMPLES:
        raise InvalidInput(f"examples must be a list of at most {MAX_EXAMPLES} question and answer pairs")
    turns: list[Turn] = []
    for example in examples:
        pair = (example.get("question"), example.get("answer")) if isinstance(example, Mapping) else example
        match pair:
            case (str(asked), str(told)) if asked.strip() and told.strip():
                turns += [("user", asked), ("assistant", told)]
            case _:
                raise InvalidInput(
                    "examples: each item must be a (question, answer) pair or an object with 'question' and 'answer'"
                )
    return turns
