"""What a session says about a node, and how much that counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.recall.sessions import (
    ENOUGH,
    HALF_LIFE,
    HOT,
    KEEP,
    LITTLE,
    PURE_RELEVANCE,
    PhaseWeights,
    Weights,
    hot_nodes,
    need_of,
    phase_of,
    session_key,
    session_scores,
    topical_score,
)
from lexigraph.storage.protocols import Session

NOW = 1_700_000_000.0


def seen(**ages: float) -> Session:
    return Session(1, {node: NOW - age for node, age in ages.items()})


@pytest.mark.requirement("M-11", "M-14")
def test_what_was_seen_counts_half_after_each_half_life_and_nothing_after_ten() -> None:
    scores = session_scores(seen(now=0, half=1800, quarter=3600, last=18_000, gone=18_001), NOW)
    assert scores == {"now": 1.0, "half": 0.5, "quarter": 0.25, "last": 0.5**10}
    assert (HALF_LIFE, KEEP) == (1800, 18_000)


def test_a_clock_that_went_back_makes_nothing_count_more_than_now() -> None:
    assert session_scores(seen(later=-60), NOW) == {"later": 1.0}


@pytest.mark.requirement("M-13")
def test_what_was_seen_long_ago_is_not_hot() -> None:
    scores = session_scores(seen(warm=7_700, cool=7_800), NOW)
    assert hot_nodes(scores) == ("warm",)


@pytest.mark.requirement("M-13")
def test_hot_are_the_five_seen_last_and_ties_go_by_id() -> None:
    scores = session_scores(seen(f=10, e=10, d=10, c=10, b=10, a=10, new=1, old=999), NOW)
    assert hot_nodes(scores) == ("new", "a", "b", "c", "d")
    assert len(hot_nodes(scores)) == HOT


@pytest.mark.requirement("M-13")
def test_the_nearer_to_what_is_hot_the_higher_and_nothing_beyond() -> None:
    assert [topical_score(hops) for hops in (0, 1, 2, 3, None)] == [1.0, 1 / 2, 1 / 3, 1 / 4, 0.0]


@pytest.mark.requirement("M-15")
def test_phases_begin_at_three_and_at_ten_recalls() -> None:
    assert [phase_of(n) for n in (0, 2, 3, 9, 10, 500)] == ["early", "early", "mid", "mid", "deep", "deep"]


@pytest.mark.requirement("M-15")
def test_the_later_the_phase_the_more_the_session_counts_for_a_query_that_needs_it() -> None:
    weights = PhaseWeights()
    assert weights.at("early", 1.0) == Weights(0.70, 0.20, 0.10)
    assert weights.at("mid", 1.0) == Weights(0.50, 0.30, 0.20)
    assert weights.at("deep", 1.0) == Weights(0.40, 0.30, 0.30)
    assert weights.at("mid", 0.5) == Weights(0.75, 0.15, 0.10)


@pytest.mark.parametrize("phase", ["early", "mid", "deep"])
def test_a_query_that_needs_no_session_is_ranked_by_relevance_alone(phase: str) -> None:
    assert PhaseWeights().at(phase, 0.0) == PURE_RELEVANCE  # type: ignore[arg-type]  # one of the three


def test_the_better_what_a_query_finds_by_itself_the_less_it_needs_its_session() -> None:
    assert [need_of(("a",), best) for best in (0.0, LITTLE, ENOUGH, 1.0)] == [1.0, 1.0, 0.0, 0.0]
    assert need_of(("a",), (LITTLE + ENOUGH) / 2) == pytest.approx(0.5)
    assert need_of((), 0.0) == 0.0


def test_a_session_lifts_by_a_factor_so_that_what_does_not_fit_stays_below() -> None:
    deep = PhaseWeights().deep
    assert deep.score(0.3, 1.0, 1.0) == 0.3
    assert deep.score(1.0, 0.0, 0.0) == 0.4
    assert deep.score(0.0, 1.0, 1.0) == 0.0


def test_the_default_session_is_the_callers_own_and_no_name_is_the_same() -> None:
    a, b, here = session_key("default", "key-a"), session_key("default", "key-b"), session_key("default", "")
    assert len({a, b, here, "default"}) == 4
    assert here == session_key("default", "")
    assert not any(kept.isprintable() for kept in (a, b, here))
    assert session_key("review", "key-a") == session_key("review", "key-b") == "review"


@pytest.mark.parametrize("values", [(0.5, 0.5, 0.5), (1.5, -0.25, -0.25), (0.0, 0.0, 0.0)])
def test_weights_are_no_less_than_0_and_together_1(values: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidInput, match="sum to 1"):
        Weights(*values)


@settings(max_examples=50, derandomize=True, database=None)
@given(st.dictionaries(st.text("abcdef", min_size=1), st.floats(0, KEEP)))
def test_scores_are_above_0_and_at_most_1_and_the_later_seen_the_higher(ages: dict[str, float]) -> None:
    scores = session_scores(Session(1, {node: NOW - age for node, age in ages.items()}), NOW)
    assert all(0 < score <= 1 for score in scores.values())
    for a in scores:
        for b in scores:
            assert ages[a] > ages[b] + 1 or scores[a] >= scores[b] * 0.999
