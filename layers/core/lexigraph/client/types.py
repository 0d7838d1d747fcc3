"""What the HTTP API takes and replies, as typed dictionaries. Made from docs/openapi.json: `python -m tests.client_code`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AliasSample(TypedDict):
    """An entity with its other names."""

    alias_count: int
    aliases: list[str]
    name: str


class AliasState(TypedDict):
    """How many entities have other names."""

    ratio: float
    sample_top5: list[AliasSample]
    total_entities: int
    with_aliases: int


class Article(TypedDict):
    """A document used for the answer."""

    category: str
    namespace: str
    relevance: float
    source_id: str
    title: str
    uri: str
    word_count: int


class CacheStats(TypedDict):
    """Cache statistics of the tenant. Entries are numbered, since questions of other keys are private."""

    answer_cache_keys: list[str]
    answer_cache_size: int
    embedding_cache_keys: list[str]
    embedding_cache_size: int


class CellReply(TypedDict):
    """A chunk of the final ranking."""

    chunk_id: str
    end: int
    hop: int
    parent: str
    reason: str
    role: str
    row_id: int
    score: float
    start: int
    text: str
    title: str
    uri: str
    value: str


class Cleared(TypedDict):
    """The entries are gone."""

    cleared: Literal[True]


class Combination(TypedDict):
    """Conditions combined with ``and``, ``or`` or ``not`` (none of them holds). At most 100 conditions in all."""

    condition: NotRequired[Literal["and", "or", "not"] | None]
    filters: list[Comparison | Membership | Combination]


class Comparison(TypedDict):
    """A condition on a metadata value. Values of different types never match."""

    key: str
    operator: NotRequired[Literal["==", "!=", "<", "<=", ">", ">="] | None]
    value: bool | int | float | str


class ContextText(TypedDict):
    """An external text to use beside what is retrieved."""

    id: NotRequired[str | None]
    text: str


class Day(TypedDict):
    """Documents last changed on a day."""

    characters: int
    day: str
    documents: int


class DecisionList(TypedDict):
    """The decisions of a tenant, including undone ones, oldest first."""

    decisions: list[DecisionReply]


class DecisionReply(TypedDict):
    """A decision about names."""

    by: str
    documents: list[str]
    id: str
    kind: Literal["merge", "alias", "split"]
    made_at: str
    name: str
    note: str
    others: list[str]
    undone_at: str


class Diagnostics(TypedDict):
    """State of stores and models. Unavailable ones are reported here."""

    api_version: str
    embedding: EmbeddingState
    entity_aliases: AliasState
    feature_flags: dict[str, bool]
    graph: GraphState
    llm: ModelState
    noise_control: NoiseControl
    relation_weights: dict[str, float]
    relations: RelationState
    stores: dict[str, Literal["ok", "unavailable", "damaged"]]
    vector_index: VectorState


class DocumentJob(TypedDict):
    """The job that ingests a document."""

    document: DocumentReply | None
    job_id: str
    namespace: str
    status: Literal["RUNNING", "SUCCEEDED"]
    status_url: str


class DocumentList(TypedDict):
    """A page of documents, sorted by URI; ``next`` is null on the last page."""

    documents: list[DocumentReply]
    next: str | None


class DocumentReply(TypedDict):
    """A document and its state."""

    characters: int
    chunks: int
    failed_chunks: int
    id: str
    metadata: dict[str, Any]
    namespace: str
    reason: str
    state: Literal["BUILDING", "READY", "REMOVING", "FAILED"]
    title: str
    updated_at: str
    uri: str
    version: int


class DocumentTitle(TypedDict):
    """A document by its title."""

    id: str
    namespace: str
    title: str
    uri: str
    version: int


class EdgeReply(TypedDict):
    """An edge between two nodes."""

    source: str
    target: str
    type: str


class Egonet(TypedDict):
    """The neighbourhood of a node, including the node."""

    edges: list[EdgeReply]
    next_offset: int | None
    nodes: list[NodeReply]
    offset: int
    totals: NetTotals


class EmbeddingModel(TypedDict):
    """The embedding model."""

    answers: bool | None
    dimension: int
    name: str


class EmbeddingState(TypedDict):
    """The embedding model."""

    dimension: int
    embedding_api: bool | None


class EntityCount(TypedDict):
    """An entity named by the sources, with the number of chunks that name it."""

    freq: int
    id: str
    name: str


class EntityList(TypedDict):
    """A page of entities, best first."""

    entities: list[EntitySummary]
    next: str | None


EntityReply = TypedDict(
    "EntityReply",
    {
        "aliases": "list[NamedReply]",
        "class": "str",
        "classes": "list[Times]",
        "complete": "bool",
        "documents": "int",
        "facts": "int",
        "id": "str",
        "name": "str",
        "names": "list[Times]",
        "neighbours": "int",
        "statements": "int",
    },
)
"""An entity with its names, classes and counts."""


class EntityStatements(TypedDict):
    """A page of statements, grouped by document. It may be short."""

    next: str | None
    sources: list[SourceStatements]


EntitySummary = TypedDict(
    "EntitySummary",
    {
        "class": "str",
        "documents": "int",
        "facts": "int",
        "id": "str",
        "name": "str",
    },
)
"""An entity with its counts."""


class ErrorReply(TypedDict):
    """Body of every error response."""

    error: str
    hint: str | None
    message: str
    request_id: str


class EstimateReply(TypedDict):
    """Estimated tokens, cost and minutes of a full ingest. Unchanged documents cost nothing."""

    characters: int
    chunks: int
    documents: int
    embedding_tokens: int
    files: int
    input_tokens: int
    minutes: float
    model_calls: int
    notes: list[str]
    output_tokens: int
    prices_as_of: str
    usd: float | None


class EstimateRequest(TypedDict):
    """What to estimate: a ``path`` or a ``text``. Prices of the language model may be given."""

    name: NotRequired[str | None]
    path: NotRequired[str | None]
    text: NotRequired[str | None]
    usd_per_million_input: NotRequired[float | None]
    usd_per_million_output: NotRequired[float | None]


class EventList(TypedDict):
    """Events of a job, in order."""

    events: list[EventReply]


class EventReply(TypedDict):
    """An event of a job; ``seq`` starts at 1."""

    at: str
    data: dict[str, Any]
    seq: int
    stage: str


class EvidenceCounts(TypedDict):
    """Counts."""

    edges: int
    nodes: int
    statements: int


EvidenceEdgeReply = TypedDict(
    "EvidenceEdgeReply",
    {
        "from": "str",
        "kind": 'Literal["anchor", "leads_to", "says", "from"]',
        "reason": "str",
        "to": "str",
    },
)
"""An edge of the evidence graph."""


class EvidenceNodeReply(TypedDict):
    """A node of the evidence graph."""

    citation: str
    document_id: str
    end: int | None
    id: str
    kind: Literal["question", "chunk", "topic", "entity", "statement", "source"]
    label: str
    layer: int
    score: float | None
    start: int | None


class EvidenceReply(TypedDict):
    """The evidence of a question as a graph: what led to each statement."""

    edges: list[EvidenceEdgeReply]
    nodes: list[EvidenceNodeReply]
    shown: EvidenceCounts
    totals: EvidenceCounts


class FactReply(TypedDict):
    """A fact that a statement supports."""

    id: str
    object: ObjectReply
    predicate: str
    subject: NamedReply


class FailureReply(TypedDict):
    """A file, document, chunk or pair of chunks that failed, and why."""

    reason: str
    uri: str


class FewShot(TypedDict):
    """A question with its answer, as an example."""

    answer: str
    question: str


class GraphState(TypedDict):
    """State and counts of the graph store."""

    detail: dict[str, int]
    graph: bool


class HeadingReply(TypedDict):
    """A heading of a document."""

    level: int
    start: int
    text: str


class Health(TypedDict):
    """Liveness of the server; ``/diagnostics`` checks stores and models."""

    api_version: str
    status: Literal["ok"]
    stores: Literal["ok", "damaged"]


class HistoryTurn(TypedDict):
    """An earlier turn of the conversation."""

    content: str
    role: Literal["user", "assistant"]


class HopReply(TypedDict):
    """A hop: the first of its texts."""

    docs: list[str]
    hop: int


class IngestReply(TypedDict):
    """Result of the ingest, with counts of this run; all 0 while it is running."""

    chunk_failures: list[FailureReply]
    chunks_embedded: int
    chunks_failed: int
    chunks_new: int
    chunks_skipped: int
    chunks_total: int
    cooccur_edges: int
    documents_new: int
    documents_removed: int
    documents_unchanged: int
    documents_updated: int
    elapsed_sec: float
    entities_created: int
    facts_created: int
    failures: list[FailureReply]
    files_processed: int
    incremental: bool
    job_id: str
    llm_rel_edges: int
    namespace: str
    pair_failures: list[FailureReply]
    pairs_failed: int
    progress: list[dict[str, Any]] | None
    relations_created: int
    skipped: list[SkippedReply]
    status: Literal["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]
    status_url: str
    warnings: list[NoticeReply]


class IngestRequest(TypedDict):
    """What to ingest."""

    namespace: NotRequired[str | None]
    path: str


class ItemReply(TypedDict):
    """A chunk ranked by hybrid search, with its scores."""

    base_norm: float
    bonus: float
    composite_score: float
    document_id: str
    evidence: str
    final_score: float
    id: str
    parts: dict[str, float]
    path: list[str]
    path_ids: list[str]
    reason: Literal[
        "vector", "bm25", "entity", "relates", "cooccur", "llm_rel", "subgraph", "subgraph_rel", "first", "warning"
    ]
    rel_conf: float | None
    rel_type: str | None
    score_raw: float | None
    title: str
    uri: str


class JobList(TypedDict):
    """Jobs, newest first."""

    jobs: list[JobReply]


class JobReply(TypedDict):
    """A job with its status and result."""

    created_at: str
    id: str
    kind: str
    namespace: str
    reason: str
    result: dict[str, Any]
    status: Literal["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]
    updated_at: str
    uri: str


class KeyList(TypedDict):
    """The keys of a tenant, including revoked ones, oldest first."""

    keys: list[KeyReply]


class KeyReply(TypedDict):
    """A key, without its secret."""

    created_at: str
    databases: list[str]
    filters: dict[str, Any] | None
    id: str
    name: str
    rate: int
    revoked_at: str
    scopes: list[Literal["read", "ingest", "admin"]]


class MadeKey(TypedDict):
    """A new key with its secret."""

    created_at: str
    databases: list[str]
    filters: dict[str, Any] | None
    id: str
    key: str
    name: str
    rate: int
    revoked_at: str
    scopes: list[Literal["read", "ingest", "admin"]]


class Membership(TypedDict):
    """A condition that a metadata value is, or is not, in a list."""

    key: str
    operator: Literal["in", "not_in"]
    value: list[bool | int | float | str]


class MemoryEdge(TypedDict):
    """An edge between two of the nodes."""

    edge_id: str
    relationship: str
    source: str
    target: str
    type: str


MemoryNode = TypedDict(
    "MemoryNode",
    {
        "class": "str | None",
        "description": "str",
        "key": "str",
        "name": "str",
        "score": "float",
        "scores": "dict[str, float]",
        "source": "str",
        "sources": "list[str]",
        "title": "str | None",
        "type": "str",
        "uri": "str | None",
        "via": "str | None",
    },
)
"""A node and its score. Fields that do not apply are omitted."""


class ModelState(TypedDict):
    """State of the language model, from its provider's model list, which uses no tokens. Cached for ten seconds."""

    llm_api: bool | None
    model_listed: bool | None
    name: str


