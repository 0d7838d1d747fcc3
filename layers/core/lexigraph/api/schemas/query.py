"""Questions and cited answers (E-35 to E-46), and the explained ranking (E-59, E-60)."""

from typing import Annotated, Literal

from pydantic import Field

from lexigraph.api.limits import Body, Reply
from lexigraph.api.schemas.search import Filtered, ItemReply, NoticeReply, Parameters, QuestionText
from lexigraph.retrieval.catalogue import RetrieverName

Retriever = Annotated[RetrieverName, Field(description="what finds the statements", examples=["hybrid"])]


class ContextText(Body):
    """A text to draw on beside what is found (E-38)."""

    id: str = Field(min_length=1, max_length=200, examples=["ext1"])
    text: str = Field(min_length=1, max_length=20_000, examples=["A memo on the approval flow."])


class HistoryTurn(Body):
    """An earlier turn of the conversation (E-39)."""

    role: Literal["user", "assistant"] = Field(examples=["user"])
    content: str = Field(min_length=1, max_length=20_000, examples=["Do you support hybrid retrieval?"])


ContextString = Annotated[str, Field(min_length=1, max_length=20_000, examples=["A plain text."])]


class QueryRequest(Filtered):
    """A question for an answer with citations."""

    question: QuestionText
    stream: bool = Field(default=False, description="answer as server-sent events", examples=[False])
    context: list[ContextText | ContextString] = Field(
        default_factory=list,
        max_length=20,
        description="texts to draw on, too",
        examples=[[{"id": "ext1", "text": "A memo."}]],
    )
    history: list[HistoryTurn] = Field(
        default_factory=list,
        max_length=50,
        description="earlier turns, oldest first",
        examples=[[{"role": "user", "content": "Hello"}]],
    )
    retriever: Retriever = "hybrid"
    parameters: Parameters = Field(default_factory=dict)


class SourceReply(Reply):
    """What an answer may cite (E-43): a statement, or an external text. Ranks count from 1; 0 is a warning."""

    id: str = Field(description="of the chunk, or of the external text", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(description="as the answer cites it", examples=["S1"])
    rank: int = Field(examples=[1])
    reason: str = Field(examples=["vector"])
    score: float | None = Field(description="cosine with the question, or the retriever's score", examples=[0.8421])
    base_norm: float | None = Field(examples=[0.73])
    bonus: float | None = Field(examples=[0.12])
    composite_score: float | None = Field(examples=[0.85])
    rel_type: str | None = Field(examples=[None])
    rel_conf: float | None = Field(examples=[None])
    statement_id: str = Field(examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    text: str = Field(examples=["Mira Holm signs what Tove Lund approves."])
    uri: str = Field(examples=["upload://default/flow.md"])
    title: str = Field(examples=["The approval flow"])
    start: int = Field(description="offset in the parsed document", examples=[127])
    end: int = Field(examples=[168])


class Reference(Reply):
    """A source that the answer cites (E-44)."""

    label: str = Field(examples=["S1"])
    id: str = Field(examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    score: float | None = Field(examples=[0.8421])
    composite_score: float | None = Field(examples=[0.85])


class EntityCount(Reply):
    """An entity and how many of the sources' chunks name it (E-45)."""

    name: str = Field(examples=["Mira Holm"])
    freq: int = Field(examples=[5])


class QueryReply(Reply):
    """An answer, what it may cite and what it cites."""

    question: str = Field(examples=["Who signs the approval?"])
    answer: str = Field(examples=["Mira Holm signs what Tove Lund approves [S1]."])
    sources: list[SourceReply]
    references: list[Reference]
    entities: list[EntityCount]
    warnings: list[NoticeReply]
    extractive: bool = Field(description="no language model wrote it: the best statements are quoted", examples=[False])
    retriever: str = Field(examples=["hybrid"])
    cached: bool = Field(description="it was remembered", examples=[False])
    timings: dict[str, float] = Field(description="milliseconds", examples=[{"retrieve": 12.5, "total": 830.1}])


class PreviewRequest(Filtered):
    """A question whose ranking is to be explained."""

    question: QuestionText
    parameters: Parameters = Field(default_factory=dict)


class PreviewReply(Reply):
    """The ranking that ``/query`` uses, all stages, without an answer (E-59)."""

    question: str = Field(examples=["Who signs the approval?"])
    degraded: bool = Field(examples=[False])
    warn: str | None = Field(None, description="what failed", examples=["the embedding model failed"])
    items: list[ItemReply]
