"""What every graph store promises of relations between chunks (storage/protocols/graph.py)."""

import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.ids import entity_id
from lexigraph.model.relations import ChunkRelation, PairObservation, Step
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import GraphStore, RelatedRequest, SourceVersion
from tests.graph_dump import dump_graph
from tests.worlds import said, show, take_out, version

A, B = Tenant("a"), Tenant("b")
ONE, TWO = "prompt-1:model-a", "prompt-1:model-b"


def pages(tenant: Tenant = A) -> dict[str, SourceVersion]:
    """Four pages: Grid and Mill share two names, Grid and Dam one, Dam and Port none with Grid's other names."""
    return {
        title: version(tenant, title, {title: [said(f"{title} and {', '.join(names)}.", title, *names)]})
        for title, names in {
            "Grid": ["Ada King", "Iron Works"],
            "Mill": ["Ada King", "Iron Works"],
            "Dam": ["Iron Works", "Lake Vale"],
            "Weir": ["Lake Vale", "Iron Works"],
            "Port": ["Lake Vale"],
        }.items()
    }


def chunk(v: SourceVersion) -> str:
    return next(iter(v.placements))


def seen(pair: tuple[str, str], *relations: tuple[str, float], observer: str = ONE, how: str = "400:0", failed: str = ""):
    made = tuple(ChunkRelation(*pair, type_, confidence, "words") for type_, confidence in relations)
    return PairObservation(*pair, observer, how, made, failed)


def rels(store: GraphStore, tenant: Tenant, *chunks: str, least: float = 0.0) -> list[Step]:
    return [s for s in store.related(tenant, RelatedRequest(chunks, min_confidence=least)) if s.kind == "llm_rel"]


@pytest.fixture
def shown(graph_store: GraphStore) -> dict[str, str]:
    """The chunk of each page, by title."""
    made = pages()
    show(graph_store, A, *made.values())
    return {title: chunk(v) for title, v in made.items()}


# ---------------------------------------------------------------- derived steps


@pytest.mark.requirement("E-65", "E-69")
def test_chunks_are_related_by_one_name_by_several_and_by_names_that_stand_together(
    graph_store: GraphStore, shown: dict[str, str]
) -> None:
    steps = {s.to_chunk: s for s in graph_store.related(A, RelatedRequest((shown["Grid"],)))}

    mill, dam, port = steps[shown["Mill"]], steps[shown["Dam"]], steps[shown["Port"]]
    assert (mill.kind, mill.weight, mill.names) == ("relates", 2.0, ("Ada King", "Iron Works"))
    assert (dam.kind, dam.weight, dam.names) == ("entity", 1.0, ("Iron Works",))
    # Iron Works and Lake Vale stand together in the dam's and the weir's chunk
    assert (port.kind, port.weight, port.names) == ("cooccur", 2.0, ("Iron Works", "Lake Vale"))


@pytest.mark.requirement("E-55")
def test_names_that_stand_together_too_seldom_or_are_too_short_lead_nowhere(
    graph_store: GraphStore, shown: dict[str, str]
) -> None:
    def reached(**request: int) -> set[str]:
        return {s.to_chunk for s in graph_store.related(A, RelatedRequest((shown["Grid"],), **request))}

    assert shown["Port"] in reached(least_together=2)
    assert shown["Port"] not in reached(least_together=3)
    assert reached(min_name=len("Iron Works")) == {shown[t] for t in ("Mill", "Dam", "Weir")}
    assert reached(min_name=50) == set()


def test_only_entities_that_few_sources_name_are_followed_and_only_so_far(
    graph_store: GraphStore, shown: dict[str, str]
) -> None:
    def reached(**request: object) -> set[str]:
        return {s.to_chunk for s in graph_store.related(A, RelatedRequest((shown["Grid"],), **request))}  # type: ignore[arg-type]

    assert reached(max_df=2) == {shown["Mill"]}  # Ada King only
    assert reached(all_kinds=False) == {shown[t] for t in ("Mill", "Dam", "Weir")}
    assert len(reached(all_kinds=False, per_entity=1)) <= 2
    assert shown["Weir"] in reached(all_kinds=False, per_entity=2, prefer=(shown["Weir"],))
    assert reached(max_entities=1, all_kinds=False)


def test_a_name_of_the_question_leads_to_chunks_without_any_hit(graph_store: GraphStore, shown: dict[str, str]) -> None:
    steps = graph_store.related(A, RelatedRequest(names={"": [entity_id(A, "Ada King")]}))
    assert {(s.from_chunk, s.to_chunk) for s in steps} == {("", shown["Grid"]), ("", shown["Mill"])}


