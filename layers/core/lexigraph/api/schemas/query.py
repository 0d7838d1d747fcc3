"""Questions and cited answers (E-35 to E-46), and the explained ranking (E-59, E-60)."""

from typing import Annotated, Literal

from pydantic import Field

from lexigraph.api.limits import NAME, Body, Reply
from lexigraph.api.schemas.search import (
    Drawn,
    EvidenceReply,
    Filtered,
    ItemReply,
    NoticeReply,
    Parameters,
    QuestionText,
    StatementKind,
)
from lexigraph.model.names import PATTERN
from lexigraph.retrieval.catalogue import RetrieverName

Retriever = Annotated[RetrieverName, Field(description="what finds the statements", examples=["hybrid"])]


class ContextText(Body):
    """A text to draw on beside what is found (E-38)."""

    id: Annotated[str, NAME] | None = Field(
        None,
        description="how sources name it; else a hash of the text",
        min_length=1,
        max_length=200,
        pattern=PATTERN,
        examples=["ext1"],
    )
    text: str = Field(description="the text", min_length=1, max_length=20_000, examples=["A memo on the approval flow."])


class HistoryTurn(Body):
    """An earlier turn of the conversation (E-39)."""

    role: Literal["user", "assistant"] = Field(description="who spoke", examples=["user"])
    content: str = Field(
        description="what was said", min_length=1, max_length=20_000, examples=["Do you support hybrid retrieval?"]
    )


ContextString = Annotated[str, Field(min_length=1, max_length=20_000, examples=["A plain text."])]


class QueryRequest(Drawn):
    """A question for an answer with citations."""

    question: QuestionText = Field(description="as it was asked")
    stream: bool = Field(default=False, description="answer as server-sent events", examples=[False])
    strict: bool = Field(
        default=False, description="leave out what a model says and its citations do not bear out", examples=[False]
    )
    # clients that fill in every field send null for a list that they do not have
    context: list[ContextText | ContextString] | None = Field(
        default_factory=list,
        max_length=20,
        description="texts to draw on, too",
        examples=[[{"id": "ext1", "text": "A memo."}]],
    )
    history: list[HistoryTurn] | None = Field(
        default_factory=list,
        max_length=50,
        description="earlier turns, oldest first; they complete a question that leans on them",
        examples=[[{"role": "user", "content": "Hello"}]],
    )
    retriever: Retriever = "hybrid"
    parameters: Parameters = Field(default_factory=dict)


class PathRelation(Reply):
    """How two names of a path that follow each other are related, as a fact of the sources says it."""

    label: str = Field(description="the predicate; empty where no fact of the sources has both", examples=["leads"])
    reverse: bool = Field(description="the second is its subject", examples=[False])


