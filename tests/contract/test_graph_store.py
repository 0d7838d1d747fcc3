"""What every graph store promises (storage/protocols.py)."""

from dataclasses import replace

import pytest

from lexigraph.model.errors import Conflict, InvalidInput, NotFound
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import EvidenceRequest, GraphStore, SourceVersion
from tests.graph_dump import dump_graph
from tests.worlds import Said, said, settle, show, take_out, version

A, B = Tenant("a"), Tenant("b")

CURIE = {
    "Life": [
        said(
            "Marie Curie was born in Warsaw.",
            "Marie Curie|Person",
            "Warsaw|Location",
            facts=[("Marie Curie", "was born in", "Warsaw")],
        ),
        said("She moved to Paris.", "Marie Curie|Person", "Paris|Location", facts=[("Marie Curie", "moved to", "Paris")]),
    ],
    "Prizes": [said("She won two prizes.", "Marie Curie|Person")],
}
WARSAW = {"Warsaw": [said("Warsaw lies on the Vistula.", "Warsaw|Location", "Vistula|Location")]}


def values(store: GraphStore, tenant: Tenant, **request: object) -> list[str]:
    return [row.value for row in store.evidence(tenant, EvidenceRequest(**request))]  # type: ignore[arg-type]


def names(*wanted: str, tenant: str = A) -> tuple[str, ...]:
    return tuple(entity_id(tenant, name) for name in wanted)


def chunks_of(v: SourceVersion) -> tuple[str, ...]:
    return tuple(v.placements)


@pytest.mark.requirement("G-02", "G-03")
def test_a_statement_comes_with_its_topic_chunk_source_facts_and_offsets(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE, metadata={"year": 1867, "ok": True})
    show(graph_store, A, curie)

    rows = graph_store.evidence(A, EvidenceRequest(chunks=chunks_of(curie)))

    assert [row.value for row in rows] == ["Marie Curie was born in Warsaw.", "She moved to Paris.", "She won two prizes."]
    born = rows[0]
    assert (born.topic, born.source.title, born.source.metadata) == ("Life", "Marie Curie", {"year": 1867, "ok": True})
    assert (born.seq, born.position, born.start, born.end, born.chunk_start) == (0, 0, 0, 31, 0)
    assert [str(f) for f in born.facts] == ["Marie Curie was born in Warsaw"]
    assert (born.facts[0].subject_id, born.facts[0].object_id) == names("Marie Curie", "Warsaw")
    assert set(born.entities) == set(names("Marie Curie", "Warsaw"))
    assert rows[2].chunk_start == len("Marie Curie was born in Warsaw. She moved to Paris.") + 2


