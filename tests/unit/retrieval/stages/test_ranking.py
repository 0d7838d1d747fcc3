"""The ranking of chunks: pure functions of what was found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lexigraph.model.graph import Entity, Link
from lexigraph.retrieval.stages.ranking import (
    WEIGHTS,
    Candidate,
    Coverage,
    Ranked,
    Ranker,
    Ranking,
    Weights,
    title_matches,
    title_share,
)
from lexigraph.retrieval.stages.text import names
from lexigraph.retrieval.traversal.args import TraversalArgs

QUESTION = "When did the mother of Lothair die?"


class World:
    """Chunks for one question, told by their texts; likeness is what a search would have given."""

    def __init__(self, question: str = QUESTION, args: TraversalArgs | None = None, weights: Weights = WEIGHTS) -> None:
        self.coverage = Coverage(question)
        self.args, self.weights = args or TraversalArgs(), weights
        self.candidates: dict[str, Candidate] = {}
        self.links: list[Link] = []
        self.entities: dict[str, Entity] = {}
        self.asked: dict[str, float] = {}
        self.told: dict[tuple[str, str], NDArray[np.float64]] = {}
        self.renamed: set[tuple[str, str]] = set()

    def chunk(
        self, id_: str, text: str, likeness: float = 0.2, *, title: str = "", source: str = "", **known: object
    ) -> None:
        (held,) = self.coverage.held([f"{title}\n{text}"])
        self.candidates[id_] = Candidate(id_, source or id_, title, text, held, likeness, likeness, **known)  # type: ignore[arg-type]

    def link(self, from_: str, entity: str, to: str, kind: str = "about", df: int = 1) -> None:
        self.entities[entity] = Entity(entity, entity, df=df)
        self.links.append(Link(from_, entity, to, kind))

    def ranker(self) -> Ranker:
        self.coverage.weigh([c.held for c in self.candidates.values()])
        return Ranker(self.coverage, self.asked, self.args, self.weights)

    def rank(self, *hops: list[str]) -> list[Ranked]:
        return self.ranking(*hops).best()

    def order(self, *hops: list[str]) -> list[str]:
        return self.ranking(*hops).ids

    def ranking(self, *hops: list[str]) -> Ranking:
        return self.ranker().rank(self.candidates, self.links, self.entities, hops, self.told, self.renamed)


def test_a_text_that_holds_all_words_of_a_subquery_counts_as_much_as_that_subquery_does():
    coverage = Coverage("Who leads the Heron Team and who wrote Silverbirch?", [("Who wrote Silverbirch?", 0.9)])
    held = coverage.held(["Silverbirch: he wrote it.", "The Heron Team.", "Nothing."])
    whole, part, nothing = coverage.best_shares(held).tolist()
    assert (whole, nothing) == (0.9, 0.0)
    assert part == pytest.approx(2 / 5)
    alone = Coverage("Who wrote Silverbirch?")
    assert alone.best_shares(alone.held(["Silverbirch"])).tolist() == [0.5]


def test_words_held_are_told_text_by_text_though_all_are_searched_at_once():
    coverage = Coverage("Who leads the Heron Team?")
    texts = ["The team", "leads", "", "Heron, heron", "steam and therons", "The team"]
    apart = [coverage.held([text])[0].tolist() for text in texts]
    assert Coverage("Who leads the Heron Team?").held(texts).tolist() == apart
    assert [dict(zip(coverage.words, row, strict=True)) for row in apart[:2]] == [
        {"lead": 0.0, "heron": 0.0, "team": 1.0},
        {"lead": 1.0, "heron": 0.0, "team": 0.0},
    ]
    assert coverage.held([]).shape == (0, 3)


def lothair() -> World:
    world = World()
    world.chunk("lothair", "Lothair was the son of Ermengarde.", 1.0, title="Lothair")
    world.chunk("ermengarde", "Ermengarde died in 851 as the mother of nine.", 0.1, title="Ermengarde")
    world.chunk("namesake", "Lothair the mother of all trams did run.", 0.6, title="Tram")
    world.chunk("other", "Ermengarde is also a tulip.", 0.1, title="Tulip")
    return world


def test_what_chunks_answer_of_the_words_open_before_each_is_what_they_answer_one_by_one():
    coverage = Coverage("Who leads the Heron Team and who wrote Silverbirch?")
    held = coverage.held(["Ada leads the Heron Team.", "Bo wrote Silverbirch.", "Cy sails."])
    coverage.weigh(held)
    still_open = 1.0 - held[[1, 0, 0]]
    alone = [coverage.shares(held[[row]], still_open[row])[0] for row in range(3)]
    assert coverage.shares_each(held, still_open).tolist() == pytest.approx(alone)
    assert alone[0] == pytest.approx(1.0) and alone[2] == 0.0
    assert coverage.shares_each(held, np.zeros_like(held)).tolist() == [0.0, 0.0, 0.0]  # nothing is open


def part(ranked: list[Ranked], id_: str, name: str) -> float:
    return next(r.parts[name] for r in ranked if r.id == id_)


def test_evidence_that_shares_no_name_with_the_question_rises_by_what_it_adds():
    world = lothair()
    world.link("lothair", "Ermengarde", "ermengarde")
    world.link("lothair", "Ermengarde", "other")
    assert world.order() == ["lothair", "namesake", "ermengarde", "other"]
    with_links = world.order(["lothair"])
    assert with_links.index("ermengarde") < with_links.index("namesake") < with_links.index("other")
    ranked = world.rank(["lothair"])
    assert part(ranked, "ermengarde", "link") > part(ranked, "other", "link") > 0


def test_a_result_says_which_names_led_to_it_and_through_which_link():
    world = lothair()
    world.link("lothair", "Ermengarde", "ermengarde")
    found = next(r for r in world.rank(["lothair"]) if r.id == "ermengarde")
    assert tuple(stop.name for stop in found.path) == ("Lothair", "Ermengarde")
    assert found.via == Link("lothair", "Ermengarde", "ermengarde", "about")
    assert next(r for r in world.rank(["lothair"]) if r.id == "lothair").path == ()


def test_the_best_of_a_ranking_are_the_first_of_all():
    ranking = lothair().ranking()
    assert [r.id for r in ranking.best(2)] == ranking.ids[:2]
    assert [r.id for r in ranking.best()] == ranking.ids


def test_links_of_chunks_that_were_not_followed_bring_nothing():
    world = lothair()
    world.link("namesake", "Ermengarde", "ermengarde")
    assert part(world.rank(["lothair"]), "ermengarde", "link") == 0


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"df": 1}, {"df": 100}),
        ({"kind": "about"}, {"kind": "named"}),
        ({"kind": "named"}, {"kind": "shared"}),
    ],
)
def test_a_rare_name_and_a_mention_of_what_it_is_about_lead_further(better: dict[str, object], worse: dict[str, object]):
    bonus = []
    for how in (better, worse):
        world = lothair()
        world.link("lothair", "Ermengarde", "other", **how)  # type: ignore[arg-type]
        bonus.append(part(world.rank(["lothair"]), "other", "link"))
    assert bonus[0] > bonus[1] > 0


def test_a_name_that_leads_to_many_chunks_says_less_of_each():
    alone, many = lothair(), lothair()
    for world in (alone, many):
        world.link("lothair", "Ermengarde", "ermengarde")
    for n in range(8):
        many.chunk(f"page{n}", "A page of the same long book.", 0.1)
        many.link("lothair", "Ermengarde", f"page{n}")
    assert part(many.rank(["lothair"]), "ermengarde", "link") < part(alone.rank(["lothair"]), "ermengarde", "link")


def test_being_linked_says_less_of_what_more_than_fifteen_sources_name():
    bonus = {}
    for df in (1, 15, 30, 60):
        world = lothair()
        world.weights = replace(WEIGHTS, link_specificity=0.0, link_coverage=0.0)
        world.link("lothair", "Ermengarde", "ermengarde", df=df)
        bonus[df] = part(world.rank(["lothair"]), "ermengarde", "link")
    assert bonus[1] == bonus[15] == pytest.approx(2 * bonus[30], abs=2e-6) == pytest.approx(4 * bonus[60], abs=4e-6)


@pytest.mark.parametrize(("sources", "few"), [(20, 3), (60, 3), (100, 5)])
def test_a_shared_name_leads_less_far_where_more_than_few_of_the_sources_found_name_it(sources: int, few: int):
    bonus = {}
    for kind, df in (("shared", 1), ("shared", few), ("shared", 2 * few), ("about", 2 * few)):
        world = lothair()
        world.weights = replace(WEIGHTS, link_base=0.0, link_specificity=0.0)
        for n in range(sources - len(world.candidates)):
            world.chunk(f"page{n}", "A page of another book.", 0.1)
        world.link("lothair", "Ermengarde", "ermengarde", kind, df=df)
        bonus[kind, df] = part(world.rank(["lothair"]), "ermengarde", "link")
    whole = bonus["about", 2 * few]
    assert bonus["shared", 1] == bonus["shared", few] == whole > 0
    assert bonus["shared", 2 * few] == pytest.approx(whole / 2, abs=2e-6)


def test_what_is_called_otherwise_leads_half_as_far():
    plain, renamed = lothair(), lothair()
    renamed.renamed = {("lothair", "Ermengarde")}
    for world in (plain, renamed):
        world.link("lothair", "Ermengarde", "ermengarde")
    assert part(renamed.rank(["lothair"]), "ermengarde", "link") == pytest.approx(
        WEIGHTS.other_name * part(plain.rank(["lothair"]), "ermengarde", "link"), abs=2e-6
    )


def chain() -> World:
    world = World("How many shops are in the state east of the home of the singer of Hello Love?")
    world.chunk("song", "Hello Love is sung by its singer Hank Snow.", 1.0, title="Hello Love")
    world.chunk("singer", "Hank Snow made his home in Tennessee.", 0.2, title="Hank Snow")
    world.chunk("state", "Tennessee lies east of nothing; North Carolina is the state east of it.", 0.1, title="Tennessee")
    world.chunk("noise", "Love and shops.", 0.3)
    world.link("song", "Hank Snow", "singer")
    world.link("singer", "Tennessee", "state")
    return world


def test_a_shared_name_is_worth_more_the_more_of_the_title_it_is():
    world = lothair()
    for title in ("Tulips and Bulbs", "Remembering Ermengarde", "A Short History of Ermengarde", "Ermengardes of Old"):
        world.chunk(title, "A tulip.", 0.1, title=title)
        world.link("lothair", "Ermengarde", title, "shared")
    ranked = world.rank(["lothair"])
    half, fifth = (part(ranked, i, "link") for i in ("Remembering Ermengarde", "A Short History of Ermengarde"))
    none, other_word = (part(ranked, i, "link") for i in ("Tulips and Bulbs", "Ermengardes of Old"))
    assert half > fifth > none == other_word > 0
    # both titles hold the name, so that each says less of it; those without it take nothing from them
    start = WEIGHTS.link * WEIGHTS.link_base / 2**WEIGHTS.fan
    assert (half - none, fifth - none) == pytest.approx((start / 2, start / 5), abs=2e-6)


@pytest.mark.parametrize(("kind", "counts"), [("shared", True), ("about", False), ("named", False)])
def test_of_a_chunk_that_only_shares_a_name_what_it_says_of_that_name_counts(kind: str, counts: bool):
    world = lothair()
    for id_ in ("of her", "of another"):
        world.chunk(id_, "Ermengarde went to a fair. The mother of a tram did die.", 0.1)
        world.link("lothair", "Ermengarde", id_, kind)
        (world.told[id_, "Ermengarde"],) = world.coverage.held(["she did die" if id_ == "of her" else "a fair"])
    ranked = world.rank(["lothair"])
    assert (part(ranked, "of her", "link") > part(ranked, "of another", "link")) is counts


def test_the_share_of_a_title_is_counted_in_whole_words_as_names_are_compared():
    assert title_share("The Early Years of Ada Lovelace", "ADA  Lovelace") == pytest.approx(1 / 3)
    assert title_share("Ada", "Ada") == 1.0
    assert title_share("Canada in Numbers", "Ada") == title_share("Ada", "Ada Lovelace") == 0.0
    assert title_share("", "Ada") == title_share("Ada", "") == 0.0


def test_what_a_poorly_fitting_chunk_leads_to_is_worth_less_than_its_share():
    world = lothair()
    world.link("lothair", "Ermengarde", "ermengarde")
    world.chunk("copy", "Ermengarde died in 851 as the mother of nine.", 0.1, title="Ermengarde")
    world.chunk("tram", "A tram.", 0.5)
    world.link("tram", "Ermengarde", "copy")
    own = {r.id: r.score for r in world.rank()}
    level = replace(WEIGHTS, link_coverage=0.0)  # what they answer of the question differs
    world.weights = level
    ranked = world.rank(["lothair", "tram"])
    best, poor = part(ranked, "ermengarde", "link"), part(ranked, "copy", "link")
    assert 0.1 < own["tram"] / own["lothair"] < 0.9
    assert poor / best == pytest.approx((own["tram"] / own["lothair"]) ** WEIGHTS.start_power, abs=1e-5)


def test_a_second_hop_goes_on_with_what_the_first_left_open():
    world = chain()
    once, twice = world.rank(["song"]), world.rank(["song"], ["singer"])
    assert part(once, "state", "link") == 0
    assert part(twice, "state", "link") > 0
    reached = next(r for r in twice if r.id == "state")
    assert tuple(stop.name for stop in reached.path) == ("Hello Love", "Hank Snow", "Tennessee")
    words = world.coverage.words
    assert {w for w, on in zip(words, reached.wanted, strict=True) if on} == {"shop", "state", "east"}
    assert {w for w, on in zip(words, reached.open, strict=True) if on} == {"shop"}


def test_a_second_hop_counts_less_by_the_decay():
    near, far = chain(), chain()
    far.weights = replace(WEIGHTS, decay=WEIGHTS.decay / 2)
    a, b = (part(w.rank(["song"], ["singer"]), "state", "link") for w in (near, far))
    assert b == pytest.approx(a / 2, abs=1e-5)


def test_a_chunk_lifted_by_the_first_hop_passes_more_on_in_the_second():
    world = chain()
    together = part(world.rank(["song", "singer"]), "state", "link")
    assert part(world.rank(["song", "singer"], []), "state", "link") > together


def test_holding_the_words_of_the_question_counts_for_more_the_nearer_a_chunk_comes_to_all():
    world = World("silver mining tunnels of Freiberg")
    for n, text in enumerate(["silver", "silver mining", "silver mining tunnels", "silver mining tunnels Freiberg"]):
        world.chunk(f"c{n}", text, 0.0)
    world.chunk("none", "nothing of it", 0.0)
    shares = [part(world.rank(), f"c{n}", "coverage") for n in range(4)]
    steps = np.diff([0.0, *shares])
    assert (np.diff(steps) > 0).all()
    assert part(world.rank(), "none", "coverage") == 0


def test_a_word_that_few_chunks_hold_weighs_more():
    world = World("silver mining")
    for n in range(9):
        world.chunk(f"common{n}", "mining", 0.0)
    world.chunk("rare", "silver", 0.0)
    assert world.order()[0] == "rare"


def test_bm25_and_cosine_share_likeness_by_their_weight():
    world = World(args=TraversalArgs(bm25_weight=0.9))
    world.chunk("a", "x", 0.0)
    world.chunk("b", "x", 0.0)
    world.candidates["a"].bm25, world.candidates["b"].cosine = 1.0, 1.0
    assert world.order() == ["a", "b"]
    world.args = TraversalArgs(bm25_weight=0.1)
    assert world.order() == ["b", "a"]


def test_naming_the_entities_of_the_question_counts_by_their_weight():
    world = World(args=TraversalArgs(entity_weight=1.0))
    world.chunk("both", "x", entities={"e1", "e2"})
    world.chunk("one", "x", entities={"e1"})
    world.chunk("none", "x", 0.3)
    world.asked = {"e1": 1.0, "e2": 0.5}
    assert world.order() == ["both", "one", "none"]
    world.args = TraversalArgs(entity_weight=0.0)
    assert world.order() == ["none", "both", "one"]


def test_ties_go_by_id_and_the_order_of_what_was_found_plays_no_part():
    forward, backward = World(), World()
    for id_ in ("c", "a", "b"):
        forward.chunk(id_, "the same text")
    for id_ in ("b", "a", "c"):
        backward.chunk(id_, "the same text")
    assert forward.order() == backward.order() == ["a", "b", "c"]


def test_a_title_named_in_the_question_counts_less_when_many_bear_it():
    asked = list(names("Who directed Gladiator and Mercury?", capitals=False))
    titles = {"a": "Gladiator", "b": "Mercury (planet)", "c": "Mercury (element)", "d": "Venus", "e": ""}
    assert title_matches(titles, asked) == {"a": 1.0, "b": 0.5, "c": 0.5}


def test_a_title_inside_a_longer_title_that_is_named_does_not_count():
    asked = list(names("the new york city marathon", capitals=False))
    assert title_matches({"a": "New York City", "b": "New York City Marathon"}, asked) == {"b": 1.0}


def test_nothing_found_is_nothing_ranked():
    world = World()
    assert world.rank() == world.order() == []


def test_a_question_of_function_words_alone_is_ranked_by_likeness():
    world = World("Who is that?")
    world.chunk("a", "x", 0.1)
    world.chunk("b", "x", 0.9)
    assert world.order() == ["b", "a"]


likeness = st.floats(0, 1)
texts = st.lists(st.sampled_from("lothair mother die song tram 851".split()), max_size=4).map(" ".join)


@given(
    chunks=st.lists(st.tuples(texts, likeness, st.floats(0, 1)), min_size=1, max_size=8),
    links=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from(["about", "shared", "named"]), st.integers(0, 9)),
        max_size=12,
    ),
)
def test_scores_are_the_sums_of_their_parts_and_within_their_bound(chunks, links):
    world = World()
    for n, (text, like, title) in enumerate(chunks):
        world.chunk(f"c{n}", text, like, title_match=title)
    for a, b, kind, df in links:
        world.link(f"c{a}", f"e{a}{b}", f"c{b}", kind, df)
    ranked = world.rank(["c0", "c1"], ["c2"])
    for r in ranked:
        assert sum(r.parts.values()) == pytest.approx(r.score, abs=1e-6)
        assert 0 <= r.score <= WEIGHTS.bound
    assert sorted(r.id for r in ranked) == sorted(world.candidates)