class Models(TypedDict):
    """The models of the server."""

    embedding: EmbeddingModel
    llm: NamedModel


class MultidocReply(TypedDict):
    """An answer with articles, sections and facts."""

    answer: str
    answerable: bool
    articles: list[Article]
    best_relevance: float | None
    citations: list[dict[str, Any]]
    confidence: float
    extractive: bool
    fact_support: list[int]
    facts: list[str]
    num_articles: int
    sections: list[dict[str, Any]]
    sources: list[str]
    unsupported: list[UnsupportedReply]
    warnings: list[NoticeReply]


class MultidocRequest(TypedDict):
    """A question over several documents; unset parameters come from the preset."""

    examples: NotRequired[list[FewShot] | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    max_sections: NotRequired[int | None]
    min_fact_chars: NotRequired[int | None]
    min_relevance: NotRequired[float | None]
    num_docs: NotRequired[int | None]
    preset: NotRequired[Literal["factual", "explanatory", "comprehensive", "specific"] | None]
    question: str
    reranker: NotRequired[Literal["tfidf", "bedrock", "model"] | None]


class MultidocOptions(TypedDict):
    """A question over several documents; unset parameters come from the preset."""

    examples: NotRequired[list[FewShot] | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    max_sections: NotRequired[int | None]
    min_fact_chars: NotRequired[int | None]
    min_relevance: NotRequired[float | None]
    num_docs: NotRequired[int | None]
    preset: NotRequired[Literal["factual", "explanatory", "comprehensive", "specific"] | None]
    reranker: NotRequired[Literal["tfidf", "bedrock", "model"] | None]


class MultihopReply(TypedDict):
    """Hops, final ranking and symbolic edges."""

    calls: dict[str, int]
    final_results: list[CellReply]
    hops: list[HopReply]
    namespace: str
    query: str
    symbolic_edges: list[SymbolicEdgeReply]
    symbolic_failures: int
    timings: dict[str, float]
    warnings: list[NoticeReply]


class MultihopRequest(TypedDict):
    """A multi-hop question."""

    context_expansion_ratio: NotRequired[float | None]
    db_name: str
    filters: NotRequired[Comparison | Membership | Combination | None]
    final_top_k: NotRequired[int | None]
    hop_decay: NotRequired[float | None]
    namespace: str
    num_hops: NotRequired[int | None]
    query: str
    role: NotRequired[str | None]
    top_k_per_hop: NotRequired[int | None]
    use_symbolic: NotRequired[bool | None]


class MultihopOptions(TypedDict):
    """A multi-hop question."""

    context_expansion_ratio: NotRequired[float | None]
    db_name: str
    filters: NotRequired[Comparison | Membership | Combination | None]
    final_top_k: NotRequired[int | None]
    hop_decay: NotRequired[float | None]
    namespace: str
    num_hops: NotRequired[int | None]
    role: NotRequired[str | None]
    top_k_per_hop: NotRequired[int | None]
    use_symbolic: NotRequired[bool | None]


class NamedCount(TypedDict):
    """Number of documents of a kind."""

    documents: int
    name: str


class NamedModel(TypedDict):
    """A model."""

    answers: bool | None
    name: str


class NamedReply(TypedDict):
    """A named component."""

    id: str
    name: str


class NeighbourList(TypedDict):
    """A page of neighbours, most statements first."""

    complete: bool
    neighbours: list[NeighbourReply]
    next: str | None
    total: int


NeighbourReply = TypedDict(
    "NeighbourReply",
    {
        "class": "str",
        "documents": "int",
        "facts": "int",
        "id": "str",
        "name": "str",
        "relations": "list[RelationReply]",
        "together": "int",
    },
)
"""An entity that occurs in statements with another."""


class NetTotals(TypedDict):
    """Size of a neighbourhood."""

    complete: bool
    edges: int
    nodes: int


class NewDecision(TypedDict):
    """Names that mean one entity, or a name that means another one in some documents."""

    documents: NotRequired[list[str] | None]
    kind: NotRequired[Literal["merge", "alias", "split"] | None]
    name: str
    note: NotRequired[str | None]
    others: list[str]


class NewKey(TypedDict):
    """Properties of a new key."""

    databases: NotRequired[list[str] | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    name: NotRequired[str | None]
    rate: NotRequired[int | None]
    scopes: NotRequired[list[Literal["read", "ingest", "admin"]] | None]


class NodeReply(TypedDict):
    """A node; ``label`` is its name or text."""

    id: str
    label: str
    properties: dict[str, Any]
    type: str


class NoiseControl(TypedDict):
    """Thresholds of entity relations."""

    cooccur_min_count: int
    entity_min_length: int


class NoticeReply(TypedDict):
    """A warning; ``type`` is stable."""

    detail: str
    type: str


class ObjectReply(TypedDict):
    """The object of a fact."""

    id: str | None
    name: str


class OutlineReply(TypedDict):
    """Headings, pages, code blocks and tables of a document. Offsets count characters (Unicode code points) of its p."""

    characters: int
    document_id: str
    headings: list[HeadingReply]
    pages: list[PageReply]
    verbatim: list[VerbatimReply]
    version: int


class Overview(TypedDict):
    """Overview of a tenant."""

    counted_at: str
    counts: dict[str, int]
    documents: dict[str, int]
    file_types: list[NamedCount]
    growth: list[Day]
    jobs: dict[str, int]
    languages: list[NamedCount]
    models: Models
    stores: dict[str, Literal["ok", "unavailable", "damaged"]]
    version: str
    warnings: list[Warned]


class PageReply(TypedDict):
    """A page of a document that has pages."""

    number: int
    start: int


class PathRelation(TypedDict):
    """Relation between two consecutive names of a path, from a fact of the sources."""

    label: str
    reverse: bool


class PlacedStatement(TypedDict):
    """A statement with its location. Offsets count characters (Unicode code points) of the parsed text."""

    chunk_id: str
    end: int
    entities: list[NamedReply]
    facts: list[FactReply]
    id: str
    kind: Literal["prose", "code", "table"]
    original: str
    start: int
    text: str
    topic: TopicTitle


class PreviewReply(TypedDict):
    """The ranking used by ``/query``, with all stages, without an answer."""

    degraded: bool
    items: list[ItemReply]
    question: str
    warn: str | None
    warnings: list[NoticeReply]


class PreviewRequest(TypedDict):
    """A question whose ranking is to be explained."""

    filters: NotRequired[Comparison | Membership | Combination | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]
    question: str


class PreviewOptions(TypedDict):
    """A question whose ranking is to be explained."""

    filters: NotRequired[Comparison | Membership | Combination | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]


class ProposalList(TypedDict):
    """Pairs of entities that may be the same, the most likely first."""

    proposals: list[ProposalReply]


class ProposalReply(TypedDict):
    """Two entities that may be the same, with the evidence."""

    documents: list[str]
    name: str
    other: str
    reason: str
    score: float
    shared: list[str]
    statements: list[str]


class QueryReply(TypedDict):
    """An answer with its sources and citations."""

    answer: str
    answerable: bool
    cached: bool
    confidence: float
    entities: list[EntityCount]
    evidence: EvidenceReply | None
    extractive: bool
    question: str
    references: list[Reference]
    retriever: str
    rewritten: str
    sources: list[SourceReply]
    timings: dict[str, float]
    unsupported: list[UnsupportedReply]
    warnings: list[NoticeReply]


class QueryRequest(TypedDict):
    """A question to answer with citations."""

    context: NotRequired[list[ContextText | str] | None]
    evidence: NotRequired[bool | None]
    evidence_limit: NotRequired[int | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    history: NotRequired[list[HistoryTurn] | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]
    question: str
    retriever: NotRequired[
        Literal[
            "traversal",
            "semantic-guided",
            "hybrid",
            "chunk",
            "entity",
            "topic",
            "multihop",
            "multidoc",
            "recall",
            "vector",
            "bm25",
            "fused",
        ]
        | None
    ]
    sources_first: NotRequired[bool | None]
    stream: NotRequired[bool | None]
    strict: NotRequired[bool | None]


class QueryOptions(TypedDict):
    """A question to answer with citations."""

    context: NotRequired[list[ContextText | str] | None]
    evidence: NotRequired[bool | None]
    evidence_limit: NotRequired[int | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    history: NotRequired[list[HistoryTurn] | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]
    retriever: NotRequired[
        Literal[
            "traversal",
            "semantic-guided",
            "hybrid",
            "chunk",
            "entity",
            "topic",
            "multihop",
            "multidoc",
            "recall",
            "vector",
            "bm25",
            "fused",
        ]
        | None
    ]
    sources_first: NotRequired[bool | None]
    strict: NotRequired[bool | None]


class RecallMetadata(TypedDict):
    """How the ranking was computed."""

    calls: dict[str, int]
    phase: str
    session: SessionReply
    strategies: list[StrategyReply]
    tiers: dict[str, int]
    timings: dict[str, float]
    warnings: list[NoticeReply]
    weights: dict[str, float]


class RecallReply(TypedDict):
    """Ranked nodes, the context of the best of them, and their edges."""

    context: list[MemoryNode]
    edges: list[MemoryEdge]
    metadata: RecallMetadata
    nodes: list[MemoryNode]
    query: str


class RecallRequest(TypedDict):
    """What to recall."""

    filters: NotRequired[Comparison | Membership | Combination | None]
    force_regex: NotRequired[bool | None]
    max_results: NotRequired[int | None]
    query: str
    session_id: NotRequired[str | None]


class RecallOptions(TypedDict):
    """What to recall."""

    filters: NotRequired[Comparison | Membership | Combination | None]
    force_regex: NotRequired[bool | None]
    max_results: NotRequired[int | None]
    session_id: NotRequired[str | None]


class Reference(TypedDict):
    """A source that the answer cites."""

    composite_score: float | None
    id: str
    label: str
    score: float | None


class RelationReply(TypedDict):
    """A relation between two entities."""

    count: int
    direction: Literal["out", "in"]
    predicate: str


class RelationState(TypedDict):
    """Relations by kind."""

    co_occurs_with: int
    llm_rel: int
    relates_to: int
    relation_debug: bool
    relation_extraction_enabled: bool
    total: int


class Removed(TypedDict):
    """Result of a deletion."""

    job_id: str | None
    removed: int


class ResultReply(TypedDict):
    """Statements of one topic of a source."""

    details: list[StatementReply]
    document_id: str
    metadata: dict[str, Any]
    score: float
    source: str
    statements: list[str]
    topic: str


class RetrieveReply(TypedDict):
    """Results of a retriever. Only hybrid search sets ``degraded`` and ``items``."""

    calls: dict[str, int]
    degraded: bool | None
    entities: list[str]
    evidence: EvidenceReply | None
    items: list[ItemReply] | None
    keywords: list[str]
    question: str
    results: list[ResultReply]
    timings: dict[str, float]
    warnings: list[NoticeReply]


class RetrieveRequest(TypedDict):
    """A question to retrieve statements for."""

    citations: NotRequired[dict[str, str] | None]
    evidence: NotRequired[bool | None]
    evidence_limit: NotRequired[int | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]
    question: str


class RetrieveOptions(TypedDict):
    """A question to retrieve statements for."""

    citations: NotRequired[dict[str, str] | None]
    evidence: NotRequired[bool | None]
    evidence_limit: NotRequired[int | None]
    filters: NotRequired[Comparison | Membership | Combination | None]
    parameters: NotRequired[dict[str, bool | int | float | str | None] | None]


class SessionReply(TypedDict):
    """The session before this recall."""

    hot: list[str]
    id: str
    recalls: int


class SkippedReply(TypedDict):
    """Skipped files, by suffix."""

    ending: str
    files: int
    reason: str


class SourceReply(TypedDict):
    """A source that an answer may cite: a statement or an external text. Ranks start at 1."""

    base_norm: float | None
    bonus: float | None
    composite_score: float | None
    document_id: str
    end: int
    final_score: float
    id: str
    kind: Literal["prose", "code", "table"]
    label: str
    parts: dict[str, float]
    path: list[str]
    path_ids: list[str]
    path_relations: list[PathRelation]
    rank: int
    ranks: dict[str, int]
    reason: str
    rel_conf: float | None
    rel_type: str | None
    resolved: str
    score: float | None
    start: int
    statement_id: str
    text: str
    title: str
    uri: str


class SourceStatements(TypedDict):
    """Statements of one document."""

    document: DocumentTitle
    statements: list[PlacedStatement]


class StatementPage(TypedDict):
    """A page of a document's statements in reading order. It may be short or empty before the end."""

    next: str | None
    statements: list[PlacedStatement]


class StatementPlace(TypedDict):
    """A statement and its document."""

    chunk_id: str
    document: DocumentTitle
    end: int
    entities: list[NamedReply]
    facts: list[FactReply]
    id: str
    kind: Literal["prose", "code", "table"]
    original: str
    start: int
    text: str
    topic: TopicTitle


class StatementReply(TypedDict):
    """A statement with its reason, score and location."""

    chunk_id: str
    context: list[StatementReply]
    end: int
    facts: list[str]
    id: str
    kind: Literal["prose", "code", "table"]
    original: str
    parts: dict[str, float]
    path: list[str]
    path_ids: list[str]
    reason: str
    score: float
    start: int
    text: str


class StrategyReply(TypedDict):
    """Result of a strategy."""

    error: str | None
    found: int
    incomplete: str | None
    name: str
    skipped: str | None


class SymbolicEdgeReply(TypedDict):
    """A chunk that entered through a symbolic edge."""

    doc_idx: int
    hop: int


class TextReply(TypedDict):
    """A range of a document's parsed text, with its headings and pages."""

    characters: int
    document_id: str
    end: int
    headings: list[HeadingReply]
    pages: list[PageReply]
    section: list[str]
    start: int
    text: str
    verbatim: list[VerbatimReply]
    version: int


class Times(TypedDict):
    """A name and its frequency."""

    count: int
    name: str


class TopicList(TypedDict):
    """A page of a document's topics, in reading order."""

    next: str | None
    topics: list[TopicReply]
    total: int


class TopicReply(TypedDict):
    """A topic of a document."""

    end: int
    id: str
    start: int
    statements: int
    title: str


class TopicTitle(TypedDict):
    """A topic by its title."""

    id: str
    title: str


class UnsupportedReply(TypedDict):
    """A sentence of the answer that its citations do not support, or a citation that supports nothing in it."""

    citations: list[str]
    reason: str
    sentence: str
    type: Literal["name", "number", "negation", "content", "citation"]


class UploadReply(TypedDict):
    """Result of an upload. Query it in ``namespace``."""

    db_name: str
    job_id: str
    namespace: str
    status: Literal["success", "accepted"]
    status_url: str
    total_cells: int
    vector_source: Literal["generated"]


class VectorState(TypedDict):
    """The vector index of chunks."""

    dimension: int
    name: str
    vector_index: bool


class VerbatimReply(TypedDict):
    """A code block or table, whose line breaks and spaces matter."""

    end: int
    kind: Literal["code", "table"]
    start: int


class Warned(TypedDict):
    """A warning or note."""

    detail: str
    remedy: str
    type: str
