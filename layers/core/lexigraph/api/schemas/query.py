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

Retriever = Annotated[RetrieverName, Field(description="retriever", examples=["hybrid"])]


class ContextText(Body):
    """An external text to use beside what is retrieved (E-38)."""

    id: Annotated[str, NAME] | None = Field(
        None,
        description="id shown in sources; default: a hash of the text",
        min_length=1,
        max_length=200,
        pattern=PATTERN,
        examples=["ext1"],
    )
    text: str = Field(description="the text", min_length=1, max_length=20_000, examples=["A memo on the approval flow."])


class HistoryTurn(Body):
    """An earlier turn of the conversation (E-39)."""

    role: Literal["user", "assistant"] = Field(description="user or assistant", examples=["user"])
    content: str = Field(
        description="what was said", min_length=1, max_length=20_000, examples=["Do you support hybrid retrieval?"]
    )


ContextString = Annotated[str, Field(min_length=1, max_length=20_000, examples=["A plain text."])]


class QueryRequest(Drawn):
    """A question to answer with citations."""

    question: QuestionText = Field(description="as it was asked")
    stream: bool = Field(default=False, description="stream the answer as server-sent events", examples=[False])
    sources_first: bool = Field(
        default=False, description="with `stream`: send what the model may cite also before its answer", examples=[False]
    )
    strict: bool = Field(default=False, description="remove sentences that their citations do not support", examples=[False])
    context: list[ContextText | ContextString] = Field(
        default_factory=list,
        max_length=20,
        description="additional texts to use",
        examples=[[{"id": "ext1", "text": "A memo."}]],
    )
    history: list[HistoryTurn] = Field(
        default_factory=list,
        max_length=50,
        description="earlier turns, oldest first; used to complete follow-up questions",
        examples=[[{"role": "user", "content": "Hello"}]],
    )
    retriever: Retriever = "hybrid"
    parameters: Parameters = Field(default_factory=dict)


class PathRelation(Reply):
    """Relation between two consecutive names of a path, from a fact of the sources."""

    label: str = Field(description="predicate; empty if no fact of the sources relates them", examples=["leads"])
    reverse: bool = Field(description="true if the second name is the subject", examples=[False])


