"""Two tenants with equal documents: whatever one calls, it gets nothing of the other."""

import inspect
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lexigraph.answering.query_engine import LexicalGraphQueryEngine
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.curation import Decision
from lexigraph.model.errors import LexigraphError
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.ids import content_hash, entity_id
from lexigraph.model.relations import ChunkRelation, PairObservation, RelationCounts
from lexigraph.model.tenant import Tenant, View
from lexigraph.retrieval.recall.patterns import compile_pattern
from lexigraph.storage.protocols import (
    ApiKey,
    ContentCache,
    DocumentStore,
    EntityProfile,
    EvidenceRequest,
    GraphStore,
    Registry,
    RelatedRequest,
    SearchRequest,
    Stores,
    VectorStore,
)
from tests.laptop import content, laptop

OURS, THEIRS = Tenant("ours"), Tenant("theirs")
EVERYTHING = MetadataFilter("title", "!=", "")
OUR_KEY = ApiKey("lxk_ours", "ab" * 32, OURS, ("read",))
OUR_DECISION = Decision("made", "alias", "Granite", ("The Rock",))
TEXT = "# Granite\n\nGranite was built by Tove Lund.\n\nTove Lund lives in Bergen.\n"


@pytest.fixture
def index(tmp_path: Path) -> LexicalGraphIndex:
    """Our documents, and a tenant that has none but knows every id of ours."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "granite.md").write_text(TEXT)
    index = laptop(tmp_path / "data")
    index.ingest([files], tenant=OURS)
    return index


def calls(index: LexicalGraphIndex, who: Tenant = THEIRS) -> dict[str, Callable[[], Any]]:
    """Every reading call of every store, with ids and keys of ours, as the other tenant."""
    s: Stores = index.stores
    document = index.documents(tenant=OURS)[0]
    chunks = document.intended
    statements = s.graph.node_ids(OURS, document.source_id).statements
    entities = [entity_id(OURS, name) for name in ("Granite", "Tove Lund")]
    job = s.registry.jobs(OURS)[0].id
    vector = index.models.embedder.embed_questions(["Granite"])[0]
    wanted = EvidenceRequest(chunks=chunks, entities=tuple(entities), statements=statements)
    searches = [SearchRequest("chunk", vector=vector), SearchRequest("statement", text="Granite built")]
    searches += [SearchRequest("chunk", vector=vector, ids=chunks), SearchRequest("entity", text="Granite", prefix=True)]
    kinds = list(s.cache.stats(OURS))
    return {
        "graph.sources": lambda: s.graph.sources(who, [document.source_id]),
        "graph.chunk_ids": lambda: s.graph.chunk_ids(who, document.source_id),
        "graph.entities": lambda: s.graph.entities(who, entities, connected=9).found,
        "graph.names": lambda: any(s.graph.names(who if isinstance(who, View) else View(who, EVERYTHING), searches[-1:])),
        "graph.evidence": lambda: s.graph.evidence(who, wanted),
        "graph.neighbourhood": lambda: s.graph.neighbourhood(who, chunks, names={chunks[0]: entities}).chunks,
        "graph.nodes": lambda: s.graph.nodes(who, entities, near=entities),
        "graph.matching": lambda: s.graph.matching(who, compile_pattern("."), near=entities).nodes,
        "graph.surroundings": lambda: s.graph.surroundings(who, entities).nodes,
        "graph.adjacent": lambda: s.graph.adjacent(who, chunks, per_kind=9).places,
        "graph.related": lambda: s.graph.related(who, RelatedRequest(chunks, names={"": entities}, first=9)),
        "graph.observed": lambda: s.graph.observed(who, chunks, "observer", "how"),
        "graph.relation_counts": lambda: s.graph.relation_counts(who) != RelationCounts(),
        "graph.egonet": lambda: s.graph.egonet(who, entities[0]),
        "graph.topics": lambda: s.graph.topics(who, document.source_id),
        "graph.naming": lambda: [chunk for e in entities for chunk in s.graph.naming(who, e)],
        "graph.profile": lambda: any(s.graph.profile(who, e) != EntityProfile() for e in entities),
        "graph.companions": lambda: any(s.graph.companions(who, e).total for e in entities),
        "graph.leading": lambda: s.graph.leading(who, 5),
        "graph.stats": lambda: any(s.graph.stats(who).values()),
        "graph.counts": lambda: s.graph.counts(who, [document.source_id]),
        "graph.source_ids": lambda: s.graph.source_ids(who),
        "graph.absent": lambda: set(entities) - set(s.graph.absent(who, entities)),
        "graph.absent_chunks": lambda: set(chunks) - set(s.graph.absent_chunks(who, chunks)),
        "graph.node_ids": lambda: s.graph.node_ids(who, document.source_id),
        "graph.doomed": lambda: s.graph.doomed(who, [document.source_id]),
        "graph.derive": lambda: s.graph.derive(who),
        "vectors.search_many": lambda: [hit for hits in s.vectors.search_many(who, searches) for hit in hits],
        "vectors.fetch": lambda: s.vectors.fetch(who, "chunk", chunks),
        "vectors.visible": lambda: s.vectors.visible(who, {"chunk": chunks}),
        "vectors.sources": lambda: s.vectors.sources(who),
        "vectors.ids": lambda: s.vectors.ids(who, "chunk"),
        "vectors.stats": lambda: any(s.vectors.stats(who).values()),
        "documents.get": lambda: s.documents.get(who, document.source_id, "text.1"),
        "documents.names": lambda: s.documents.names(who, document.source_id),
        "documents.sources": lambda: s.documents.sources(who),
        "registry.document": lambda: s.registry.document(who, document.source_id),
        "registry.documents": lambda: s.registry.documents(who),
        "registry.fingerprints": lambda: s.registry.fingerprints(who, [document.source_id]),
        "registry.job": lambda: s.registry.job(who, job),
        "registry.jobs": lambda: s.registry.jobs(who),
        "registry.events": lambda: s.registry.events(who, job),
        "registry.records": lambda: s.registry.records(who, [document.source_id]),
        "registry.revision": lambda: s.registry.revision(who),
        "registry.freshness": lambda: any(asdict(s.registry.freshness(who)).values()),
        "registry.late_writers": lambda: s.registry.late_writers(who, since=0.0),
        "registry.keys": lambda: s.registry.keys(who),
        "registry.revoke_key": lambda: s.registry.revoke_key(who, OUR_KEY.id),
        "registry.claimed": lambda: s.registry.claimed(who, "file:///claimed"),
        "registry.session": lambda: s.registry.session(who, "session", since=0.0).seen,
        "registry.decisions": lambda: s.registry.decisions(who),
        "registry.stats": lambda: any(s.registry.stats(who).values()),
        "registry.counts": lambda: s.registry.counts(who),
        "cache.get_many": lambda: any(s.cache.get_many(who, k, _keys(index)) for k in kinds),
        "cache.owners": lambda: s.cache.owners(who),
        "cache.stats": lambda: any(s.cache.stats(who).values()),
        "index.documents": lambda: index.documents(tenant=who),
        "index.document": lambda: index.document(document.source_id, tenant=who),
        "index.text": lambda: index.text(document, tenant=who),
        "index.remove": lambda: index.remove([document.source_id], tenant=who),
        "index.repair": lambda: index.repair(tenant=who),
    }


def _keys(index: LexicalGraphIndex) -> list[str]:
    """The keys under which our chunks' vectors are cached."""
    chunks = index.documents(tenant=OURS)[0].intended
    keys = [content_hash(record.text) for record in index.stores.vectors.fetch(OURS, "chunk", chunks).values()]
    assert any(index.stores.cache.get_many(OURS, kind, keys) for kind in index.stores.cache.stats(OURS))
    return keys


