"""Questions for statements, and the one envelope of every retriever (G-09, G-20)."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from lexigraph.api.errors import A_WORD
from lexigraph.api.limits import Body, Reply
from lexigraph.model.filters import MAX_KEY_CHARS, Filter, Operator, parse_filter
from lexigraph.retrieval.drawing import Drawing

QuestionText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100_000,
        pattern=A_WORD,
        description="in natural language",
        examples=["Who signs the approval?"],
    ),
]
Word = Annotated[str, Field(max_length=1_000)]
Scalar = bool | int | float | Word
Key = Annotated[
    str, Field(max_length=MAX_KEY_CHARS, description="of the metadata; also namespace, uri, title", examples=["year"])
]
Parameters = Annotated[
    dict[
        Annotated[str, Field(max_length=64)],
        bool | Annotated[int, Field(ge=-(2**53), le=2**53)] | float | Annotated[str, Field(max_length=200)] | None,
    ],
    Field(max_length=50, description="of the retriever, by name", examples=[{"max_search_results": 10}]),
]


def _known(operator: Any) -> Any:
    # its own type names only those that compare with one value
    if operator not in get_args(Operator):
        raise ValueError(f"must be one of {', '.join(get_args(Operator))}")
    return operator


class Comparison(Body):
    """A condition on a value of the metadata. Only values of one type compare."""

    key: Key = Field(description="id of the node")
    operator: Annotated[Literal["==", "!=", "<", "<=", ">", ">="], BeforeValidator(_known)] = Field(
        "==", description="how it compares", examples=[">="]
    )
    value: Scalar = Field(description="what it is compared with", examples=[2020])


class Membership(Body):
    """A condition on whether a value of the metadata is in a list."""

    key: Key = Field(description="id of the node")
    operator: Literal["in", "not_in"] = Field(description="in the list, or not", examples=["in"])
    value: list[Scalar] = Field(max_length=1_000, description="the list", examples=[[2020, 2021]])


class Combination(Body):
    """``and`` or ``or`` over conditions; ``not`` negates all of them together. At most 100 conditions in all."""

    condition: Literal["and", "or", "not"] = Field("and", description="how they are combined", examples=["or"])
    filters: list["AnyFilter"] = Field(
        min_length=1,
        max_length=40,
        description="the conditions",
        examples=[[{"key": "year", "operator": ">=", "value": 2020}]],
    )


def _shape(given: Any) -> str:
    # what is read is a dict, what is written is one of the models
    fields = given if isinstance(given, dict) else getattr(given, "__dict__", {})
    if "filters" in fields:
        return "combination"
    return "membership" if fields.get("operator") in ("in", "not_in") else "comparison"


AnyFilter = Annotated[
    Annotated[Comparison, Tag("comparison")]
    | Annotated[Membership, Tag("membership")]
    | Annotated[Combination, Tag("combination")],
    Discriminator(_shape),
]


class Filtered(Body):
    """Base of questions that may be narrowed to some documents."""

    filters: AnyFilter | None = Field(
        None, description="on metadata of documents", examples=[{"key": "year", "operator": ">=", "value": 2020}]
    )

    def where(self) -> Filter | None:
        """Return the filter. Raise ``InvalidInput`` for more than 100 conditions."""
        return parse_filter(self.filters.model_dump() if self.filters else None)


class Drawn(Filtered):
    """Base of questions whose evidence may be drawn as a graph."""

    evidence: bool = Field(False, description="tell what led to the statements, as a graph", examples=[False])
    evidence_limit: int = Field(120, ge=1, le=500, description="at most so many nodes of that graph", examples=[120])


class RetrieveRequest(Drawn):
    """A question for ranked statements."""

    question: QuestionText = Field(description="as it was asked")
    parameters: Parameters = Field(default_factory=dict)


class NoticeReply(Reply):
    """Something went less well than it should; ``type`` is stable."""

    type: str = Field(description="stable and machine readable", examples=["rerank_failed"])
    detail: str = Field(description="in words", examples=["the reranker failed; statements keep the order without it"])


StatementKind = Annotated[
    Literal["prose", "code", "table"],
    Field(description="what it is; code and tables are whole, with their line breaks", examples=["prose"]),
]


class StatementReply(Reply):
    """A statement, why it was found, and where it stands."""

    id: str = Field(description="of the statement", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    text: str = Field(description="so that it stands alone", examples=["Mira Holm signs what Tove Lund approves."])
    score: float = Field(description="higher is better", examples=[0.5274])
    reason: str = Field(description="how it was found", examples=["chunk"])
    chunk_id: str = Field(description="where the text stands", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    start: int = Field(description="offset in the parsed document", examples=[127])
    end: int = Field(description="offset behind its last character", examples=[168])
    facts: list[str] = Field(description="subject, relation and object of each", examples=[["Mira Holm | signs | approval"]])
    path: list[str] = Field(description="names that led to it", examples=[["Approval", "Mira Holm"]])
    path_ids: list[str] = Field(
        description="the ids of these: chunks by the titles of their documents, entities, topics",
        examples=[["chunk:3c067f04242ced37302a063b8b72672e", "entity:3c067f04242ced37302a063b8b72672e"]],
    )
    parts: dict[str, float] = Field(description="what the score is made of", examples=[{"vector": 0.1558, "link": 0.1258}])
    kind: StatementKind
    original: str = Field(
        description="the words of the document, where they do not stand alone; else empty",
        examples=["She signs what Tove Lund approves."],
    )
    context: "list[StatementReply]" = Field(
        description="what stands right before and after one of the ten best, to read it by: reason `context`, score 0",
        examples=[[]],
    )


class ResultReply(Reply):
    """Statements of one topic of one source (G-20)."""

    source: str = Field(description="uri of the document", examples=["upload://default/flow.md"])
    document_id: str = Field(description="of the document", examples=["source:3c067f04242ced37302a063b8b72672e"])
    topic: str = Field(description="what the statements are about", examples=["Approval"])
    statements: list[str] = Field(description="best first", examples=[["Mira Holm signs what Tove Lund approves."]])
    score: float = Field(description="of its best statement", examples=[0.5274])
    metadata: dict[str, Any] = Field(
        description="of the document", examples=[{"title": "The approval flow", "namespace": "default"}]
    )
    details: list[StatementReply] = Field(description="the statements with scores and places")


class ItemReply(Reply):
    """A chunk that hybrid search ranked, and why (E-60)."""

    id: str = Field(description="of the chunk", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    reason: Literal[
        "vector", "bm25", "entity", "relates", "cooccur", "llm_rel", "subgraph", "subgraph_rel", "first", "warning"
    ] = Field(description="how it was found", examples=["vector"])
    score_raw: float | None = Field(description="cosine with the question", examples=[0.83])
    base_norm: float = Field(description="min-max of the cosines in this set (E-61)", examples=[0.72])
    bonus: float = Field(description="words, relations and centrality (E-62)", examples=[0.13])
    composite_score: float = Field(description="base_norm + bonus (E-63)", examples=[0.85])
    final_score: float = Field(description="after reranking (E-64)", examples=[0.85])
    rel_type: str | None = Field(description="kind of the relation it was found by", examples=[None])
    rel_conf: float | None = Field(description="confidence of that relation, 0 to 1", examples=[None])
    evidence: str = Field(description="words of the relation", examples=[""])
    path: list[str] = Field(description="names that led to it", examples=[["Mira Holm"]])
    path_ids: list[str] = Field(
        description="the ids of these entities", examples=[["entity:3c067f04242ced37302a063b8b72672e"]]
    )
    parts: dict[str, float] = Field(description="what the bonus is made of", examples=[{"bm25": 0.1}])
    uri: str = Field(description="where the document comes from", examples=["upload://default/flow.md"])
    title: str = Field(description="title of the document", examples=["The approval flow"])
    document_id: str = Field(description="of the document", examples=["source:3c067f04242ced37302a063b8b72672e"])


class EvidenceNodeReply(Reply):
    """What a question used."""

    id: str = Field(description="of it; `question` of the question", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    kind: Literal["question", "chunk", "topic", "entity", "statement", "source"] = Field(
        description="what it is", examples=["entity"]
    )
    label: str = Field(description="its name or text; of a chunk the title of its document", examples=["Mira Holm"])
    layer: int = Field(
        description="0 question, 1 anchors (chunks, topics), 2 entities, 3 statements, 4 documents", examples=[2]
    )
    score: float | None = Field(description="of the best statement over it; null of the question", examples=[0.5274])
    citation: str = Field(description="how the answer cites the statement; else empty", examples=["S1"])
    document_id: str = Field(
        description="where a chunk or statement stands, if known", examples=["source:3c067f04242ced37302a063b8b72672e"]
    )
    start: int | None = Field(description="its offset in the parsed document; null where it has none", examples=[127])
    end: int | None = Field(description="offset behind its last character; null where it has none", examples=[168])


class EvidenceEdgeReply(Reply):
    """A step that led to a statement, or from it to its document."""

    start: str = Field(alias="from", description="where it begins", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    to: str = Field(description="where it ends", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    kind: Literal["anchor", "leads_to", "says", "from"] = Field(description="what it is", examples=["leads_to"])
    reason: str = Field(description="how the statement was found", examples=["link"])


class EvidenceCounts(Reply):
    """How much there is."""

    nodes: int = Field(description="the question too", examples=[120])
    edges: int = Field(description="between these", examples=[210])
    statements: int = Field(description="among the nodes", examples=[42])


class EvidenceReply(Reply):
    """The evidence of a question as a graph: what led to each statement found. Only what the question used is in it."""

    nodes: list[EvidenceNodeReply] = Field(description="of the best statements")
    edges: list[EvidenceEdgeReply] = Field(description="between these")
    shown: EvidenceCounts = Field(description="how much is here")
    totals: EvidenceCounts = Field(description="how much the whole result has")

    @classmethod
    def of(cls, drawing: Drawing) -> "EvidenceReply":
        """Return the reply for a drawing."""
        return cls(
            nodes=[EvidenceNodeReply(**asdict(node)) for node in drawing.nodes.values()],
            edges=[
                EvidenceEdgeReply.model_validate({"from": e.start, "to": e.end, "kind": e.kind, "reason": e.reason})
                for e in drawing.edges
            ],
            shown=EvidenceCounts(**asdict(drawing.shown)),
            totals=EvidenceCounts(**asdict(drawing.totals)),
        )


class RetrieveReply(Reply):
    """The one envelope of every retriever. ``degraded`` and ``items`` come from hybrid search only."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    results: list[ResultReply] = Field(description="best first")
    entities: list[str] = Field(description="looked up for the question", examples=[["Mira Holm"]])
    keywords: list[str] = Field(description="looked up for the question", examples=[["approval"]])
    warnings: list[NoticeReply] = Field(description="what went less well")
    timings: dict[str, float] = Field(description="milliseconds by step", examples=[{"total": 12.5}])
    calls: dict[str, int] = Field(description="store calls", examples=[{"vector": 3, "graph": 4}])
    degraded: bool | None = Field(None, description="a search that should have taken part failed", examples=[False])
    items: list[ItemReply] | None = Field(None, description="the chunks that were ranked", examples=[None])
    evidence: EvidenceReply | None = Field(None, description="with `evidence`: what led to the statements")