class SourceReply(Reply):
    """A source that an answer may cite (E-43): a statement or an external text. Ranks start at 1."""

    id: str = Field(description="id of the chunk or external text", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    label: str = Field(description="citation label", examples=["S1"])
    rank: int = Field(description="from 1; 0 is a warning", examples=[1])
    reason: str = Field(description="how it was found", examples=["vector"])
    score: float | None = Field(description="cosine similarity to the question, or the retriever's score", examples=[0.8421])
    base_norm: float | None = Field(description="cosine similarity, min-max scaled within the results", examples=[0.73])
    bonus: float | None = Field(description="BM25, relation and centrality bonus", examples=[0.12])
    composite_score: float | None = Field(description="base_norm and bonus", examples=[0.85])
    final_score: float = Field(
        description="score of the statement, 0 to 1; 0 for an external text",
        examples=[0.61],
    )
    rel_type: str | None = Field(description="type of the relation that contributed to `bonus`", examples=[None])
    rel_conf: float | None = Field(description="confidence of that relation, 0 to 1", examples=[None])
    statement_id: str = Field(
        description="statement id; empty for an external text", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"]
    )
    text: str = Field(description="wording of the document", examples=["She signs what Tove Lund approves."])
    kind: StatementKind = "prose"
    resolved: str = Field(
        "",
        description="self-contained form of `text`, if it differs; else empty",
        examples=["Mira Holm signs what Tove Lund approves."],
    )
    uri: str = Field(description="URI of the document", examples=["upload://default/flow.md"])
    title: str = Field(description="title of the document", examples=["The approval flow"])
    document_id: str = Field(
        "", description="document id; empty for an external text", examples=["source:3c067f04242ced37302a063b8b72672e"]
    )
    start: int = Field(description="start offset in the parsed text", examples=[127])
    end: int = Field(description="end offset (exclusive)", examples=[168])
    path: list[str] = Field(
        default_factory=list, description="names on the path to it", examples=[["Approval", "Mira Holm"]]
    )
    path_ids: list[str] = Field(
        default_factory=list,
        description="ids of the nodes on the path",
        examples=[["chunk:3c067f04242ced37302a063b8b72672e", "entity:3c067f04242ced37302a063b8b72672e"]],
    )
    path_relations: list[PathRelation] = Field(
        default_factory=list, description="relations between consecutive names of `path`"
    )
    ranks: dict[str, int] = Field(
        default_factory=dict,
        description="place, from 1, of its chunk (`vector`, `bm25`) in each search that found it; where the search was for "
        "statements, of the statement",
        examples=[{"vector": 1, "bm25": 4}],
    )
    parts: dict[str, float] = Field(
        default_factory=dict, description="parts of `final_score`", examples=[{"vector": 0.1558, "link": 0.1258}]
    )


class Reference(Reply):
    """A source that the answer cites (E-44)."""

    label: str = Field(description="citation label", examples=["S1"])
    id: str = Field(description="chunk id", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    score: float | None = Field(description="higher is better", examples=[0.8421])
    composite_score: float | None = Field(description="base_norm and bonus", examples=[0.85])


class UnsupportedReply(Reply):
    """A sentence of the answer that its citations do not support, or a citation that supports nothing in it."""

    sentence: str = Field(description="sentence", examples=["She signed in 2019 [S1]."])
    type: Literal["name", "number", "negation", "content", "citation"] = Field(
        description="kind of problem", examples=["number"]
    )
    citations: list[str] = Field(description="citation labels concerned", examples=[["S1"]])
    reason: str = Field(description="human-readable explanation", examples=["not in S1: 2019"])


class EntityCount(Reply):
    """An entity named by the sources, with the number of chunks that name it (E-45)."""

    name: str = Field(description="name", examples=["Mira Holm"])
    freq: int = Field(description="chunks of the sources that name it", examples=[5])
    id: str = Field("", description="entity id", examples=["entity:3c067f04242ced37302a063b8b72672e"])


class QueryReply(Reply):
    """An answer with its sources and citations."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    rewritten: str = Field("", description="rewritten question, if the history completed it; else empty", examples=[""])
    answer: str = Field(description="with citations", examples=["Mira Holm signs what Tove Lund approves [S1]."])
    sources: list[SourceReply] = Field(description="sources")
    references: list[Reference] = Field(description="cited sources")
    entities: list[EntityCount] = Field(description="entities named by the sources, most frequent first")
    unsupported: list[UnsupportedReply] = Field(
        description="sentences not supported by their citations; removed with `strict`"
    )
    warnings: list[NoticeReply] = Field(description="warnings")
    answerable: bool = Field(description="whether the documents appear to answer the question", examples=[True])
    confidence: float = Field(description="confidence that the question is answerable, 0 to 1", examples=[0.93])
    extractive: bool = Field(
        description="true if no language model was used: the best statements are quoted", examples=[False]
    )
    retriever: str = Field(description="retriever used", examples=["hybrid"])
    cached: bool = Field(description="true if the answer came from the cache", examples=[False])
    timings: dict[str, float] = Field(description="milliseconds", examples=[{"retrieve": 12.5, "total": 830.1}])
    evidence: EvidenceReply | None = Field(None, description="with `evidence`: the evidence graph")


class PreviewRequest(Filtered):
    """A question whose ranking is to be explained."""

    question: QuestionText = Field(description="as it was asked")
    parameters: Parameters = Field(default_factory=dict)


class PreviewReply(Reply):
    """The ranking used by ``/query``, with all stages, without an answer (E-59)."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    degraded: bool = Field(description="true if one of the searches failed", examples=[False])
    warn: str | None = Field(None, description="description of the failure", examples=["the embedding model failed"])
    items: list[ItemReply] = Field(description="best first")
    warnings: list[NoticeReply] = Field(description="warnings")
