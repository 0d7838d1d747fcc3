"""Answers from several documents (W)."""

from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from lexigraph.answering.multidoc import query_multidoc
from lexigraph.api.access.auth import Reader
from lexigraph.api.leaving import unless_left
from lexigraph.api.limits import Body, Reply
from lexigraph.api.schemas.query import UnsupportedReply
from lexigraph.api.schemas.search import Filtered, NoticeReply, QuestionText
from lexigraph.api.service import TheService
from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer

router = APIRouter(prefix="/query", tags=["query"])


class FewShot(Body):
    """A question with its answer, as an example (W-25)."""

    question: str = Field(description="a question", min_length=1, max_length=4_000, examples=["What is X?"])
    answer: str = Field(description="its answer", min_length=1, max_length=20_000, examples=["X is a thing [S1]."])


class MultidocRequest(Filtered):
    """A question over several documents; unset parameters come from the preset (W-19)."""

    question: QuestionText = Field(description="as it was asked")
    preset: Literal["factual", "explanatory", "comprehensive", "specific"] = Field(
        "explanatory", description="preset that gives the defaults", examples=["explanatory"]
    )
    num_docs: int | None = Field(None, ge=1, le=10, description="maximum number of articles", examples=[5])
    max_sections: int | None = Field(None, ge=1, le=10, description="maximum sections per article", examples=[3])
    min_relevance: float | None = Field(None, ge=0, le=1, description="(1 + cosine) / 2 at least", examples=[0.7])
    min_fact_chars: int = Field(9, ge=0, le=1_000, description="minimum length of a fact", examples=[20])
    reranker: Literal["tfidf", "bedrock", "model"] | None = Field(
        None, description="ordering of articles", examples=["tfidf"]
    )
    examples: list[FewShot] = Field(
        description="questions with answers, as examples for the model", default_factory=list, max_length=20
    )


class Article(Reply):
    """A document used for the answer (W-09)."""

    title: str = Field(description="title of the document", examples=["Quantum_entanglement"])
    category: str = Field(description="category, from the metadata", examples=["Physics"])
    word_count: int = Field(description="number of words in the document", examples=[5234])
    relevance: float = Field(description="summed relevance of its sections", examples=[1.75])
    source_id: str = Field(description="id of the document", examples=["source:3c067f04242ced37302a063b8b72672e"])
    uri: str = Field(description="URI of the document", examples=["upload://default/entanglement.md"])
    namespace: str = Field(description="namespace", examples=["default"])


class MultidocReply(Reply):
    """An answer with articles, sections and facts (W-09 to W-12, W-18)."""

    answer: str = Field(description="with citations", examples=["Entanglement links particles [S1]."])
    sources: list[str] = Field(description="titles in rank order", examples=[["Quantum_entanglement"]])
    facts: list[str] = Field(description="sentences of the sections", examples=[["Quantum entanglement links particles."]])
    num_articles: int = Field(description="number of articles used", examples=[1])
    fact_support: list[int] = Field(description="section ids by fact", examples=[[1]])
    best_relevance: float | None = Field(
        description="relevance of the best section, even if below the threshold; null if there is none", examples=[0.923]
    )
    articles: list[Article] = Field(description="best first")
    sections: list[dict[str, Any]] = Field(
        description="section_id, title, content, article_title, relevance_score",
        examples=[[{"section_id": "chunk:3c06", "title": "Introduction", "relevance_score": 0.923}]],
    )
    citations: list[dict[str, Any]] = Field(description="sources by label", examples=[[{"label": "S1"}]])
    unsupported: list[UnsupportedReply] = Field(description="sentences not supported by their citations")
    answerable: bool = Field(description="whether the documents appear to answer the question", examples=[True])
    confidence: float = Field(description="confidence that the question is answerable, 0 to 1", examples=[0.93])
    extractive: bool = Field(description="true if no language model wrote the answer", examples=[False])
    warnings: list[NoticeReply] = Field(description="warnings")


@router.post(
    "/multidoc",
    operation_id="query_multidoc",
    summary="Answer from several documents",
    response_model=MultidocReply,
)
async def multidoc(request: Request, who: Reader, service: TheService, body: MultidocRequest) -> dict[str, Any]:
    """Answer from the best sections of the best articles. Repeated questions are cached (W-20)."""

    def work() -> dict[str, Any]:
        key = service.answer_key(who.tenant, "multidoc", body.model_dump())
        if (known := service.answers.get(key)) is not None:
            return dict(known)
        synthesizer = MultiDocSynthesizer(
            service.stores,
            body.num_docs,
            body.max_sections,
            body.min_relevance,
            preset=body.preset,
            tenant=who.tenant,
            filters=body.where(),
            min_fact_chars=body.min_fact_chars,
            reranker=body.reranker,
            settings=service.settings,
        )
        examples = [(e.question, e.answer) for e in body.examples]
        answer = query_multidoc(
            synthesizer, body.question, service.embedder(who.tenant), llm=service.llm, examples=examples
        ).to_dict()
        if not answer["warnings"]:
            service.answers.put(key, answer)
        return answer

    return await unless_left(request, service.run(work, asks=who.tenant.whole))
