"""What a view of a tenant sees is what there is once everything else is taken out: each reading method answers the same."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from lexigraph.model.errors import InvalidInput, LexigraphError, NotFound
from lexigraph.model.filters import Filter, MetadataFilter, MetadataFilters
from lexigraph.model.graph import Source
from lexigraph.model.ids import entity_id, node_id, source_id, topic_id
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.tenant import Tenant, View
from lexigraph.retrieval.recall.patterns import compile_pattern
from lexigraph.storage.protocols import (
    DocumentRecord,
    EvidenceRequest,
    GraphStore,
    Registry,
    RelatedRequest,
    SearchRequest,
    SourceVersion,
    VectorRecord,
    VectorStore,
)
from tests.contract.vector_fixtures import WORDS_OF_ALL_TENANTS, Opener, random_units
from tests.worlds import said, show, take_out, version

OURS = Tenant("ours")
STAFF = MetadataFilter("group", "==", "staff")
# as much as a key may carry: conditions inside each other, values of several types, a key that needs quoting
RIGHTS: tuple[Filter, ...] = (
    STAFF,
    MetadataFilters(
        (
            MetadataFilter("group", "in", ("press", "staff")),
            MetadataFilters((MetadataFilter("level of 'trust' ?", ">=", 5),), "not"),
            MetadataFilter("secret", "!=", True),
        )
    ),
    MetadataFilters((MetadataFilter("title", "in", ("Flow", "Tove Lund")), MetadataFilter("share", "==", 0.1)), "or"),
)


def _worlds() -> tuple[list[SourceVersion], list[SourceVersion]]:
    """What is seen, and what is not: hidden documents name the same things oftener, otherwise written, of another class."""
    staff = {"group": "staff", "share": 0.1, "level of 'trust' ?": 1}
    board = {"group": "board", "secret": True, "level of 'trust' ?": 9}
    lives = ("Tove Lund", "lives in", "Bergen")
    seen = [
        version(
            "ours",
            "Flow",
            {
                "Approval": [
                    said("Tove Lund approves the ledger.", "Tove Lund|Person", "Ledger"),
                    said("Tove Lund lives in Bergen.", "Tove Lund|Person", "Bergen|Place", facts=[lives]),
                ],
                "Payment": [said("Mira Holm pays from the ledger.", "Mira Holm", "Ledger")],
            },
            metadata=staff,
            aliases=[("The Boss", "Tove Lund")],
        ),
        version(
            "ours",
            "Tove Lund",
            {"Life": [said("Tove Lund was born in Bergen with Mira Holm.", "Tove Lund|Person", "Bergen", "Mira Holm")]},
            metadata=staff,
        ),
        version("ours", "Bergen", {"Town": [said("Bergen lies by the sea.", "Bergen|Place")]}, metadata=staff),
    ]
    hidden = [
        version(
            "ours",
            f"Nettle {number}",
            {
                "Approval": [
                    said(f"TOVE LUND signs plan {number}.", "TOVE LUND|Agent", "Nettle", "LEDGER"),
                    said(f"TOVE LUND lives in BERGEN {number}.", "TOVE LUND|Agent", "BERGEN", facts=[lives]),
                ],
                "Quarry": [said(f"Ivar Dahl meets MIRA HOLM at quarry {number}.", "Ivar Dahl", "MIRA HOLM")],
            },
            metadata=board,
            aliases=[("Nettle Boss", "TOVE LUND"), ("Ivar Dahl", "Mira Holm")],
        )
        for number in range(3)
    ]
    hidden.append(version("ours", "Ledger", {"Book": [said("The LEDGER is red.", "LEDGER|Book")]}, metadata=board))
    return seen, hidden


def _calls(store: GraphStore, who: Tenant, ids: Mapping[str, list[str]]) -> dict[str, Callable[[], Any]]:
    """Every reading method of a graph, asked for what is seen and what is not."""
    chunks, statements, topics, entities = ids["chunk"], ids["statement"], ids["topic"], ids["entity"]
    every = [*entities, *statements, *topics]
    wide = MetadataFilters((MetadataFilter("group", "==", "board"), MetadataFilter("share", ">", 0)), "or")
    calls: dict[str, Callable[[], Any]] = {
        "sources": lambda: store.sources(who, ids["source"]),
        "chunk_ids": lambda: [store.chunk_ids(who, source) for source in ids["source"]],
        "entities": lambda: store.entities(who, entities, connected=3),
        "evidence of chunks": lambda: store.evidence(who, EvidenceRequest(chunks=tuple(chunks))),
        "evidence of entities": lambda: store.evidence(who, EvidenceRequest(entities=tuple(entities), per_entity=2)),
        "evidence of statements": lambda: store.evidence(
            who, EvidenceRequest(statements=tuple(statements), whole_chunks=True)
        ),
        "evidence of topics": lambda: store.evidence(
            who, EvidenceRequest(topics=tuple(topics), entities=tuple(entities[:2]), topic_reach=1, topic_links=5)
        ),
        "neighbourhood": lambda: _told(store.neighbourhood(who, chunks, names={chunks[0]: entities})),
        "adjacent": lambda: store.adjacent(who, chunks, per_kind=3),
        "nodes": lambda: store.nodes(who, every, near=entities[:1]),
        "matching": lambda: store.matching(who, compile_pattern("[TN][oe]|lives"), near=entities[:1]),
        "surroundings": lambda: store.surroundings(who, every, per_node=9),
        "related": lambda: store.related(who, RelatedRequest(tuple(chunks), names={"": entities}, first=9)),
        "relation_counts": lambda: store.relation_counts(who, least_together=1),
        "stats": lambda: store.stats(who),
        "topics": lambda: [store.topics(who, source) for source in ids["source"]],
        "naming": lambda: [store.naming(who, entity) for entity in entities],
        "profile": lambda: [store.profile(who, entity) for entity in entities],
        "companions": lambda: [store.companions(who, entity) for entity in entities],
        "leading": lambda: store.leading(who, 30),
        "within filters": lambda: store.evidence(who, EvidenceRequest(chunks=tuple(chunks), filters=wide)),
        "entities within filters": lambda: store.entities(who, entities, connected=3, filters=wide),
    }
    for node in [*ids["source"], *chunks, *every]:
        for depth in (1, 3):
            calls[f"egonet {node} {depth}"] = lambda node=node, depth=depth: store.egonet(who, node, depth=depth)
    return calls


def _told(neighbourhood: Any) -> Any:
    return neighbourhood.links, [(c.id, c.source, list(c.rows)) for c in neighbourhood.chunks], neighbourhood.entities


def _answers(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    def ask(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except LexigraphError as error:
            return error.code

    return {name: ask(call) for name, call in calls.items()}


def _ids(versions: list[SourceVersion]) -> dict[str, list[str]]:
    chunks = [c for v in versions for c in v.chunks]
    names = ("Tove Lund", "Bergen", "Mira Holm", "Ledger", "Nettle", "Ivar Dahl", "The Boss", "Nettle Boss", "Flow")
    return {
        "source": [v.source.id for v in versions],
        "chunk": [c.chunk_id for c in chunks],
        "statement": [s.id for c in chunks for s in c.statements],
        "topic": list(dict.fromkeys(t.id for c in chunks for t in c.topics)),
        "entity": [entity_id("ours", name) for name in names],
    }


@pytest.mark.parametrize("rights", RIGHTS, ids=["one condition", "several", "own properties"])
def test_a_view_sees_what_is_left_when_everything_else_is_taken_out(graph_store: GraphStore, rights: Filter) -> None:
    seen, hidden = _worlds()
    if rights is RIGHTS[2]:
        hidden, seen = [*hidden, seen.pop()], seen
        hidden[-1] = version("ours", "Bergen", {"Town": [said("Bergen lies by the sea.", "Bergen|Place")]})
    mixed = [v for pair in zip(hidden, seen, strict=False) for v in pair] + hidden[len(seen) :]
    show(graph_store, "ours", *mixed, *seen[len(hidden) :])
    graph_store.set_synonyms(OURS, [("Torben", "Mira Holm")])
    ids, view = _ids([*seen, *hidden]), View(OURS, rights)
    ends = [ids["chunk"][0], ids["chunk"][-1]]
    graph_store.relate(OURS, [PairObservation(*ends, "observer", "how", (ChunkRelation(*ends, "CAUSES", 0.8),))])
    before = _answers(_calls(graph_store, view, ids))
    everything = _answers(_calls(graph_store, OURS, ids))

    take_out(graph_store, "ours", *(v.source.id for v in hidden))
    after = _answers(_calls(graph_store, OURS, ids))
    for name, found in after.items():
        assert before[name] == found, name
    assert all(found != everything[name] for name, found in before.items() if "egonet" not in name and "filters" not in name)


def test_names_are_searched_among_those_that_a_view_sees(graph_store: GraphStore) -> None:
    seen, hidden = _worlds()
    show(graph_store, "ours", *hidden, *seen)
    requests = [SearchRequest("entity", text=text, k=9, prefix=True) for text in ("Tove Lund", "Nettle", "boss", "Ivar")]
    requests.append(SearchRequest("entity", text="Tove", ids=tuple(_ids([])["entity"])))
    before = graph_store.names(View(OURS, STAFF), requests)
    take_out(graph_store, "ours", *(v.source.id for v in hidden))
    everybody = View(OURS, MetadataFilter("group", "!=", "nobody"))
    assert before == graph_store.names(everybody, requests)
    assert [[hit.text for hit in hits] for hits in before] == [["Tove Lund"], [], ["The Boss"], [], ["Tove Lund"]]


def test_what_a_view_sees_follows_the_metadata_of_the_version_that_is_shown(graph_store: GraphStore) -> None:
    view, told = View(OURS, STAFF), {"Topic": [said("Tove Lund signs.", "Tove Lund")]}
    show(graph_store, "ours", version("ours", "Flow", told, metadata={"group": "staff"}))
    assert graph_store.stats(view)["sources"] == 1
    assert [hit.text for hit in graph_store.names(view, [SearchRequest("entity", text="tove")])[0]] == ["Tove Lund"]
    show(graph_store, "ours", version("ours", "Flow", told, number=2, metadata={"group": "board"}))
    assert not any(graph_store.stats(view).values())
    assert graph_store.entities(view, [entity_id("ours", "Tove Lund")]).found == {}
    assert graph_store.stats(OURS)["sources"] == 1


def test_ids_are_those_of_the_tenant_and_nothing_can_be_written_to_a_view(graph_store: GraphStore) -> None:
    view = View(OURS, STAFF)
    assert node_id("entity", view, "tove lund") == entity_id(OURS, "Tove Lund")
    assert topic_id(view, "source:1", "Flow") == topic_id("ours", "source:1", "Flow")
    show(graph_store, "ours", version("ours", "Flow", {"Topic": [said("Tove signs.", "Tove")]}, metadata={"group": "staff"}))
    flow = graph_store.source_ids(OURS)
    graph_store.withdraw(view, flow)
    graph_store.collect(view, flow)
    assert graph_store.stats(OURS)["statements"] == 1


def _filled(store: VectorStore) -> tuple[list[str], list[str]]:
    """Records of documents that are seen, and more of others: with the same words and with words of their own."""
    sources = {"s1": "staff", "s2": "staff", "h1": "board", "h2": "board", "h3": "board"}
    directions = random_units(len(sources) * 4, seed=1)
    texts = ("the ledger of Bergen", "Tove signs the ledger, the ledger", "a clock in Bergen", "sentences about nothing")
    hidden = ("Bergen Bergen Bergen and the ledger", "Nettle keeps the ledger of Tove", "ledger ledger", "Nettle Nettle")
    rows = [
        VectorRecord(f"{source}-{at}", text, source, f"c-{source}-{at}", directions[4 * number + at])
        for number, (source, group) in enumerate(sources.items())
        for at, text in enumerate(texts if group == "staff" else hidden)
    ]
    names = [VectorRecord(f"e{at}", name) for at, name in enumerate(("Tove Lund", "Nettle"))]
    store.upsert(OURS, {"chunk": rows, "statement": rows, "entity": names})
    store.tag(OURS, [Source(i, f"file:///{i}", "default", i, {"group": group, "year": 1}) for i, group in sources.items()])
    return [r.id for r in rows], [r.id for r in rows if r.source_id.startswith("h")]


def _searches(every: list[str]) -> list[SearchRequest]:
    ids, wide = tuple(every), MetadataFilter("year", "==", 1)
    narrow, hidden = MetadataFilter("title", "==", "s1"), MetadataFilter("group", "==", "board")
    found: list[SearchRequest] = []
    for filters in (None, wide, narrow, hidden):
        found += [SearchRequest("chunk", vector=random_units(1, 2)[0], k=k, filters=filters) for k in (3, 99)]
        found += [SearchRequest("statement", vector=random_units(1, 3)[0], ids=ids, filters=filters)]
        for text in ("ledger", "Bergen ledger Tove", "Nettle", "the", "clock nothing"):
            found += [SearchRequest("chunk", text=text, k=k, filters=filters, vectors=k == 2) for k in (2, 99)]
            found += [SearchRequest("chunk", text=text, ids=ids, filters=filters)]
        found.append(SearchRequest("chunk", text="led", prefix=True, filters=filters))
    return found


def test_searches_of_a_view_find_what_they_would_without_the_rest(open_vector_store: Opener) -> None:
    store, view = open_vector_store(), View(OURS, STAFF)
    every, hidden = _filled(store)
    before, whole = store.search_many(view, _searches(every)), store.search_many(OURS, _searches(every))
    fetched, counted = store.fetch(view, "chunk", every), store.stats(view)
    store.delete(OURS, {"chunk": hidden, "statement": hidden, "entity": ["e0", "e1"]})
    everybody = View(OURS, MetadataFilter("group", "!=", "nobody"))
    assert repr(before) == repr(store.search_many(everybody, _searches(every)))
    after = store.search_many(OURS, _searches(every))
    if open_vector_store.back_end in WORDS_OF_ALL_TENANTS:  # the service has its own measure of the length of texts
        before, after = ([sorted(h.id for h in hits) for hits in found] for found in (before, after))
    assert repr(before) == repr(after)
    assert repr(before) != repr(whole)
    assert fetched.keys() == set(every) - set(hidden)
    assert counted == store.stats(OURS)


def test_no_name_of_the_index_of_names_is_found_in_a_view(vector_store: VectorStore) -> None:
    _filled(vector_store)
    view = View(OURS, MetadataFilter("group", "!=", "nobody"))
    requests = [SearchRequest("entity", text="Nettle"), SearchRequest("entity", text="Tove", ids=("e0", "e1"))]
    assert vector_store.search_many(view, requests) == [[], []]
    assert vector_store.fetch(view, "entity", ["e0", "e1"]) == {}
    assert len(vector_store.search_many(OURS, requests)[0]) == 1


def test_a_registry_lists_the_documents_that_a_view_sees_page_by_page(registry: Registry) -> None:
    rights = MetadataFilters((STAFF, MetadataFilter("namespace", "==", "court")), "or")
    seen = [_record(f"file:///{at:02}", "staff" if at % 3 else "board", "court" if at == 9 else "shop") for at in range(20)]
    registry.save(OURS, seen)
    view, wanted = (
        View(OURS, rights),
        [r.source_id for r in seen if r.metadata["group"] == "staff" or r.namespace == "court"],
    )
    found, after = list[str](), ""
    while page := registry.documents(view, after=after, limit=4):
        assert len(page) <= 4
        found += [record.source_id for record in page]
        after = page[-1].uri
    assert found == wanted
    assert [r.source_id for r in registry.documents(view, namespace="court")] == [seen[9].source_id]
    for record in seen:
        assert (registry.document(view, record.source_id) is not None) == (record.source_id in wanted)
    assert set(registry.records(view, [r.source_id for r in seen])) == set(wanted)
    assert registry.stats(view) == {"BUILDING": 0, "READY": len(wanted), "REMOVING": 0, "FAILED": 0, "jobs": 0}
    with pytest.raises(InvalidInput, match="limit"):
        registry.documents(view, limit=0)


def test_jobs_of_a_view_are_those_begun_in_it_without_what_they_tell_of_others(registry: Registry) -> None:
    view, other = View(OURS, STAFF), View(OURS, MetadataFilter("group", "==", "board"))
    whole = registry.start_job(OURS, "ingest", {"paths": ["a"]})
    mine = registry.start_job(view, "ingest", {"paths": ["b"]})
    told = {"documents_new": 1, "entities_created": 7, "facts_created": 0, "embedded": 0, "chunks_embedded": 0}
    registry.add_events(OURS, mine.id, [("embedding_progress", {"current": 1}), ("result", told)])
    registry.finish_job(OURS, mine.id, "SUCCEEDED", told)
    assert [job.id for job in registry.jobs(view)] == [mine.id]
    assert registry.jobs(other) == []
    assert registry.job(view, mine.id).result == {"documents_new": 1}
    assert [event.data for event in registry.events(view, mine.id)] == [{"documents_new": 1}]
    assert registry.events(other, mine.id) == registry.events(view, whole.id) == []
    for who, job in ((view, whole), (other, mine)):
        with pytest.raises(NotFound):
            registry.job(who, job.id)
    assert registry.job(OURS, mine.id).result == told
    assert [(str(tenant), job.id) for tenant, job in registry.unfinished()] == [("ours", whole.id)]


def test_sessions_and_places_of_a_view_are_its_own_and_documents_make_its_answers_stale(registry: Registry) -> None:
    view = View(OURS, STAFF)
    registry.touch(OURS, "s", ["entity:1"], 1.0, keep_seconds=9.0)
    registry.touch(view, "s", ["entity:2"], 1.0, keep_seconds=9.0)
    assert [list(registry.session(who, "s", since=0.0).seen) for who in (OURS, view)] == [["entity:1"], ["entity:2"]]
    registry.ordinals(OURS, "court", ["source:hidden", "source:seen"])
    assert registry.ordinals(view, "court", ["source:seen"]) == {"source:seen": 0}
    before = registry.freshness(view)
    registry.save(OURS, [_record("file:///a", "staff", "court")])
    assert registry.freshness(view).revision > before.revision
    registry.clear(OURS)
    assert registry.freshness(view).cleared > before.cleared


def _record(uri: str, group: str, namespace: str) -> DocumentRecord:
    return DocumentRecord(source_id("ours", namespace, uri), uri, namespace, uri, "READY", metadata={"group": group})
