"""Small documents as graph contributions, written down the way one would say them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lexigraph.ingestion.build import IdentifiedChunk, chunk_graph, identify, yield_of
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedFact, ExtractedStatement, ExtractedTopic, Extraction
from lexigraph.model.graph import Source
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphStore, SourceVersion


@dataclass(frozen=True)
class Said:
    """A statement with the names in it and the facts it supports; a name may be ``Name|Class``."""

    text: str
    names: tuple[str, ...] = ()
    facts: tuple[tuple[str, str, str], ...] = ()
    kind: str = "prose"
    original: str = ""


def said(
    text: str, *names: str, facts: Sequence[tuple[str, str, str]] = (), kind: str = "prose", original: str = ""
) -> Said:
    return Said(text, names, tuple(facts), kind, original)


def extraction(topic: str, statements: Sequence[Said], aliases: Sequence[tuple[str, str]] = ()) -> Extraction:
    at, extracted = 0, []
    for s in statements:
        entities = tuple(ExtractedEntity(*name.partition("|")[::2]) for name in s.names)
        facts = tuple(ExtractedFact(*fact) for fact in s.facts)
        end = at + len(s.text)
        extracted.append(ExtractedStatement(s.text, at, end, (), entities, facts, s.kind, s.original))
        at += len(s.text) + 1
    return Extraction((ExtractedTopic(topic, tuple(extracted)),), tuple(aliases))


def identified(tenant: str, source: str, title: str, chunks: Mapping[str, Sequence[Said]]) -> list[IdentifiedChunk]:
    texts, at = [], 0
    for seq, (topic, statements) in enumerate(chunks.items()):
        text = " ".join(s.text for s in statements)
        texts.append(ChunkText(seq, title, (topic,), text, at, at + len(text)))
        at += len(text) + 2
    return [
        c.yielding(tenant, source, yield_of(extraction(topic, statements)))
        for c, (topic, statements) in zip(identify(tenant, source, texts, {}), chunks.items(), strict=True)
    ]


def version(
    tenant: str,
    title: str,
    chunks: Mapping[str, Sequence[Said]],
    *,
    number: int = 1,
    aliases: Sequence[tuple[str, str]] = (),
    uri: str = "",
    metadata: Mapping[str, str | int | float | bool] | None = None,
) -> SourceVersion:
    """A version of a document: a mapping from topic to statements, one chunk a topic."""
    uri = uri or f"file:///{title.lower()}.md"
    source = Source(source_id(tenant, "default", uri), uri, "default", title, dict(metadata or {}), number)
    parts = identified(tenant, source.id, title, chunks)
    graphs = [
        chunk_graph(tenant, source.id, part, extraction(topic, statements, aliases))
        for part, (topic, statements) in zip(parts, chunks.items(), strict=True)
    ]
    return SourceVersion(source, {p.id: p.placement for p in parts}, tuple(graphs))


def show(store: GraphStore, tenant: str, *versions: SourceVersion) -> None:
    """Write versions and show them, with everything that follows."""
    owner = Tenant(tenant)
    store.write(owner, versions)
    store.publish(owner, [v.source for v in versions])
    store.collect(owner, [v.source.id for v in versions])
    settle(store, tenant)


def take_out(store: GraphStore, tenant: str, *sources: str) -> None:
    """Remove sources with everything that follows."""
    owner = Tenant(tenant)
    store.withdraw(owner, sources)
    store.collect(owner, sources)
    settle(store, tenant)


def settle(store: GraphStore, tenant: str) -> None:
    while derived := store.derive(Tenant(tenant)):
        store.settle(Tenant(tenant), derived)
