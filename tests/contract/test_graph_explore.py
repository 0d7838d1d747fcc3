"""Looking around in a graph: a document's topics, and where an entity stands, as what and with whom."""

from lexigraph.model.ids import entity_id, topic_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Companion, Companions, EntityProfile, GraphStore, Relation, SourceVersion, TopicSpan
from tests.worlds import said, show, take_out, version

ACME = Tenant("acme")
SIGNS = ("Tove Lund", "signs", "Ledger")


def _id(name: str) -> str:
    return entity_id("acme", name)


def _flow(number: int = 1) -> SourceVersion:
    return version(
        "acme",
        "Flow",
        {
            "Payment": [
                said("Tove Lund signs the Ledger.", "Tove Lund|Person", "Ledger", facts=[SIGNS]),
                said("Mira Holm pays.", "Mira Holm"),
            ],
            "Approval": [said("tove lund and Mira Holm approve the Ledger.", "tove lund|Agent", "Mira Holm", "Ledger")],
        },
        number=number,
    )


def _note() -> SourceVersion:
    told = [said("Tove Lund, again, signs the Ledger.", "Tove Lund|Person", "Ledger", facts=[SIGNS])]
    return version("acme", "Note", {"Signature": told})


def test_topics_of_a_document_come_as_it_reads_with_where_they_stand(graph_store: GraphStore) -> None:
    flow = _flow()
    show(graph_store, "acme", flow, _note())
    payment, approval = (topic_id("acme", flow.source.id, title) for title in ("Payment", "Approval"))
    assert graph_store.topics(ACME, flow.source.id) == [
        TopicSpan(payment, "Payment", 0, 43, 2),
        TopicSpan(approval, "Approval", 45, 88, 1),
    ]
    assert graph_store.topics(Tenant("other"), flow.source.id) == []
    take_out(graph_store, "acme", flow.source.id)
    assert graph_store.topics(ACME, flow.source.id) == []


def test_the_chunks_that_name_an_entity_come_page_by_page_source_by_source(graph_store: GraphStore) -> None:
    flow, note = _flow(), _note()
    show(graph_store, "acme", flow, note)
    every = graph_store.naming(ACME, _id("Tove Lund"))
    assert [(c.source_id, c.seq) for c in every] == sorted([(flow.source.id, 0), (flow.source.id, 1), (note.source.id, 0)])
    pages, after = [], None
    while page := graph_store.naming(ACME, _id("Tove Lund"), after=after, limit=1):
        pages += page
        after = (page[-1].source_id, page[-1].seq)
    assert pages == every
    of_flow = graph_store.naming(ACME, _id("Tove Lund"), source_id=flow.source.id)
    assert [c.id for c in of_flow] == [c.chunk_id for c in flow.chunks]
    assert graph_store.naming(ACME, _id("Tove Lund"), source_id=flow.source.id, after=(flow.source.id, 1)) == []
    assert graph_store.naming(ACME, _id("Nobody")) == graph_store.naming(Tenant("other"), _id("Tove Lund")) == []


def test_a_profile_says_how_an_entity_is_named_and_how_often(graph_store: GraphStore) -> None:
    show(graph_store, "acme", _flow(), _note())
    assert graph_store.profile(ACME, _id("Tove Lund")) == EntityProfile(
        forms=(("Tove Lund", 2), ("tove lund", 1)), classes=(("Person", 2), ("Agent", 1)), statements=3, neighbours=2
    )
    assert graph_store.profile(ACME, _id("Nobody")) == EntityProfile()
    assert graph_store.profile(Tenant("other"), _id("Tove Lund")) == EntityProfile()


def test_companions_are_those_named_in_the_same_statements_most_first_with_what_facts_say(graph_store: GraphStore) -> None:
    show(graph_store, "acme", _flow(), _note())
    ledger = Companion(_id("Ledger"), 3, (Relation("signs", True, 2),))
    mira = Companion(_id("Mira Holm"), 1)
    assert graph_store.companions(ACME, _id("Tove Lund")) == Companions([ledger, mira], 2)
    assert graph_store.companions(ACME, _id("Tove Lund"), offset=1, limit=5) == Companions([mira], 2)
    assert graph_store.companions(ACME, _id("Tove Lund"), limit=1) == Companions([ledger], 2)
    back = graph_store.companions(ACME, _id("Ledger")).found[0]
    assert back == Companion(_id("Tove Lund"), 3, (Relation("signs", False, 2),))
    assert graph_store.companions(Tenant("other"), _id("Tove Lund")) == Companions([], 0)
    assert graph_store.companions(ACME, _id("Tove Lund"), offset=9) == Companions([], 2)


def test_what_a_new_version_no_longer_says_is_not_told(graph_store: GraphStore) -> None:
    flow = _flow()
    show(graph_store, "acme", flow)
    show(graph_store, "acme", version("acme", "Flow", {"Approval": [said("Mira Holm approves.", "Mira Holm")]}, number=2))
    assert [t.value for t in graph_store.topics(ACME, flow.source.id)] == ["Approval"]
    assert graph_store.profile(ACME, _id("Tove Lund")).statements == 0
    assert graph_store.naming(ACME, _id("Ledger")) == []
    assert graph_store.companions(ACME, _id("Mira Holm")) == Companions([], 0)


def test_what_most_documents_name_leads_by_an_index(graph_store: GraphStore) -> None:
    show(graph_store, "acme", _flow(), _note())
    names = [(e.value, e.df) for e in graph_store.leading(ACME, 5)]
    first = sorted([("Tove Lund", 2), ("Ledger", 2)], key=lambda pair: _id(pair[0]))
    assert names == [*first, ("Mira Holm", 1)]
    assert [e.id for e in graph_store.leading(ACME, 1)] == [_id(first[0][0])]
    assert graph_store.leading(Tenant("other"), 5) == []


def test_an_egonet_is_narrowed_to_kinds_of_nodes(graph_store: GraphStore) -> None:
    show(graph_store, "acme", _flow(), _note())
    around = graph_store.egonet(ACME, _id("Tove Lund"), kinds=("statement",))
    assert [node["type"] for node in around["nodes"]] == ["entity", *["statement"] * 3]
    assert around["totals"] == {"nodes": 4, "edges": 3, "complete": True}
    assert {edge["type"] for edge in around["edges"]} == {"MENTIONS"}
    first = graph_store.egonet(ACME, _id("Tove Lund"), kinds=("statement",), limit=2)
    assert (len(first["nodes"]), first["next_offset"]) == (2, 1)
    nothing = graph_store.egonet(ACME, _id("Tove Lund"), kinds=("topic",))
    assert [node["id"] for node in nothing["nodes"]] == [_id("Tove Lund")]