def test_nothing_is_seen_before_it_is_published(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    graph_store.write(A, [curie])
    settle(graph_store, A)

    assert values(graph_store, A, chunks=chunks_of(curie), entities=names("Warsaw")) == []
    assert graph_store.entities(A, names("Warsaw")).found == {}
    assert not any(graph_store.stats(A).values())
    assert graph_store.sources(A, [curie.source.id]) == {}

    graph_store.publish(A, [curie.source])
    assert len(values(graph_store, A, chunks=chunks_of(curie))) == 3


def test_while_a_new_version_is_written_readers_see_the_old_one_only(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Marie Curie", CURIE))
    changed = {"Life": [said("Marie Curie was born in Poland.", "Marie Curie", "Poland")], "Prizes": CURIE["Prizes"]}
    new = version(A, "Marie Curie", changed, number=2)

    graph_store.write(A, [new])
    everything = ("Marie Curie", "Poland", "Warsaw", "Paris")
    before = values(graph_store, A, entities=names(*everything), chunks=chunks_of(new))
    graph_store.publish(A, [new.source])
    after = values(graph_store, A, entities=names(*everything), chunks=chunks_of(new))

    assert before == ["Marie Curie was born in Warsaw.", "She moved to Paris.", "She won two prizes."]
    assert after == ["Marie Curie was born in Poland.", "She won two prizes."]


def test_writing_and_showing_the_same_twice_changes_nothing(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    show(graph_store, A, curie)
    once = dump_graph(graph_store, A)
    show(graph_store, A, replace(curie, source=replace(curie.source, version=2)))

    assert dump_graph(graph_store, A) == once


def test_an_update_equals_a_fresh_build_of_the_new_content(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW))
    moved = {"Prizes": CURIE["Prizes"], "Life": [CURIE["Life"][1]], "Late": [said("She died in 1934.", "Marie Curie")]}
    show(graph_store, A, version(A, "Marie Curie", moved, number=2, metadata={"edition": 2}))

    show(graph_store, B, version(B, "Warsaw", WARSAW))
    show(graph_store, B, version(B, "Marie Curie", moved, metadata={"edition": 2}))
    assert graph_store.stats(A) == graph_store.stats(B)
    assert graph_store.stats(A)["statements"] == 4
    for table, rows in dump_graph(graph_store, A).items():
        assert len(rows) == len(dump_graph(graph_store, B)[table]), table
        assert len(rows) or table in ("alias", "rel", "rel_pair", "touched"), table


def test_an_interrupted_attempt_leaves_nothing_behind(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Marie Curie", CURIE))
    once = dump_graph(graph_store, A)
    half = {"Life": [said("Marie Curie lived on Mars.", "Mars")], "Prizes": CURIE["Prizes"]}
    graph_store.write(A, [version(A, "Marie Curie", half, number=2)])

    show(graph_store, A, version(A, "Marie Curie", CURIE, number=2))

    assert dump_graph(graph_store, A) == once


def test_an_attempt_that_closed_a_chunk_is_taken_back(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    show(graph_store, A, curie)
    once = dump_graph(graph_store, A)
    graph_store.write(A, [version(A, "Marie Curie", {"Prizes": CURIE["Prizes"]}, number=2)])

    graph_store.write(A, [SourceVersion(replace(curie.source, version=2), curie.placements)])
    assert not graph_store.doomed(A, [curie.source.id])
    assert dump_graph(graph_store, A) == once


def test_only_the_next_version_can_be_written_and_only_with_written_chunks(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    with pytest.raises(Conflict, match="were not written"):
        graph_store.write(A, [SourceVersion(curie.source, curie.placements)])
    show(graph_store, A, curie)
    with pytest.raises(Conflict, match="not the next one"):
        graph_store.write(A, [replace(curie, source=replace(curie.source, version=3))])
    with pytest.raises(Conflict):
        graph_store.publish(A, [replace(curie.source, version=7)])


def test_a_failed_write_leaves_nothing_half_written(graph_store: GraphStore) -> None:
    curie, warsaw = version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW, number=5)
    empty = dump_graph(graph_store, A)
    with pytest.raises(Conflict):
        graph_store.write(A, [curie, warsaw])
    assert dump_graph(graph_store, A) == empty


def test_edges_to_strange_nodes_are_refused(graph_store: GraphStore) -> None:
    curie, warsaw = version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW)
    mixed = replace(curie.chunks[0], mentions=warsaw.chunks[0].mentions)
    with pytest.raises(InvalidInput, match="does not hold"):
        graph_store.write(A, [replace(curie, chunks=(mixed,))])


def test_sources_are_listed_page_by_page_whether_shown_or_not(graph_store: GraphStore) -> None:
    versions = [version(A, title, WARSAW) for title in ("One", "Two", "Three")]
    graph_store.write(A, versions)
    show(graph_store, B, version(B, "Theirs", WARSAW))
    first, second, third = sorted(v.source.id for v in versions)
    assert graph_store.source_ids(A) == [first, second, third]
    assert graph_store.source_ids(A, limit=2) == [first, second]
    assert graph_store.source_ids(A, after=second, limit=2) == [third]
    assert graph_store.source_ids(A, after=third) == []


def test_entities_are_absent_that_nobody_names(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    show(graph_store, A, curie)
    show(graph_store, B, version(B, "Nile", {"Nile": [said("The Nile is long.", "Nile|Location")]}))
    here, nowhere, theirs = names("Warsaw", "Nowhere", "Nile")
    assert graph_store.absent(A, [nowhere, here, theirs]) == [nowhere, theirs]
    take_out(graph_store, A, curie.source.id)
    assert graph_store.absent(A, [here]) == [here]
    assert graph_store.absent(A, []) == []


def test_chunks_are_absent_that_no_version_of_a_source_has(graph_store: GraphStore) -> None:
    curie, hidden = version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW)
    theirs = version(B, "Nile", {"Nile": [said("The Nile is long.", "Nile|Location")]})
    show(graph_store, A, curie)
    graph_store.write(A, [hidden])
    show(graph_store, B, theirs)
    (shown, *_), (built, *_), (other, *_) = (tuple(v.placements) for v in (curie, hidden, theirs))
    nowhere = "chunk:" + "0" * 32
    assert graph_store.absent_chunks(A, [nowhere, shown, other, built]) == [nowhere, other]
    take_out(graph_store, A, curie.source.id)
    assert graph_store.absent_chunks(A, [shown, built]) == [shown]
    assert graph_store.absent_chunks(A, []) == []


def test_removing_everything_leaves_no_row(graph_store: GraphStore) -> None:
    curie, warsaw = version(A, "Marie Curie", CURIE, aliases=[("Madame Curie", "Marie Curie")]), version(A, "Warsaw", WARSAW)
    show(graph_store, A, curie, warsaw)
    assert all(rows for table, rows in dump_graph(graph_store, A).items() if table not in ("rel", "rel_pair", "touched"))

    take_out(graph_store, A, curie.source.id, warsaw.source.id)

    assert not any(dump_graph(graph_store, A).values())
    assert graph_store.source_ids(A) == []


def test_deleting_one_of_two_documents_keeps_what_the_other_supports(graph_store: GraphStore) -> None:
    fact = ("Marie Curie", "was born in", "Warsaw")
    twin = {"Births": [said("In Warsaw Marie Curie was born.", "Marie Curie|Scientist", "Warsaw|City", facts=[fact])]}
    curie, births = version(A, "Marie Curie", CURIE), version(A, "Births", twin)
    show(graph_store, A, curie, births)
    take_out(graph_store, A, curie.source.id)
    left = dump_graph(graph_store, A)

    # the same world, in which the removed document never was
    show(graph_store, B, version(B, "Births", twin))
    assert {table: len(rows) for table, rows in left.items()} == {t: len(r) for t, r in dump_graph(graph_store, B).items()}
    assert values(graph_store, A, entities=names("Warsaw")) == ["In Warsaw Marie Curie was born."]
    warsaw = graph_store.entities(A, names("Warsaw")).found[names("Warsaw")[0]]
    assert (warsaw.df, warsaw.degree, warsaw.class_) == (1, 1, "City")


def test_value_class_df_and_degree_follow_from_the_edges_whatever_the_order(graph_store: GraphStore) -> None:
    documents = [
        {"One": [said("IBM grew.", "IBM|Organization")]},
        {
            "Two": [
                said("Ibm shrank.", "Ibm|Product"),
                said("IBM makes PCs.", "IBM|Product", facts=[("IBM", "makes", "PCs")]),
            ]
        },
        {"Three": [said("ibm sleeps.", "ibm|Product", "Ibm|Product")]},
    ]
    for tenant, order in ((A, (0, 1, 2)), (B, (2, 0, 1))):
        for at in order:
            show(graph_store, tenant, version(tenant, f"Doc {at}", documents[at]))
    for tenant in (A, B):
        ibm = graph_store.entities(tenant, names("IBM", tenant=tenant)).found[names("IBM", tenant=tenant)[0]]
        assert (ibm.value, ibm.class_, ibm.df, ibm.degree) == ("IBM", "Product", 3, 1)


def test_what_only_an_unpublished_version_still_names_is_unknown_to_readers(graph_store: GraphStore) -> None:
    curie, warsaw = version(A, "Marie Curie", CURIE), version(A, "Poland", WARSAW)
    show(graph_store, A, curie)
    graph_store.write(A, [warsaw])
    take_out(graph_store, A, curie.source.id)

    assert graph_store.entities(A, names("Warsaw")).found == {}
    assert graph_store.stats(A)["entities"] == 0


def test_a_title_names_an_entity_even_when_no_text_does(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Mercury (planet)", {"Orbit": [said("It circles the Sun in 88 days.", "Sun")]}))
    show(graph_store, A, version(A, "Sky", {"Sky": [said("Tonight Mercury is bright.", "Mercury")]}))
    sky = chunks_of(version(A, "Sky", {"Sky": [said("Tonight Mercury is bright.", "Mercury")]}))

    near = graph_store.neighbourhood(A, sky)

    assert [(link.kind, near.entities[link.entity_id].value) for link in near.links] == [("about", "Mercury")]
    assert [row.value for chunk in near.chunks for row in chunk.rows] == ["It circles the Sun in 88 days."]


def test_links_lead_to_documents_about_sharing_and_naming(graph_store: GraphStore) -> None:
    curie, warsaw = version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW)
    chopin = version(A, "Chopin", {"Chopin": [said("Chopin grew up in Warsaw.", "Chopin", "Warsaw")]})
    show(graph_store, A, warsaw)
    show(graph_store, A, chopin, curie)
    title = {c: v.source.title for v in (curie, warsaw, chopin) for c in v.placements}

    near = graph_store.neighbourhood(A, chunks_of(curie)[:1])
    hops = {(link.kind, near.entities[link.entity_id].value, title[link.to_chunk]) for link in near.links}
    assert ("about", "Warsaw", "Warsaw") in hops
    assert ("shared", "Warsaw", "Chopin") in hops
    back = graph_store.neighbourhood(A, chunks_of(warsaw))
    assert {(link.kind, title[link.to_chunk]) for link in back.links} >= {("named", "Marie Curie"), ("named", "Chopin")}

    rare = graph_store.neighbourhood(A, chunks_of(curie)[:1], max_df=0)
    assert {link.kind for link in rare.links} == {"about"}
    one = graph_store.neighbourhood(A, chunks_of(curie), per_entity=1)
    assert len([link for link in one.links if link.kind == "shared" and link.entity_id == names("Warsaw")[0]]) <= 2


def test_names_found_in_a_text_count_as_mentions(graph_store: GraphStore) -> None:
    notes, warsaw = version(A, "Notes", {"Notes": [said("we met in warsaw")]}), version(A, "Warsaw", WARSAW)
    show(graph_store, A, notes, warsaw)
    (chunk,) = chunks_of(notes)

    assert graph_store.neighbourhood(A, [chunk]).links == ()
    found = graph_store.neighbourhood(A, [chunk], names={chunk: names("warsaw")})
    assert {link.kind for link in found.links} == {"about", "shared"}


def test_aliases_are_followed_both_ways_and_go_with_their_chunk(graph_store: GraphStore) -> None:
    defines = {"S3": [said("Simple Storage Service (S3) keeps objects.", "Simple Storage Service", "S3")]}
    long = version(A, "Definitions", defines, aliases=[("S3", "Simple Storage Service")])
    short = version(A, "Bill", {"Bill": [said("S3 costs more.", "S3")]})
    show(graph_store, A, long, short)

    found = graph_store.entities(A, names("S3", "Simple Storage Service"))
    assert [e.value for e in found.aliases[names("S3")[0]]] == ["Simple Storage Service"]
    assert [e.value for e in found.aliases[names("Simple Storage Service")[0]]] == ["S3"]

    take_out(graph_store, A, long.source.id)
    assert graph_store.entities(A, names("S3")).aliases == {}
    assert graph_store.entities(A, names("Simple Storage Service")).found == {}


def test_synonyms_are_replaced_as_a_whole(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Warsaw", WARSAW))
    empty = dump_graph(graph_store, A)
    graph_store.set_synonyms(A, [("Warszawa", "Warsaw"), ("Varsovie", "Warsaw")])
    settle(graph_store, A)
    same = graph_store.entities(A, names("Warszawa")).aliases[names("Warszawa")[0]]
    assert [e.value for e in same] == ["Warsaw"]
    atlas = version(A, "Atlas", {"Atlas": [said("Varsovie is on page 9.", "Varsovie")]})
    show(graph_store, A, atlas)
    same = graph_store.entities(A, names("Warszawa")).aliases[names("Warszawa")[0]]
    assert {e.value for e in same} == {"Varsovie", "Warsaw"}
    take_out(graph_store, A, atlas.source.id)

    graph_store.set_synonyms(A, [])
    settle(graph_store, A)
    assert dump_graph(graph_store, A) == empty


def test_entities_joined_by_a_fact_come_rarest_first(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Marie Curie", CURIE), version(A, "Warsaw", WARSAW))

    near = graph_store.entities(A, names("Marie Curie"), connected=5)
    assert [(asked, e.value) for asked, e in near.connected] == [(names("Marie Curie")[0], n) for n in ("Paris", "Warsaw")]
    assert len(graph_store.entities(A, names("Marie Curie"), connected=1).connected) == 1
    assert [e.value for _, e in graph_store.entities(A, names("Warsaw"), connected=5).connected] == ["Marie Curie"]


def test_statements_come_alone_or_with_their_whole_chunks(graph_store: GraphStore) -> None:
    v = version(A, "Kiln", {"Heat": [said("The kiln is hot."), said("It glows.")], "Cold": [said("The kiln is cold.")]})
    show(graph_store, A, v)
    rows = graph_store.evidence(A, EvidenceRequest(chunks=tuple(v.placements)))
    glows = next(row.id for row in rows if row.value == "It glows.")
    assert values(graph_store, A, statements=(glows,)) == ["It glows."]
    assert values(graph_store, A, statements=(glows,), whole_chunks=True) == ["The kiln is hot.", "It glows."]


def test_statements_of_entities_name_most_of_those_asked_for_first(graph_store: GraphStore) -> None:
    many = [said(f"Warsaw has a street number {n}.", "Warsaw") for n in range(30)]
    both = said("Warsaw honours Marie Curie.", "Warsaw", "Marie Curie")
    show(graph_store, A, version(A, "Streets", {"Streets": [*many, both]}), version(A, "Marie Curie", CURIE))

    got = values(graph_store, A, entities=names("Warsaw", "Marie Curie"), per_entity=2)
    assert "Warsaw honours Marie Curie." in got
    assert "Marie Curie was born in Warsaw." in got
    assert len(got) <= 4


def test_a_hub_gives_statements_about_it_or_with_others_only(graph_store: GraphStore) -> None:
    crowd = {"Crowd": [said(f"Person {n} lives in Warsaw.", "Warsaw") for n in range(1_100)]}
    show(graph_store, A, version(A, "Crowd", crowd), version(A, "Warsaw", WARSAW), version(A, "Marie Curie", CURIE))

    assert values(graph_store, A, entities=names("Warsaw")) == ["Warsaw lies on the Vistula."]
    both = values(graph_store, A, entities=names("Warsaw", "Paris"))
    assert both == ["She moved to Paris.", "Warsaw lies on the Vistula."] or set(both) == {
        "She moved to Paris.",
        "Warsaw lies on the Vistula.",
    }


def test_the_topic_goes_on_in_the_chunk_beside(graph_store: GraphStore) -> None:
    long = {f"Part {n}": [said(f"Sentence {n}.")] for n in range(4)}
    v = version(A, "Long", long)
    same_topic = tuple(
        replace(
            c,
            topics=v.chunks[0].topics,
            statements=tuple(replace(s, topic_id=v.chunks[0].topics[0].id) for s in c.statements),
        )
        for c in v.chunks
    )
    show(graph_store, A, replace(v, chunks=same_topic))
    second = chunks_of(v)[1]

    assert values(graph_store, A, chunks=(second,)) == ["Sentence 0.", "Sentence 1.", "Sentence 2."]
    assert values(graph_store, A, chunks=(second,), neighbours=False) == ["Sentence 1."]


def one_topic(v: SourceVersion, *seqs: int) -> SourceVersion:
    """Make the chunks with these numbers go on with the topic of the first of them."""
    topics = v.chunks[seqs[0]].topics
    same = {n: tuple(replace(s, topic_id=topics[0].id) for s in v.chunks[n].statements) for n in seqs}
    changed = [replace(c, topics=topics, statements=same[n]) if n in same else c for n, c in enumerate(v.chunks)]
    return replace(v, chunks=tuple(changed))


def topic(v: SourceVersion, seq: int) -> str:
    return v.chunks[seq].topics[0].id


def test_a_topic_gives_its_statements_from_all_its_chunks_as_they_read_up_to_a_limit(graph_store: GraphStore) -> None:
    parts = {f"Part {n}": [said(f"Line {n}a.", f"Name {n}"), said(f"Line {n}b.")] for n in range(4)}
    long = one_topic(version(A, "Long", parts), 0, 2, 3)
    show(graph_store, A, long)
    asked = {"topics": (topic(long, 0),)}

    assert values(graph_store, A, **asked) == [f"Line {n}{x}." for n in (0, 2, 3) for x in "ab"]
    assert values(graph_store, A, **asked, per_topic=3) == ["Line 0a.", "Line 0b.", "Line 2a."]
    # those that name what was asked for go first
    assert "Line 3a." in values(graph_store, A, **asked, per_topic=1, entities=names("Name 3"), per_entity=0)


def test_a_statement_in_two_chunks_of_a_topic_counts_once(graph_store: GraphStore) -> None:
    long = one_topic(version(A, "Long", {"One": [said("It snows.")], "Two": [said("It hails.")]}), 0, 1)
    first, second = long.chunks
    hails = replace(second.statements[0], position=1)
    show(graph_store, A, replace(long, chunks=(first, replace(second, statements=(*first.statements, hails)))))
    assert values(graph_store, A, topics=(topic(long, 0),), per_topic=2) == ["It snows.", "It hails."]


def test_topics_beside_a_topic_are_those_near_in_its_source(graph_store: GraphStore) -> None:
    long = one_topic(version(A, "Long", {f"Part {n}": [said(f"Line {n}.")] for n in range(9)}), 3, 4)
    other = version(A, "Other", {"Part 3": [said("Elsewhere.")]})
    show(graph_store, A, long, other)
    asked = {"topics": (topic(long, 3),)}

    assert values(graph_store, A, **asked) == ["Line 3.", "Line 4."]
    assert values(graph_store, A, **asked, topic_reach=1) == [f"Line {n}." for n in (2, 3, 4, 5)]
    assert values(graph_store, A, **asked, topic_reach=2) == [f"Line {n}." for n in (1, 2, 3, 4, 5, 6)]


def test_so_many_topics_beside_a_topic_at_most_the_nearest_first(graph_store: GraphStore) -> None:
    long = version(A, "Long", {f"Part {n}": [said(f"Line {n}.")] for n in range(60)})
    show(graph_store, A, long)
    assert values(graph_store, A, topics=(topic(long, 30),), topic_reach=50) == [f"Line {n}." for n in range(20, 41)]


def test_topics_that_share_an_entity_come_along_unless_too_many_do(graph_store: GraphStore) -> None:
    rare, common = "Warsaw", "Poland"
    home = version(A, "Home", {"Home": [said("Home.", rare, common)]})
    others = [version(A, f"Doc {n}", {"Far": [said(f"Far {n}.", common)], "Farther": [said("No.")]}) for n in range(4)]
    show(graph_store, A, home, version(A, "Twin", {"Twin": [said("Twin.", rare)]}), *others)
    asked = {"topics": (topic(home, 0),)}

    assert values(graph_store, A, **asked) == ["Home."]
    assert set(values(graph_store, A, **asked, topic_links=3)) == {"Home.", "Twin."}
    assert set(values(graph_store, A, **asked, topic_links=4)) == {"Home.", "Twin.", *(f"Far {n}." for n in range(4))}


def test_topics_are_read_as_they_are_live_within_the_filters_and_by_their_tenant_only(graph_store: GraphStore) -> None:
    before = version(A, "Marie Curie", CURIE, metadata={"year": 1990})
    both = (topic(before, 0), topic(before, 1))
    graph_store.write(A, [before])
    assert values(graph_store, A, topics=both, topic_reach=1) == []
    show(graph_store, A, before)
    assert len(values(graph_store, A, topics=both)) == 3
    graph_store.write(A, [version(A, "Marie Curie", {"Prizes": CURIE["Prizes"]}, number=2)])
    assert len(values(graph_store, A, topics=both)) == 3
    show(graph_store, A, version(A, "Marie Curie", {"Prizes": CURIE["Prizes"]}, number=2, metadata={"year": 1990}))
    assert values(graph_store, A, topics=both, topic_reach=1) == ["She won two prizes."]

    near = version(A, "Prize", {"Prize": [said("A prize for Marie Curie.", "Marie Curie")]}, metadata={"year": 2020})
    show(graph_store, A, near)
    asked = {"topics": both, "topic_reach": 1, "topic_links": 5}
    assert len(values(graph_store, A, **asked)) == 2
    assert values(graph_store, A, **asked, filters=MetadataFilter("year", "<", 2000)) == ["She won two prizes."]
    assert values(graph_store, B, **asked) == []
    assert values(graph_store, A, topics=("", "topic:zz", before.source.id), topic_reach=3, topic_links=3) == []


def test_filters_hold_for_every_way_to_a_statement(graph_store: GraphStore) -> None:
    old = version(A, "Marie Curie", CURIE, metadata={"year": 1990})
    new = version(A, "Warsaw", WARSAW, metadata={"year": 2020})
    show(graph_store, A, old, new)
    recent = MetadataFilter("year", ">=", 2000)

    every = {"chunks": chunks_of(old) + chunks_of(new), "entities": names("Warsaw", "Marie Curie"), "filters": recent}
    assert values(graph_store, A, **every) == ["Warsaw lies on the Vistula."]
    assert graph_store.entities(A, names("Warsaw"), connected=5, filters=recent).connected == ()
    assert graph_store.neighbourhood(A, chunks_of(new), filters=recent).links == ()
    assert graph_store.neighbourhood(A, chunks_of(old), filters=recent).links == ()
    assert graph_store.neighbourhood(A, chunks_of(new)).links != ()


def test_two_tenants_with_equal_documents_share_nothing(graph_store: GraphStore) -> None:
    mine, theirs = version(A, "Marie Curie", CURIE), version(B, "Marie Curie", CURIE)
    show(graph_store, A, mine)
    show(graph_store, B, theirs)
    before = dump_graph(graph_store, A)

    assert values(graph_store, B, chunks=chunks_of(mine), entities=names("Warsaw"), statements=_statements(mine)) == []
    assert graph_store.entities(B, names("Warsaw"), connected=5).found == {}
    assert graph_store.neighbourhood(B, chunks_of(mine), names={chunks_of(mine)[0]: names("Paris")}).links == ()
    assert graph_store.sources(B, [mine.source.id]) == {}
    assert graph_store.chunk_ids(B, mine.source.id) == {}
    assert not graph_store.node_ids(B, mine.source.id)
    assert not graph_store.doomed(B, [mine.source.id])
    with pytest.raises(NotFound):
        graph_store.egonet(B, names("Warsaw")[0])
    take_out(graph_store, B, mine.source.id)
    with pytest.raises(Conflict):
        graph_store.publish(B, [mine.source])
    assert dump_graph(graph_store, A) == before
    take_out(graph_store, B, theirs.source.id)
    assert dump_graph(graph_store, A) == before


def _statements(v: SourceVersion) -> tuple[str, ...]:
    return tuple(s.id for c in v.chunks for s in c.statements)


def test_an_egonet_walks_outwards_from_any_live_node(graph_store: GraphStore) -> None:
    curie = version(A, "Marie Curie", CURIE)
    show(graph_store, A, curie)
    for node in (curie.source.id, chunks_of(curie)[0], _statements(curie)[0], names("Warsaw")[0]):
        net = graph_store.egonet(A, node)
        assert net["nodes"][0]["id"] == node
        assert {n["id"] for n in net["nodes"]} >= {e[end] for e in net["edges"] for end in ("source", "target")}
        assert len(graph_store.egonet(A, node, depth=3)["nodes"]) > len(net["nodes"])
        assert len(graph_store.egonet(A, node, depth=3, limit=4)["nodes"]) == 4
        assert net["totals"] == {"nodes": len(net["nodes"]), "edges": len(net["edges"]), "complete": True}
        part, told = graph_store.egonet(A, node, limit=2), {node}
        assert part["totals"] == net["totals"]
        told |= {n["id"] for n in part["nodes"]}
        while (offset := part["next_offset"]) is not None:
            part = graph_store.egonet(A, node, limit=2, offset=offset)
            told |= {n["id"] for n in part["nodes"]}
        assert told == {n["id"] for n in net["nodes"]}
    with pytest.raises(InvalidInput):
        graph_store.egonet(A, "nonsense")


def test_ids_of_other_kinds_or_nonsense_find_nothing(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Marie Curie", CURIE))
    nonsense = ("", "chunk:", "chunk:zz", "entity:" + "0" * 32, "x" * 5_000)
    assert values(graph_store, A, chunks=nonsense, entities=nonsense, statements=nonsense) == []
    assert graph_store.entities(A, nonsense, connected=3).found == {}
    assert graph_store.neighbourhood(A, nonsense, names={"": nonsense}).links == ()


def test_a_source_about_an_entity_is_evidence_though_its_text_never_names_it(graph_store: GraphStore) -> None:
    parts = {f"Part {n}": [said(f"It has room {n}."), said(f"Room {n} is where Ida sits.", "Ida")] for n in range(4)}
    show(graph_store, A, version(A, "Heron Team", parts))
    asked = names("Heron Team")
    assert values(graph_store, A, entities=asked, per_entity=3) == [
        "It has room 0.",
        "Room 0 is where Ida sits.",
        "It has room 1.",
    ]
    assert values(graph_store, A, entities=asked, per_entity=0) == []

    news = [said("The Heron Team won.", "Heron Team"), said("The Heron Team lost.", "Heron Team")]
    show(graph_store, A, version(A, "News", {"News": news}))
    got = values(graph_store, A, entities=asked, per_entity=3)
    assert set(got) == {"The Heron Team won.", "The Heron Team lost.", "It has room 0."}
    # of the sources about it, too, what names another entity asked for goes first
    both = values(graph_store, A, entities=names("Heron Team", "Ida"), per_entity=2)
    assert both and all("Ida" in value for value in both)


def test_a_title_that_very_many_sources_bear_brings_none_of_them(graph_store: GraphStore) -> None:
    minutes = [
        version(A, "Minutes", {"Minutes": [said(f"Day {n} was dull.")]}, uri=f"file:///minutes-{n}.md") for n in range(101)
    ]
    show(graph_store, A, *minutes[:100])
    assert len(values(graph_store, A, entities=names("Minutes"), per_entity=7)) == 7
    show(graph_store, A, minutes[100])
    assert values(graph_store, A, entities=names("Minutes"), per_entity=7) == []


def test_evidence_of_an_entity_is_also_that_of_what_means_the_same(graph_store: GraphStore) -> None:
    show(graph_store, A, version(A, "Heron Team", {"Heron": [said("The Heron Team works here.", "Heron Team")]}))
    graph_store.set_synonyms(A, [("Blue Birds", "Heron Team")])
    settle(graph_store, A)
    (row,) = graph_store.evidence(A, EvidenceRequest(entities=names("Blue Birds")))
    assert row.value == "The Heron Team works here."
    assert set(row.entities) == set(names("Blue Birds", "Heron Team"))
    graph_store.set_synonyms(A, [])
    assert values(graph_store, A, entities=names("Blue Birds")) == []


def test_links_lead_to_preferred_chunks_first_where_an_entity_leads_to_many(graph_store: GraphStore) -> None:
    almanac = version(A, "Almanac", {f"Part {n}": [said(f"Part {n} names Ida.", "Ida")] for n in range(30)})
    author = version(A, "Rollo", {"Rollo": [said("Rollo wrote the Almanac with Ida.", "Rollo", "Almanac", "Ida")]})
    show(graph_store, A, almanac, author)
    chunks, start = chunks_of(almanac), chunks_of(author)

    def reached(kind: str, *prefer: str, entity: str, **options: int) -> set[int]:
        found = graph_store.neighbourhood(A, start, prefer=prefer, per_entity=3, **options)
        of_kind = [x.to_chunk for x in found.links if (x.kind, x.entity_id) == (kind, names(entity)[0])]
        return {chunks.index(i) for i in of_kind if i in chunks}

    assert reached("about", entity="Almanac") == {0, 1, 2}
    assert reached("about", chunks[25], entity="Almanac") == {0, 1, 25}
    assert reached("about", *chunks[20:], entity="Almanac") == {20, 21, 22}
    assert reached("about", start[0], "nonsense", chunks[1], entity="Almanac") == {0, 1, 2}
    assert reached("shared", chunks[25], chunks[7], entity="Ida") >= {25, 7}
    assert len(reached("shared", entity="Ida")) <= 3
    year = MetadataFilter("year", "==", 1)
    assert graph_store.neighbourhood(A, start, prefer=chunks[25:], per_entity=3, filters=year).links == ()
    # a part that is no longer live is not reached
    shorter = version(A, "Almanac", {f"Part {n}": [said(f"Part {n} names Ida.", "Ida")] for n in range(20)}, number=2)
    show(graph_store, A, shorter)
    assert reached("about", chunks[25], entity="Almanac") == {0, 1, 2}


def test_an_entity_is_known_within_filters_only_if_an_admitted_source_names_it(graph_store: GraphStore) -> None:
    plan = {"Plan": [said("Zorblax met Curie.", "Zorblax", "Curie", facts=[("Zorblax", "met", "Curie")])]}
    secret = version(A, "Secret Plan", plan, aliases=[("ZQ", "Curie")], metadata={"open": False})
    bare = version(A, "Curie", {"Life": [said("She met Pierre.", "Pierre")]}, metadata={"open": True})
    note = version(A, "Note", {"Note": [said("A Plan by Curie.", "Curie", "Plan")]}, metadata={"open": True})
    show(graph_store, A, secret, bare, note)
    admitted = MetadataFilter("open", "==", True)
    asked = names("Zorblax", "Secret Plan", "Curie", "Pierre", "ZQ", "Plan")

    everything = graph_store.entities(A, asked, connected=5)
    assert {e.value for e in everything.found.values()} == {"Zorblax", "Secret Plan", "Curie", "Pierre", "Plan"}
    assert {asked_id for asked_id, _ in everything.connected} == set(names("Zorblax", "Curie", "ZQ"))
    within = graph_store.entities(A, asked, connected=5, filters=admitted)
    # Curie also by its title, Pierre by a text
    assert {e.value for e in within.found.values()} == {"Curie", "Pierre", "Plan"}
    assert (within.aliases, within.connected) == ({}, ())
    assert {e.value for e in graph_store.entities(A, names("Curie"), filters=admitted).found.values()} == {"Curie"}

    (start,) = chunks_of(note)
    in_text = {start: names("Secret Plan", "Zorblax", "Curie")}
    assert "Secret Plan" in {e.value for e in graph_store.neighbourhood(A, [start], names=in_text).entities.values()}
    near = graph_store.neighbourhood(A, [start], names=in_text, filters=admitted)
    assert {e.value for e in near.entities.values()} == {"Curie", "Plan", "Note"}


def test_every_entity_has_its_share_of_those_joined_by_facts_whatever_the_order(graph_store: GraphStore) -> None:
    def told(person: str, places: int) -> list[Said]:
        at = [f"{person} Place {n:03}" for n in range(places)]
        return [said(f"{person} saw {p}.", person, p, facts=[(person, "saw", p)]) for p in at]

    busy = version(A, "Busy", {"Busy": told("Ann", 900)})
    calm = version(A, "Calm", {"Calm": told("Bea", 3)})
    again = version(A, "Again", {"Again": [said("Ann Place 000 and Bea Place 001.", "Ann Place 000", "Bea Place 001")]})
    asked = names("Ann", "Bea")
    first = [("Ann", f"Ann Place {n:03}") for n in range(1, 900)]
    rarest = sorted(first, key=lambda pair: names(pair[1])[0])[:2] + [("Bea", f"Bea Place {n:03}") for n in (0, 2)]
    for order in ((busy, calm, again), (again, calm, busy)):
        show(graph_store, A, *(replace(v, source=v.source) for v in order))
        found = graph_store.entities(A, asked, connected=2).connected
        assert {(dict(zip(asked, ("Ann", "Bea"), strict=True))[i], e.value) for i, e in found} == set(rarest)
        take_out(graph_store, A, *(v.source.id for v in order))


def test_a_statement_has_its_kind_and_the_words_of_the_text_that_says_it(graph_store: GraphStore) -> None:
    code, table = "for x in y:\n    print(x)", "a | b\n1 | 2"
    told = {
        "Loops": [said(code, kind="code"), said(table, kind="table"), said("The loop ends.", original="It ends.")],
        "Ends": [said("The loop ends.", "loop")],
    }
    v = one_topic(version(A, "Loops", told), 0, 1)
    show(graph_store, A, v)
    first, second = v.placements

    rows = graph_store.evidence(A, EvidenceRequest(chunks=(first,), neighbours=False))
    assert [(r.value, r.kind, r.original) for r in rows] == [
        (code, "code", ""),
        (table, "table", ""),
        ("The loop ends.", "prose", "It ends."),
    ]
    # one statement, in two chunks: each quotes its own words
    (row,) = graph_store.evidence(A, EvidenceRequest(chunks=(second,), neighbours=False))
    assert (row.value, row.original) == ("The loop ends.", "")


def test_code_of_which_only_the_indent_changes_is_shown_as_it_is_now(graph_store: GraphStore) -> None:
    before, after = "if x:\n    y()\nz()", "if x:\n    y()\n    z()"
    show(graph_store, A, version(A, "Code", {"Code": [said(before, kind="code")]}))
    v = version(A, "Code", {"Code": [said(after, kind="code")]}, number=2)
    show(graph_store, A, v)
    assert values(graph_store, A, chunks=tuple(v.placements)) == [after]


def test_counts_of_sources_are_what_readers_see_of_them_and_sum_up(graph_store: GraphStore) -> None:
    facts = [("Oslo", "is in", "Norway")]
    first = version(A, "Oslo", {"A": [said("Oslo is in Norway.", "Oslo", "Norway", facts=facts)], "B": [said("It rains.")]})
    second = version(A, "Bergen", {"A": [said("Oslo is in Norway, Bergen, too.", "Oslo", "Bergen", facts=facts)]})
    show(graph_store, A, first, second)
    graph_store.write(A, [version(A, "Oslo", {"C": [said("Nothing.")]}, number=2)])  # not shown yet
    graph_store.write(A, [version(A, "Molde", {"C": [said("Molde.")]})])
    ids = [first.source.id, second.source.id, version(A, "Molde", {}).source.id, "source:" + "0" * 32]
    found, stats = graph_store.counts(A, ids), graph_store.stats(A)
    kinds = ("sources", "chunks", "topics", "statements", "facts", "links")
    assert {i: [counts[kind] for kind in kinds] for i, counts in found.items()} == {
        first.source.id: [1, 2, 2, 2, 1, 1],
        second.source.id: [1, 1, 1, 1, 1, 1],
    }
    assert graph_store.counts(B, ids) == {}
    sums = {kind: sum(counts[kind] for counts in found.values()) for kind in (*kinds, "mentions")}
    assert sums | {"facts": 1, "entities": stats["entities"]} == stats
    assert (sums["facts"], stats["facts"]) == (2, 1)
    graph_store.withdraw(A, [first.source.id])
    assert graph_store.counts(A, ids).keys() == {second.source.id}
