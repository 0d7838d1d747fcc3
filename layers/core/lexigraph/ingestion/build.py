"""From chunks and what was extracted from them to graph contributions and index records. Pure: no I/O, no state."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedStatement, Extraction
from lexigraph.model.graph import Alias, ChunkGraph, FactNode, Mention, Placement, StatementNode, TopicNode
from lexigraph.model.ids import chunk_id, content_hash, entity_id, fact_id, statement_id, topic_id
from lexigraph.model.normalise import entity_key, statement_key, text_key
from lexigraph.storage.protocols import IndexName, VectorRecord

FAILED = "failed"  # stands for the yield of a chunk whose extraction could not be used


@dataclass(frozen=True, slots=True)
class IdentifiedChunk:
    """A chunk with its ``key`` (content and order among equals) and, once it is known what it yields, its id."""

    key: str
    chunk: ChunkText
    yielded: str = ""
    id: str = ""

    @property
    def placement(self) -> Placement:
        """Where the chunk stands in this version of its document."""
        c = self.chunk
        return Placement(c.seq, c.start, c.end, c.role, " > ".join(c.headings))

    def yielding(self, tenant: str, source: str, yielded: str) -> "IdentifiedChunk":
        """Return the chunk with its id, now that a hash of its extraction is known."""
        content, _, ordinal = self.key.partition(":")
        return IdentifiedChunk(self.key, self.chunk, yielded, chunk_id(tenant, source, content, int(ordinal), yielded))


def identify(tenant: str, source: str, chunks: Sequence[ChunkText], known: Mapping[str, str]) -> list[IdentifiedChunk]:
    """Give chunks their keys, and ids to those whose yield is ``known`` from the version before."""
    seen: Counter[str] = Counter()
    identified = []
    for chunk in chunks:
        content = chunk.content[:32]
        one = IdentifiedChunk(f"{content}:{seen[content]}", chunk)
        identified.append(one.yielding(tenant, source, known[one.key]) if one.key in known else one)
        seen[content] += 1
    return identified


def yield_of(extraction: Extraction) -> str:
    """Return a hash of an extraction."""
    return FAILED if extraction.failed else content_hash(extraction.to_json())[:16]


def chunk_graph(tenant: str, source: str, chunk: IdentifiedChunk, extraction: Extraction) -> ChunkGraph:
    """Turn an extraction into nodes and edges. Equal statements, facts and names count once in a chunk."""
    topics: dict[str, TopicNode] = {}
    statements: dict[str, StatementNode] = {}
    facts: dict[tuple[str, str], FactNode] = {}
    mentions: dict[tuple[str, str], Mention] = {}
    for topic in extraction.topics:
        title = text_key(topic.title) or text_key(chunk.chunk.title) or "untitled"
        t = topic_id(tenant, source, title)
        topics.setdefault(t, TopicNode(t, title))
        for said in topic.statements:
            s = statement_id(tenant, t, said.value, said.kind)
            if s in statements:
                continue
            statements[s] = _statement(s, t, len(statements), said)
            named = _names(tenant, said)
            mentions.update({(s, e): Mention(s, e, form, class_) for e, (form, class_) in named.items()})
            facts.update({(s, f.id): f for f in _facts(tenant, s, said, named)})
    return ChunkGraph(
        chunk.id,
        tuple(topics.values()),
        tuple(statements.values()),
        tuple(facts.values()),
        tuple(mentions.values()),
        tuple(_aliases(tenant, extraction.aliases)),
    )


def _statement(id_: str, topic: str, position: int, said: ExtractedStatement) -> StatementNode:
    value, details = statement_key(said.value, said.kind), "\n".join(said.details)
    # prose is quoted with the characters that it has: NFKC, by which texts are compared, makes 102 of 10²
    quoted = said.original or said.value
    quoted = " ".join(quoted.split()) if said.kind == "prose" else statement_key(quoted, said.kind)
    original = "" if quoted == value else quoted
    return StatementNode(id_, topic, value, details, position, said.start, said.end, said.kind, original)


def _names(tenant: str, said: ExtractedStatement) -> dict[str, tuple[str, str]]:
    named: dict[str, tuple[str, str]] = {}
    for entity in said.entities:
        if entity_key(entity.name):
            named.setdefault(entity_id(tenant, entity.name), (text_key(entity.name), entity.class_))
    return named


def _facts(tenant: str, statement: str, said: ExtractedStatement, named: Mapping[str, object]) -> Iterable[FactNode]:
    for fact in said.facts:
        subject, predicate, object_ = text_key(fact.subject), text_key(fact.predicate), text_key(fact.object)
        if not (entity_key(subject) and predicate and object_):
            continue
        object_id = entity_id(tenant, object_) if entity_key(object_) else None
        yield FactNode(
            fact_id(tenant, subject, predicate, object_),
            statement,
            subject,
            predicate,
            object_,
            entity_id(tenant, subject),
            object_id if object_id in named else None,
            fact.confidence,
        )


def _aliases(tenant: str, pairs: Iterable[tuple[str, str]]) -> Iterable[Alias]:
    for other, name in dict.fromkeys(pairs):
        if entity_key(other) and entity_key(name) and entity_key(other) != entity_key(name):
            yield Alias(entity_id(tenant, other), entity_id(tenant, name), text_key(other), text_key(name))


def records(source: str, chunk: IdentifiedChunk, graph: ChunkGraph) -> dict[IndexName, list[VectorRecord]]:
    """Return the index records of a chunk, their vectors still open.

    A statement is indexed under the title of its document, since it seldom repeats it; a topic likewise.
    Several chunks may hold one statement, so only the chunk's own records name a chunk: its text, and the labels of the
    relations that it tells, which have its id and so live and die with it.
    """
    title = chunk.chunk.title
    head = f"{title}: " if title else ""
    return {
        "chunk": [VectorRecord(chunk.id, chunk.chunk.indexed, source, chunk.id)],
        "statement": [VectorRecord(s.id, f"{head}{s.value}\n{s.details}".strip(), source) for s in graph.statements],
        "topic": [
            VectorRecord(t.id, t.value if title and t.value.startswith(text_key(title)) else f"{head}{t.value}", source)
            for t in graph.topics
        ],
        "relation": [VectorRecord(chunk.id, "\n".join(dict.fromkeys(f.predicate for f in graph.facts)), source, chunk.id)],
    }