def test_where_nothing_is_found_the_first_chunks_are_offered_when_wanted(
    graph_store: GraphStore, shown: dict[str, str]
) -> None:
    steps = graph_store.related(A, RelatedRequest(first=2))
    assert [s.kind for s in steps] == ["first", "first"]
    assert graph_store.related(A, RelatedRequest()) == []
    assert graph_store.related(B, RelatedRequest(first=2)) == []


@pytest.mark.requirement("E-68")
def test_other_names_of_an_entity_are_followed(graph_store: GraphStore) -> None:
    full = version(A, "Full", {"F": [said("The Iron Works Company grew.", "Iron Works Company")]})
    short = version(A, "Short", {"S": [said("IWC grew.", "IWC")]}, aliases=[("IWC", "Iron Works Company")])
    show(graph_store, A, full, short)

    steps = graph_store.related(A, RelatedRequest((chunk(full),)))

    assert [(s.to_chunk, s.names) for s in steps] == [(chunk(short), ("IWC",))]


# ---------------------------------------------------------------- observed relations


@pytest.mark.requirement("E-31", "E-65")
def test_the_confidence_of_a_relation_is_the_mean_over_distinct_observers(
    graph_store: GraphStore, shown: dict[str, str]
) -> None:
    pair = (shown["Grid"], shown["Port"])
    assert graph_store.relate(A, [seen(pair, ("CAUSES", 0.8))]) == (1, 0)
    assert graph_store.relate(A, [seen(pair, ("CAUSES", 0.8))]) == (0, 1)
    assert [s.weight for s in rels(graph_store, A, pair[0])] == [0.8]

    graph_store.relate(A, [seen(pair, ("CAUSES", 0.4), observer=TWO)])
    (step,) = rels(graph_store, A, pair[0])
    assert (step.to_chunk, step.type, step.weight, step.evidence) == (pair[1], "CAUSES", 0.6, "words")
    graph_store.relate(A, [seen(pair, ("CAUSES", 0.4), observer=TWO)])
    assert rels(graph_store, A, pair[0]) == [step]
    assert [s.to_chunk for s in rels(graph_store, A, pair[1])] == [pair[0]], "a relation leads both ways"
    assert rels(graph_store, A, pair[0], least=0.61) == []


def test_an_observer_that_looks_again_replaces_what_it_said(graph_store: GraphStore, shown: dict[str, str]) -> None:
    pair = (shown["Grid"], shown["Port"])
    graph_store.relate(A, [seen(pair, ("CAUSES", 0.8), ("SUPPORTS", 0.5))])
    graph_store.relate(A, [seen(pair, ("FOLLOWS", 0.9), how="100:0")])
    assert [s.type for s in rels(graph_store, A, pair[0])] == ["FOLLOWS"]


@pytest.mark.requirement("E-29")
def test_where_what_exists_is_kept_a_known_relation_is_passed_over(graph_store: GraphStore, shown: dict[str, str]) -> None:
    pair = (shown["Grid"], shown["Port"])
    graph_store.relate(A, [seen(pair, ("CAUSES", 0.8))])
    again = seen(pair, ("CAUSES", 0.2), ("FOLLOWS", 0.6), observer=TWO)
    assert graph_store.relate(A, [again], keep=True) == (1, 1)
    assert {(s.type, s.weight) for s in rels(graph_store, A, pair[0])} == {("CAUSES", 0.8), ("FOLLOWS", 0.6)}
    assert graph_store.relate(A, [again], keep=True) == (0, 2)


@pytest.mark.requirement("E-34")
def test_a_pair_that_failed_is_open_again_and_keeps_what_was_known(graph_store: GraphStore, shown: dict[str, str]) -> None:
    pair = (shown["Grid"], shown["Port"])
    graph_store.relate(A, [seen(pair, failed="timeout")])
    assert graph_store.observed(A, [pair[0]], ONE, "400:0") == {}

    graph_store.relate(A, [seen(pair, ("CAUSES", 0.8), ("FOLLOWS", 0.5))])
    assert graph_store.observed(A, [pair[0]], ONE, "400:0") == {pair: 2}
    assert graph_store.observed(A, [pair[0]], ONE, "999:0") == graph_store.observed(A, [pair[0]], TWO, "400:0") == {}

    graph_store.relate(A, [seen(pair, failed="timeout")])
    assert graph_store.observed(A, [pair[0]], ONE, "400:0") == {}
    assert len(rels(graph_store, A, pair[0])) == 2


