"""What a name means in some documents only: a question by the name finds it, nothing else is led there by the name."""

from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, RelatedRequest
from tests.graph_dump import dump_graph
from tests.worlds import said, settle, show, version

A = Tenant("a")
PLAIN, PLANET = "Mercury", "Mercury (planet)"


def ids(*names: str) -> tuple[str, ...]:
    return tuple(entity_id(A, name) for name in names)


def shown(store: GraphStore) -> dict[str, str]:
    """Show a page about the metal, one about the planet and one that is titled by a shop; return their chunks."""
    pages = {
        "Lamps": said("Mercury lights the lamps of Vardo.", PLAIN, "Vardo"),
        "Orbits": said("Mercury circles the Sun.", PLANET, "Sun"),
        "Thermometers": said("Mercury fills the thermometer.", PLAIN),
    }
    made = {title: version(A, title, {title: [one]}) for title, one in pages.items()}
    show(store, A, *made.values())
    store.set_synonyms(A, [("Quicksilver", PLAIN)], [(PLAIN, PLANET)])
    settle(store, A)
    return {title: next(iter(v.placements)) for title, v in made.items()}


def meant(store: GraphStore, name: str) -> set[str]:
    (id_,) = ids(name)
    found = store.entities(A, [id_])
    return {e.value for e in (*found.found.values(), *found.aliases.get(id_, ()))}


def test_looking_up_the_name_finds_both_and_the_other_way_round_only_the_one(graph_store: GraphStore) -> None:
    shown(graph_store)
    assert meant(graph_store, PLAIN) == {PLAIN, PLANET}
    assert meant(graph_store, "Quicksilver") == {PLAIN, PLANET}
    assert meant(graph_store, PLANET) == {PLANET}


def test_what_is_said_of_each_stays_apart(graph_store: GraphStore) -> None:
    shown(graph_store)

    def told(name: str) -> set[str]:
        return {row.value for row in graph_store.evidence(A, EvidenceRequest(entities=ids(name)))}

    assert told(PLAIN) == {"Mercury lights the lamps of Vardo.", "Mercury fills the thermometer."}
    assert told(PLANET) == {"Mercury circles the Sun."}


def test_only_a_name_of_the_question_leads_to_what_it_means_elsewhere(graph_store: GraphStore) -> None:
    at = shown(graph_store)

    def reached(**request: object) -> set[str]:
        return {step.to_chunk for step in graph_store.related(A, RelatedRequest(**request))}  # type: ignore[arg-type]

    assert reached(names={"": ids(PLAIN)}) == set(at.values())
    assert reached(names={"": ids(PLANET)}) <= {at["Orbits"]}
    assert reached(chunks=(at["Lamps"],)) == {at["Thermometers"]}
    links = graph_store.neighbourhood(A, [at["Lamps"]]).links
    assert {link.to_chunk for link in links} == {at["Thermometers"]}


def test_a_name_in_a_text_means_what_the_text_is_said_to_mean_by_it(graph_store: GraphStore) -> None:
    at = shown(graph_store)
    names = {at["Orbits"]: ids(PLAIN)}
    assert not graph_store.neighbourhood(A, [at["Orbits"]], names=names).links
    assert not graph_store.related(A, RelatedRequest((at["Orbits"],), names=names))
    names = {at["Thermometers"]: ids(PLAIN)}
    assert {s.to_chunk for s in graph_store.related(A, RelatedRequest((at["Thermometers"],), names=names))} == {at["Lamps"]}


def test_replacing_the_synonyms_takes_them_away_and_leaves_nothing(graph_store: GraphStore) -> None:
    shown(graph_store)
    graph_store.set_synonyms(A, [])
    settle(graph_store, A)
    assert meant(graph_store, PLAIN) == {PLAIN}
    assert dump_graph(graph_store, A)["alias"] == []
