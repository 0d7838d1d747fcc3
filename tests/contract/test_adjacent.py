"""What every graph store promises of chunks beside chunks (``GraphStore.adjacent``)."""

from dataclasses import replace

import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Adjacency, GraphStore, SourceVersion
from tests.worlds import said, show, take_out, version

A, B = Tenant("a"), Tenant("b")
APPEALS = {
    "Filing": [said("Appeals are filed with the Board.", "Board")],
    "Fees": [said("A fee is paid to the Treasury.", "Treasury")],
    "Rulings": [said("The Board rules within a month.", "Board")],
    "Archive": [said("Rulings are kept for ever.")],
}
TREASURY = {"Money": [said("The Treasury keeps the coins.", "Treasury")]}


def under(v: SourceVersion, *parents: str) -> SourceVersion:
    """The version with these headings above its chunks."""
    placements = {i: replace(p, parent=parent) for (i, p), parent in zip(v.placements.items(), parents, strict=True)}
    return replace(v, placements=placements)


def ends(found: Adjacency, start: str, kind: str) -> list[str]:
    return [e.to_chunk for e in found.edges if (e.from_chunk, e.kind) == (start, kind)]


@pytest.mark.requirement("H-29")
def test_a_chunk_says_where_it_stands_and_with_which_chunk_its_headings_begin(graph_store: GraphStore) -> None:
    appeals = under(version(A, "Appeals", APPEALS), "Intake", "Intake", "Outcome", "Outcome")
    show(graph_store, A, appeals)
    ids = list(appeals.placements)

    found = graph_store.adjacent(A, ids)

    assert [(found.places[i].placement, found.places[i].first) for i in ids] == [
        (p, first) for p, first in zip(appeals.placements.values(), (0, 0, 2, 2), strict=True)
    ]
    assert found.sources == {appeals.source.id: appeals.source}
    assert found.edges == ()


@pytest.mark.requirement("H-13")
def test_edges_lead_to_what_is_beside_a_chunk_by_order_heading_entity_and_topic(graph_store: GraphStore) -> None:
    appeals = under(version(A, "Appeals", {**APPEALS, "Filing ": [said("Forms are blue.")]}), "In", "In", "Out", "Out", "In")
    treasury = version(A, "Treasury", TREASURY)
    show(graph_store, A, appeals, treasury)
    filing, fees, rulings, archive, forms = appeals.placements
    (coins,) = treasury.placements

    found = graph_store.adjacent(A, [filing, fees], per_kind=5)

    assert ends(found, fees, "next") == [rulings]
    assert ends(found, fees, "previous") == [filing]
    assert ends(found, filing, "previous") == []
    assert ends(found, filing, "parent") == [fees, forms]
    assert ends(found, filing, "entity") == [rulings]
    assert ends(found, fees, "entity") == [coins]
    assert ends(found, filing, "topic") == [forms]
    assert set(found.places) == {filing, fees, rulings, coins, forms}
    assert archive not in found.places
    assert set(found.sources) == {appeals.source.id, treasury.source.id}


def test_of_many_chunks_beside_one_the_nearest_and_those_of_the_rarest_entities_are_kept(graph_store: GraphStore) -> None:
    many = {
        f"Part {n}": [said(f"Town {n} trades with Rome.", "Rome", *(["Carthage"] if n in (3, 9) else []))] for n in range(12)
    }
    towns = under(version(A, "Towns", many), *["Trade"] * 12)
    show(graph_store, A, towns)
    ids = list(towns.placements)

    found = graph_store.adjacent(A, [ids[3]], per_kind=3)

    assert ends(found, ids[3], "parent") == [ids[2], ids[4], ids[1]]
    sharing = ends(found, ids[3], "entity")
    assert sharing[0] == ids[9]
    assert sharing[1:] == sorted(set(ids) - {ids[3], ids[9]})[:2]


@pytest.mark.requirement("H-13")
def test_an_edge_says_among_how_many_chunks_what_joins_two_is_found(graph_store: GraphStore) -> None:
    guild = {
        "Rolls": [said("The Guild and the Warden keep the rolls.", "Guild", "Warden")],
        "Dues": [said("The Guild takes dues.", "Guild")],
        "Feasts": [said("The Guild feasts, and the Warden pays.", "Guild", "Warden")],
        "Feasts ": [said("Nobody else is asked.")],
    }
    show(graph_store, A, under(version(A, "Guild House", guild), "In", "In", "In", "Out"))
    rolls, dues, feasts, _ = version(A, "Guild House", guild).placements

    edges = graph_store.adjacent(A, [rolls, feasts], per_kind=5).edges
    among = {(e.from_chunk, e.to_chunk, e.kind): e.among for e in edges}

    assert among[rolls, dues, "next"] == 2
    assert among[rolls, dues, "parent"] == 3
    assert among[rolls, dues, "entity"] == 3, "the Guild"
    assert among[rolls, feasts, "entity"] == 2, "the Warden is the rarer of the two"
    assert {n for (start, _, kind), n in among.items() if (start, kind) == (feasts, "topic")} == {2}


def test_what_everybody_mentions_joins_nobody(graph_store: GraphStore) -> None:
    crowd = version(A, "Crowd", {f"Part {n}": [said(f"Rome is named in {n}.", "Rome")] for n in range(101)})
    show(graph_store, A, crowd)
    first = next(iter(crowd.placements))

    assert ends(graph_store.adjacent(A, [first], per_kind=5), first, "entity") == []


@pytest.mark.parametrize("per_kind", [0, 5])
def test_only_what_readers_of_the_tenant_see_has_a_place(graph_store: GraphStore, per_kind: int) -> None:
    appeals, treasury = version(A, "Appeals", APPEALS), version(A, "Treasury", TREASURY, metadata={"year": 1900})
    hidden = version(A, "Hidden", {"Draft": [said("The Board plans in secret.", "Board")]})
    show(graph_store, A, appeals, treasury)
    graph_store.write(A, [hidden])
    everything = [*appeals.placements, *treasury.placements, *hidden.placements]

    assert set(graph_store.adjacent(A, everything, per_kind=per_kind).places) == {*appeals.placements, *treasury.placements}
    assert graph_store.adjacent(B, everything, per_kind=per_kind) == Adjacency()
    old = graph_store.adjacent(A, everything, per_kind=per_kind, filters=MetadataFilter("year", "<", 1950))
    assert set(old.places) == set(treasury.placements)
    take_out(graph_store, A, appeals.source.id)
    assert set(graph_store.adjacent(A, everything, per_kind=per_kind).places) == set(treasury.placements)


def test_after_an_update_edges_are_those_of_the_new_version(graph_store: GraphStore) -> None:
    before = version(A, "Appeals", APPEALS)
    show(graph_store, A, before)
    shorter = {name: APPEALS[name] for name in ("Filing", "Rulings")}
    after = version(A, "Appeals", shorter, number=2)
    show(graph_store, A, after)
    filing, rulings = after.placements

    found = graph_store.adjacent(A, [filing], per_kind=5)

    assert ends(found, filing, "next") == [rulings]
    assert set(found.places) == {filing, rulings}


def test_unknown_chunks_are_passed_over(graph_store: GraphStore) -> None:
    assert graph_store.adjacent(A, ["chunk:00", "nonsense", ""], per_kind=5) == Adjacency()