def test_no_reading_call_gives_the_other_tenant_anything(index: LexicalGraphIndex) -> None:
    ends = index.documents(tenant=OURS)[0].intended[:1] * 2
    index.stores.graph.relate(OURS, [PairObservation(*ends, "observer", "how", (ChunkRelation(*ends, "CAUSES", 0.8),))])
    index.stores.registry.add_key(OUR_KEY)
    index.stores.registry.decide(OURS, OUR_DECISION)
    index.stores.registry.touch(OURS, "session", list(ends), 1.0, keep_seconds=1.0)
    before = content(index.stores, OURS)
    leaks = {}
    for name, call in calls(index).items():
        try:
            found = call()
        except LexigraphError:
            continue
        if found:
            leaks[name] = found
    assert leaks == {}
    assert content(index.stores, OURS) == before
    assert index.stores.registry.key(OUR_KEY.digest), "it is not revoked"


def test_no_reading_call_gives_a_view_anything_that_sees_nothing(index: LexicalGraphIndex) -> None:
    stores = index.stores
    ends = index.documents(tenant=OURS)[0].intended[:1] * 2
    stores.graph.relate(OURS, [PairObservation(*ends, "observer", "how", (ChunkRelation(*ends, "CAUSES", 0.8),))])
    stores.registry.add_key(OUR_KEY)
    stores.registry.decide(OURS, OUR_DECISION)
    stores.registry.touch(OURS, "session", list(ends), 1.0, keep_seconds=1.0)
    before, leaks = content(stores, OURS), {}
    for name, call in calls(index, View(OURS, MetadataFilter("group", "==", "staff"))).items():
        try:
            found = call()
        except LexigraphError:
            continue
        if found and name not in ("registry.revision", "registry.freshness"):  # that something changed is no secret
            leaks[name] = found
    assert leaks == {}
    assert content(stores, OURS) == before


