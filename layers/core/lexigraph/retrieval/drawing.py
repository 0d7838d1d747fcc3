"""The evidence of a question as a graph: what led to each statement of a result, and where it stands. Nothing is searched.

Five layers: the question; what it was anchored by (chunks, topics); entities passed; statements; their sources. A statement
that a search found itself hangs on its chunk, one that the graph reached on what led to it, one that both found on both.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lexigraph.model.errors import StoreUnavailable
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphStore

QUESTION = "question"
LAYERS = {QUESTION: 0, "chunk": 1, "topic": 1, "entity": 2, "statement": 3, "source": 4}
# reasons by which a statement was reached from something else, and not found itself
_REACHED = frozenset({"link", "entity", "topic", "relates", "cooccur", "llm_rel", "subgraph", "subgraph_rel"})


@dataclass(frozen=True, slots=True)
class EvidenceNode:
    """A node: ``label`` is its name or text, ``score`` that of the best statement over it, None of the question.

    ``citation`` is how an answer cites a statement, ``document_id`` where a chunk or statement stands, where that is known,
    from ``start`` to ``end`` (characters of the parsed document).
    """

    id: str
    kind: str
    label: str
    layer: int
    score: float | None = None
    citation: str = ""
    document_id: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class EvidenceEdge:
    """A step: ``anchor`` (question to what it was anchored by), ``leads_to``, ``says`` (chunk to statement), ``from``
    (statement to source). ``reason`` is how the statement was found.
    """

    start: str
    end: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is of a graph."""

    nodes: int
    edges: int
    statements: int


@dataclass(slots=True)
class Drawing:
    """A graph of evidence: what is shown of it, and how much there is in all."""

    nodes: dict[str, EvidenceNode] = field(default_factory=dict)
    edges: dict[EvidenceEdge, None] = field(default_factory=dict)
    totals: Counts = Counts(0, 0, 0)

    @property
    def shown(self) -> Counts:
        """How much is shown."""
        return Counts(len(self.nodes), len(self.edges), sum(node.kind == "statement" for node in self.nodes.values()))


def draw(found: SearchResults, *, most: int = 120, citations: Mapping[str, str] | None = None) -> Drawing:
    """Draw the evidence of a result: its best statements, each with all that led to it, up to ``most`` nodes.

    ``citations`` are the labels of an answer by statement; these statements come first, as the answer rests on them.
    """
    labels = citations or {}
    question = EvidenceNode(QUESTION, QUESTION, found.question, 0)
    every, shown = Drawing({QUESTION: question}), Drawing({QUESTION: question})
    pairs = sorted(((s, r) for r in found.results for s in r.statements), key=lambda pair: -pair[0].score)
    for statement, result in pairs:
        every.nodes = {node.id: node for node in _nodes(statement, result, labels)} | every.nodes  # the best was first
        every.edges.update(dict.fromkeys(_edges(statement, result)))
    for statement, result in sorted(pairs, key=lambda pair: pair[0].id not in labels):
        ids = [node.id for node in _nodes(statement, result, labels)]
        if len(shown.nodes.keys() | ids) > most:
            break
        shown.nodes.update({id_: every.nodes[id_] for id_ in ids})
        shown.edges.update(dict.fromkeys(_edges(statement, result)))
    shown.totals = every.shown
    return shown


def locate(drawing: Drawing, graph: GraphStore, tenant: Tenant) -> None:
    """Say of the chunks in a drawing where they stand: one call, none when there are no chunks."""
    chunks = [node.id for node in drawing.nodes.values() if node.kind == "chunk"]
    try:
        places = graph.adjacent(tenant, chunks).places if chunks else {}
    except StoreUnavailable:  # the evidence is worth showing without
        return
    for id_, place in places.items():
        at = place.placement
        drawing.nodes[id_] = replace(drawing.nodes[id_], document_id=place.source_id, start=at.start, end=at.end)


def _nodes(statement: ScoredStatement, result: SearchResult, citations: Mapping[str, str]) -> Iterator[EvidenceNode]:
    def node(id_: str, label: str, document: str = "") -> EvidenceNode:
        kind = id_.partition(":")[0]
        return EvidenceNode(id_, kind, label, LAYERS[kind], statement.score, citations.get(id_, ""), document)

    source = result.source
    if _found_itself(statement):
        yield node(statement.chunk_id, source.title or source.uri, source.id)
    for name, id_ in zip(statement.path, statement.path_ids, strict=True):
        yield node(id_, name)
    said = node(statement.id, statement.text, source.id)
    yield replace(said, start=statement.start, end=statement.end)
    yield node(source.id, source.title or source.uri)


def _edges(statement: ScoredStatement, result: SearchResult) -> Iterator[EvidenceEdge]:
    reason = statement.reason
    if _found_itself(statement):
        yield EvidenceEdge(QUESTION, statement.chunk_id, "anchor", reason)
        yield EvidenceEdge(statement.chunk_id, statement.id, "says", reason)
    if stops := statement.path_ids:
        yield EvidenceEdge(QUESTION, stops[0], "anchor", reason)
        for a, b in zip(stops, (*stops[1:], statement.id), strict=True):
            yield EvidenceEdge(a, b, "leads_to", reason)
    yield EvidenceEdge(statement.id, result.source.id, "from", reason)


def _found_itself(statement: ScoredStatement) -> bool:
    return not statement.path or statement.reason not in _REACHED