class SourceReply(Reply):
    """What an answer may cite (E-43): a statement, or an external text. Ranks count from 1; 0 is a warning."""

    id: str = Field(description="of the chunk, or of the external text", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(description="as the answer cites it", examples=["S1"])
    rank: int = Field(description="from 1; 0 is a warning", examples=[1])
    reason: str = Field(description="how it was found", examples=["vector"])
    score: float | None = Field(description="cosine with the question, or the retriever's score", examples=[0.8421])
    base_norm: float | None = Field(description="min-max of the cosines in this set", examples=[0.73])
    bonus: float | None = Field(description="words, relations and centrality", examples=[0.12])
    composite_score: float | None = Field(description="base_norm and bonus", examples=[0.85])
    final_score: float = Field(
        description="of the statement itself, 0 to 1: what a model is offered goes by it; 0 of an external text",
        examples=[0.61],
    )
    rel_type: str | None = Field(description="kind of the relation that counted in bonus", examples=[None])
    rel_conf: float | None = Field(description="confidence of that relation, 0 to 1", examples=[None])
    statement_id: str = Field(
        description="of the statement, empty for an external text", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"]
    )
    text: str = Field(description="the words of the document", examples=["She signs what Tove Lund approves."])
    kind: StatementKind = "prose"
    resolved: str = Field(
        "",
        description="the same so that it stands alone, where the words of the document do not; else empty",
        examples=["Mira Holm signs what Tove Lund approves."],
    )
    uri: str = Field(description="where the document comes from", examples=["upload://default/flow.md"])
    title: str = Field(description="title of the document", examples=["The approval flow"])
    document_id: str = Field(
        "", description="of the document; empty for an external text", examples=["source:3c067f04242ced37302a063b8b72672e"]
    )
    start: int = Field(description="offset in the parsed document", examples=[127])
    end: int = Field(description="offset behind its last character", examples=[168])
    path: list[str] = Field(default_factory=list, description="names that led to it", examples=[["Approval", "Mira Holm"]])
    path_ids: list[str] = Field(
        default_factory=list,
        description="the ids of these",
        examples=[["chunk:3c067f04242ced37302a063b8b72672e", "entity:3c067f04242ced37302a063b8b72672e"]],
    )
    path_relations: list[PathRelation] = Field(
        default_factory=list, description="between each two of `path`, one less than these"
    )
    ranks: dict[str, int] = Field(
        default_factory=dict,
        description="place, from 1, of its chunk (`vector`, `bm25`) in each search that found it; where the search was for "
        "statements, of the statement",
        examples=[{"vector": 1, "bm25": 4}],
    )
    parts: dict[str, float] = Field(
        default_factory=dict, description="what `final_score` is made of", examples=[{"vector": 0.1558, "link": 0.1258}]
    )


class Reference(Reply):
    """A source that the answer cites (E-44)."""

    label: str = Field(description="how the answer names it", examples=["S1"])
    id: str = Field(description="of the chunk", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    score: float | None = Field(description="higher is better", examples=[0.8421])
    composite_score: float | None = Field(description="base_norm and bonus", examples=[0.85])


class UnsupportedReply(Reply):
    """A sentence of a language model that what it cites does not bear out, or a citation in it that bears out nothing."""

    sentence: str = Field(description="as the answer has it", examples=["She signed in 2019 [S1]."])
    type: Literal["name", "number", "negation", "content", "citation"] = Field(
        description="what is wrong", examples=["number"]
    )
    citations: list[str] = Field(description="the labels concerned", examples=[["S1"]])
    reason: str = Field(description="for a reader", examples=["not in S1: 2019"])


class EntityCount(Reply):
    """An entity that the sources name, and in how many chunks they do (E-45)."""

    name: str = Field(description="its name", examples=["Mira Holm"])
    freq: int = Field(description="chunks of the sources that name it", examples=[5])
    id: str = Field("", description="of the entity", examples=["entity:3c067f04242ced37302a063b8b72672e"])


class QueryReply(Reply):
    """An answer, what it may cite and what it cites."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    rewritten: str = Field(
        "", description="what was searched for, where the history completed the question; else empty", examples=[""]
    )
    answer: str = Field(description="with citations", examples=["Mira Holm signs what Tove Lund approves [S1]."])
    sources: list[SourceReply] = Field(description="what the answer may cite")
    references: list[Reference] = Field(description="what it cites")
    entities: list[EntityCount] = Field(description="named by the sources, most frequent first")
    unsupported: list[UnsupportedReply] = Field(description="what its citations do not bear out; left out with `strict`")
    warnings: list[NoticeReply] = Field(description="what went less well")
    answerable: bool = Field(description="the documents seem to answer it", examples=[True])
    confidence: float = Field(description="how sure that is, 0 to 1; below 0.5 it is not", examples=[0.93])
    extractive: bool = Field(description="no language model wrote it: the best statements are quoted", examples=[False])
    retriever: str = Field(description="what found the sources", examples=["hybrid"])
    cached: bool = Field(description="it was remembered", examples=[False])
    timings: dict[str, float] = Field(description="milliseconds", examples=[{"retrieve": 12.5, "total": 830.1}])
    evidence: EvidenceReply | None = Field(None, description="with `evidence`: what led to the statements")


class PreviewRequest(Filtered):
    """A question whose ranking is to be explained."""

    question: QuestionText = Field(description="as it was asked")
    parameters: Parameters = Field(default_factory=dict)


class PreviewReply(Reply):
    """The ranking that ``/query`` uses, all stages, without an answer (E-59)."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    degraded: bool = Field(description="a search that should have taken part failed", examples=[False])
    warn: str | None = Field(None, description="what failed", examples=["the embedding model failed"])
    items: list[ItemReply] = Field(description="best first")