def test_every_reading_call_of_the_protocols_is_tried(index: LexicalGraphIndex) -> None:
    writes = {
        *("write", "publish", "withdraw", "set_synonyms", "collect", "settle", "upsert", "tag", "untag", "delete", "put"),
        *("save", "forget", "lease", "start_job", "add_events", "finish_job", "put_many", "own", "disown", "close"),
        *("relate", "add_key", "touch", "ordinals", "claim", "clear", "drop", "fence", "dismiss", "decide"),
        # whose it is stands in the answer: who asks is not known yet, or is the server itself
        *("key", "signer", "any_key", "unfinished", "late_tenants", "tenants"),
    }
    tried = set(calls(index))
    for prefix, protocol in (
        ("graph", GraphStore),
        ("vectors", VectorStore),
        ("documents", DocumentStore),
        ("registry", Registry),
        ("cache", ContentCache),
    ):
        methods = {n for n, f in inspect.getmembers(protocol, inspect.isfunction) if not n.startswith("_")}
        assert {f"{prefix}.{m}" for m in methods - writes} <= tried


def test_no_writing_call_of_the_other_tenant_touches_ours(index: LexicalGraphIndex) -> None:
    s, document = index.stores, index.documents(tenant=OURS)[0]
    before = content(s, OURS)
    nodes = s.graph.node_ids(OURS, document.source_id)
    for change in (
        lambda: s.graph.withdraw(THEIRS, [document.source_id]),
        lambda: s.graph.collect(THEIRS, [document.source_id]),
        lambda: s.graph.set_synonyms(THEIRS, []),
        lambda: s.vectors.delete(THEIRS, {"chunk": nodes.chunks, "statement": nodes.statements}),
        lambda: s.vectors.untag(THEIRS, [document.source_id]),
        lambda: s.documents.delete(THEIRS, document.source_id),
        lambda: s.registry.forget(THEIRS, [document.source_id]),
        lambda: s.cache.disown(THEIRS, nodes.chunks),
    ):
        change()
    assert content(s, OURS) == before
    assert index.repair(tenant=OURS, dry_run=True) == []


def test_a_question_of_the_other_tenant_finds_nothing(index: LexicalGraphIndex) -> None:
    engine = LexicalGraphQueryEngine.for_traversal_based_search(
        index.stores.graph, index.stores.vectors, embedder=index.models.embedder, llm="none", tenant=OURS
    )
    assert "Tove Lund" in engine.query("Who built Granite?").response

    theirs = engine.query("Who built Granite?", tenant=THEIRS)
    assert theirs.citations == ()
    assert "Tove Lund" not in theirs.response
    assert engine.retrieve("Who built Granite?", tenant=THEIRS).results == ()
