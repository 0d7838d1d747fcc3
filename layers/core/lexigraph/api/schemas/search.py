"""Questions for statements, and the one envelope of every retriever (G-09, G-20)."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from lexigraph.api.errors import A_WORD, NOT_BLANK
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
    str,
    Field(
        max_length=MAX_KEY_CHARS,
        pattern=NOT_BLANK,
        description="of the metadata; also namespace, uri, title",
        examples=["year"],
    ),
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
    """A condition on a metadata value. Values of different types never match."""

    key: Key = Field(description="metadata key")
    operator: Annotated[Literal["==", "!=", "<", "<=", ">", ">="], BeforeValidator(_known)] = Field(
        "==", description="operator", examples=[">="]
    )
    value: Scalar = Field(description="value to compare with", examples=[2020])


class Membership(Body):
    """A condition that a metadata value is, or is not, in a list."""

    key: Key = Field(description="metadata key")
    operator: Literal["in", "not_in"] = Field(description="in the list, or not", examples=["in"])
    value: list[Scalar] = Field(max_length=1_000, description="the list", examples=[[2020, 2021]])


class Combination(Body):
    """Conditions combined with ``and``, ``or`` or ``not`` (none of them holds). At most 100 conditions in all."""

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
        None, description="filter on the documents' metadata", examples=[{"key": "year", "operator": ">=", "value": 2020}]
    )

    def where(self) -> Filter | None:
        """Return the filter. Raise ``InvalidInput`` for more than 100 conditions."""
        return parse_filter(self.filters.model_dump() if self.filters else None)


class Drawn(Filtered):
    """Base of questions whose evidence may be drawn as a graph."""

    evidence: bool = Field(False, description="include the evidence graph", examples=[False])
    evidence_limit: int = Field(
        120, ge=1, le=500, description="maximum number of nodes in the evidence graph", examples=[120]
    )


class RetrieveRequest(Drawn):
    """A question to retrieve statements for."""

    question: QuestionText = Field(description="as it was asked")
    parameters: Parameters = Field(default_factory=dict)
    citations: dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=16)]] = Field(
        default_factory=dict,
        max_length=100,
        description="labels of statements that an answer cites, by id; the evidence graph has these first",
        examples=[{"statement:6e7013c1fb155a8b81e41154d64cb7a6": "S1"}],
    )


class NoticeReply(Reply):
    """A warning; ``type`` is stable."""

    type: str = Field(description="stable, machine-readable code", examples=["rerank_failed"])
    detail: str = Field(description="description", examples=["the reranker failed; statements keep the order of the search"])


StatementKind = Annotated[
    Literal["prose", "code", "table"],
    Field(description="kind; code and tables keep their line breaks", examples=["prose"]),
]


class StatementReply(Reply):
    """A statement with its reason, score and location."""

    id: str = Field(description="statement id", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    text: str = Field(description="self-contained text", examples=["Mira Holm signs what Tove Lund approves."])
    score: float = Field(description="higher is better", examples=[0.5274])
    reason: str = Field(description="how it was found", examples=["chunk"])
    chunk_id: str = Field(
        description="id of the chunk that contains it", examples=["chunk:3c067f04242ced37302a063b8b72672e"]
    )
    start: int = Field(description="start offset in the parsed text", examples=[127])
    end: int = Field(description="end offset (exclusive)", examples=[168])
    facts: list[str] = Field(
        description="facts, as subject, predicate and object", examples=[["Mira Holm | signs | approval"]]
    )
    path: list[str] = Field(description="names on the path to it", examples=[["Approval", "Mira Holm"]])
    path_ids: list[str] = Field(
        description="ids of the nodes on the path",
        examples=[["chunk:3c067f04242ced37302a063b8b72672e", "entity:3c067f04242ced37302a063b8b72672e"]],
    )
    parts: dict[str, float] = Field(description="score parts", examples=[{"vector": 0.1558, "link": 0.1258}])
    kind: StatementKind
    original: str = Field(
        description="wording in the document if it differs from `text`; else empty",
        examples=["She signs what Tove Lund approves."],
    )
    context: "list[StatementReply]" = Field(
        description="statements right before and after one of the ten best: reason `context`, score 0",
        examples=[[]],
    )


class ResultReply(Reply):
    """Statements of one topic of a source (G-20)."""

    source: str = Field(description="URI of the document", examples=["upload://default/flow.md"])
    document_id: str = Field(description="document id", examples=["source:3c067f04242ced37302a063b8b72672e"])
    topic: str = Field(description="topic of the statements", examples=["Approval"])
    statements: list[str] = Field(
        description="texts of the statements, best first", examples=[["Mira Holm signs what Tove Lund approves."]]
    )
    score: float = Field(description="score of its best statement", examples=[0.5274])
    metadata: dict[str, Any] = Field(
        description="metadata of the document", examples=[{"title": "The approval flow", "namespace": "default"}]
    )
    details: list[StatementReply] = Field(description="statements with scores and offsets")


class ItemReply(Reply):
    """A chunk ranked by hybrid search, with its scores (E-60)."""

    id: str = Field(description="chunk id", examples=["chunk:3c067f04242ced37302a063b8b72672e"])
    reason: Literal[
        "vector", "bm25", "entity", "relates", "cooccur", "llm_rel", "subgraph", "subgraph_rel", "first", "warning"
    ] = Field(description="how it was found", examples=["vector"])
    score_raw: float | None = Field(description="cosine similarity to the question", examples=[0.83])
    base_norm: float = Field(description="cosine similarity, min-max scaled within the results (E-61)", examples=[0.72])
    bonus: float = Field(description="BM25, relation and centrality bonus (E-62)", examples=[0.13])
    composite_score: float = Field(description="base_norm + bonus (E-63)", examples=[0.85])
    final_score: float = Field(description="after reranking (E-64)", examples=[0.85])
    rel_type: str | None = Field(description="type of the relation it was found by", examples=[None])
    rel_conf: float | None = Field(description="confidence of that relation, 0 to 1", examples=[None])
    evidence: str = Field(description="evidence of the relation", examples=[""])
    path: list[str] = Field(description="names on the path to it", examples=[["Mira Holm"]])
    path_ids: list[str] = Field(description="ids of these entities", examples=[["entity:3c067f04242ced37302a063b8b72672e"]])
    parts: dict[str, float] = Field(description="parts of the bonus", examples=[{"bm25": 0.1}])
    uri: str = Field(description="URI of the document", examples=["upload://default/flow.md"])
    title: str = Field(description="title of the document", examples=["The approval flow"])
    document_id: str = Field(description="document id", examples=["source:3c067f04242ced37302a063b8b72672e"])


class EvidenceNodeReply(Reply):
    """A node of the evidence graph."""

    id: str = Field(description="id; `question` for the question", examples=["entity:3c067f04242ced37302a063b8b72672e"])
    kind: Literal["question", "chunk", "topic", "entity", "statement", "source"] = Field(
        description="kind", examples=["entity"]
    )
    label: str = Field(description="name or text; for a chunk, the title of its document", examples=["Mira Holm"])
    layer: int = Field(
        description="0 question, 1 anchors (chunks, topics), 2 entities, 3 statements, 4 documents", examples=[2]
    )
    score: float | None = Field(description="score of its best statement; null for the question", examples=[0.5274])
    citation: str = Field(description="citation label in the answer; empty if not cited", examples=["S1"])
    document_id: str = Field(
        description="document of a chunk or statement, if known", examples=["source:3c067f04242ced37302a063b8b72672e"]
    )
    start: int | None = Field(description="start offset in the parsed text; null if unknown", examples=[127])
    end: int | None = Field(description="end offset (exclusive); null if unknown", examples=[168])


class EvidenceEdgeReply(Reply):
    """An edge of the evidence graph."""

    start: str = Field(
        alias="from", description="id of the start node", examples=["entity:3c067f04242ced37302a063b8b72672e"]
    )
    to: str = Field(description="id of the end node", examples=["statement:6e7013c1fb155a8b81e41154d64cb7a6"])
    kind: Literal["anchor", "leads_to", "says", "from"] = Field(description="kind", examples=["leads_to"])
    reason: str = Field(description="reason the statement was found", examples=["link"])


class EvidenceCounts(Reply):
    """Counts."""

    nodes: int = Field(description="number of nodes, including the question", examples=[120])
    edges: int = Field(description="edges between the nodes", examples=[210])
    statements: int = Field(description="number of statements among the nodes", examples=[42])


class EvidenceReply(Reply):
    """The evidence of a question as a graph: what led to each statement."""

    nodes: list[EvidenceNodeReply] = Field(description="nodes, from the cited, then the best statements")
    edges: list[EvidenceEdgeReply] = Field(description="edges between the nodes")
    shown: EvidenceCounts = Field(description="counts of what is included")
    totals: EvidenceCounts = Field(description="counts of the whole result")

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
    """Results of a retriever. Only hybrid search sets ``degraded`` and ``items``."""

    question: str = Field(description="as it was asked", examples=["Who signs the approval?"])
    results: list[ResultReply] = Field(description="best first")
    entities: list[str] = Field(description="entities looked up", examples=[["Mira Holm"]])
    keywords: list[str] = Field(description="keywords looked up", examples=[["approval"]])
    warnings: list[NoticeReply] = Field(description="warnings")
    timings: dict[str, float] = Field(description="milliseconds by step", examples=[{"total": 12.5}])
    calls: dict[str, int] = Field(description="store calls", examples=[{"vector": 3, "graph": 4}])
    degraded: bool | None = Field(None, description="true if one of the searches failed", examples=[False])
    items: list[ItemReply] | None = Field(None, description="ranked chunks", examples=[None])
    evidence: EvidenceReply | None = Field(None, description="with `evidence`: the evidence graph")