def test_a_relation_goes_with_either_of_its_chunks(graph_store: GraphStore) -> None:
    made = pages()
    for gone in ("Grid", "Port"):
        show(graph_store, A, *made.values())
        ends = (chunk(made["Grid"]), chunk(made["Port"]))
        graph_store.relate(A, [seen(ends, ("CAUSES", 0.8))])
        graph_store.withdraw(A, [made[gone].source.id])
        assert rels(graph_store, A, *ends) == [], "hidden at once"
        take_out(graph_store, A, *(v.source.id for v in made.values()))
        assert not any(dump_graph(graph_store, A).values())


def test_an_observed_relation_is_an_edge_of_the_egonet(graph_store: GraphStore, shown: dict[str, str]) -> None:
    graph_store.relate(A, [seen((shown["Grid"], shown["Port"]), ("CAUSES", 0.8))])
    edge = {"source": shown["Grid"], "target": shown["Port"], "type": "REL"}
    assert all(edge in graph_store.egonet(A, shown[title])["edges"] for title in ("Grid", "Port"))


def test_relations_of_chunks_that_stay_outlive_a_new_version(graph_store: GraphStore) -> None:
    first = {"One": [said("One.", "One")], "Two": [said("Two.", "Two")]}
    show(graph_store, A, version(A, "Page", first))
    one, two = version(A, "Page", first).placements
    graph_store.relate(A, [seen((one, two), ("FOLLOWS", 0.8))])

    show(graph_store, A, version(A, "Page", {**first, "Three": [said("Three.", "Three")]}, number=2))
    assert len(rels(graph_store, A, one)) == 1
    show(graph_store, A, version(A, "Page", {"One": first["One"]}, number=3))
    assert rels(graph_store, A, one) == []
    assert dump_graph(graph_store, A)["rel_pair"] == []


def test_readers_see_relations_between_live_chunks_of_their_own_and_those_filters_admit(graph_store: GraphStore) -> None:
    old = version(A, "Old", {"O": [said("Old.", "Old")]}, metadata={"year": 1900})
    new = version(A, "New", {"N": [said("New.", "New")]}, metadata={"year": 2000})
    show(graph_store, A, old)
    graph_store.write(A, [new])
    ends = (chunk(old), chunk(new))
    graph_store.relate(A, [seen(ends, ("CAUSES", 0.8))])
    assert rels(graph_store, A, *ends) == []

    graph_store.publish(A, [new.source])
    assert len(rels(graph_store, A, ends[0])) == 1
    only_old = MetadataFilter("year", "<", 1950)
    assert graph_store.related(A, RelatedRequest((ends[0],), filters=only_old)) == []
    assert rels(graph_store, B, *ends) == []
    assert graph_store.relate(B, [seen(ends, ("CAUSES", 0.1))]) == (0, 0), "not a chunk of this tenant"


def test_what_is_said_of_chunks_that_are_gone_is_left_out(graph_store: GraphStore, shown: dict[str, str]) -> None:
    assert graph_store.relate(A, [seen((shown["Grid"], "chunk:" + "0" * 32), ("CAUSES", 0.8))]) == (0, 0)
    assert graph_store.observed(A, [shown["Grid"]], ONE, "400:0") == {}


# ---------------------------------------------------------------- counts


@pytest.mark.requirement("E-52", "E-56")
def test_relations_and_other_names_are_counted(graph_store: GraphStore, shown: dict[str, str]) -> None:
    graph_store.relate(A, [seen((shown["Grid"], shown["Port"]), ("CAUSES", 0.8)), seen((shown["Dam"], shown["Mill"]))])
    graph_store.relate(A, [seen((shown["Grid"], shown["Port"]), ("CAUSES", 0.4), observer=TWO)])
    graph_store.set_synonyms(A, [("Ada Byron", "Ada King"), ("Countess Ada", "Ada King"), ("IW", "Iron Works")])

    counts = graph_store.relation_counts(A)

    assert counts.llm_rel == 1
    # Grid with Mill, Dam with Weir
    assert counts.relates_to == 2
    # Ada King with Iron Works, Iron Works with Lake Vale
    assert counts.co_occurs_with == 2
    assert graph_store.relation_counts(A, least_together=1).co_occurs_with > 2
    assert graph_store.relation_counts(A, min_name=50).co_occurs_with == 0
    assert (counts.entities, counts.with_aliases) == (graph_store.stats(A)["entities"], 2)
    assert counts.samples == (("Ada King", ("Ada Byron", "Countess Ada")), ("Iron Works", ("IW",)))
    assert graph_store.relation_counts(B).entities == 0
