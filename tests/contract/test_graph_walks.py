"""What every graph store promises of nodes, distances and edges (storage/protocols/graph.py)."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphEdge, GraphStore, SourceVersion
from tests.graph_dump import dump_graph
from tests.worlds import Said, said, show, take_out, version

A, B = Tenant("a"), Tenant("b")

FERRY = {
    "Crossing": [
        said("Ana Prado steers the Ferry.", "Ana Prado|Person", "Ferry", facts=[("Ana Prado", "steers", "Ferry")]),
        said("The Ferry lands at Molde.", "Ferry", "Molde", facts=[("Ferry", "lands at", "Molde")]),
    ],
    "Weather": [said("Fog is common in Molde.", "Molde")],
}


def entity(name: str, tenant: str = A) -> str:
    return entity_id(tenant, name)


def statements(v: SourceVersion) -> dict[str, str]:
    return {s.value: s.id for chunk in v.chunks for s in chunk.statements}


def topics(v: SourceVersion) -> dict[str, str]:
    return {t.value: t.id for chunk in v.chunks for t in chunk.topics}


def chain(length: int) -> SourceVersion:
    """A document in which N0 is joined to N1, N1 to N2 and so on, by facts alone."""
    links = [said(f"N{n} feeds N{n + 1}.", facts=[(f"N{n}", "feeds", f"N{n + 1}")]) for n in range(length)]
    named = [Said(s.text, (f"N{n}", f"N{n + 1}"), s.facts) for n, s in enumerate(links)]
    return version(A, "Chain", {f"Part {n}": [s] for n, s in enumerate(named)})


def test_nodes_are_live_entities_statements_and_topics_with_what_is_known_of_them(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY, metadata={"year": 2020})
    show(graph_store, A, ferry)
    asked = [entity("Ana Prado"), *statements(ferry).values(), *topics(ferry).values(), "entity:00", "chunk:ff", "nonsense"]

    found = graph_store.nodes(A, asked)

    assert set(found) == set(asked[:-3])
    ana = found[entity("Ana Prado")]
    assert (ana.kind, ana.value, ana.details, ana.source, ana.hops) == ("entity", "Ana Prado", "Person", None, None)
    fog = found[statements(ferry)["Fog is common in Molde."]]
    assert fog.kind == "statement"
    assert fog.source is not None
    assert (fog.source.title, fog.source.metadata) == ("Ferry", {"year": 2020})
    assert found[topics(ferry)["Weather"]].value == "Weather"


def test_nodes_go_with_their_source_and_are_seen_within_filters_and_by_their_tenant_only(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY, metadata={"year": 2020})
    show(graph_store, A, ferry)
    asked = [entity("Molde"), *statements(ferry).values(), *topics(ferry).values()]

    assert graph_store.nodes(A, asked, filters=MetadataFilter("year", "==", 2021)) == {}
    assert len(graph_store.nodes(A, asked, filters=MetadataFilter("year", "==", 2020))) == len(asked)
    assert graph_store.nodes(B, asked, near=asked) == {}
    assert graph_store.surroundings(B, asked).edges == ()
    assert graph_store.surroundings(A, asked, filters=MetadataFilter("year", "==", 2021)).nodes == {}
    take_out(graph_store, A, ferry.source.id)
    assert graph_store.nodes(A, asked) == {}


def test_what_is_not_published_yet_is_no_node_and_no_edge(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY)
    graph_store.write(A, [ferry])
    assert graph_store.nodes(A, [*statements(ferry).values(), entity("Molde")]) == {}
    assert graph_store.surroundings(A, [entity("Ferry")]).edges == ()


def test_hops_are_counted_from_the_nearest_up_to_three(graph_store: GraphStore) -> None:
    show(graph_store, A, chain(6))
    names = [f"N{n}" for n in range(7)]

    found = graph_store.nodes(A, [entity(n) for n in names], near=[entity("N0")])
    both = graph_store.nodes(A, [entity(n) for n in names], near=[entity("N0"), entity("N6")])

    assert [found[entity(n)].hops for n in names] == [0, 1, 2, 3, None, None, None]
    assert [both[entity(n)].hops for n in names] == [0, 1, 2, 3, 2, 1, 0]


def test_hops_lead_through_statements_and_topics_either_way(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY)
    show(graph_store, A, ferry)
    steers, lands, fog = statements(ferry).values()
    crossing, weather = topics(ferry)["Crossing"], topics(ferry)["Weather"]

    found = graph_store.nodes(A, [steers, lands, fog, crossing, weather, entity("Molde")], near=[steers])
    back = graph_store.nodes(A, [steers, entity("Ana Prado")], near=[weather])

    assert {i: n.hops for i, n in found.items()} == {
        steers: 0,
        crossing: 1,
        lands: 2,
        entity("Molde"): 2,
        fog: 3,
        weather: None,
    }
    assert [back[i].hops for i in (steers, entity("Ana Prado"))] == [None, None]
    assert graph_store.nodes(A, [entity("Ferry")], near=[weather])[entity("Ferry")].hops == 3


def test_what_is_named_very_often_is_reached_but_leads_nowhere(graph_store: GraphStore) -> None:
    crowd = [said(f"Number {n} is in Molde.", "Molde") for n in range(101)]
    ferry, other = version(A, "Ferry", FERRY), version(A, "Crowd", {"Crowd": crowd})
    show(graph_store, A, ferry, other)
    fog, someone = statements(ferry)["Fog is common in Molde."], statements(other)["Number 7 is in Molde."]

    found = graph_store.nodes(A, [entity("Molde"), someone], near=[fog])

    assert found[entity("Molde")].hops == 1
    assert found[someone].hops is None


def test_a_removed_node_that_was_near_is_far_from_everything(graph_store: GraphStore) -> None:
    gone = version(A, "Gone", {"Old": [said("Molde burnt once.", "Molde")]})
    show(graph_store, A, version(A, "Ferry", FERRY), gone)
    burnt = statements(gone)["Molde burnt once."]
    assert graph_store.nodes(A, [entity("Molde")], near=[burnt])[entity("Molde")].hops == 1
    take_out(graph_store, A, gone.source.id)
    assert graph_store.nodes(A, [entity("Molde")], near=[burnt])[entity("Molde")].hops is None


@dataclass(frozen=True)
class Literal:
    """Finds a text, whatever its case; ``told`` that it needs it, or not."""

    text: str
    told: bool = True

    @property
    def fragments(self) -> tuple[str, ...]:
        return (self.text.lower(),) if self.told else ()

    def share(self, text: str) -> float:
        return text.lower().count(self.text.lower()) * len(self.text) / max(1, len(text))


@pytest.mark.requirement("M-10")
@pytest.mark.parametrize("told", [True, False])
def test_a_pattern_finds_every_node_whose_text_it_matches(graph_store: GraphStore, told: bool) -> None:
    ports = [said(f"Option {n} sets UserPortFile{n}.", f"UserPortFile{n}|Option") for n in range(60)]
    plain = [said(f"Line {n} says 100% of nothing.") for n in range(200)]
    show(graph_store, A, version(A, "Ports", {"PORTFILES": ports, "Plain": plain}))

    found = graph_store.matching(A, Literal("portfile", told))
    percent = graph_store.matching(A, Literal("00% of", told))

    assert found.complete
    assert Counter(n.kind for n in found.nodes.values()) == {"statement": 60, "entity": 60, "topic": 1}
    assert Counter(n.kind for n in percent.nodes.values()) == {"statement": 200}
    assert graph_store.matching(A, Literal("00%_of", told)).nodes == {}
    assert graph_store.matching(B, Literal("portfile", told)).nodes == {}


def test_details_of_a_statement_are_searched_as_a_line_of_their_own(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", {"Crossing": [said("The Ferry sails.")]})
    (chunk,) = ferry.chunks
    told = tuple(replace(s, details="daily at 06:30") for s in chunk.statements)
    show(graph_store, A, replace(ferry, chunks=(replace(chunk, statements=told),)))
    (found,) = graph_store.matching(A, Literal("06:30")).nodes.values()
    assert (found.value, found.details) == ("The Ferry sails.", "daily at 06:30")
    assert set(graph_store.matching(A, Literal("sails.\ndaily")).nodes) == {found.id}


def test_of_too_many_matches_those_are_kept_that_are_most_of_their_text(graph_store: GraphStore) -> None:
    said_of = [said("Molde." + " Rain again." * n) for n in range(9)]
    show(graph_store, A, version(A, "Rain", {"Rain": said_of}))
    found = graph_store.matching(A, Literal("molde"), most=3)
    assert not found.complete
    assert {n.value for n in found.nodes.values()} == {"Molde.", "Molde. Rain again.", "Molde. Rain again. Rain again."}


def test_matches_are_those_of_live_sources_within_filters_and_come_with_what_was_asked_for(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY, metadata={"year": 2020})
    show(graph_store, A, ferry)
    graph_store.write(A, [version(A, "Unseen", {"Later": [said("Molde grows.", "Molde")]})])
    fog = statements(ferry)["Fog is common in Molde."]

    found = graph_store.matching(A, Literal("molde"), [entity("Ana Prado")], near=[fog])

    assert {n.value for n in found.nodes.values()} == {
        "Ana Prado",
        "Molde",
        "The Ferry lands at Molde.",
        "Fog is common in Molde.",
    }
    assert (found.nodes[fog].hops, found.nodes[entity("Molde")].hops) == (0, 1)
    later = MetadataFilter("year", "==", 2021)
    assert graph_store.matching(A, Literal("molde"), filters=later).nodes == {}
    take_out(graph_store, A, ferry.source.id)
    assert graph_store.matching(A, Literal("molde")).nodes == {}


def test_edges_carry_their_label_and_both_ends(graph_store: GraphStore) -> None:
    ferry = version(A, "Ferry", FERRY)
    show(graph_store, A, ferry)
    steers, lands, _ = statements(ferry).values()

    found = graph_store.surroundings(A, [entity("Ferry")])

    relations = {(e.from_id, e.label, e.to_id) for e in found.edges if e.kind == "RELATION"}
    assert relations == {
        (entity("Ana Prado"), "steers", entity("Ferry")),
        (entity("Ferry"), "lands at", entity("Molde")),
    }
    assert all(e.id.startswith("fact:") for e in found.edges if e.kind == "RELATION")
    mentions = {GraphEdge(s, entity("Ferry"), "MENTIONS", "mentions") for s in (steers, lands)}
    assert {e for e in found.edges if e.kind != "RELATION"} == mentions
    assert set(found.nodes) == {entity("Ana Prado"), entity("Ferry"), entity("Molde"), steers, lands}

    of_statement = graph_store.surroundings(A, [steers]).edges
    assert {(e.kind, e.to_id) for e in of_statement} == {
        ("MENTIONS", entity("Ana Prado")),
        ("MENTIONS", entity("Ferry")),
        ("BELONGS_TO", topics(ferry)["Crossing"]),
    }
    of_topic = graph_store.surroundings(A, [topics(ferry)["Crossing"]]).edges
    assert {(e.from_id, e.kind) for e in of_topic} == {(steers, "BELONGS_TO"), (lands, "BELONGS_TO")}


@pytest.mark.parametrize("per_node", [1, 2, 3])
def test_so_many_edges_a_node_those_to_other_nodes_asked_for_first(graph_store: GraphStore, per_node: int) -> None:
    ferry = version(A, "Ferry", FERRY)
    show(graph_store, A, ferry)
    lands = statements(ferry)["The Ferry lands at Molde."]

    alone = graph_store.surroundings(A, [entity("Ferry")], per_node=per_node).edges
    both = graph_store.surroundings(A, [entity("Ferry"), lands], per_node=per_node).edges

    assert len(alone) == per_node
    assert GraphEdge(lands, entity("Ferry"), "MENTIONS", "mentions") in both


def test_a_topic_tells_its_statements_in_reading_order(graph_store: GraphStore) -> None:
    story = version(A, "Story", {"Story": [said(f"Then came day {n}.") for n in range(30)]})
    show(graph_store, A, story)
    found = graph_store.surroundings(A, [topics(story)["Story"]], per_node=4)
    told = {n.value for n in found.nodes.values() if n.kind == "statement"}
    assert told == {f"Then came day {n}." for n in range(4)}


def test_edges_and_hops_do_not_depend_on_the_order_of_writing(graph_store: GraphStore) -> None:
    more = version(A, "Molde", {"Trade": [said(f"Molde sells {w}.", "Molde", w) for w in ("Salt", "Cod", "Rope")]})
    show(graph_store, A, version(A, "Ferry", FERRY), more)
    asked = [entity("Molde"), entity("Ferry")]
    first = (graph_store.surroundings(A, asked, per_node=2), graph_store.nodes(A, asked, near=[entity("Salt")]))
    for v in (version(A, "Ferry", FERRY), more):
        take_out(graph_store, A, v.source.id)
    assert dump_graph(graph_store, A)["entity"] == []
    show(graph_store, A, more)
    show(graph_store, A, version(A, "Ferry", FERRY))
    assert (
        graph_store.surroundings(A, asked, per_node=2),
        graph_store.nodes(A, asked, near=[entity("Salt")]),
    ) == first


def test_asking_for_nothing_finds_nothing(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Ferry", FERRY))
    assert graph_store.nodes(A, []) == {}
    assert graph_store.surroundings(A, []).edges == ()
